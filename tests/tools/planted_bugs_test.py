# ctest-labels: habits
# ctest-timeout: 300
"""Shows that tools/planted_bugs.py tells missed lines from idle ones, and a rotten rule file.

Method: a small tree with one function, a test of it and one that fails every other time, and rules
that a test misses or does not. The operators are asked for the mutants of short texts.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from small_tree import SOURCE, run_check

sys.path.insert(0, os.path.join(SOURCE, "tools"))
import planted_mutants  # noqa: E402

# Rule files.
RULES, OTHERS = "tests/log/planted.lines", "tests/page/planted.lines"
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


MUTANTS = """mutants value
  file core/condition.cc
  tests log/value_test
  operators condition
"""
CONDITION = {"core/condition.cc": "int f(int a) { if (a == 1 || a == 2) return 3; return 4; }\n"}
REST = "f true a == 1 || a == 2"
# The function of TREE, all of whose statements the test needs but one.
WHOLE = """mutants value
  file core/value.cc
  tests log/value_test
  - value statement result += 0;
"""


def mutants_of(body, result="int"):
    """(kind, what goes) of the mutants in the body of a function that returns `result`."""
    text = f"{result} f(int a) {{ {body} }}"
    return [(mutant.kind, mutant.goes) for mutant in planted_mutants.mutants(text)]


def applied_to(body, kind, result="int"):
    """The body with its only mutant of that kind."""
    text = f"{result} f(int a) {{ {body} }}"
    mutant, = [mutant for mutant in planted_mutants.mutants(text) if mutant.kind == kind]
    return planted_mutants.applied(text, mutant)[len(f"{result} f(int a) {{ "):-2]


def conditions_of(body):
    """(what goes, kind) of the conditions in the body of a function."""
    return [(goes, kind) for kind, goes in mutants_of(body) if kind in ("operand", "true", "false")]


def run(rules, *options):
    """Exit status and output on the tree with these rules, or files of them."""
    if isinstance(rules, str):
        rules = {RULES: rules}
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
        both = {RULES: NEEDED, OTHERS: IDLE}
        status, output = run(both, "--list")
        self.assertEqual(status, 0, output)
        self.assertIn("needed: core/value.cc: log/value_test", output)
        self.assertIn("idle: core/value.cc: log/value_test", output)
        status, output = run({**both, OTHERS: NEEDED}, "--check")
        self.assertEqual(status, 1, output)
        self.assertIn("planted.lines: line 1: cannot be understood: rule needed", output)

    def test_a_line_without_rule_is_named(self):
        every = "every // V\\d in core/*.cc\n"
        self.assertEqual(run(every + NEEDED, "--check")[0], 0)
        self.assert_complains(every + IDLE, "core/value.cc:3: in no rule: result += 2;  // V1")
        self.assertEqual(run(every + "aside core/value.cc: += 2\n" + IDLE, "--check")[0], 0)
        self.assert_complains("aside core/value.cc: += 2\n" + NEEDED, "aside without use")

    def test_a_rule_is_made_of_each_mutant(self):
        rules = {RULES: MUTANTS, **CONDITION}
        status, output = run(rules, "--list")
        self.assertEqual(status, 0, output)
        self.assertEqual(output.splitlines(),
                         ["condition:f:true-1: core/condition.cc: log/value_test",
                          "condition:f:operand-1: core/condition.cc: log/value_test",
                          "condition:f:operand-2: core/condition.cc: log/value_test"])
        self.assertEqual(run(rules, "--check")[0], 0)
        for file in ("core/*.cc", "core/cond*"):
            found = {**rules, RULES: MUTANTS.replace("core/condition.cc", file)}
            self.assertIn("condition:f:operand-2", run(found, "--list")[1])

    def test_a_line_names_a_mutant_that_stays_alive(self):
        rules = {RULES: MUTANTS, **CONDITION}
        for line in ("f operand a == 2", "f operand a =..."):
            named = {**rules, RULES: f"{MUTANTS}  - {REST}\n  - {line}\n"}
            self.assertEqual(run(named, "--check"), (0, ""))
            left = [] if line.endswith("...") else [
                "condition:f:operand-1: core/condition.cc: log/value_test"]
            self.assertEqual(run(named, "--list")[1].splitlines(), left)
        self.assert_complains({**rules, RULES: MUTANTS + "  - f operand a == 3"},
                              "value: no mutant of core/condition.cc is: f operand a == 3")

    def test_equal_mutants_of_a_function_have_numbers(self):
        rules = {RULES: MUTANTS.replace("condition\n", "statement\n"),
                 "core/condition.cc": "void f() { g(); h(); g(); }\n"}
        for line, left in (("f statement g();", 1), ("f statement g(); #2", 2)):
            named = {**rules, RULES:
                     rules[RULES] + f"  - {line}\n"}
            output = run(named, "--list")[1]
            self.assertEqual(len(output.splitlines()), left, output)
            self.assertIn("statement-2", output)

    def test_blocks_that_do_not_fit_are_named(self):
        self.assert_complains(MUTANTS, "value: there is no core/condition.cc")
        rules = {RULES: MUTANTS, **CONDITION}
        self.assert_complains({**rules, "core/condition.cc": "int f();\n"},
                              "core/condition.cc has no mutant")
        self.assert_complains({**rules, RULES: MUTANTS + "  functions f g*\n"},
                              "core/condition.cc has no mutant in g*")
        self.assert_complains({**rules, RULES:
                               MUTANTS.replace("value_test", "gone_test")}, "no test log/gone_test")
        self.assert_complains({**rules, RULES:
                               MUTANTS.replace("condition\n", "magic\n")}, "cannot be understood")

    def test_a_test_that_fails_as_it_is_shows_nothing(self):
        test = "tests/log/value_test.cc"
        broken = {test: TREE[test].replace("== 3", "== 4")}
        status, output = run({RULES: NEEDED + ENDLESS, **broken})
        self.assertEqual(status, 1, output)
        self.assertIn("core/value.cc: fails as it is: log/value_test\n", output)
        self.assertIn("0 rules: 0 killed", output)

    def test_a_block_may_name_functions(self):
        two = {"core/condition.cc": CONDITION["core/condition.cc"].replace("a == 1 || ", "") +
               CONDITION["core/condition.cc"].replace("f(", "good(")}
        for functions, count in (("f", 2), ("g*", 3), ("f g*", 5)):
            rules = {RULES: MUTANTS + f"  functions {functions}\n", **two}
            status, output = run(rules, "--list")
            self.assertEqual((status, len(output.splitlines())), (0, count), output)

    def test_a_mutant_covers_its_lines(self):
        every = "every // V\\d in core/*.cc\n"
        self.assertEqual(run(every + WHOLE, "--check"), (0, ""))
        # A mutant that a line names has a reason there.
        named = WHOLE + "  - value statement result += 2;\n"
        self.assertEqual(run(every + named, "--check"), (0, ""))

    def test_statements_go(self):
        self.assertEqual(mutants_of("f(1); x = 2; ++x; delete y; *z = 1; a->b(c, {d});"),
                         [("statement", text) for text in
                          ("f(1);", "x = 2;", "++x;", "delete y;", "*z = 1;", "a->b(c, {d});")])
        self.assertEqual(mutants_of("int b = 1; const auto c = b; std::vector<int> d(1); T* e = 0;"
                                    "for (int i : d) {} T f{1}; auto [g, h] = i;"
                                    "std::set<T>::it j;"),
                         [])
        self.assertEqual(mutants_of('FOEDUS_INVARIANT(a == 1); FOEDUS_SYNC_POINT("a");'
                                    "static_cast<void>(a);"), [])
        self.assertEqual(mutants_of("for (T t : u) t.x();"), [("statement", "t.x();")])
        self.assertEqual(mutants_of("u([&](int i) mutable { return v(i); });"),
                         [("statement", "u([&](int i) mutable { return v(i); });")])
        self.assertEqual(applied_to("for (T t : u) t.x();", "statement"), "for (T t : u) {}")
        self.assertEqual(applied_to("if (a) { /* b(); */ x(); }", "statement"),
                         "if (a) { /* b(); */  }")

    def test_each_operand_of_a_condition_goes(self):
        self.assertEqual(conditions_of("if (a) return 1;"), [("a", "false"), ("a", "true")])
        self.assertEqual(conditions_of("if (a || f(b || c)) return 1;"),
                         [("a || f(b || c)", "true"), ("a", "operand"), ("f(b || c)", "operand")])
        self.assertEqual(conditions_of("if (const X x = f(); x && y) return 1;"),
                         [("x && y", "false"), ("x", "operand"), ("y", "operand")])
        self.assertEqual(conditions_of("const bool is_it =\n    // a, b\n    a &&\n    (b || c);"),
                         [("a && (b || c)", "false"), ("a", "operand"), ("(b || c)", "operand"),
                          ("b", "operand"), ("c", "operand")])
        self.assertEqual(conditions_of("x = a || b; y = c == 1; z = d;"),
                         [("a || b", "true"), ("a", "operand"), ("b", "operand"),
                          ("c == 1", "true"), ("c == 1", "false")])
        self.assertEqual(conditions_of("return a == 1 && b;"),
                         [("a == 1", "operand"), ("b", "operand")])
        self.assertEqual(conditions_of('return a ? nullptr : "b";'), [("a", "true")])
        self.assertEqual(conditions_of('return a ? "b" : nullptr;'), [("a", "false")])
        self.assertEqual(conditions_of("return a ? B::c : nullptr;"), [("a", "false")])
        self.assertEqual(conditions_of('// if (a)\nf("if (a)");\nreturn a;\n'), [])

    def test_conditions_become_constants(self):
        self.assertEqual(conditions_of("while (a) x();"), [("a", "false")])
        self.assertEqual(conditions_of("do x(); while (a && b); if (c) return 1;"),
                         [("a", "operand"), ("b", "operand"), ("c", "false"), ("c", "true")])
        self.assertEqual(conditions_of("for (int i = 0; i < a; ++i) x();"), [("i < a", "false")])
        self.assertEqual(conditions_of("if (a) x();"), [("a", "true")])
        self.assertEqual(conditions_of("if (a) { x(); y(); }"), [("a", "false"), ("a", "true")])
        self.assertEqual(conditions_of("if (a) x(); else y();"), [("a", "false"), ("a", "true")])
        self.assertEqual(conditions_of("const int x = a ? b : c;"), [("a", "true"), ("a", "false")])
        self.assertEqual(conditions_of("if (const T* b = c(a)) return 1; for (;;) {}"), [])
        self.assertEqual(conditions_of("if constexpr (a) x();"), [])
        self.assertEqual(conditions_of("g(h(1), a ? b : c); const T d{.e = f(x) ? 1 : 2};"),
                         [("a", "true"), ("a", "false"), ("f(x)", "true"), ("f(x)", "false")])
        self.assertEqual(conditions_of('g(a ? "b" : "c");'), [])

    def test_errors_are_ignored(self):
        self.assertEqual(mutants_of("FOEDUS_CHECK(g(a));", "Status"),
                         [("statement", "FOEDUS_CHECK(g(a));"), ("ignore", "FOEDUS_CHECK(g(a));")])
        self.assertEqual(applied_to("FOEDUS_CHECK(g(a));", "ignore", "Status"),
                         "static_cast<void>((g(a)).is_ok());")
        self.assertEqual(mutants_of("return g(a);", "Status"),
                         [("ok", "return g(a)"), ("ignore", "return g(a)")])
        self.assertEqual(applied_to("return g(a);", "ok", "Status"), "return {};")
        self.assertEqual(applied_to("return g(a);", "ignore", "Status"),
                         "{ static_cast<void>((g(a)).is_ok()); return {}; }")
        self.assertEqual(mutants_of("return Status::error(a);", "Status"),
                         [("ok", "return Status::error(a)")])
        self.assertEqual(mutants_of("return {};", "Status"), [])
        self.assertNotIn(("ok", "return s"), mutants_of("if (s.is_ok()) return s;", "Status"))
        self.assertIn(("ok", "return s"), mutants_of("if (!s.is_ok()) return s;", "Status"))
        self.assertEqual(applied_to("const Status s = g(a);", "ok"), "const Status s = Status();")
        self.assertEqual(applied_to("Status s = g(a);", "ignore"),
                         "Status s = (static_cast<void>((g(a)).is_ok()), Status());")
        self.assertEqual(applied_to("status_ = g(a);", "ignore"),
                         "static_cast<void>((g(a)).is_ok());")
        self.assertEqual(mutants_of("return g(a);", "Result<int>"), [])

    def test_values_become_constants(self):
        self.assertEqual(mutants_of("return g(a);", "bool"),
                         [("true", "return g(a)"), ("false", "return g(a)")])
        self.assertEqual(mutants_of("return true;", "bool"), [("false", "return true")])
        self.assertEqual(mutants_of("return b;", "Result<bool>"),
                         [("true", "return b"), ("false", "return b")])
        self.assertEqual(mutants_of("return Status::error(a);", "Result<bool>"), [])
        self.assertEqual(mutants_of("return g([] { return a == 1; });"),
                         [("true", "return a == 1"), ("false", "return a == 1")])

    def test_bounds_and_fields_go(self):
        bound = "const T b = std::min<T>(f(a, 1), 2);"
        self.assertEqual(applied_to(bound, "first"), "const T b = f(a, 1);")
        self.assertEqual(applied_to(bound, "second"), "const T b = 2;")
        self.assertEqual(mutants_of("const T b = std::max({a, 1, 2});"
                                    "constexpr T c = std::max(1, 2);"), [])
        fields = "const T b{.c = d(a), .e = 0, .f = {}, .g = h};"
        self.assertEqual(mutants_of(fields), [("zero", ".c = d(a)"), ("zero", ".g = h")])
        self.assertEqual(applied_to("const T b = {.c = d};", "zero"), "const T b = {.c = {}};")

    def test_since_a_commit(self):
        with tempfile.TemporaryDirectory() as root:
            def git(*words):
                command = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=b", *words]
                subprocess.run(command, check=True, capture_output=True)

            def write(path, text):
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)

            def since(*options):
                done = subprocess.run(
                    [sys.executable, "-B", os.path.join(SOURCE, "tools", "planted_bugs.py"),
                     "--root", root, "--since", "HEAD", *options],
                    capture_output=True, text=True, check=False)
                return done.returncode, done.stdout
            for path, text in TREE.items():
                write(path, text)
            write(RULES, NEEDED + WHOLE + "  - value statement none;\n")
            git("init")
            git("add", ".")
            git("commit", "-m", "all")
            self.assertEqual(since(), (0, "no rule is in a line that was changed since HEAD\n"))
            write("core/other.cc", "void other() { value(); }\n")
            git("add", ".")
            self.assertEqual(since()[0], 0)
            write("core/value.cc", TREE["core/value.cc"].replace("+= 0", "= result"))
            self.assertEqual(since("--list"),
                             (0, "value:value:statement-2: core/value.cc: log/value_test\n"))
            write("core/value.cc", TREE["core/value.cc"].replace("// V1", "// V2"))
            self.assertEqual(since("--list"), (0, """needed: core/value.cc: log/value_test
