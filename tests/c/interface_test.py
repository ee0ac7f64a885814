# ctest-labels: habits
"""Shows that libfoedus.so has the calls of foedus_c.h and nothing else, that each does what its
header says in a program in C11, and that its binary interface is the recorded one.

Skipped in a build without the library. After an intended change of the interface, write the record
anew: interface_test.py --record LIBRARY
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
HEADERS = os.path.join(SOURCE, "foedus-core", "include", "foedus")
RECORD = os.path.join(SOURCE, "foedus-core", "c", "libfoedus.abi")
LIBRARY = os.path.join(os.environ.get("FOEDUS_BINARY_DIR", ""), "lib", "libfoedus.so")
PROGRAM = os.path.join(os.environ.get("FOEDUS_BIN_DIR", ""), "tests", "c_interface_program")
DECLARED = re.compile(r"FOEDUS_API [\w *]*?\b(foedus_\w+)\(")


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def record(library, to):
    """Writes the types and functions of the interface, and none of what is behind the handles."""
    return run("abidw", "--no-comp-dir-path", "--no-corpus-path", "--no-show-locs",
               "--no-elf-needed", "--exported-interfaces-only", "--drop-private-types",
               "--drop-undefined-syms", "--type-id-style", "hash",
               "--headers-dir", os.path.abspath(HEADERS), library, "--out-file", to)


@unittest.skipUnless(os.path.exists(LIBRARY), "no libfoedus.so")
class InterfaceTest(unittest.TestCase):

    def setUp(self):
        self.declared = set(DECLARED.findall(read("foedus-core", "include", "foedus",
                                                  "foedus_c.h")))

    def test_the_library_has_the_calls_of_the_header_and_nothing_else(self):
        symbols = run("nm", "-D", "--defined-only", LIBRARY).stdout.splitlines()
        names = {line.split()[2].partition("@")[0] for line in symbols}
        self.assertEqual({name for name in names if name != "FOEDUS_0"}, self.declared)
        dynamic = run("readelf", "-d", LIBRARY).stdout
        self.assertRegex(dynamic, r"SONAME.*\[libfoedus\.so\.\d+\]")

    def test_the_program_in_c_uses_each_call(self):
        text = read("tests", "c", "interface_program.c")
        used = set(re.findall(r"\b(foedus_\w+)\(", text))
        self.assertEqual(self.declared - used, set())

    @unittest.skipUnless(os.path.exists(PROGRAM), "the program was not built")
    def test_each_call_does_what_its_header_says(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(PROGRAM, os.path.join(folder, "db"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("abidiff"), "abigail-tools is not installed")
    def test_the_binary_interface_is_the_recorded_one(self):
        with tempfile.TemporaryDirectory() as folder:
            now = os.path.join(folder, "now.abi")
            made = record(LIBRARY, now)
            self.assertEqual(made.returncode, 0, made.stderr)
            done = run("abidiff", RECORD, now)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + (
            "\nAn intended change raises the version; then: interface_test.py --record " + LIBRARY))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        sys.exit(record(sys.argv[2], RECORD).returncode)
    unittest.main()
