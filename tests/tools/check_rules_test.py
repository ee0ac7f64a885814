# ctest-labels: habits
"""Shows that tools/check_rules.py accepts rules that are in order and finds each violation."""

import unittest

from small_tree import CheckTest

HEADER = "foedus-core/page/tid.h"
README = "foedus-core/page/README.md"


class CheckRulesTest(CheckTest):

    TOOL = "check_rules.py"

    def test_a_rule_that_is_defined_named_and_cited_is_accepted(self):
        self.assert_accepted({
            HEADER: "//   P1  A version grows.\n",
            README: "Rules: P1\n",
            "foedus-core/txn/commit.cc": "int f();  // P1\n",
            "foedus-core/txn/README.md": "As P1.\n",
        })

    def test_a_range_names_what_is_within(self):
        for words in ("P1–P3", "P1 to P3"):
            self.assert_accepted({
                HEADER: "//   P1  One.\n//   P2  Two.\n//   P3  Three.\n", README: words})

    def test_a_rule_of_a_readme_is_accepted(self):
        self.assert_accepted({
            README: "1. **P1** A version grows.\n", "foedus-core/txn/commit.cc": "// P1\n"})

    def test_a_readme_may_say_again_what_a_header_defines(self):
        self.assert_accepted({HEADER: "//   P1  A version grows.\n", README: "**P1** It grows.\n"})

    def test_two_rules_of_one_number_are_found(self):
        self.assert_found({
            HEADER: "//   P1  A version grows.\n",
            "foedus-core/page/retired_pages.h": "\n//   P1  No call allocates.\n",
            README: "P1\n",
        }, "foedus-core/page/tid.h:1: P1 is a rule of foedus-core/page/retired_pages.h:2 already")

    def test_a_rule_that_no_readme_names_is_found(self):
        self.assert_found({HEADER: "//   P1  A version grows.\n", README: "P2–P4 and P11\n"},
                          "foedus-core/page/tid.h:1: foedus-core/page/README.md does not name P1")

    def test_a_citation_of_nothing_is_found(self):
        self.assert_found({HEADER: "\nint f();  // as P7\n"},
                          "foedus-core/page/tid.h:2: no rule P7 is defined")
        self.assert_found({README: "as P7\n"}, "foedus-core/page/README.md:1: no rule P7")

    def test_code_and_strings_cite_nothing(self):
        self.assert_accepted({
            HEADER: 'const char* kText = "P7";\nint P7 = 0;\n',
            README: "`P7`\n```\nP7\n```\n",
        })


if __name__ == "__main__":
    unittest.main()
