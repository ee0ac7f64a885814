// The text forms of byte strings.

#include <gtest/gtest.h>

#include "tests/testing/test_database.h"
#include "tools/foedus/data/text_form.h"

namespace foedus::cli::text_form_test {
namespace {

// Goal: any bytes have one form on one line, which gives them back. Method: all pairs of bytes,
// which hold each begin and each wrong continuation of UTF-8, before and after a letter.
TEST(TextFormTest, any_bytes_come_back_from_either_form) {
  for (unsigned pair = 0; pair < 65'536; ++pair) {
    const std::string bytes = {'k', static_cast<char>(pair >> 8), static_cast<char>(pair), 'k'};
    for (const ByteForm form : {ByteForm::kText, ByteForm::kHex}) {
      const std::string text = format_bytes(bytes, form);
      ASSERT_EQ(testing::must(parse_bytes(text, form)), bytes) << text;
      ASSERT_EQ(text.find_first_of("\n\t\r\x1b"), text.npos) << text;
    }
  }
}

TEST(TextFormTest, text_is_readable) {
  EXPECT_EQ(format_bytes("plain \"text\", ünï 日本 😀", ByteForm::kText),
            "plain \"text\", ünï 日本 😀");
  EXPECT_EQ(format_bytes("a\\b\n", ByteForm::kText), "a\\\\b\\x0a");
  EXPECT_EQ(format_bytes("\xff\xc3", ByteForm::kText), "\\xff\\xc3");
  EXPECT_EQ(format_bytes("\xed\xa0\x80", ByteForm::kText), "\\xed\\xa0\\x80");  // half a pair
  EXPECT_EQ(format_bytes("\xe2\x80\xae", ByteForm::kText), "\\xe2\\x80\\xae");  // right to left
  EXPECT_EQ(format_bytes("\xc2\x85", ByteForm::kText), "\\xc2\\x85");           // a control
  EXPECT_EQ(format_bytes("", ByteForm::kText), "");
  EXPECT_EQ(format_bytes("", ByteForm::kHex), "0x");
  EXPECT_EQ(format_bytes("k\xff", ByteForm::kHex), "0x6bff");
}

TEST(TextFormTest, hex_needs_no_prefix) {
  EXPECT_EQ(testing::must(parse_bytes("6bFf", ByteForm::kHex)), "k\xff");
  EXPECT_EQ(testing::must(parse_bytes("", ByteForm::kHex)), "");
}

TEST(TextFormTest, a_wrong_form_is_named_with_its_place) {
  const auto message = [](std::string_view text, ByteForm form) {
    const Result<std::string> parsed = parse_bytes(text, form);
    EXPECT_EQ(parsed.code(), ErrorCode::kInvalidArgument) << text;
    return parsed.status().message();
  };
  for (const std::string_view wrong : {"\\", "ab\\n", "\\x1", "\\xg0", "\\X00"}) {
    EXPECT_NE(message(wrong, ByteForm::kText).find("after a backslash"), std::string::npos);
  }
  EXPECT_NE(message("ab\\n", ByteForm::kText).find("character 3"), std::string::npos);
  EXPECT_NE(message("0x123", ByteForm::kHex).find("two hexadecimal digits"), std::string::npos);
  EXPECT_NE(message("12zz", ByteForm::kHex).find("character 3"), std::string::npos);
}

TEST(TextFormTest, numbers_are_decimal_and_whole) {
  EXPECT_EQ(testing::must(parse_number("18446744073709551615", "it")), ~std::uint64_t{0});
  for (const std::string_view wrong : {"", "-1", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(parse_number(wrong, "it").code(), ErrorCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace foedus::cli::text_form_test
