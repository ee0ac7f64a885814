#!/usr/bin/env python3
"""A soak of some seconds: lives that are killed and closed, nothing wrong, and a summary. A
measure that rises is seen.

FOEDUS_BIN_DIR names the folder of the programs, FOEDUS_SOURCE_DIR the sources.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ.get("FOEDUS_BIN_DIR", "build/release/bin")
SCRIPT = os.path.join(os.environ.get("FOEDUS_SOURCE_DIR", "."), "tests", "soak", "soak.py")


def load():
    spec = importlib.util.spec_from_file_location("soak", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class SoakTest(unittest.TestCase):
    @unittest.skipUnless(os.path.exists(os.path.join(BIN, "soak")), "soak was not built")
    def test_lives_follow_one_another_and_nothing_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            done = subprocess.run(
                [sys.executable, SCRIPT, "--dir", os.path.join(folder, "db"), "--out", out,
                 "--hours", str(10 / 3600), "--life-seconds", "2", "--rise", "100", "--no-plots",
                 "--bin", BIN, "--", "--slots", "2000", "--sample_seconds", "0.2"],
                capture_output=True, text=True, timeout=100, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
            self.assertIn("Nothing was wrong.", done.stdout)
            self.assertTrue(os.path.exists(os.path.join(out, "README.md")))

    def test_what_rises_is_seen(self):
        module = load()
        soak = module.Soak(type("Options", (), {"seed": 1})())
        for i in range(100):
            soak.samples.append({"hours": i / 100, "resident_bytes": 100 + i, "threads": 7,
                                 "files_open": 9, "disk_bytes": 5, "files": 3})
        rises = soak.rises()
        self.assertGreater(rises["resident_bytes"][2], 1.2)
        self.assertEqual(rises["threads"][2], 1)


if __name__ == "__main__":
    unittest.main()
