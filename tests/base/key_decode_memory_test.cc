// ctest-program: own
// Goal: decode() throws no exception when the process has no memory, and works again later. Method:
// each of its allocations fails once, and all from it on.
// ctest-labels: memory
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "foedus/key_decode.h"
#include "tests/faults/memory_faults.h"

namespace foedus::key_decode_memory_test {
namespace {

// Returns how many allocations of decode<T…>(bytes) could be made to fail. No failure may return
// `never`.
template <typename... T>
std::uint64_t fail_each(const Key& bytes, ErrorCode never) {
  for (std::uint64_t call = 0;; ++call) {
    for (const bool is_sticky : {false, true}) {
      faults::arm(faults::Source::kHeap, call, is_sticky);
      const Result<std::tuple<T...>> decoded = decode<T...>(bytes);
      faults::disarm();
      if (faults::counter_of(faults::Source::kHeap).failed == 0) return call;
      EXPECT_NE(decoded.code(), never) << call;
    }
  }
}

TEST(KeyDecodeMemoryTest, a_string_that_has_none_is_out_of_memory) {
  const std::string text = std::string(200, 'x') + '\0' + std::string(200, 'y');
  const Key bytes = key(text, 1, text);
  const std::uint64_t calls =
      fail_each<std::string, int, std::string>(bytes, ErrorCode::kInvalidArgument);
  EXPECT_GE(calls, 2u) << "of each string one";
  const auto decoded = decode<std::string, int, std::string>(bytes);
  ASSERT_TRUE(decoded.is_ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, std::tuple(text, 1, text));
}

TEST(KeyDecodeMemoryTest, a_refusal_is_an_error_also_without_its_text) {
  EXPECT_GE(fail_each<int>(key("no integer"), ErrorCode::kOk), 1u);
  EXPECT_GE(fail_each<int>(key(1, 2), ErrorCode::kOk), 1u) << "bytes that are left";
}

}  // namespace
}  // namespace foedus::key_decode_memory_test
