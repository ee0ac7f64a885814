#include "tools/foedus/data/text_form.h"

#include <charconv>

namespace foedus::cli {

namespace {

// Returns false for characters that a terminal does not show as one character at its place.
bool is_printable(std::uint32_t point) {
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return false;
  const bool is_direction = (point >= 0x200b && point <= 0x200f) ||
                            (point >= 0x2028 && point <= 0x202e) ||
                            (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
  return !is_direction;
}

Status bad_form(std::string_view text, std::size_t at, std::string_view what) {
  return Status::error(ErrorCode::kInvalidArgument, "\"" + std::string(text) + "\", character " +
                                                        std::to_string(at + 1) + ": " +
                                                        std::string(what));
}

Result<std::string> parse_hex(std::string_view text) {
  const std::size_t begin = text.starts_with("0x") ? 2 : 0;
  std::string bytes;
  for (std::size_t at = begin; at < text.size(); at += 2) {
    const int high = hex_digit(text[at]);
    if (high < 0) return bad_form(text, at, "not a hexadecimal digit");
    if (at + 1 == text.size()) return bad_form(text, at, "a byte has two hexadecimal digits");
    const int low = hex_digit(text[at + 1]);
    if (low < 0) return bad_form(text, at + 1, "not a hexadecimal digit");
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_hex(char byte, std::string* to) {
  constexpr char kDigits[] = "0123456789abcdef";
  *to += kDigits[static_cast<unsigned char>(byte) >> 4];
  *to += kDigits[static_cast<unsigned char>(byte) & 15];
}

Utf8Character first_character(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length) return {};
  std::uint32_t point = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(bytes[i]);
    if ((next & 0xc0) != 0x80) return {};
    point = point << 6 | (next & 0x3f);
  }
  // Longer than necessary, half of a surrogate pair, or beyond Unicode.
  const bool is_short = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  if (is_short || (point >= 0xd800 && point < 0xe000) || point > 0x10ffff) return {};
  return {point, length};
}

Result<std::string> parse_bytes(std::string_view text, ByteForm form) {
  if (form == ByteForm::kHex) return parse_hex(text);
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
      continue;
    }
    if (text.substr(at, 2) == "\\\\") {
      bytes += '\\';
      at += 1;
      continue;
    }
    const bool is_hex = text.size() >= at + 4 && text[at + 1] == 'x' &&
                        hex_digit(text[at + 2]) >= 0 && hex_digit(text[at + 3]) >= 0;
    if (!is_hex) {
      return bad_form(text, at,
                      "after a backslash stands another one, or x and two hexadecimal digits");
    }
    bytes += static_cast<char>(hex_digit(text[at + 2]) * 16 + hex_digit(text[at + 3]));
    at += 3;
  }
  return bytes;
}

std::string format_bytes(std::string_view bytes, ByteForm form) {
  std::string text = form == ByteForm::kHex ? "0x" : "";
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    const std::size_t count = character.bytes == 0 ? 1 : character.bytes;
    if (form == ByteForm::kHex) {
      append_hex(bytes[0], &text);
      bytes.remove_prefix(1);
      continue;
    }
    if (bytes[0] == '\\') {
      text += "\\\\";
    } else if (character.bytes != 0 && is_printable(character.point)) {
      text += bytes.substr(0, count);
    } else {
      for (const char byte : bytes.substr(0, count)) {
        text += "\\x";
        append_hex(byte, &text);
      }
    }
    bytes.remove_prefix(count);
  }
  return text;
}

Result<std::uint64_t> parse_number(std::string_view text, std::string_view what) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) {
    return Status::error(
        ErrorCode::kInvalidArgument,
        std::string(what) + " is a decimal number below 2^64, not \"" + std::string(text) + "\"");
  }
  return number;
}

}  // namespace foedus::cli
