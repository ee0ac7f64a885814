#include "foedus-core/base/json.h"

namespace foedus::base {

void Json::introduce(std::string_view name) {
  if (!has_member_.empty()) {
    if (has_member_.back()) *out_ << ',';
    has_member_.back() = true;
  }
  if (!name.empty()) {
    quote(name);
    *out_ << ':';
  }
}

void Json::begin(std::string_view name, char bracket) {
  introduce(name);
  *out_ << bracket;
  has_member_.push_back(false);
}

void Json::end(char bracket) {
  has_member_.pop_back();
  *out_ << bracket;
  if (has_member_.empty()) *out_ << '\n';
}

void Json::text(std::string_view name, std::string_view value) {
  introduce(name);
  quote(value);
}

void Json::boolean(std::string_view name, bool value) {
  introduce(name);
  *out_ << (value ? "true" : "false");
}

void Json::number(std::string_view name, std::uint64_t value) {
  introduce(name);
  *out_ << value;
}

void Json::quote(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  *out_ << '"';
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out_ << '\\' << c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      *out_ << "\\u00" << kHex[byte >> 4] << kHex[byte & 15];
    } else {
      *out_ << c;
    }
  }
  *out_ << '"';
}

}  // namespace foedus::base
