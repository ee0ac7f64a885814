"""Shows that cold_reads loads, reads in all ways, and prints its figures. All sizes are tiny."""

import json
import os
import subprocess
import tempfile
import unittest

from refusals import expect_refused

BIN = os.environ.get("FOEDUS_BIN_DIR", "build/release/bin")
PROGRAM = os.path.join(BIN, "cold_reads")
WAYS = ("get", "get_many", "scan", "scan_reverse", "scan_snapshot")


def run(*options):
    """Exit status and output of the program with these options."""
    return subprocess.run([PROGRAM, "--seed", "7", *options], capture_output=True, text=True,
                          timeout=120, check=False)


@unittest.skipUnless(os.path.exists(PROGRAM), "no experiments in this build")
class ColdReadsTest(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)

    def test_rows_are_loaded_once_and_read_in_all_ways(self):
        db = os.path.join(self.root.name, "db")
        for _ in range(2):
            done = run("--dir", db, "--rows", "3000", "--seconds", "0.1", "--keys", "5",
                       "--scan-rows", "100", "--sessions", "2")
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            line = json.loads(done.stdout.splitlines()[-1])
            for way in WAYS:
                self.assertGreater(line[way + "_rows_per_s"], 0, way)
                self.assertGreater(line[way + "_pages_read_per_s"], 0, way)
            for in_flight in (1, 8, 32):
                self.assertGreaterEqual(line[f"device_reads_per_s_{in_flight}"], 0)
            self.assertTrue(line["default_options"])

    def test_what_is_no_option_is_refused(self):
        db = os.path.join(self.root.name, "db")
        expect_refused(self, run, db, (["--rows", "0"], ["--keys", "0"], ["--scan-rows", "0"],
                                       ["--row-bytes", "0"]))


if __name__ == "__main__":
    unittest.main()
