#pragma once
// The text forms of byte strings: how commands take keys and values, and how they print them. Every
// byte string has one printed form, and that form gives back the same bytes.
//
//   text   UTF-8 as it is. A backslash is \\. A byte that is not printable is \xNN: a control
//          character, a character that changes the direction or the place of others, a byte that is
//          not UTF-8
//   hex    0x and two digits for each byte; on input 0x may be missing

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foedus/status.h"

namespace foedus::cli {

enum class ByteForm : std::uint8_t { kText, kHex };

// Returns the bytes that `text` stands for. kInvalidArgument: the message names the place in it. In
// text, \xNN may stand for any byte.
Result<std::string> parse_bytes(std::string_view text, ByteForm form);

std::string format_bytes(std::string_view bytes, ByteForm form);

// A character at the begin of a byte string. bytes == 0: there is none, these bytes are not UTF-8.
struct Utf8Character {
  std::uint32_t point = 0;
  std::size_t bytes = 0;
};
Utf8Character first_character(std::string_view bytes);

// Returns the value of a hex digit, or -1.
int hex_digit(char c);
// Appends two lower-case digits.
void append_hex(char byte, std::string* to);

// Returns the number that all of `text`, decimal digits, stands for; `what` is named in the error.
Result<std::uint64_t> parse_number(std::string_view text, std::string_view what);

}  // namespace foedus::cli
