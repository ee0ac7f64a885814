#!/usr/bin/env python3
"""A seed decides a run in any process: addresses are no part of it (Z1).

Goal: the line printed to repeat a failure repeats it in another process, too. Method: `simulate`
runs plans twice, in processes at different addresses. The second has no random addresses and
another environment. Both have equal digests of all calls of the device, and of the counts.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

SIMULATE = os.path.join(os.environ.get("FOEDUS_BIN_DIR", "build/release/bin"), "simulate")
SEEDS = (1, 5, 12)  # 5 has a large array


def run(seed, before, environment):
    command = [*before, SIMULATE, f"--seed={seed}", "--stride=64", "--states_max=20", "--noshrink"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    told = json.loads(done.stdout)
    for measured in ("seconds", "states_per_s"):
        del told[measured]
    return told


def can_place_at_will():
    """Containers may forbid it."""
    return shutil.which("setarch") is not None and subprocess.run(
        ["setarch", "-R", "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(os.path.exists(SIMULATE), "simulate was not built")
class TwoProcesses(unittest.TestCase):
    def test_a_seed_has_one_digest_in_all_of_them(self):
        other = ["setarch", "-R"] if can_place_at_will() else []
        for seed in SEEDS:
            with self.subTest(seed=seed):
                first = run(seed, [], {})
                second = run(seed, other, {"SOME_MORE_ROOM": "x" * 10_000})
                self.assertEqual(first, second)
                self.assertNotEqual(int(first["digest"], 16), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
