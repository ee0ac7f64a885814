#!/usr/bin/env python3
# ctest-timeout: 300
"""A short run of stream_kills misses no change, and one that leaves a batch out is noticed."""

import json
import os
import unittest

from seeded_run import SEED, program, start


@unittest.skipUnless(os.path.exists(program("stream_kills")), "stream_kills was not built")
class StreamKillsTest(unittest.TestCase):
    def test_every_durable_change_comes_once_and_in_order(self):
        done = start("stream_kills", "--kills", "12", "--life_ms_max", "200")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual(json.loads(done.stdout)["kills"], 12)

    def test_a_batch_that_is_left_out_is_noticed(self):
        done = start("stream_kills", "--kills", "1", "--damage_at", "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("process 1 of seed " + SEED, done.stderr)


if __name__ == "__main__":
    unittest.main()
