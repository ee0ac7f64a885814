#!/usr/bin/env python3
"""Draws members of the JSON lines that experiments print.

    tools/plot.py --x options.rows --y txn_per_s --by options.workload --out size.svg size.jsonl

--x, --y and --by name a member, of an object in it with a dot; --by, which may be left out, says
which lines belong to one curve. --x-factor and --y-factor multiply. --mark X=TEXT draws a vertical
line. The form of --out is that of its suffix. Needs the package python3-matplotlib.
"""

import argparse
import json
import sys


def member(line, path):
    for name in path.split("."):
        if not isinstance(line, dict) or name not in line:
            sys.exit(f"a line has no member {path}")
        line = line[name]
    return line


def curves_of(lines, options):
    """{name of the curve: [(x, y)]}, ascending by x."""
    curves = {}
    for line in lines:
        name = str(member(line, options.by)) if options.by else ""
        point = (float(member(line, options.x)) * options.x_factor,
                 float(member(line, options.y)) * options.y_factor)
        curves.setdefault(name, []).append(point)
    return {name: sorted(points) for name, points in curves.items()}


def draw(curves, options):
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ModuleNotFoundError:
        sys.exit("plots need matplotlib: apt-get install python3-matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "foedus"  # the same lines, the same file
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for name, points in curves.items():
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=name)
    for mark in options.mark:
        place, text = mark.split("=", 1)
        axes.axvline(float(place), color="gray", linestyle="--")
        axes.annotate(text, (float(place), 0), xytext=(4, 6), textcoords="offset points",
                      color="gray")
    axes.set_xscale(options.x_scale)
    axes.set_xlabel(options.x_label or options.x)
    axes.set_ylabel(options.y_label or options.y)
    axes.set_title(options.title)
    axes.set_yscale(options.y_scale)
    if options.y_scale == "linear":
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    if options.by:
        axes.legend()
    figure.tight_layout()
    figure.savefig(options.out, metadata={"Date": None} if options.out.endswith("svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--x", required=True)
    parser.add_argument("--y", required=True)
    parser.add_argument("--by", default="")
    parser.add_argument("--x-factor", type=float, default=1)
    parser.add_argument("--y-factor", type=float, default=1)
    parser.add_argument("--x-scale", choices=("linear", "log"), default="linear")
    parser.add_argument("--y-scale", choices=("linear", "log"), default="linear")
    parser.add_argument("--x-label", default="")
    parser.add_argument("--y-label", default="")
    parser.add_argument("--title", default="")
    parser.add_argument("--mark", action="append", default=[], help="X=TEXT")
    parser.add_argument("--out", required=True)
    parser.add_argument("lines", help="file of JSON lines")
    options = parser.parse_args()
    with open(options.lines, encoding="utf-8") as file:
        lines = [json.loads(text) for text in file if text.strip()]
    if not lines:
        sys.exit(f"{options.lines} has no lines")
    draw(curves_of(lines, options), options)


if __name__ == "__main__":
    main()
