# ctest-labels: habits
"""Shows that tools/tidy.py accepts a tidy tree and finds each violation of a limit or habit."""

import unittest

from small_tree import run_check

FOLDER = "foedus-core/base"
README = {FOLDER + "/README.md": "# base\n"}


def body(lines):
    return "  f();\n" * lines


def run_on(files, allow=""):
    return run_check("tidy.py", {**files, "tidy.allow": allow}, "--allow", "{root}/tidy.allow")


class TidyTest(unittest.TestCase):

    def assert_accepted(self, name, text, allow=""):
        status, output = run_on({**README, f"{FOLDER}/{name}": text}, allow)
        self.assertEqual(status, 0, output)

    def assert_found(self, name, text, expected, allow=""):
        status, output = run_on({**README, f"{FOLDER}/{name}": text}, allow)
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)

    def test_a_tidy_file_is_accepted(self):
        self.assert_accepted("clock.h", "#pragma once\n\n// The time: see C1.\nint now_us();\n")

    def test_a_long_file_is_found(self):
        self.assert_accepted("a.cc", "int a;\n" * 500)
        self.assert_found("a.cc", "int a;\n" * 501, "file has 501 lines")

    def test_a_long_function_is_found(self):
        self.assert_accepted("a.cc", "void f() {\n" + body(68) + "}\n")
        self.assert_found("a.cc", "void f() {\n" + body(69) + "}\n", "function f has 71 lines")

    def test_a_long_method_is_found_in_all_its_shapes(self):
        headings = (
            "void g(int a = {}) const noexcept {",
            "G() : a_{1}, b_(2) {",
            "auto g() -> std::vector<int> {",
            "template <typename T> requires(sizeof(T) > 4) T g(const T& a) {",
            "G& operator=(G&& other) noexcept {",
        )
        for heading in headings:
            text = f"namespace n {{\nclass C {{\n public:\n  {heading}\n{body(70)}  }}\n}};\n}}\n"
            self.assert_found("a.cc", text, "has 72 lines")

    def test_a_long_class_or_table_is_no_function(self):
        members = "  void f();\n" * 100
        self.assert_accepted("a.cc", "namespace n {\nstruct C {\n" + members + "};\n}\n")
        self.assert_accepted("a.cc", "const int t[] = {\n" + "  1,\n" * 100 + "};\n")

    def test_an_exceedance_may_stand_in_the_list_and_only_shrink(self):
        text, path = "int a;\n" * 600, f"{FOLDER}/a.cc"
        self.assert_accepted("a.cc", text, f"{path} file_lines 600\n")
        self.assert_found("a.cc", text, "more than 590", f"{path} file_lines 590\n")
        self.assert_found("a.cc", text, "lower the entry from 610", f"{path} file_lines 610\n")
        self.assert_found("a.cc", "int a;\n", "delete the entry", f"{path} file_lines 600\n")
        self.assert_found("a.cc", "int a;\n", "does not exist", "gone.cc file_lines 600\n")

    def test_untidy_lines_are_found(self):
        self.assert_found("a.cc", "int " + "a" * 100 + ";\n", "105 columns")
        self.assert_found("a.cc", "\tint a;\n", "a tab")
        self.assert_found("a.cc", "int a; \n", "blanks at the end")
        self.assert_found("a.cc", "int a;", "no newline at the end")
        for marker in ("TO" + "DO", "FIX" + "ME", "XX" + "X"):
            self.assert_found("a.cc", f"// {marker}: later\n", "unfinished")

    def test_commented_out_code_is_found_but_prose_and_examples_are_not(self):
        for line in ("// int a = 3;", "  // f(a);", "// if (a) {", "// return;", "// a->b;"):
            self.assert_found("a.cc", line + "\n", "commented-out code")
        for line in ("// a stale builder must fail;", "//     auto db = Database::open(x);"):
            self.assert_accepted("a.cc", line + "\n")

    def test_an_empty_name_is_found(self):
        for name in ("util.cc", "page_utils.cc", "common.cc", "log_helper.cc", "page_manager.cc",
                     "engine_impl.cc"):
            self.assert_found(name, "int a;\n", "named by what it does")
        self.assert_found("fwd.h", "#pragma once\n", "named by what it does")
        self.assert_accepted("simple_timpl.cc", "int a;\n")

    def test_a_header_without_pragma_once_or_with_a_guard_is_found(self):
        self.assert_found("a.h", "int a;\n", "no #pragma once")
        self.assert_found("a.h", "#ifndef A_H_\n#define A_H_\n#pragma once\n#endif\n", "guard")

    def test_a_folder_without_readme_is_found(self):
        status, output = run_on({"foedus-core/page/a.cc": "int a;\n"})
        self.assertEqual(status, 1, output)
        self.assertIn("foedus-core/page: a folder with sources and without README.md", output)

    def test_a_folder_with_too_many_files_is_found(self):
        files = {**README, **{f"{FOLDER}/f{number}.cc": "int a;\n" for number in range(26)}}
        status, output = run_on(files)
        self.assertEqual(status, 1, output)
        self.assertIn(f"{FOLDER}: 26 C++ files, more than 25", output)
        status, output = run_on(files, f"{FOLDER} folder_files 26\n")
        self.assertEqual(status, 0, output)
        status, output = run_on(files, f"{FOLDER} folder_files 27\n")
        self.assertEqual(status, 1, output)
        self.assertIn("folder_files is 26 now", output)

    def test_a_test_is_named_as_a_fact_of_its_fixture(self):
        self.assert_accepted("a.cc", "TEST_F(ClockTest, a_tick_moves_it_on) {}\n")
        self.assert_found("a.cc", "TEST(ClockTest, MovesOn) {}\n", "MovesOn is not in snake_case")
        self.assert_found("a.cc", "TEST_P(Clock, moves_on) {}\n", "Clock does not end with Test")
        self.assert_found("a.cc", "TEST(\n    Clock, moves_on) {}\n", "does not end with Test")

    def test_a_word_that_is_not_ours_is_found(self):
        self.assert_found("a.cc", "int xct = 0;\n", "here the word is txn")
        self.assert_accepted("a.cc", "#include <tuple>\n// a tuple\nstd::tuple<int> xct_free;\n")

    def test_a_glossary_names_files_that_have_its_words(self):
        def run_on_row(row):
            table = "| word | what | where |\n|---|---|---|\n| **Pages** | | |\n" + row + "\n"
            header = "#pragma once\n// A RunFile is lent.\n"
            return run_on({**README, f"{FOLDER}/run_file.h": header,
                           "foedus-core/GLOSSARY.md": table})
        for words in ("lent", "Run file", "run (sorted), lent (to a task)"):
            status, output = run_on_row(f"| {words} | bytes | `{FOLDER}/run_file.h` |")
            self.assertEqual(status, 0, output)
        for words in ("ent", "unfile", "run file, replacement"):
            status, output = run_on_row(f"| {words} | bytes | `{FOLDER}/run_file.h` |")
            self.assertEqual(status, 1, output)
            self.assertIn(f"GLOSSARY.md:4: {FOLDER}/run_file.h does not have the word", output)
        status, output = run_on_row("| lent | bytes | `foedus-core/page/lent.h` |")
        self.assertEqual(status, 1, output)
        self.assertIn("GLOSSARY.md:4: foedus-core/page/lent.h does not exist", output)


if __name__ == "__main__":
    unittest.main()
