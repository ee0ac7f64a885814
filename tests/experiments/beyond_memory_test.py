"""Shows that beyond_memory loads, reads back, and prints its figures. All sizes are tiny."""

import json
import os
import subprocess
import tempfile
import unittest

from refusals import expect_refused

BIN = os.environ.get("FOEDUS_BIN_DIR", "build/release/bin")
PROGRAM = os.path.join(BIN, "beyond_memory")


def run(*options):
    """Exit status and output of the program with these options."""
    return subprocess.run([PROGRAM, "--seed", "7", *options], capture_output=True, text=True,
                          timeout=120, check=False)


@unittest.skipUnless(os.path.exists(PROGRAM), "no experiments in this build")
class BeyondMemoryTest(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)

    def test_rows_in_both_orders_are_loaded_and_read_back(self):
        for order in ("random", "sorted"):
            with self.subTest(order=order):
                done = run("--dir", os.path.join(self.root.name, order), "--order", order,
                           "--rows", "260000", "--row-bytes", "20")
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                line = json.loads(done.stdout.splitlines()[-1])
                self.assertEqual(len(line["rows_per_s_by_250000"]), 2)
                self.assertGreater(line["rows_per_s"], 0)
                self.assertGreater(line["log_bytes"], 260000 * 20)
                self.assertEqual(set(line["waited_us"]),
                                 {"processor", "gleaner", "device_and_locks"})
                self.assertTrue(line["default_options"])

    def test_what_is_no_option_is_refused(self):
        db = os.path.join(self.root.name, "db")
        expect_refused(self, run, db, (["--order", "backwards"], ["--rows", "0"],
                                       ["--row-bytes", "0"], ["--rows-per-txn", "0"]))


if __name__ == "__main__":
    unittest.main()
