#!/usr/bin/env python3
"""Runs an experiment once for each of some values, and prints its JSON lines.

    tools/sweep.py --dir /dev/shm/t 'build/release/bin/ycsb --rows {} --memory-bytes 268435456' \\
        50000 100000 200000 400000 >> size.jsonl

{} in the command is replaced by the value. --dir is given to each run, and is removed before it.
Standard output has one line for each run, which plot.py draws; standard error says how far it is.
Exit status 1 if a run fails.
"""

import argparse
import json
import sys

import alternate


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True, help="removed before each run")
    parser.add_argument("command", help="with {} where the value goes")
    parser.add_argument("values", nargs="+")
    options = parser.parse_args()
    for index, value in enumerate(options.values):
        line = alternate.measured(options.command.replace("{}", value), options.dir)
        print(f"{index + 1} of {len(options.values)}: {value}: {line['txn_per_s']:.0f} txn/s",
              file=sys.stderr)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
