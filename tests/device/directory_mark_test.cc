// The text of a directory's mark: what is not one is refused by its line, and a mark is written
// whole and durably, or not at all. Method: texts with the right checksum, and calls that fail.
#include "foedus-core/device/spread/directory_mark.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "foedus-core/base/crc32c.h"
#include "tests/testing/failing_device.h"

namespace foedus::device::directory_mark_test {
namespace {

using ::foedus::testing::Call;
using ::foedus::testing::FailingDevice;

const std::string kTitle = "foedus directory 1\n";
const std::string kDigits = "0123456789abcdef0123456789abcdef";
const std::string kOther = "ffffffffffffffff0000000000000000";
const std::string kDatabase = "database " + kDigits + "\n";

std::string sealed(const std::string& text) {
  char line[32];
  std::snprintf(line, sizeof(line), "checksum %08x\n", base::crc32c(text.data(), text.size()));
  return text + line;
}

void expect_refused(const std::string& text, const std::string& why) {
  const Status status = parse_mark(sealed(text), "here").status();
  EXPECT_EQ(status.code(), ErrorCode::kCorruption) << text;
  EXPECT_NE(status.message().find("here: " + why), std::string::npos) << status.message();
}

DirectoryMark some_mark(const std::string& path) {
  return {.database = {kDigits}, .own = Identity{kOther}, .parts = {{{kOther}, path}}};
}

TEST(DirectoryMarkTest, lines_that_are_not_those_of_a_mark_are_refused) {
  expect_refused("", "it is not the mark of a directory");
  EXPECT_NE(parse_mark("foedus directory 1", "here").status().message().find("it is not the mark"),
            std::string::npos);
  expect_refused(kTitle, "the line 'database' is missing");
  expect_refused(kTitle + "database " + kDigits.substr(1) + "\n", "the line 'database' is missing");
  expect_refused(kTitle + "database " + kDigits + "0\n", "the line 'database' is missing");
  for (const char c : {'/', ':', '`', 'g', 'A'}) {  // beside the digits
    std::string digits = kDigits;
    digits[7] = c;
    expect_refused(kTitle + "database " + digits + "\n", "the line 'database' is missing");
    expect_refused(kTitle + kDatabase + "own " + digits + "\n", "line 'own' is not an identity");
    expect_refused(kTitle + kDatabase + "part " + digits + " path\n", "line 'part' is not");
  }
  expect_refused(kTitle + kDatabase + "part " + kDigits + "\n", "line 'part' is not");
  expect_refused(kTitle + kDatabase + "part " + kDigits.substr(9) + "\n", "line 'part' is not");
  expect_refused(kTitle + kDatabase + "part \n", "line 'part' is not");
  expect_refused(kTitle + kDatabase + "part " + kDigits + "-path\n", "line 'part' is not");
  for (const std::string code : {"%", "%4", "%g4", "%4g"}) {
    expect_refused(kTitle + kDatabase + "part " + kDigits + " path" + code + "\n",
                   "line 'part' is not");
  }
  expect_refused(kTitle + kDatabase + "else\n", "it has an unknown line");
  expect_refused(kTitle + kDatabase + "part " + kDigits + " path\nelse\n",
                 "it has an unknown line");
}

TEST(DirectoryMarkTest, a_path_of_any_bytes_is_one_line_of_visible_ones) {
  EXPECT_NE(encode_mark(some_mark("/a-b")).find(kOther + " /a-b\n"), std::string::npos);
  std::string path;
  for (int byte = 1; byte < 256; ++byte) path += static_cast<char>(byte);
  for (const std::string& of : {path, std::string("/%41"), std::string("/%"), std::string()}) {
    const std::string text = encode_mark(some_mark(of));
    for (const char c : text) {
      EXPECT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)) << int{c};
    }
    const auto found = parse_mark(text, "here");
    ASSERT_TRUE(found.is_ok()) << found.status().message();
    EXPECT_EQ(*found, some_mark(of));
  }
}

TEST(DirectoryMarkTest, a_mark_that_cannot_be_read_is_no_missing_one) {
  FailingDevice device;
  const auto none = read_mark(&device);
  ASSERT_TRUE(none.is_ok());
  EXPECT_FALSE(none->has_value());
  ASSERT_TRUE(write_mark(&device, some_mark("/a")).is_ok());
  for (const Call kind : {Call::kOpen, Call::kSize, Call::kRead}) {
    device.fail(kind, 0, EIO);
    EXPECT_EQ(read_mark(&device).code(), ErrorCode::kIoError);
  }
  device.set_size(std::string(kMarkName), (1u << 20) + 1);
  EXPECT_NE(read_mark(&device).status().message().find("it is too long for a mark"),
            std::string::npos);
}

TEST(DirectoryMarkTest, a_mark_is_written_whole_and_durably_or_not_at_all) {
  for (const Call kind : {Call::kRemove, Call::kCreate, Call::kWrite, Call::kSync, Call::kRename,
                          Call::kSyncDirectory}) {
    SCOPED_TRACE(static_cast<int>(kind));
    FailingDevice device;
    ASSERT_TRUE(write_mark(&device, some_mark("/a")).is_ok());
    device.fail(kind, 0, EIO);
    EXPECT_EQ(write_mark(&device, some_mark("/b")).code(), ErrorCode::kIoError);
    device.crash_power(FailingDevice::kDropAll);
    const auto found = read_mark(&device);
    ASSERT_TRUE(found.is_ok() && found->has_value()) << found.status().message();
    EXPECT_EQ(**found, some_mark("/a"));
    ASSERT_TRUE(write_mark(&device, some_mark("/b")).is_ok());
    device.crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(read_mark(&device)->value(), some_mark("/b"));
  }
}

}  // namespace
}  // namespace foedus::device::directory_mark_test
