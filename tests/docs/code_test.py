# ctest-labels: habits
"""Shows that the code of all pages does what the pages say: runs bin/docs_code, whose sources have
every block of C++ and C, and looks for what comments in the first programs say that they print.

Skipped where the program is not built.
"""

import os
import re
import subprocess
import tempfile
import unittest

from pages import blocks_in, prose, read

PROGRAM = os.path.join(os.environ.get("FOEDUS_BIN_DIR", ""), "docs_code")
PRINTED = re.compile(r"printf.*(?://|/\*) (run 1 .+?)(?: \*/)?$", re.MULTILINE)


@unittest.skipUnless(os.path.exists(PROGRAM), "bin/docs_code is not built")
class CodeTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, folder], capture_output=True, text=True, check=False)
        cls.output = done.stdout
        cls.failed = done.returncode != 0 and done.stdout + done.stderr

    def test_the_code_of_each_page_does_as_the_page_says(self):
        self.assertFalse(self.failed, self.failed)
        for page in ("modelling", "tables", "isolation", "durability", "errors", "operations",
                     "changes", "porting"):
            self.assertIn(f"\n{page}: ok\n", "\n" + self.output)

    def test_the_first_programs_print_what_their_comments_say(self):
        said = PRINTED.findall(read("docs/pages/start.md"))
        self.assertEqual(len(said), 2)
        for line in said:
            self.assertIn(line + "\n", self.output)

    def test_alert_rules_and_text_name_metrics_that_there_are(self):
        page = "docs/pages/operations.md"
        rules = [block.text for block in blocks_in(page, read(page)) if block.tag == "yaml"]
        text = "".join(rules + [prose(read(page)), prose(read("docs/pages/hardware.md"))])
        names = set(re.findall(r"\bfoedus_\w+", text))
        self.assertGreater(len(names), 15)
        there = set(re.findall(r"^# TYPE (\w+) ", self.output, re.MULTILINE))
        self.assertEqual(names - there, set())


if __name__ == "__main__":
    unittest.main()
