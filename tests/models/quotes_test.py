"""Each line that a model quotes from the engine is still in the engine.

A model says `// from <file>:` and quotes whole lines behind four blanks. They must be in that
file, one after the other, and in one place only: when the engine's lines change, the model beside
the quotation has to be checked again. Trailing comments, indentation and line breaks do not count.
"""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["FOEDUS_SOURCE_DIR"])
FROM = re.compile(r"^\s*// from (\S+):$")
QUOTED = re.compile(r"^\s*//     (\s*\S.*)$")


def code_of(line):
    return re.sub(r"\s+//.*$", "", line).strip()


def quotations(path):
    """Yields (line number, quoted file, quoted lines)."""
    lines = path.read_text().splitlines()
    at = 0
    while at < len(lines):
        begin = FROM.match(lines[at])
        at += 1
        if not begin:
            continue
        first = at
        while at < len(lines) and QUOTED.match(lines[at]):
            at += 1
        yield first, begin.group(1), [QUOTED.match(line).group(1).strip()
                                      for line in lines[first:at]]


def places_of(quoted, text):
    """How often the words of the quoted lines follow one another; line breaks do not count."""
    words = " ".join(" ".join(code_of(line) for line in text.splitlines()).split())
    wanted = " ".join(" ".join(quoted).split())
    return f" {words} ".replace(" ", "  ").count(f" {wanted} ".replace(" ", "  "))


class Quotes(unittest.TestCase):
    def test_each_quotation_stands_once_where_it_was_taken_from(self):
        count = 0
        for path in sorted((SOURCE / "tests/models").glob("*_model.cc")):
            for line, name, quoted in quotations(path):
                count += 1
                with self.subTest(f"{path.name}:{line}"):
                    self.assertTrue(quoted, "nothing is quoted")
                    text = (SOURCE / name).read_text()
                    self.assertEqual(places_of(quoted, text), 1, f"{name}: {quoted}")
        self.assertGreater(count, 5)

    def test_a_changed_line_is_noticed(self):
        text = "  a = 1;  // why\n\n  // order: b\n  b.store(2);\n"
        self.assertEqual(places_of(["a = 1;", "b.store(2);"], text), 1)
        self.assertEqual(places_of(["a = 1;", "b.store(3);"], text), 0)
        self.assertEqual(places_of(["a = 1;"], text + text), 2)


if __name__ == "__main__":
    unittest.main()
