#!/usr/bin/env python3
"""Turns a history of tests/isolation (FORMAT.md there) into the list-append format of Elle, in EDN.

  tools/history_to_elle.py history.jsonl > history.edn
  java -jar elle-cli-standalone.jar --model list-append \\
       --consistency-models strict-serializable history.edn

Each part of the history, and its form for Elle:

  an append, a read of a list, a row of a range         [:append k v] and [:r k [v ...]]
  a missing key, by itself or in a covered range        [:r k []], if the history ever appends to it
  committed                                             :ok
  rolled back, conflict                                 :fail
  unknown; committed, but of an epoch that a crash      :info (its reads are left out)
  undid before it was acknowledged as durable
  transactions of snapshots                             left out: they may read the past
  registers, sequences, reads of presence alone         left out: they are no lists

The file is read twice: first for the epochs that were recovered and the keys that there are. Memory
is that of one window.
"""

import argparse
import json
import sys

KEYS_PER_MISS = 256  # a wider range tells nothing of the keys that it does not have


class Shapes:
    """The recovered epochs and the keys, which the first reading finds."""

    def __init__(self):
        self.lists = set()  # numbers of storages
        self.keys = set()  # (storage, key) of all appends
        self.recovered = {}  # process that died: epoch that was recovered after it

    def read(self, lines):
        died = []
        for line in lines:
            kind = line["t"]
            if kind == "storage" and line["shape"] == "list":
                self.lists.add(line["st"])
            elif kind == "crash":
                if "epoch" in line:
                    self.recovered[line["p"]] = line["epoch"]
                else:
                    died.append(line["p"])
            elif kind == "open":
                for process in died:
                    self.recovered[process] = line["epoch"]
                died = []
            elif kind == "txn":
                self.keys.update((op[1], op[2]) for op in line["ops"] if op[0] == "append")


def covered(op):
    """The keys of a range that its rows tell of, as a Python range."""
    low, high, reverse, limit, rows = op[2:7]
    if limit is not None and rows and len(rows) >= limit:
        if reverse:
            low = rows[-1][0]
        else:
            high = rows[-1][0] + 1
    return range(low, high)


def micro_operations(txn, shapes):
    """The operations on lists: ("append", storage, key, value) or ("r", storage, key, values)."""
    for op in txn["ops"]:
        kind, storage = op[0], op[1]
        if storage not in shapes.lists:
            continue
        if kind == "append":
            yield "append", storage, op[2], op[3]
        elif kind == "r" and (op[3] is not None or (storage, op[2]) in shapes.keys):
            yield "r", storage, op[2], op[3] or []
        elif kind == "range":
            rows = dict((key, values) for key, values in op[6])
            keys = covered(op)
            missing = keys if len(keys) <= KEYS_PER_MISS else ()
            for key in sorted(set(rows).union(missing)):
                if key in rows or (storage, key) in shapes.keys:
                    yield "r", storage, key, rows.get(key, [])


def edn_value(operations, are_reads_told):
    parts = []
    for kind, storage, key, value in operations:
        name = f'"{storage}/{key}"'
        if kind == "append":
            parts.append(f"[:append {name} {value}]")
        elif are_reads_told:
            parts.append(f"[:r {name} [{' '.join(map(str, value))}]]")
        else:
            parts.append(f"[:r {name} nil]")
    return f"[{' '.join(parts)}]"


def completion(txn, shapes):
    """The type of the second event of a transaction."""
    if txn["out"] in ("conflict", "rolled_back"):
        return "fail"
    kept = shapes.recovered.get(txn["p"])
    if txn["out"] == "unknown" or (kept is not None and txn.get("epoch", 0) > kept):
        return "info"
    return "ok"


class Events:
    """Writes the events of one window after the other, in the order of time."""

    def __init__(self, shapes, out):
        self.shapes = shapes
        self.out = out
        self.window = []
        self.index = 0

    def add(self, txn):
        if txn["kind"] != "serializable":
            return
        operations = list(micro_operations(txn, self.shapes))
        if not operations:
            return
        kind = completion(txn, self.shapes)
        process = txn["p"] * 1000 + txn["s"]
        end = txn.get("end") or sys.maxsize
        # Transactions that begin and end in the same nanosecond are concurrent.
        self.window.append((txn["begin"], 0, process, "invoke", edn_value(operations, False)))
        self.window.append((end, 1, process, kind, edn_value(operations, kind == "ok")))

    def flush(self, now):
        """Writes the window. Its transactions began before `now`; one without an end gets `now`."""
        for time, _, process, kind, value in sorted(self.window):
            time = min(time, now)
            self.out.write(f"{{:type :{kind}, :f :txn, :value {value}, :process {process}, "
                           f":time {time}, :index {self.index}}}\n")
            self.index += 1
        self.window = []


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            try:
                yield json.loads(text)
            except ValueError as error:
                raise SystemExit(f"{path}:{number}: {error}") from error


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("history", help="file of JSON lines")
    arguments = parser.parse_args()
    shapes = Shapes()
    shapes.read(lines_of(arguments.history))
    if not shapes.lists:
        sys.exit(f"{arguments.history}: no storage of lists; record with --workload list-append")
    events = Events(shapes, sys.stdout)
    last = 0
    for line in lines_of(arguments.history):
        if line["t"] == "txn":
            events.add(line)
            last = max(last, line["begin"], line.get("end", 0))
        elif line["t"] in ("window", "crash"):
            events.flush(line["ns"])
    events.flush(last)
    return 0


if __name__ == "__main__":
    sys.exit(main())
