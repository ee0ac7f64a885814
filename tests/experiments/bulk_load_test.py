"""Shows that bulk_load runs and prints its figures. All sizes are tiny."""

import json
import os
import subprocess
import tempfile
import unittest

from refusals import expect_refused

BIN = os.environ.get("FOEDUS_BIN_DIR", "build/release/bin")
PROGRAM = os.path.join(BIN, "bulk_load")


def run(*options):
    """Exit status and output of the program with these options."""
    return subprocess.run([PROGRAM, "--memory_bytes", str(256 << 20), *options],
                          capture_output=True, text=True, timeout=60, check=False)


@unittest.skipUnless(os.path.exists(PROGRAM), "no experiments in this build")
class BulkLoadTest(unittest.TestCase):

    def test_each_way_is_measured_and_compared(self):
        with tempfile.TemporaryDirectory() as root:
            done = run("--dir", os.path.join(root, "db"), "--rows", "5000", "--rounds", "2")
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            self.assertEqual(os.listdir(root), [])
        line = json.loads(done.stdout.splitlines()[-1])
        for way in ("load", "transactions"):
            self.assertGreater(line["rows_per_s"][way]["min"], 0)
        self.assertLessEqual(line["load_to_transactions"]["min"],
                             line["load_to_transactions"]["max"])

    def test_wrong_options_are_refused(self):
        with tempfile.TemporaryDirectory() as root:
            expect_refused(self, run, os.path.join(root, "db"),
                           (["--rows", "0"], ["--rounds", "0"], ["--row-bytes", "7"],
                            ["--rows-per-txn", "0"]))
            with open(os.path.join(root, "mine"), "w", encoding="utf-8"):
                self.assertIn("not empty", run("--dir", root).stderr)
            self.assertEqual(os.listdir(root), ["mine"])


if __name__ == "__main__":
    unittest.main()
