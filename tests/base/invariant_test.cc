#include "foedus-core/base/invariant.h"

#include <gtest/gtest.h>

#include <string>

namespace foedus::base::invariant_test {
namespace {

TEST(InvariantTest, evaluates_its_condition_once_and_its_values_never_when_it_holds) {
  int conditions = 0;
  int values = 0;
  FOEDUS_INVARIANT(++conditions == 1, ++values);
  EXPECT_EQ(conditions, 1);
  EXPECT_EQ(values, 0);
}

TEST(InvariantDeathTest, prints_condition_and_place_before_it_aborts) {
  EXPECT_DEATH(FOEDUS_INVARIANT(1 + 1 == 3), "invariant_test.cc:[0-9]+: 1 \\+ 1 == 3");
}

TEST(InvariantDeathTest, prints_names_and_values) {
  const std::uint64_t offset = 4097;
  const std::string table = "account";
  EXPECT_DEATH(FOEDUS_INVARIANT(offset % 4096 == 0, offset, table),
               "\\(offset, table\\) = 4097 \\(0x1001\\) \"account\"");
}

TEST(InvariantDeathTest, prints_pointers_enums_and_literals) {
  enum class Kind : std::uint8_t { kSeven = 7 };
  const void* const pointer = reinterpret_cast<const void*>(std::uintptr_t{0xabc000});
  EXPECT_DEATH(FOEDUS_INVARIANT(pointer == nullptr, pointer, Kind::kSeven, "why"),
               "0xabc000\\) 7 \\(0x7\\) \"why\"");
}

}  // namespace
}  // namespace foedus::base::invariant_test
