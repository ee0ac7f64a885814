# ctest-labels: habits
# ctest-timeout: 240
"""Shows that each program of examples/ prints what it says at its end, on a new database and on the
one that it made.

Runs what is built at FOEDUS_BIN_DIR/examples, and the programs in Python with the package, which it
builds. Skipped where they are not built, or the package cannot be.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
EXAMPLES = os.path.join(SOURCE, "examples")
BIN = os.environ.get("FOEDUS_BIN_DIR", "")
PROGRAMS = os.path.join(BIN, "examples")
PRINTS = re.compile(r"^(?://|#) prints:\n((?:(?://|#)   .*\n)+)\Z", re.MULTILINE)

sys.path.insert(0, os.path.join(SOURCE, "tests", "python"))
import built_package  # noqa: E402


def sources(*endings):
    return sorted(name for name in os.listdir(EXAMPLES) if name.endswith(endings))


def expected_output(source):
    """The lines behind `prints:` at the end of a program."""
    with open(os.path.join(EXAMPLES, source), encoding="utf-8") as file:
        found = PRINTS.search(file.read())
    if found is None:
        raise AssertionError(f"{source} does not end with what it prints")
    return re.sub(r"^(?://|#)   ", "", found[1], flags=re.MULTILINE)


class ExamplesTest(unittest.TestCase):

    def check(self, source, command, **environment):
        with tempfile.TemporaryDirectory() as folder:
            for database in ("new", "used"):
                with self.subTest(source, database=database):
                    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                                          check=False, env={**os.environ, **environment})
                    self.assertEqual((done.stdout, done.stderr, done.returncode),
                                     (expected_output(source), "", 0))

    @unittest.skipUnless(BIN and os.path.isdir(PROGRAMS), "examples are not built")
    def test_each_program_in_c_and_cpp_prints_what_it_says(self):
        self.assertGreater(len(sources(".cc")), 4)
        for source in sources(".cc", ".c"):
            program = os.path.join(PROGRAMS, os.path.splitext(source)[0])
            if source.endswith(".c") and not os.path.exists(program):
                continue  # there is no shared library
            self.check(source, [program])

    @unittest.skipIf(built_package.lacks(), f"without {built_package.lacks()}")
    def test_each_program_in_python_prints_what_it_says(self):
        self.assertGreater(len(sources(".py")), 1)
        with tempfile.TemporaryDirectory() as package:
            built_package.build(package)
            for source in sources(".py"):
                self.check(source, [sys.executable, os.path.join(EXAMPLES, source)],
                           PYTHONPATH=package)

    def test_the_readme_names_each_program(self):
        with open(os.path.join(EXAMPLES, "README.md"), encoding="utf-8") as file:
            readme = file.read()
        for source in sources(".cc", ".c", ".py"):
            self.assertIn(f"| `{source}` |", readme)


if __name__ == "__main__":
    unittest.main()
