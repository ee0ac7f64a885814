"""Shows that tiers names its figures, draws one, and prints its lines."""

import json
import os
import subprocess
import tempfile
import unittest

from refusals import expect_refused

BIN = os.environ.get("FOEDUS_BIN_DIR", "build/release/bin")
PROGRAM = os.path.join(BIN, "tiers")


def run(*options):
    """Exit status and output of the program with these options."""
    return subprocess.run([PROGRAM, "--seed", "7", *options],
                          capture_output=True, text=True, timeout=300, check=False)


@unittest.skipUnless(os.path.exists(PROGRAM), "no experiments in this build")
class TiersTest(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)

    def test_figures_are_named_with_what_they_claim(self):
        done = run("--list")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        names = [line.split()[0] for line in done.stdout.splitlines()]
        self.assertEqual(names, ["8", "9", "10", "11", "12", "13", "14", "15", "16", "17",
                                 "foedus8", "hyrise1", "pbnvm"])

    def test_no_line_of_memory_is_worn_before_the_rest(self):
        done = run("--figure", "16", "--quick", "--dir", os.path.join(self.root.name, "db"))
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        *points, last = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(last["figure"], "16")
        self.assertTrue(last["claim"] and last["ours"])
        writes = [point["at"]["writes"] for point in points if point["curve"] == "FOEDUS"]
        self.assertLessEqual(max(writes), 5)
        in_place = [point["at"]["writes"] for point in points if point["curve"] != "FOEDUS"]
        self.assertGreater(max(in_place), 1000)

    def test_each_curve_has_a_speed_at_each_point(self):
        done = run("--figure", "15", "--quick", "--rounds", "1",
                   "--dir", os.path.join(self.root.name, "db"))
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        *points, last = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(last["figure"], "15")
        curves = {}
        for point in points:
            self.assertGreater(point["at"]["txn_per_s"], 0)
            curves.setdefault(point["curve"], []).append(point["at"]["update_percent"])
        self.assertGreaterEqual(len(curves), 2)
        for shares in curves.values():
            self.assertEqual(shares, [0, 50, 100])
        self.assertEqual(os.listdir(os.path.join(self.root.name, "db")), [])

    def test_what_is_no_figure_is_refused(self):
        expect_refused(self, run, os.path.join(self.root.name, "db"),
                       (["--figure", "1"], ["--figure", ""],
                        ["--rounds", "0", "--figure", "15"]))


if __name__ == "__main__":
    unittest.main()
