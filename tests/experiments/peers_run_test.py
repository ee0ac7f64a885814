#!/usr/bin/env python3
# ctest-timeout: 300
"""Each peer answers right (peers --driver check), and a tiny comparison prints its figures.

FOEDUS_BIN_DIR names the folder of the programs. Where the libraries of the peers are missing,
peers was not built and there is nothing to test.
"""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join(os.environ.get("FOEDUS_BIN_DIR", "build/release/bin"), "peers")
PEERS = ("lmdb", "rocksdb-optimistic", "rocksdb-pessimistic", "wiredtiger")


def run(*arguments):
    """The JSON line of `peers` with these arguments, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [PROGRAM, "--dir", folder, "--seed", "7", "--memory_bytes", str(1 << 30), *arguments],
            capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"peers {' '.join(arguments)}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


@unittest.skipUnless(os.path.exists(PROGRAM), "peers was not built")
class PeersTest(unittest.TestCase):
    def check_line(self, line):
        self.assertEqual(line["experiment"], "peers")
        self.assertGreater(line["ours_txn_per_s"], 0)
        self.assertGreater(line["peer_txn_per_s"], 0)
        self.assertLessEqual(line["ratio_min"], line["ratio_median"])
        self.assertLessEqual(line["ratio_median"], line["ratio_max"])
        rounds = line["txn_per_s_by_round"]
        ratios = [ours / peer for ours, peer in zip(rounds["ours"], rounds["peer"])]
        self.assertEqual(len(ratios), line["options"]["rounds"])
        self.assertAlmostEqual(min(ratios), line["ratio_min"], delta=0.01)
        for member in ("commit", "aborts", "latency_us", "log_bytes", "peak_memory_bytes"):
            self.assertIn(member, line)

    def test_every_engine_answers_right(self):
        for peer in PEERS + ("foedus",):
            for durability in ("async", "sync"):
                with self.subTest(peer=peer, durability=durability):
                    line = run("--driver", "check", "--peer", peer, "--durability", durability)
                    self.assertTrue(line["conforms"])

    def test_every_workload_of_ycsb_runs_on_both_sides(self):
        for workload, peer in zip("ABCDEF", PEERS + PEERS[2:]):
            with self.subTest(workload=workload, peer=peer):
                self.check_line(run("--driver", f"ycsb-{workload}", "--peer", peer, "--rows",
                                    "1000", "--rounds", "2", "--seconds", "0.1"))

    def test_tpcc_runs_on_both_sides(self):
        for peer in PEERS:
            with self.subTest(peer=peer):
                self.check_line(run("--driver", "tpcc", "--peer", peer, "--small", "--rounds", "1",
                                    "--seconds", "0.3"))

    def test_a_folder_that_is_in_use_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "lmdb", "something"))
            done = subprocess.run(
                [PROGRAM, "--dir", folder, "--driver", "check", "--peer", "lmdb"],
                capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("not empty", done.stderr)


if __name__ == "__main__":
    unittest.main()
