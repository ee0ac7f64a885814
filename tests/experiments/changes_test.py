"""Shows that the experiment changes runs and prints its figures. All sizes are tiny."""

import json
import os
import subprocess
import tempfile
import unittest

from refusals import expect_refused

BIN = os.environ.get("FOEDUS_BIN_DIR", "build/release/bin")
PROGRAM = os.path.join(BIN, "changes")


def run(*options):
    """Exit status and output of the program with these options."""
    return subprocess.run([PROGRAM, "--memory_bytes", str(256 << 20), *options],
                          capture_output=True, text=True, timeout=60, check=False)


@unittest.skipUnless(os.path.exists(PROGRAM), "no experiments in this build")
class ChangesTest(unittest.TestCase):

    def test_streams_are_compared_and_all_changes_are_read(self):
        with tempfile.TemporaryDirectory() as root:
            done = run("--dir", os.path.join(root, "db"), "--rows", "5000", "--rounds", "2",
                       "--seconds", "0.2", "--sessions", "2")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        line = json.loads(done.stdout.splitlines()[-1])
        for member in ("txn_per_s", "txn_per_s_with_stream", "with_to_without", "delay_ms_p50"):
            self.assertGreater(line[member]["min"], 0, member)
        self.assertGreater(line["changes_read_per_s"], 0)

    def test_wrong_options_are_refused(self):
        with tempfile.TemporaryDirectory() as root:
            expect_refused(self, run, os.path.join(root, "db"),
                           (["--rows", "0"], ["--rounds", "0"], ["--row-bytes", "7"]))


if __name__ == "__main__":
    unittest.main()
