# ctest-labels: habits
"""Shows that each command in a block `console` prints what stands below it, on both outputs.

The blocks of a page run one after the other in one temporary folder, with bin/ of the build as the
first folder of PATH. `...` stands for any text, blanks for a tabulator. Skipped where bin/foedus is
not built.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from pages import blocks_in, page_paths, read

BIN = os.environ.get("FOEDUS_BIN_DIR", "")
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


def commands_of(block):
    """The commands of a block, each with its line and with what it has to print."""
    found = []
    for number, line in enumerate(block.text.split("\n")[:-1], block.line):
        if line.startswith("$ "):
            found.append([f"{block.path}:{number}", line[2:], ""])
        else:
            found[-1][2] += line + "\n"
    return found


def is_as_printed(expected, output):
    pattern = ".*?".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, output, re.DOTALL) is not None


@unittest.skipUnless(os.path.exists(os.path.join(BIN, "foedus")), "bin/foedus is not built")
class ConsoleTest(unittest.TestCase):

    def run_page(self, path):
        """Runs the blocks of a page; returns the number of commands."""
        count = 0
        folder = tempfile.mkdtemp(dir=MEMORY)
        self.addCleanup(shutil.rmtree, folder)
        environment = {**os.environ, "PATH": BIN + os.pathsep + os.environ["PATH"],
                       "HOME": folder, "LC_ALL": "C"}
        for block in blocks_in(path, read(path)):
            if block.tag != "console":
                continue
            for place, command, expected in commands_of(block):
                count += 1
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      stdin=subprocess.DEVNULL, check=False)
                printed = done.stdout.expandtabs()
                self.assertTrue(is_as_printed(expected, printed),
                                f"{place}: $ {command}\nprints\n{printed}and not\n{expected}")
                # A command that fails says so, and the page shows it.
                self.assertTrue(done.returncode == 0 or expected, f"{place}: $ {command}")
        return count

    def test_each_command_prints_what_stands_below_it(self):
        self.assertGreater(sum(self.run_page(path) for path in page_paths()), 15)

    def test_dots_stand_for_any_text_and_nothing_else_does(self):
        self.assertTrue(is_as_printed("a ... c\n...\n", "a b c\nd\ne\n"))
        self.assertFalse(is_as_printed("a.c\n", "abc\n"))
        self.assertFalse(is_as_printed("a\n", "a\nb\n"))


if __name__ == "__main__":
    unittest.main()
