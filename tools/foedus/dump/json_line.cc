#include "tools/foedus/dump/json_line.h"

#include <charconv>

#include "tools/foedus/data/text_form.h"

namespace foedus::cli {

namespace {

void append_utf8(std::uint32_t point, std::string* to) {
  const auto tail = [&](unsigned shift) {
    *to += static_cast<char>(0x80 | (point >> shift & 0x3f));
  };
  if (point < 0x80) {
    *to += static_cast<char>(point);
  } else if (point < 0x800) {
    *to += static_cast<char>(0xc0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    *to += static_cast<char>(0xe0 | point >> 12);
    tail(6);
    tail(0);
  } else {
    *to += static_cast<char>(0xf0 | point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

class JsonParser {
 public:
  explicit JsonParser(std::string_view line) : line_(line) {}

  Status parse(std::vector<JsonLine::Member>* members) {
    FOEDUS_CHECK(expect('{'));
    if (!skip('}')) {
      do {
        FOEDUS_CHECK(parse_member(members));
      } while (skip(','));
      FOEDUS_CHECK(expect('}'));
    }
    skip_blanks();
    return at_ == line_.size() ? Status() : wrong("the line has more than one object");
  }

 private:
  Status wrong(std::string_view what) const {
    return Status::error(ErrorCode::kInvalidArgument,
                         "column " + std::to_string(at_ + 1) + ": " + std::string(what));
  }
  void skip_blanks() {
    while (at_ < line_.size() && std::string_view(" \t\r").find(line_[at_]) != line_.npos) ++at_;
  }
  bool skip(char c) {
    skip_blanks();
    if (at_ == line_.size() || line_[at_] != c) return false;
    at_ += 1;
    return true;
  }
  Status expect(char c) {
    return skip(c) ? Status() : wrong(std::string("a ") + c + " is missing");
  }
  Status parse_member(std::vector<JsonLine::Member>* members) {
    JsonLine::Member member;
    FOEDUS_CHECK(parse_string(&member.name));
    for (const JsonLine::Member& other : *members) {
      if (other.name == member.name) return wrong("a second member " + member.name);
    }
    FOEDUS_CHECK(expect(':'));
    skip_blanks();
    const char first = at_ < line_.size() ? line_[at_] : '\0';
    if (first == '{') {
      FOEDUS_CHECK(parse_hex_object(&member.bytes));
    } else if (first == '"') {
      FOEDUS_CHECK(parse_string(&member.bytes));
    } else {
      member.is_number = true;
      const char* const begin = line_.data() + at_;
      const auto [end, failure] =
          std::from_chars(begin, line_.data() + line_.size(), member.number);
      if (failure != std::errc()) return wrong("a value is a string, a number or {\"hex\":…}");
      at_ += static_cast<std::size_t>(end - begin);
    }
    members->push_back(std::move(member));
    return {};
  }
  Status parse_hex_object(std::string* bytes) {
    std::string name;
    std::string digits;
    FOEDUS_CHECK(expect('{'));
    FOEDUS_CHECK(parse_string(&name));
    if (name != "hex") return wrong("an object for a value has one member, hex");
    FOEDUS_CHECK(expect(':'));
    FOEDUS_CHECK(parse_string(&digits));
    FOEDUS_CHECK(expect('}'));
    Result<std::string> parsed = parse_bytes(digits, ByteForm::kHex);
    if (!parsed.is_ok()) return wrong(parsed.status().message());
    *bytes = *std::move(parsed);
    return {};
  }
  Status parse_string(std::string* bytes) {
    FOEDUS_CHECK(expect('"'));
    while (at_ < line_.size() && line_[at_] != '"') {
      if (line_[at_] == '\\') {
        FOEDUS_CHECK(parse_escape(bytes));
        continue;
      }
      const Utf8Character character = first_character(line_.substr(at_, 4));
      if (character.bytes == 0 || character.point < 0x20) {
        return wrong("a string has a byte that is not text");
      }
      bytes->append(line_, at_, character.bytes);
      at_ += character.bytes;
    }
    return expect('"');
  }
  Status parse_escape(std::string* bytes) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = at_ + 1 < line_.size() ? line_[at_ + 1] : '\0';
    const std::size_t found = letter == '\0' ? kLetters.npos : kLetters.find(letter);
    if (found != kLetters.npos) {
      *bytes += kMeanings[found];
      at_ += 2;
      return {};
    }
    std::uint32_t point = 0;
    if (!take_unit(&point)) return wrong("a backslash in a string begins no escape of JSON");
    if (point >= 0xd800 && point < 0xdc00) {
      std::uint32_t second = 0;
      if (!take_unit(&second) || second < 0xdc00 || second > 0xdfff) {
        return wrong("half of a surrogate pair");
      }
      point = 0x10000 + ((point - 0xd800) << 10 | (second - 0xdc00));
    } else if (point >= 0xdc00 && point < 0xe000) {
      return wrong("half of a surrogate pair");
    }
    append_utf8(point, bytes);
    return {};
  }
  // Takes \uXXXX.
  bool take_unit(std::uint32_t* unit) {
    if (line_.size() - at_ < 6 || line_.substr(at_, 2) != "\\u") return false;
    *unit = 0;
    for (std::size_t i = at_ + 2; i < at_ + 6; ++i) {
      if (hex_digit(line_[i]) < 0) return false;
      *unit = *unit * 16 + static_cast<std::uint32_t>(hex_digit(line_[i]));
    }
    at_ += 6;
    return true;
  }

  const std::string_view line_;
  std::size_t at_ = 0;
};

}  // namespace

std::string json_bytes(std::string_view bytes) {
  std::string text = "\"";
  for (std::size_t at = 0; at < bytes.size();) {
    const Utf8Character character = first_character(bytes.substr(at, 4));
    if (character.bytes == 0) {
      text = "{\"hex\":\"";
      for (const char byte : bytes) append_hex(byte, &text);
      return text + "\"}";
    }
    if (character.point == '"' || character.point == '\\') {
      text += '\\';
      text += bytes[at];
    } else if (character.point < 0x20 || character.point == 0x7f) {
      text += "\\u00";
      append_hex(bytes[at], &text);
    } else {
      text += bytes.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return text + '"';
}

Result<JsonLine> JsonLine::parse(std::string_view line) {
  JsonLine parsed;
  FOEDUS_CHECK(JsonParser(line).parse(&parsed.members_));
  return parsed;
}

const JsonLine::Member* JsonLine::find(std::string_view name, bool is_number) const {
  for (const Member& one : members_) {
    if (one.name == name) return one.is_number == is_number ? &one : nullptr;
  }
  return nullptr;
}

}  // namespace foedus::cli
