# ctest-labels: habits
"""At each sync point of the engine, some test holds a thread or lets another one act.

A name stands in a test as one literal, or as two that are joined: "sequential:" and "linked" in one
file. Models, which quote the engine, and lists of what random runs pass, do not count. A name at
which no test can hold a thread is in UNHELD, with the reason.
"""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["FOEDUS_SOURCE_DIR"])
POINT = re.compile(r'\bFOEDUS_SYNC_POINT\(\s*"([^"]*)"\s*\)')
LITERAL = re.compile(r'"([^"\n]*)"')
NO_TESTS = ("tests/models/", "tests/simulation/reach_test.cc", "tests/base/sync_point_test.cc")

UNHELD = {}


def sources(*folders):
    for folder in folders:
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in (".cc", ".h"):
                yield path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")


def points_of(text):
    return set(POINT.findall(text))


def is_named(name, literals):
    """`literals`: of one file."""
    prefix, colon, rest = name.partition(":")
    return name in literals or (prefix + colon in literals and rest in literals)


def unnamed(points, texts):
    literals = [set(LITERAL.findall(text)) for text in texts]
    return {name for name in points if not any(is_named(name, of_file) for of_file in literals)}


class SyncPointsTest(unittest.TestCase):

    def setUp(self):
        self.points = set()
        for _, text in sources("foedus-core", "gleaner"):
            self.points |= points_of(text)
        self.points.discard("place")  # the example of base/system/sync_point.h
        self.missing = unnamed(self.points, [text for path, text in sources("tests")
                                             if not path.startswith(NO_TESTS)])

    def test_points_are_found(self):
        self.assertGreater(len(self.points), 100)

    def test_each_point_is_named_in_a_test(self):
        self.assertEqual(sorted(self.missing - set(UNHELD)), [])

    def test_exceptions_are_points_that_no_test_names(self):
        self.assertEqual(sorted(set(UNHELD) - self.missing), [])

    def test_names_say_whose_they_are(self):
        for name in self.points:
            self.assertRegex(name, r"^[a-z_]+:[a-z_]+$")

    def test_a_point_without_a_test_is_found(self):
        points = points_of('FOEDUS_SYNC_POINT("a:one"); FOEDUS_SYNC_POINT("a:two"); '
                           'FOEDUS_SYNC_POINT(\n    "a:three");')
        self.assertEqual(points, {"a:one", "a:two", "a:three"})
        self.assertEqual(unnamed(points, ['at("a:one")', 'for ("two") at("a:" + place)']),
                         {"a:three"})
        self.assertEqual(unnamed(points, ['starts_with("a:")', '"one", "two"']), points)


if __name__ == "__main__":
    unittest.main()
