# ctest-labels: habits
"""Shows the figures of tools/coverage.py for an export of llvm-cov; needs no clang."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR") or os.path.abspath(
    os.path.join(os.path.dirname(__file__), "..", ".."))
TOOL = os.path.join(SOURCE, "tools", "coverage.py")
CODE = """int f(int a, int b) {
  FOEDUS_INVARIANT(a > 0);
  FOEDUS_CHECK(g(a));
  if (a > 3 && b > 7) return 1;
  if (a && h(b > 1 && a)) return 2;
  return 0;
}
"""
MACROS = """if (!(condition)) abort
if (!checked.is_ok()) return
"""
FILE, MACRO_FILE = "/tree/foedus-core/txn/commit.cc", "/tree/foedus-core/include/foedus/status.h"
HOLDS = (0, 5)  # of an invariant
TEXTS = {FILE: CODE, MACRO_FILE: MACROS}


def function(counts, pairs):
    """An instance of f(): counts of the sides of its branches, pairs of the one MC/DC decision."""
    spots = [((4, 7, 4, 12), 0, 6), ((4, 16, 4, 21), 0, 6), ((5, 7, 5, 8), 0, 4),
             ((1, 5, 1, 17), 1, 4), ((2, 5, 2, 21), 2, 4)]
    return {
        "name": "f", "count": 1, "filenames": [FILE, MACRO_FILE, MACRO_FILE],
        "regions": [[1, 21, 7, 2, 1, 0, 0, 0], [2, 3, 2, 19, 1, 0, 1, 1],
                    [3, 3, 3, 15, 1, 0, 2, 1]],
        "branches": [[*spot, *sides, file, 0, kind]
                     for (spot, file, kind), sides in zip(spots, counts)],
        "mcdc_records": [[4, 7, 4, 21, 0, 5, pairs]]}


def export(*functions):
    return {"functions": list(functions),
            "files": [{"filename": FILE, "summary": {"lines": {"count": 7, "covered": 6}}},
                      {"filename": MACRO_FILE, "summary": {"lines": {"count": 2, "covered": 2}}}]}


def load():
    spec = importlib.util.spec_from_file_location("coverage_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class CoverageTest(unittest.TestCase):

    def setUp(self):
        self.tool = load()

    def report(self, *functions, missing=False):
        lines = []
        self.tool.report(export(*functions), "/tree", missing=missing,
                         sources=self.tool.Sources(lambda path: TEXTS.get(path, "")),
                         out=lines.append)
        return lines

    def test_the_failing_side_of_an_invariant_is_no_side(self):
        all_but_that = [(1, 1), (1, 1), (1, 1), HOLDS, (1, 1)]
        total = self.report(function(all_but_that, [True, True]))[1].split()
        self.assertEqual(total, ["txn", "6/7", "85.71", "%", "9/9", "100.00", "%", "2/2", "100.00",
                                 "%", "0"])

    def test_a_missing_side_is_named_by_place_and_text(self):
        missing = self.report(function([(1, 0), (1, 1), (0, 1), HOLDS, HOLDS], [False, True]),
                              missing=True)
        self.assertEqual([line.split("    |")[0] for line in missing], [
            "foedus-core/txn/commit.cc:3: error handed on: never true: !checked.is_ok()",
            "foedus-core/txn/commit.cc:4: branch: never false: a > 3",
            "foedus-core/txn/commit.cc:5: branch: never true: a",
            "foedus-core/txn/commit.cc:5: decision not measured by clang: a"])
        self.assertTrue(missing[1].endswith("| if (a > 3 && b > 7) return 1;"))

    def test_a_condition_with_both_sides_may_lack_its_pair(self):
        missing = self.report(function([(1, 1), (1, 1), (1, 1), HOLDS, (1, 1)], [True, False]),
                              missing=True)
        self.assertIn("foedus-core/txn/commit.cc:4: no independence pair: b > 7    "
                      "| if (a > 3 && b > 7) return 1;", missing)

    def test_instances_of_a_template_are_put_together(self):
        one = function([(1, 0), (1, 0), (1, 0), HOLDS, (1, 0)], [True, False])
        other = function([(0, 1), (0, 1), (0, 1), HOLDS, (0, 1)], [False, True])
        self.assertEqual(self.report(one)[1].split()[4], "5/9")
        self.assertEqual(self.report(one, other)[1].split()[4], "9/9")
        self.assertEqual(self.report(one, other)[1].split()[7], "2/2")

    def test_the_command_reads_an_export(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "export.json")
            data = export(function([(1, 1)] * 5, [True, True]))
            for one in (*data["files"], data["functions"][0]):
                if "filename" in one:
                    one["filename"] = one["filename"].replace("/tree", SOURCE)
                else:
                    one["filenames"] = [name.replace("/tree", SOURCE) for name in one["filenames"]]
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"data": [data]}, file)
            done = subprocess.run([sys.executable, "-B", TOOL, "--export", path],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("txn/commit.cc", done.stdout)


if __name__ == "__main__":
    unittest.main()
