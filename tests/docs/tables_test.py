# ctest-labels: habits
"""Shows that the tables of docs/pages/options.md and errors.md are those of the code: each option
with its default and its range in the words of its comment, each error with the texts that
`foedus explain` prints.
"""

import os
import re
import subprocess
import unittest

from pages import read

NAMED = "foedus-core/named_options/named_options.cc"

FOEDUS = os.path.join(os.environ.get("FOEDUS_BIN_DIR", ""), "foedus")
GROUPS = {"Options": "", "LogOptions": "log.", "PageOptions": "pages.", "GleanOptions": "glean.",
          "FileOptions": "files.", "TierOptions": "tiers.", "EmulationOptions": "emulation."}
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.DOTALL | re.MULTILINE)
MEMBER = re.compile(r"^  [\w:<>]+ (\w+)(?: = ([^;]+))?;(?:  // (.*))?$")
ROW = re.compile(r"^\| `([\w.]+)` \| ([^|]*) \| ([^|]*) \| ([^|]+) \|$", re.MULTILINE)


def words_of(initializer):
    """A default as the page says it: `64u << 20` is 64 MiB."""
    if initializer in (None, "{}"):
        return "none"
    shifted = re.fullmatch(r"(\d+)u << (10|20|30)", initializer)
    if shifted:
        return f"{shifted[1]} {dict([('10', 'KiB'), ('20', 'MiB'), ('30', 'GiB')])[shifted[2]]}"
    enumerator = re.fullmatch(r"\w+::k(\w+)", initializer)
    if enumerator:
        return "`" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enumerator[1]).lower() + "`"
    return initializer.replace("'", ",")


def options_of_header():
    """name: (default, comment). The members of a group that share a comment share it here, too."""
    found = {}
    for struct, body in STRUCT.findall(read("foedus-core/include/foedus/options.h")):
        if struct not in GROUPS:
            continue
        comment, after_member = [], False
        for line in body.split("\n"):
            member = MEMBER.match(line)
            if member:
                name, initializer, trailing = member.groups()
                if name not in ("log", "pages", "glean", "files", "tiers", "emulation"):
                    text = " ".join(comment + ([trailing] if trailing else []))
                    found[GROUPS[struct] + name] = [words_of(initializer), text]
                after_member = True
            elif line.strip().startswith("//"):
                piece = line.strip().lstrip("/").strip()
                if after_member and line.startswith("  //"):
                    comment = []
                after_member = False
                comment.append(piece)
    return found


class TablesTest(unittest.TestCase):

    def test_each_option_has_a_row_with_its_default_and_its_range(self):
        header = options_of_header()
        enumerations = [re.findall(r'\{"(\w+)", \w+::', words) for words in re.findall(
            r"kAll\[\] = \{(.*?)\};", read(NAMED), re.DOTALL)]
        rows = {name: cells for name, *cells in ROW.findall(read("docs/pages/options.md"))}
        self.assertGreater(len(header), 35)
        self.assertEqual(sorted(rows), sorted(header))
        for name, (default, comment) in header.items():
            said_default, said_range, when = rows[name]
            self.assertEqual(said_default, default, name)
            if said_range.startswith("`"):
                self.assertIn(re.findall(r"`(\w+)`", said_range), enumerations, name)
            elif said_range != "–":
                for part in said_range.split("; "):
                    self.assertIn(part, comment, name)
            self.assertTrue(when.strip(), name)

    def test_options_of_the_header_are_those_that_can_be_set_by_name(self):
        named = re.findall(r"FOEDUS_OPTION\(([\w.]+)\)", read(NAMED))
        self.assertEqual(sorted(set(named) - {"path"} | {"log_sink"}), sorted(options_of_header()))

    @unittest.skipUnless(os.path.exists(FOEDUS), "bin/foedus is not built")
    def test_each_error_has_the_words_of_foedus_explain(self):
        printed = subprocess.run([FOEDUS, "explain"], capture_output=True, text=True, check=True)
        found = re.findall(r"(error|conflict reason) (\d+), (\w+)\n  Meaning: (.*)\n"
                           r"  What to do: (.*)\n", printed.stdout)
        self.assertGreater(len(found), 20)
        page = read("docs/pages/errors.md")
        rows = [f"| {number} | `{name}` | {meaning} | {cure} |\n"
                for _, number, name, meaning, cure in found if number != "0"]
        self.assertEqual([row for row in rows if row not in page], [])


if __name__ == "__main__":
    unittest.main()
