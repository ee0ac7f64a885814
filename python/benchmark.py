"""The same loop with this package, py-lmdb and rocksdict: threads that put rows, one or --batch of
them in a transaction, and then get them one by one. Prints a JSON line for each run.

    pip install ./python lmdb rocksdict
    python benchmark.py --dir /dev/shm/benchmark
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import threading
import time
from typing import Any, Callable, Iterator


def rows_of(thread: int, count: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys in an order that is the same for all engines, and looks random."""
    for i in range(count):
        yield b"%016x" % ((i * 0x9E3779B97F4A7C15 + thread) & (1 << 64) - 1), b"v" * 100


class Foedus:
    def __init__(self, folder: str) -> None:
        import foedus
        self.db = foedus.open(folder)
        self.table = self.db.masstree("t")
        self.put, self.get = self.table.__setitem__, self.table.get
        self.put_all = self.table.update

    def close(self) -> None:
        self.db.close()


class Lmdb:
    """Without syncs, which is nearest to the defaults of the others."""

    def __init__(self, folder: str) -> None:
        import lmdb
        self.env = lmdb.open(folder, map_size=8 << 30, sync=False)

    def put(self, key: bytes, value: bytes) -> None:
        with self.env.begin(write=True) as txn:
            txn.put(key, value)

    def put_all(self, rows: list[tuple[bytes, bytes]]) -> None:
        with self.env.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti(rows)

    def get(self, key: bytes) -> Any:
        with self.env.begin() as txn:
            return txn.get(key)

    def close(self) -> None:
        self.env.close()


class Rocksdict:
    def __init__(self, folder: str) -> None:
        import rocksdict
        self.db = rocksdict.Rdict(folder, rocksdict.Options(raw_mode=True))
        self.put, self.get = self.db.__setitem__, self.db.__getitem__

    def put_all(self, rows: list[tuple[bytes, bytes]]) -> None:
        import rocksdict
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key, value in rows:
            batch.put(key, value)
        self.db.write(batch)

    def close(self) -> None:
        self.db.close()


ENGINES = {"foedus": Foedus, "lmdb": Lmdb, "rocksdict": Rocksdict}


def rows_per_second(threads: int, count: int, work: Callable[[int], None]) -> float:
    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    begin = time.perf_counter()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return threads * count / (time.perf_counter() - begin)


def measure(name: str, folder: str, threads: int, count: int, batch: int) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    engine = ENGINES[name](folder)

    def put(thread: int) -> None:
        rows = rows_of(thread, count)
        if batch == 1:
            for key, value in rows:
                engine.put(key, value)
        while some := list(itertools.islice(rows, batch)):
            engine.put_all(some)

    def get(thread: int) -> None:
        for key, value in rows_of(thread, count):
            if engine.get(key) != value:
                raise AssertionError(f"{name} lost {key!r}")

    done = {"engine": name, "threads": threads, "batch": batch, "rows": threads * count,
            "puts_per_s": round(rows_per_second(threads, count, put)),
            "gets_per_s": round(rows_per_second(threads, count, get))}
    engine.close()
    shutil.rmtree(folder)
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rows", type=int, default=200_000, help="of each thread")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--batch", type=int, default=1, help="rows put in a transaction")
    parser.add_argument("--rounds", type=int, default=1, help="engines take turns")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    chosen = parser.parse_args()
    for _ in range(chosen.rounds):
        for threads in chosen.threads:
            for name in chosen.engines:
                print(json.dumps(measure(name, chosen.dir, threads, chosen.rows, chosen.batch)),
                      flush=True)


if __name__ == "__main__":
    main()
