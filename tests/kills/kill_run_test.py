#!/usr/bin/env python3
# ctest-timeout: 300
"""Short runs of kill_run lose no acknowledged commit, and each run reports its counts.

A run also notices a database that was changed between two processes, in each of the ways of
damage.h. FOEDUS_SEED repeats places and transfers.
"""

import json
import os
import unittest

from seeded_run import program, start

PROGRAM = program("kill_run")


def run(*arguments):
    """The JSON line of such a run."""
    done = start("kill_run", *arguments)
    if done.returncode != 0:
        raise AssertionError(f"kill_run {' '.join(arguments)}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


@unittest.skipUnless(os.path.exists(PROGRAM), "kill_run was not built")
class KillRunTest(unittest.TestCase):
    def test_money_and_orders_survive_kills(self):
        line = run("--kills", "12", "--life_ms_max", "600", "--check_every", "4")
        self.assertEqual(line["kills"], 12)
        self.assertGreater(line["transfers"], 0)
        self.assertGreater(line["orders_acknowledged"], 0)

    def test_money_survives_kills_on_two_socs(self):
        line = run("--kills", "12", "--life_ms_max", "300", "--tpcc_sessions", "0", "--tellers",
                   "4", "--kill_socs", "2")
        self.assertEqual(line["kills"], 12)
        self.assertGreater(line["transfers"], 0)

    def test_money_survives_kills_of_a_database_in_three_directories(self):
        line = run("--kills", "12", "--life_ms_max", "300", "--tpcc_sessions", "0", "--tellers",
                   "4", "--kill_socs", "2", "--kill_spread")
        self.assertEqual(line["kills"], 12)
        self.assertGreater(line["transfers"], 0)

    def test_money_survives_kills_of_a_database_on_two_tiers(self):
        line = run("--kills", "12", "--life_ms_max", "400", "--kill_socs", "2", "--kill_tiers")
        self.assertEqual(line["kills"], 12)
        self.assertGreater(line["transfers"], 0)

    def test_money_survives_kills_on_mapped_memory(self):
        os.environ["PMEM_IS_PMEM_FORCE"] = "1"
        self.addCleanup(os.environ.pop, "PMEM_IS_PMEM_FORCE")
        line = run("--kills", "8", "--life_ms_max", "400", "--kill_device", "mapped",
                   "--kill_tiers")
        self.assertEqual(line["kills"], 8)
        self.assertGreater(line["transfers"], 0)

    # Goal: none of this can pass. Method: one damage behind the third process, of few that live
    # long enough to commit something.
    def test_damage_is_noticed(self):
        for damage, what, checked in (("old-files", "lost: ", "10"), ("money", "the sum is", "10"),
                                      ("teller", "account |receipts as transfers", "10"),
                                      ("slip", "slip 0.0 is", "10"), ("receipt", "receipt", "1")):
            with self.subTest(damage=damage):
                done = start("kill_run", "--kills", "3", "--life_ms_max", "100",
                             "--tpcc_sessions", "0", "--check_every", checked, "--damage", damage,
                             "--damage_behind", "3")
                self.assertEqual(done.returncode, 1, done.stderr[-2000:])
                self.assertRegex(done.stderr, what)

    def test_lost_orders_are_noticed(self):
        done = start("kill_run", "--kills", "3", "--life_ms_max", "300", "--tellers", "0",
                     "--damage", "old-files", "--damage_behind", "3")
        self.assertEqual(done.returncode, 1, done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
