# ctest-timeout: 180
"""Shows that TPC-C, killed in mid-run, loses no acknowledged order and stays consistent.

A small database is loaded, then run and killed with SIGKILL several times; after each kill the next
process recovers it, looks for every order in the ack file and checks the consistency conditions.
"""

import json
import os
import subprocess
import tempfile
import unittest

TPCC = os.path.join(os.environ.get("FOEDUS_BIN_DIR", ""), "tpcc")
KILLS = 3


@unittest.skipUnless(os.path.exists(TPCC), "no experiment tpcc in this build")
class TpccKillTest(unittest.TestCase):

    def tpcc(self, *options, status=0):
        """Runs tpcc over the database; returns its JSON line, if it printed one."""
        done = subprocess.run(
            [TPCC, "--dir", self.dir, "--small", "--sessions", "2", "--memory_bytes", "536870912",
             *options], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        lines = done.stdout.splitlines()
        return json.loads(lines[-1]) if lines else {}

    def kill_and_recover(self, *storage):
        with tempfile.TemporaryDirectory() as root:
            self.dir = os.path.join(root, "db")
            acks = os.path.join(root, "acks")
            self.assertTrue(self.tpcc(*storage, "--load", "--check")["consistent"])
            acknowledged = 0
            for _ in range(KILLS):
                self.tpcc(*storage, "--run", "--kill-after", "0.7", "--ack-file", acks, status=-9)
                with open(acks, encoding="ascii") as file:
                    count = file.read().count("\n")  # one that the kill has cut is no ack
                self.assertGreater(count, acknowledged)
                line = self.tpcc(*storage, "--verify-acks", acks, "--check")
                self.assertEqual(line["acks_verified"], count)
                acknowledged = count
            line = self.tpcc(*storage, "--seconds", "0.5", "--verify-acks", acks)
            self.assertTrue(line["consistent"])
            self.assertGreater(line["txn_per_s"], 0)

    def test_no_acknowledged_order_is_lost_with_arrays(self):
        self.kill_and_recover()

    def test_no_acknowledged_order_is_lost_with_master_trees_only(self):
        self.kill_and_recover("--storage", "masstree")


if __name__ == "__main__":
    unittest.main()
