"""Builds the Python package with the library of the build at FOEDUS_BINARY_DIR, for tests."""

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
LIBRARY = os.path.join(os.environ.get("FOEDUS_BINARY_DIR", ""), "lib", "libfoedus.a")
PACKAGE = os.path.join(SOURCE, "python")


def lacks():
    """What the package cannot be built without, and is not there."""
    names = [name for name in ("cffi", "setuptools") if importlib.util.find_spec(name) is None]
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        names.append("Python.h")
    if not os.path.exists(LIBRARY):
        names.append("libfoedus.a")
    elif is_sanitized():
        names.append("a library without sanitizers")  # Python does not load another one
    return names


def is_sanitized():
    with open(os.path.join(os.environ["FOEDUS_BINARY_DIR"], "CMakeCache.txt"),
              encoding="utf-8") as cache:
        return re.search(r"^FOEDUS_SANITIZE:\w+=.", cache.read(), re.MULTILINE) is not None


def build(folder):
    """Builds the package into `folder`, which PYTHONPATH may name then."""
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build", "--build-lib", folder,
         "--build-temp", os.path.join(folder, "temp")],
        cwd=PACKAGE, env={**os.environ, "FOEDUS_LIBRARY": LIBRARY}, capture_output=True,
        text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
