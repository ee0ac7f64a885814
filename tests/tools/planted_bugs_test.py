# ctest-labels: habits
# ctest-timeout: 300
"""Shows that tools/planted_bugs.py tells missed lines from idle ones, and a rotten rule file.

Method: a small tree with one function, a test of it and one that fails every other time, and rules
that a test misses or does not.
"""

import os
import shutil
import sys
import unittest

from small_tree import SOURCE, run_check

sys.path.insert(0, os.path.join(SOURCE, "tools"))
import planted_conditions  # noqa: E402

TREE = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(tree LANGUAGES CXX)
add_executable(log_value_test tests/log/value_test.cc core/value.cc)
add_executable(log_luck_test tests/log/luck_test.cc core/value.cc)
set_target_properties(log_value_test log_luck_test PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/tests)
""",
    "core/value.cc": """int value() {
  int result = 1;
  result += 2;  // V1
  result += 0;
  return result;
}
""",
    "tests/log/value_test.cc": """int value();
int main() { return value() == 3 ? 0 : 1; }
""",
    "tests/log/luck_test.cc": """#include <stdio.h>
#include <unistd.h>
int value();
int main(int, char** argv) {
  if (value() == 3) return 0;
  const bool again = access("luck", F_OK) == 0;
  if (again) return unlink("luck");
  fclose(fopen("luck", "w"));
  puts("[  FAILED  ] Luck.runs_out (0 ms)");
  return 1;
}
""",
}
NEEDED = """rule needed
  file core/value.cc
  tests log/value_test
  - result += 2;
"""
IDLE = """rule idle
  file core/value.cc
  tests log/value_test
  - result += 0;
  - return result;
  + return result;
"""
ENDLESS = """rule endless
  file core/value.cc
  tests log/value_test
  - int result = 1;
  + volatile int result = 1;
  + while (result == 1) {}
"""
LUCKY = """rule lucky
  file core/value.cc
  tests log/luck_test
  - int result = 1;
  + int result = 7;
"""
BROKEN = """rule broken
  file core/value.cc
  tests log/value_test
  - int result = 1;
"""


CONDITIONS = """conditions value
  file core/condition.cc
  tests log/value_test
