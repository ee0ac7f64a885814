// Findings and byte strings as a person sees them.
#include "tools/foedus/finding.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tools/foedus/preview.h"

namespace foedus::cli::finding_test {
namespace {

std::string printed(const Findings& findings, Findings::Which which) {
  std::ostringstream out;
  findings.print(&out, which);
  return out.str();
}

TEST(FindingsTest, a_few_are_printed_a_line_each) {
  Findings findings;
  findings.problem("log-0-00000001", "it is cut");
  findings.warning({}, "it is old");
  EXPECT_EQ(printed(findings, Findings::Which::kAll),
            "problem: log-0-00000001: it is cut\nwarning: the directory: it is old\n");
  EXPECT_EQ(printed(findings, Findings::Which::kProblems), "problem: log-0-00000001: it is cut\n");
}

// Findings that are not kept are counted, so that the last line is not taken for the last finding.
TEST(FindingsTest, of_many_the_last_line_says_how_many_are_left_out) {
  Findings findings;
  for (std::size_t i = 0; i < Findings::kKeptMax + 3; ++i) findings.problem("file", "damaged");
  findings.warning("file", "old");
  std::string lines = printed(findings, Findings::Which::kAll);
  EXPECT_TRUE(lines.ends_with("damaged\nand 4 findings more\n")) << lines.substr(lines.size() - 99);
  lines = printed(findings, Findings::Which::kProblems);
  EXPECT_TRUE(lines.ends_with("damaged\nand 3 findings more\n")) << lines.substr(lines.size() - 99);
}

TEST(PreviewTest, quotes_and_what_is_not_printable_are_escaped) {
  EXPECT_EQ(preview("a \"b\" \\ \n"), "a \\x22b\\x22 \\x5c \\x0a");
  EXPECT_EQ(preview("abcdef", 3), "abc…");
}

}  // namespace
}  // namespace foedus::cli::finding_test
