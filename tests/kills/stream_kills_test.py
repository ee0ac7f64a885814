#!/usr/bin/env python3
# ctest-timeout: 300
"""A short run of stream_kills misses no change, and one that leaves a batch out is noticed.

FOEDUS_BIN_DIR names the folder of the programs; FOEDUS_SEED repeats the changes, not the times.
"""

import json
import os
import random
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join(os.environ.get("FOEDUS_BIN_DIR", "build/release/bin"), "stream_kills")
SEED = os.environ.get("FOEDUS_SEED", str(random.getrandbits(40)))


def start(*arguments):
    """A run with these arguments, in a folder of its own."""
    print("FOEDUS_SEED=" + SEED, flush=True)
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        return subprocess.run(
            [PROGRAM, "--kill_dir", os.path.join(folder, "run"), "--kill_seed", SEED, *arguments],
            capture_output=True, text=True, timeout=250, check=False)


@unittest.skipUnless(os.path.exists(PROGRAM), "stream_kills was not built")
class StreamKillsTest(unittest.TestCase):
    def test_every_durable_change_comes_once_and_in_order(self):
        done = start("--kills", "12", "--life_ms_max", "200")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual(json.loads(done.stdout)["kills"], 12)

    def test_a_batch_that_is_left_out_is_noticed(self):
        done = start("--kills", "1", "--damage_at", "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("process 1 of seed " + SEED, done.stderr)


if __name__ == "__main__":
    unittest.main()
