// The JSON line is valid JSON: text is escaped, and numbers that JSON cannot express become null.

#include "experiments/common/json_line.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace experiments::json_line_test {
namespace {

TEST(JsonLineTest, members_keep_their_order_and_types) {
  JsonObject inner;
  inner.add("deep", true);
  JsonObject object;
  object.add("text", "a \"b\" \\ \n c").add("count", std::uint64_t{18'446'744'073'709'551'615u});
  object.add("share", 0.25).add("inner", inner).add("negative", -3);
  EXPECT_EQ(object.text(),
            "{\"text\": \"a \\\"b\\\" \\\\ \\u000a c\", \"count\": 18446744073709551615, "
            "\"share\": 0.250, \"inner\": {\"deep\": true}, \"negative\": -3}");
}

TEST(JsonLineTest, numbers_that_are_not_finite_are_null) {
  JsonObject object;
  object.add("nan", std::numeric_limits<double>::quiet_NaN());
  object.add("inf", std::numeric_limits<double>::infinity());
  EXPECT_EQ(object.text(), "{\"nan\": null, \"inf\": null}");
}

TEST(JsonLineTest, empty_counts_are_an_empty_object) {
  JsonObject object;
  object.add("aborts", std::map<std::string, std::uint64_t>{});
  EXPECT_EQ(object.text(), "{\"aborts\": {}}");
}

TEST(JsonLineTest, facts_of_this_process_are_there) {
  EXPECT_GT(peak_memory_bytes(), 1u << 20);
  EXPECT_FALSE(machine().empty());
  EXPECT_FALSE(source_commit().empty());
}

}  // namespace
}  // namespace experiments::json_line_test
