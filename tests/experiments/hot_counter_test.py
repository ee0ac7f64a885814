"""Shows that hot_counter runs, counts exactly, and prints its figures. All sizes are tiny."""

import json
import os
import subprocess
import tempfile
import unittest

from refusals import expect_refused

BIN = os.environ.get("FOEDUS_BIN_DIR", "build/release/bin")
PROGRAM = os.path.join(BIN, "hot_counter")


def run(*options):
    """Exit status and output of the program with these options."""
    return subprocess.run([PROGRAM, "--seed", "7", "--memory_bytes", str(256 << 20), "--seconds",
                           "0.05", *options],
                          capture_output=True, text=True, timeout=60, check=False)


@unittest.skipUnless(os.path.exists(PROGRAM), "no experiments in this build")
class HotCounterTest(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)

    def test_all_ways_to_count_come_to_the_number_of_commits(self):
        ops = ("increment", "get_put", "get_for_update")
        for storage in ("masstree", "hash", "array"):
            with self.subTest(storage=storage):
                done = run("--dir", os.path.join(self.root.name, storage), "--storage", storage,
                           "--threads", "1,3", "--rounds", "2", "--op", ",".join(ops))
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                line = json.loads(done.stdout.splitlines()[-1])
                self.assertTrue(line["counted_exactly"])
                self.assertEqual(list(line["threads"]), ["1", "3"])
                for facts in line["threads"].values():
                    for op in ops:
                        self.assertLessEqual(facts[op]["min"], facts[op]["median"])
                        self.assertLessEqual(facts[op]["median"], facts[op]["max"])
                        self.assertLessEqual(facts[op]["least_share"], 1)
                    self.assertGreater(facts["increment_to_get_put"]["median"], 0)
                    self.assertGreater(facts["increment_to_get_for_update"]["median"], 0)

    def test_several_counters_are_counted_together(self):
        done = run("--dir", os.path.join(self.root.name, "db"), "--records", "10", "--rounds", "1")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertTrue(json.loads(done.stdout.splitlines()[-1])["counted_exactly"])

    def test_what_is_no_option_is_refused(self):
        db = os.path.join(self.root.name, "db")
        expect_refused(self, run, db, (["--threads", "0"], ["--threads", "2,x"],
                                       ["--op", "decrement"], ["--storage", "heap"],
                                       ["--records", "0"], ["--rounds", "0"]))


if __name__ == "__main__":
    unittest.main()
