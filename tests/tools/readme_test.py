# ctest-labels: habits
"""Shows that README.md claims no figure that the records of runs do not have, that its limits are
those of foedus/limits.h, and that its links, and those of the files beside it, lead to files.
"""

import os
import re
import unittest

from user_program import SOURCE, read

RECORDS = (("experiments", "README.md"), ("experiments", "RESULTS.md"), ("tests", "EVIDENCE.md"))
# A constant of limits.h, and how README.md says it.
LIMITS = {
    "kMaxKeyBytes": "| key | {} bytes |",
    "kMaxStorageNameBytes": "| name of a storage | {} bytes |",
    "kMaxArrayPayloadBytes": "up to {} bytes | counters",
    "kMaxSequentialPayloadBytes": "up to {} bytes | a log of events",
    "kMaxSessions": "{} at most; more threads take turns",
}
LINK = re.compile(r"\]\(([\w./-]+)(?:#[\w-]+)?\)")
FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+|\d+\.\d+")


def table(text, first_cell):
    """The rows of the table whose head begins with that cell."""
    return re.search(rf"^\| {first_cell}.*\n\|-.*\n((?:\|.*\n)+)", text, re.MULTILINE)[1]


class ReadmeTest(unittest.TestCase):

    def setUp(self):
        self.readme = read("README.md")

    def test_each_figure_stands_in_a_record_of_a_run(self):
        records = "".join(read(*path) for path in RECORDS)
        for first_cell, least in (("measured", 10), ("what", 10)):
            rows = re.sub(r"`[^`]*`", "", table(self.readme, first_cell))
            figures = FIGURE.findall(rows)
            self.assertGreater(len(figures), least)
            missing = [figure for figure in figures
                       if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", records)]
            self.assertEqual(missing, [])

    def test_limits_are_those_of_the_header(self):
        header = read("foedus-core", "include", "foedus", "limits.h")
        for name, sentence in LIMITS.items():
            value = int(re.search(rf"\b{name} = (\d+);", header)[1])
            self.assertIn(sentence.format(f"{value:,}"), self.readme)
        self.assertIn("kMaxPayloadBytes = 4u << 20;", header)
        self.assertIn("| up to 4 MiB |", self.readme)

    def test_links_lead_to_files(self):
        for folder in ("", "examples", "foedus-core", "tools", "python"):
            for name in os.listdir(os.path.join(SOURCE, folder)):
                if name.endswith(".md"):
                    for link in LINK.findall(re.sub(r"```.*?```", "", read(folder, name),
                                                    flags=re.DOTALL)):
                        path = os.path.join(SOURCE, folder, link)
                        self.assertTrue(os.path.exists(path), f"{folder}/{name}: {link}")


if __name__ == "__main__":
    unittest.main()
