#!/usr/bin/env python3
"""Runs a database of constant size for hours, kills it often, and reports its resources.

    tests/soak/soak.py --dir /var/tmp/soak --out /var/tmp/soak-out --hours 4

Each life of `bin/soak` checks all rows when it begins; three of four are killed, the others close
the database. The samples of all lives go to OUT/soak.jsonl, plots of them and a summary to OUT.
Exit status 0: nothing was wrong, and in the second half of the time each of MEASURES was at most
--rise times its value in the first half; the first tenth of the time does not count.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEASURES = ("resident_bytes", "threads", "files_open", "disk_bytes", "files")
PLOTS = (("resident_bytes", 1e-6, "resident, MB"), ("disk_bytes", 1e-6, "on disk, MB"),
         ("volatile_page_bytes", 1e-6, "volatile pages, MB"), ("threads", 1, "threads"),
         ("files_open", 1, "open files"))
SECONDS_TO_DIE = 300  # a life that is late by this much hangs


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.begin = time.monotonic()
        self.lives = 0
        self.kills = 0
        self.samples = []

    def second(self):
        return time.monotonic() - self.begin

    def run(self):
        """Returns the first fault, or an empty string."""
        with open(os.path.join(self.options.out, "soak.jsonl"), "w", encoding="utf-8") as out:
            while self.second() < self.options.hours * 3600:
                wrong = self.live(out)
                if wrong:
                    return wrong
        return ""

    def live(self, out):
        self.lives += 1
        is_killed = self.random.random() < 0.75
        seconds = self.options.life_seconds * self.random.uniform(0.5, 1.5)
        command = [os.path.join(self.options.bin, "soak"), "--soak_dir", self.options.dir,
                   "--soak_seed", str(self.options.seed + self.lives),
                   "--life_seconds", str(seconds + SECONDS_TO_DIE if is_killed else seconds),
                   *self.options.arguments]
        began = self.second()
        with (tempfile.TemporaryFile("w+") as lines,
              subprocess.Popen(command, stdout=lines) as process):
            while process.poll() is None:
                if is_killed and self.second() - began >= seconds:
                    process.send_signal(signal.SIGKILL)
                if self.second() - began > seconds + SECONDS_TO_DIE:
                    process.kill()
                    return f"life {self.lives} hangs"
                time.sleep(0.05)
            lines.seek(0)
            self.take(lines.read(), began, out)
        if is_killed and process.returncode == -signal.SIGKILL:
            self.kills += 1
            return ""
        if process.returncode == 0 and not is_killed:
            return ""
        return f"life {self.lives} ended with status {process.returncode}"

    def take(self, text, began, out):
        """Keeps the samples of whole lines."""
        for line in text.split("\n")[:-1]:
            sample = {"life": self.lives, **json.loads(line)}
            sample["hours"] = (began + sample["second"]) / 3600
            self.samples.append(sample)
            print(json.dumps(sample), file=out, flush=True)

    def rises(self):
        """{measure: (median of the first half, of the second, ratio)}."""
        hours = self.samples[-1]["hours"]
        early = [s for s in self.samples if 0.1 * hours <= s["hours"] < 0.55 * hours]
        late = [s for s in self.samples if s["hours"] >= 0.55 * hours]
        rises = {}
        for name in MEASURES:
            medians = [statistics.median(s[name] for s in part) for part in (early, late)]
            rises[name] = (*medians, medians[1] / max(medians[0], 1))
        return rises


def draw(out):
    for name, factor, label in PLOTS:
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "plot.py"), "--x", "hours",
                        "--y", name, "--y-factor", str(factor), "--x-label", "hours",
                        "--y-label", label, "--out", os.path.join(out, name + ".svg"),
                        os.path.join(out, "soak.jsonl")], check=True)


def summarize(soak, wrong, rises, out):
    transactions = {s["life"]: s["transactions"] for s in soak.samples}
    rows = [f"| {name} | {early:,.0f} | {late:,.0f} | {ratio:.2f} |"
            for name, (early, late, ratio) in rises.items()]
    text = "\n".join([
        "# A soak", "",
        f"{soak.second() / 3600:.2f} hours, {soak.lives} lives, {soak.kills} killed, at least "
        f"{sum(transactions.values()):,} transactions. Seed {soak.options.seed}.", "",
        wrong or "Nothing was wrong.", "",
        "| median of | first half | second half | ratio |", "|---|---|---|---|", *rows, "",
        *(f"![{label}]({name}.svg)" for name, _, label in PLOTS), ""])
    with open(os.path.join(out, "README.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True, help="of the database")
    parser.add_argument("--out", required=True, help="of samples, plots and summary")
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--life-seconds", type=float, default=60, help="on the average")
    parser.add_argument("--rise", type=float, default=1.15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-plots", action="store_true")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("arguments", nargs="*", help="behind --: options of bin/soak")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    soak = Soak(options)
    wrong = soak.run()
    if not soak.samples:
        sys.exit(wrong or "no sample was taken")
    rises = soak.rises()
    for name, (_, _, ratio) in rises.items():
        if not wrong and ratio > options.rise:
            wrong = f"{name} rises: {ratio:.2f} times as much in the second half."
    if not options.no_plots:
        draw(options.out)
    summarize(soak, wrong, rises, options.out)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
