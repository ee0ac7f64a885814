"""Runs of the programs of this folder, in folders of their own; shared by their tests.

FOEDUS_BIN_DIR names the folder of the programs; FOEDUS_SEED repeats what a run draws, not times.
"""

import os
import random
import subprocess
import tempfile

SEED = os.environ.get("FOEDUS_SEED", str(random.getrandbits(40)))


def program(name):
    """The path of a program."""
    return os.path.join(os.environ.get("FOEDUS_BIN_DIR", "build/release/bin"), name)


def start(name, *arguments):
    """A run of the program with these arguments."""
    print("FOEDUS_SEED=" + SEED, flush=True)
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        return subprocess.run(
            [program(name), "--kill_dir", os.path.join(folder, "run"), "--kill_seed", SEED,
             *arguments],
            capture_output=True, text=True, timeout=250, check=False)