value:value:statement-1: core/value.cc: log/value_test
"""))
            write("core/value.cc", TREE["core/value.cc"].replace("  result += 0;\n", ""))
            self.assertEqual(since("--list"), (0, ""))
            self.assertEqual(run_check("planted_bugs.py", TREE, "--since", "none")[0], 1)

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
    def test_mutants_are_tried_in_one_program(self):
        status, output = run(WHOLE)
        self.assertEqual(status, 0, output)
        self.assertIn("value:value:statement-1: killed by log/value_test, status 1", output)
        status, output = run(WHOLE.replace("  - value statement result += 0;\n", ""))
        self.assertEqual(status, 1, output)
        self.assertIn("survived: value:value:statement-2 (core/value.cc), tests log/value_test: "
                      "value statement result += 0;\n2 rules: 1 killed", output)

    @unittest.skipUnless(shutil.which("ninja") and shutil.which("cmake"), "no cmake or no ninja")
    def test_mutants_that_do_not_compile_do_not_hinder_others(self):
        typed = {RULES: WHOLE, "core/value.cc": TREE["core/value.cc"].replace(
            "result += 2;", "result += 2; if (result != 3) return [] { return true == 1; }();")}
        constant = {RULES: WHOLE, "core/value.cc":
                    "constexpr int two() {\n  int r = 1;\n  r = 2;\n  return r;\n}\n"
                    "static_assert(two() == 2);\n" + TREE["core/value.cc"]}
        for rules in (typed, constant):
            status, output = run(rules)
            self.assertIn("value:value:statement-1: killed by log/value_test", output)
        self.assertEqual(status, 0, output)
        self.assertIn("value:two:statement-1: did not compile", output)
        self.assertIn("2 rules: 1 killed, 0 of them by stress, 0 survived, 1 did not compile",
                      output)

    @unittest.skipUnless(shutil.which("ninja") and shutil.which("cmake"), "no cmake or no ninja")
    def test_no_rule_begins_after_the_minutes(self):
        status, output = run(NEEDED + WHOLE, "--minutes", "0.0001")
        self.assertEqual(status, 0, output)
        self.assertIn("0 rules: 0 killed", output)
        self.assertIn("2 are left", output)

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
