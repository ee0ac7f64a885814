# ctest-timeout: 240
"""Shows that the experiments that watch the gleaner run, print their figures, and stay right.

All sizes are tiny: the test checks the members of the lines, not their values.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

BIN = os.environ.get("FOEDUS_BIN_DIR", "build/release/bin")
MEMORY = ["--memory_bytes", str(512 << 20)]
MEMBERS = ("gleans", "gleaned_records", "snapshot_pages_written", "write_amplification",
           "volatile_pages_dropped", "log_bytes_behind_max", "writers_waited_share",
           "gleaner_cpu_s_per_million_records", "cache_hits", "cache_misses",
           "volatile_page_bytes")


def run(program, *options):
    """The JSON line of the program with these options."""
    done = subprocess.run([os.path.join(BIN, program), "--seed", "7", *MEMORY, *options],
                          capture_output=True, text=True, timeout=200, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} {' '.join(options)}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_until_gleaned(program, directory, *options):
    """The line of a run of the program that lasted until at least one glean had ended.

    How long a glean takes depends on the machine, so a run without one is repeated for longer.
    """
    for seconds in ("1", "4", "16", "64"):
        shutil.rmtree(directory, ignore_errors=True)
        line = run(program, "--dir", directory, *options, "--seconds", seconds, "--glean",
                   "back-to-back")
        if line["gleans"] > 0:
            break
    return line


@unittest.skipUnless(os.path.exists(os.path.join(BIN, "tpcc")), "no experiments in this build")
class GleanerRunTest(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)
        self.dir = ["--dir", os.path.join(self.root.name, "db")]

    def check_glean_members(self, line):
        for member in MEMBERS:
            self.assertIn(member, line)
        self.assertLessEqual(line["writers_waited_share"], 1)

    def test_tpcc_beside_a_gleaner_that_never_rests_is_consistent_and_recovers(self):
        line = run_until_gleaned("tpcc", self.dir[1], "--small")
        self.check_glean_members(line)
        self.assertTrue(line["consistent"])
        self.assertGreater(line["gleans"], 0)
        self.assertGreater(line["gleaned_records"], 0)
        self.assertGreater(line["write_amplification"], 0)
        self.assertLessEqual(line["log_bytes_behind_max"], line["log_bytes_behind_bound"])
        again = run("tpcc", *self.dir, "--small", "--check")
        self.assertGreater(again["snapshot_at_open"], line["gleans"])
        self.assertTrue(again["consistent"])

    def test_tpcc_without_the_gleaner_makes_no_snapshot(self):
        line = run("tpcc", *self.dir, "--small", "--seconds", "0.5", "--glean", "off")
        self.check_glean_members(line)
        self.assertEqual(line["gleans"], 0)
        self.assertEqual(line["snapshot_at_open"], 0)
        self.assertEqual(line["writers_waited_share"], 0)

    def test_tpcc_begins_over_snapshot_pages(self):
        line = run("tpcc", *self.dir, "--small", "--seconds", "0.5", "--glean", "off",
                   "--drop-volatile", "--warm-seconds", "0.3")
        self.assertGreater(line["pages_dropped_before_run"], 0)
        self.assertLess(line["volatile_page_bytes_before_run"],
                        line["volatile_page_bytes_before_drop"])
        self.assertTrue(line["consistent"])

    def test_ycsb_runs_beside_the_gleaner(self):
        for workload, storage in (("A", "hash"), ("D", "masstree")):
            with self.subTest(workload=workload, storage=storage):
                line = run_until_gleaned("ycsb", os.path.join(self.root.name, workload), "--rows",
                                         "20000", "--workload", workload, "--storage", storage,
                                         "--drop-volatile")
                self.check_glean_members(line)
                self.assertGreater(line["gleans"], 0)
                self.assertGreater(line["pages_dropped_before_run"], 0)

    def test_gleaner_speed_tells_each_stage(self):
        line = run("gleaner_speed", *self.dir, "--small", "--seconds", "0.5")
        for member in ("mapper_records_per_s", "sort_records_per_s", "compose_records_per_s",
                       "end_to_end_records_per_s", "pause_us_max", "pause_us_p9999",
                       "quiet_us_max", "records", "pages_written", "pages_dropped"):
            self.assertGreater(line[member], 0, member)
        self.assertGreater(line["gleans_beside"], 0)
        self.assertLessEqual(line["records_composed"], line["records"])

    def test_olap_reads_the_same_from_both_kinds_of_pages(self):
        for lines in (15, 100):
            with self.subTest(lines=lines):
                line = run("olap", "--dir", os.path.join(self.root.name, str(lines)), "--lines",
                           str(lines), "--pages", "both", "--total-lines", "30000", "--seconds",
                           "0.2", "--rounds", "2")
                self.assertGreater(line["lines_read"], 0)
                self.assertEqual(line["lines_read"] % lines, 0)
                self.assertGreater(line["hot_txn_per_s"], 0)
                self.assertGreater(line["cold_txn_per_s"], 0)
                self.assertLessEqual(line["cold_to_hot_min"], line["cold_to_hot_max"])
                self.assertEqual(line["hot"]["cache_misses"], 0)
                self.assertLess(line["cold"]["volatile_page_bytes_before_reads"],
                                line["hot"]["volatile_page_bytes"] / 10)

    def test_olap_takes_one_side_alone(self):
        for pages in ("hot", "cold"):
            with self.subTest(pages=pages):
                line = run("olap", "--dir", os.path.join(self.root.name, pages), "--pages", pages,
                           "--total-lines", "3000", "--seconds", "0.2", "--rounds", "1")
                self.assertGreater(line["txn_per_s"], 0)
                self.assertNotIn("cold_to_hot_median", line)

    def test_recovery_finds_what_was_durable(self):
        for storage in ("masstree", "hash"):
            with self.subTest(storage=storage):
                line = run("recovery", "--dir", os.path.join(self.root.name, storage),
                           "--gigabytes", "0.01", "--tail-megabytes", "2", "--storage", storage,
                           "--seconds", "2", "--read-seconds", "0.2")
                self.assertEqual(line["rows_verified"], line["rows"])
                self.assertGreater(line["fields_updated_verified"], 0)
                self.assertGreater(line["snapshot_recovered"], line["snapshot_before_kill"])
                self.assertGreater(line["pages_written"], 0)
                self.assertGreaterEqual(line["tail_snapshot_ms"], line["open_ms"])
                self.assertGreaterEqual(line["first_snapshot_read_ms"], line["open_ms"])
                self.assertGreaterEqual(line["recovered_ms"], line["open_ms"])
                self.assertGreaterEqual(line["first_serializable_txn_ms"], line["recovered_ms"])
                self.assertGreaterEqual(line["tail_bytes"], 2 << 20)


if __name__ == "__main__":
    unittest.main()
