"""Builds the package. The version is the engine's; engine_build.py makes the extension."""

import pathlib
import re

from setuptools import setup

PROJECT = re.compile(r"project\(foedus VERSION ([\d.]+)")

setup(
    version=PROJECT.search(
        (pathlib.Path(__file__).parent.parent / "CMakeLists.txt").read_text(encoding="utf-8"))[1],
    cffi_modules=["engine_build.py:builder"],
)
