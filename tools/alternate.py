#!/usr/bin/env python3
"""Runs two experiments in turn and prints the ratio of their throughputs with its spread.

    tools/alternate.py --rounds 7 --dir /dev/shm/t \\
        'build/release/bin/tpcc --sessions 1 --warehouses 1 --seconds 5' \\
        'build/release/bin/tpcc --sessions 2 --warehouses 2 --seconds 5'

Each command is an experiment: its last line on standard output is a JSON object with txn_per_s.
--dir is given to each command, and is removed before each of its runs. The machine's noise hits
both sides alike, so the ratio of a round is worth more than its parts: the median, the least and
the most of the rounds' ratios (second / first) are printed, as one JSON line. Exit status 1 if a
command fails.
"""

import argparse
import json
import shlex
import shutil
import statistics
import subprocess
import sys


def measured(command, directory):
    """The JSON line of one run of `command` in an empty `directory`."""
    shutil.rmtree(directory, ignore_errors=True)
    run = subprocess.run(shlex.split(command) + ["--dir", directory], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{command}: exit status {run.returncode}\n{run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dir", required=True, help="removed before each run")
    parser.add_argument("first")
    parser.add_argument("second")
    options = parser.parse_args()

    rounds = []
    for index in range(options.rounds):
        pair = [measured(command, options.dir)["txn_per_s"]
                for command in (options.first, options.second)]
        rounds.append(pair)
        print(f"round {index + 1}: {pair[0]:.0f} {pair[1]:.0f} {pair[1] / pair[0]:.3f}",
              file=sys.stderr)
    shutil.rmtree(options.dir, ignore_errors=True)
    ratios = [second / first for first, second in rounds]
    print(json.dumps({
        "first": options.first,
        "second": options.second,
        "first_txn_per_s": round(statistics.median(first for first, _ in rounds)),
        "second_txn_per_s": round(statistics.median(second for _, second in rounds)),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
    }))


if __name__ == "__main__":
    main()
