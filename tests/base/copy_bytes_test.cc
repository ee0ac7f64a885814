#include "foedus-core/base/copy_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace foedus::base::copy_bytes_test {
namespace {

TEST(CopyBytesTest, copies_so_many_bytes_and_touches_no_other) {
  std::string from;
  for (char c = 1; c < 101; ++c) from.push_back(c);
  for (std::size_t bytes = 0; bytes <= 99; ++bytes) {
    std::string to(from.size() + 2, '\0');
    copy_bytes(to.data() + 1, from.data(), bytes);
    EXPECT_EQ(to, '\0' + from.substr(0, bytes) + std::string(from.size() - bytes + 1, '\0'));
  }
  copy_bytes(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace foedus::base::copy_bytes_test