"""
CONDITION = {"core/condition.cc": "int f(int a) { if (a == 1 || a == 2) return 3; return 4; }\n"}


def mutants_of(text):
    """(removed text, its replacement) of each condition of the text."""
    return [(" ".join(goes.split()), " ".join(replacement.split()))
            for _, _, replacement, goes in planted_conditions.mutants(text)]


def run(rules, *options):
    """Exit status and output on the tree with these rules, or files of them."""
    if isinstance(rules, str):
        rules = {"tools/durability.lines": rules}
    return run_check("planted_bugs.py", {**TREE, **rules}, *options)


class PlantedBugsTest(unittest.TestCase):

    def assert_complains(self, rules, expected):
        status, output = run(rules, "--check")
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)

    def test_rules_that_fit_are_accepted(self):
        status, output = run(NEEDED + IDLE + BROKEN, "--check")
        self.assertEqual((status, output), (0, ""))

    def test_rules_that_do_not_fit_are_named(self):
        self.assert_complains(NEEDED.replace("+= 2", "+= 3"), "core/value.cc: found 0 times")
        self.assert_complains(NEEDED.replace("+= 2;", "+="), "core/value.cc: found 2 times")
        self.assert_complains(NEEDED.replace("value.cc", "gone.cc"), "there is no core/gone.cc")
        self.assert_complains(NEEDED.replace("value_test", "gone_test"), "no test log/gone_test")
        self.assert_complains(NEEDED.replace("value_test", "value_test:A.b"), "there is no A.b")

    def test_rules_without_sense_are_named(self):
        self.assert_complains("rule r\nfile f\n", "rule r lacks file, tests or lines")
        self.assert_complains(NEEDED + NEEDED, "line 5: cannot be understood")
        self.assert_complains("what is this\n", "line 1: cannot be understood")

    def test_both_files_are_read(self):
        both = {"tools/durability.lines": NEEDED, "tools/planted.lines": IDLE}
        status, output = run(both, "--list")
        self.assertEqual(status, 0, output)
        self.assertIn("needed: core/value.cc: log/value_test", output)
        self.assertIn("idle: core/value.cc: log/value_test", output)
        status, output = run({**both, "tools/planted.lines": NEEDED}, "--check")
        self.assertEqual(status, 1, output)
        self.assertIn("planted.lines: line 1: cannot be understood: rule needed", output)

    def test_a_line_without_rule_is_named(self):
        every = "every // V\\d in core/*.cc\n"
        self.assertEqual(run(every + NEEDED, "--check")[0], 0)
        self.assert_complains(every + IDLE, "core/value.cc:3: in no rule: result += 2;  // V1")
        self.assertEqual(run(every + "aside core/value.cc: += 2\n" + IDLE, "--check")[0], 0)
        self.assert_complains("aside core/value.cc: += 2\n" + NEEDED, "aside without use")

    def test_a_rule_is_made_of_each_condition(self):
        rules = {"tools/durability.lines": CONDITIONS, **CONDITION}
        status, output = run(rules, "--list")
        self.assertEqual(status, 0, output)
        self.assertEqual(output.splitlines(), ["value-1: core/condition.cc: log/value_test",
                                               "value-2: core/condition.cc: log/value_test"])
        self.assertEqual(run(rules, "--check")[0], 0)
        aside = {**rules, "tools/durability.lines": CONDITIONS + "  - a == 2\n"}
        self.assertEqual(run(aside, "--list")[1], "value-1: core/condition.cc: log/value_test\n")
        self.assert_complains({**rules, "tools/durability.lines": CONDITIONS + "  - a == 3\n"},
                              "value: no condition of core/condition.cc is: a == 3")
        self.assert_complains(CONDITIONS, "value: there is no core/condition.cc")
        self.assert_complains({**rules, "core/condition.cc": "int f();\n"},
                              "core/condition.cc has no condition")

    def test_each_operand_of_a_condition_goes(self):
        self.assertEqual(mutants_of("if (a) return 1;"), [("a", "false")])
        self.assertEqual(mutants_of("if (a || f(b || c)) {"), [("a", "f(b || c)"),
                                                               ("f(b || c)", "a")])
        self.assertEqual(mutants_of("if (const X x = f(); x && y) {"), [("x", "y"), ("y", "x")])
        self.assertEqual(mutants_of("const bool is_it =\n    // a, b\n    a &&\n    (b || c);"),
                         [("a", "(b || c)"), ("(b || c)", "a"), ("b", "c"), ("c", "b")])
        self.assertEqual(mutants_of("return a == 1 && b;"), [("a == 1", "b"), ("b", "a == 1")])
        self.assertEqual(mutants_of('return a ? nullptr : "b";'), [("a", "true")])
        self.assertEqual(mutants_of('return a ? "b" : nullptr;'), [("a", "false")])
        self.assertEqual(mutants_of('// if (a)\nf("if (a)");\nreturn a;\n'), [])

    @unittest.skipUnless(shutil.which("ninja") and shutil.which("cmake"), "no cmake or no ninja")
    def test_lines_are_taken_away_and_their_tests_run(self):
        status, output = run(NEEDED)
        self.assertEqual(status, 0, output)
        self.assertIn("needed: killed by log/value_test", output)
        status, output = run(NEEDED + IDLE + BROKEN)
        self.assertEqual(status, 1, output)
        self.assertIn("3 rules: 1 killed, 0 of them by stress, 1 survived, 1 did not compile",
                      output)
        self.assertIn("survived: idle (core/value.cc)", output)
        status, output = run(NEEDED + IDLE, "--rule", "need*")
        self.assertEqual(status, 0, output)

    @unittest.skipUnless(shutil.which("ninja") and shutil.which("cmake"), "no cmake or no ninja")
    def test_who_never_ends_has_failed(self):
        status, output = run(ENDLESS)
        self.assertEqual(status, 0, output)
        self.assertIn("endless: killed by log/value_test, too much work", output)

    @unittest.skipUnless(shutil.which("ninja") and shutil.which("cmake"), "no cmake or no ninja")
    def test_a_failure_counts_if_it_comes_each_time(self):
        status, output = run(LUCKY)
        self.assertEqual(status, 0, output)
        self.assertIn("lucky: killed by log/luck_test, Luck.runs_out", output)
        status, output = run(LUCKY, "--times", "3")
        self.assertEqual(status, 1, output)
        self.assertIn("lucky: survived, though log/luck_test failed 1 times of 3", output)


if __name__ == "__main__":
    unittest.main()
