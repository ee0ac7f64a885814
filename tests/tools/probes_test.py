# ctest-labels: habits
"""The program foedus has exactly the static probes that foedus-core/engine/README.md lists.

Method: readelf prints the notes of which tracers read the places of the probes. Without
<sys/sdt.h> the program has no probes, and there is nothing to look at.
"""

import os
import re
import shutil
import subprocess
import unittest

SOURCE = os.environ["FOEDUS_SOURCE_DIR"]
PROGRAM = os.path.join(os.environ["FOEDUS_BIN_DIR"], "foedus")
NOTE = re.compile(r"Provider: foedus\s+Name: (\w+)\s.*?Arguments: ?([^\n]*)", re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| `usdt:L:foedus:(\w+) ", re.MULTILINE)


def has_header():
    """Whether the compiler finds <sys/sdt.h>, as when the program was built."""
    done = subprocess.run(["c++", "-x", "c++", "-fsyntax-only", "-"], text=True, check=False,
                          input="#include <sys/sdt.h>\n", stderr=subprocess.DEVNULL)
    return done.returncode == 0


@unittest.skipUnless(has_header() and shutil.which("readelf"), "no <sys/sdt.h>, or no readelf")
class ProbesTest(unittest.TestCase):
    def setUp(self):
        notes = subprocess.run(["readelf", "-n", PROGRAM], stdout=subprocess.PIPE, text=True,
                               check=True).stdout
        self.found = {}  # numbers of arguments by name
        for name, arguments in NOTE.findall(notes):
            self.found.setdefault(name, set()).add(len(arguments.split()))
        with open(os.path.join(SOURCE, "foedus-core/engine/README.md"), encoding="utf-8") as file:
            self.rows = ROW.findall(file.read())

    def test_each_probe_is_in_the_readme_and_in_the_program(self):
        self.assertEqual(sorted(self.found), sorted(name for name, _, _ in self.rows))
        self.assertGreater(len(self.rows), 10)

    def test_the_readme_has_the_arguments_and_an_example_of_each_probe(self):
        for name, arguments, example in self.rows:
            # A comma separates arguments, a semicolon or parenthesis begins an explanation.
            listed = re.sub(r"\([^)]*\)|;.*", "", arguments).strip()
            count = 0 if listed == "none" else listed.count(",") + 1
            self.assertEqual(self.found[name], {count}, name)
            self.assertEqual(example, name)


if __name__ == "__main__":
    unittest.main()
