#pragma once
// Json: one JSON document, written as it comes. Byte strings of a database need not be text: bytes
// from 0x80 on are written as U+0080 .. U+00FF, one character for each byte.

#include <cstdint>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <vector>

namespace foedus::base {

class Json {
 public:
  explicit Json(std::ostream* out) : out_(out) {}
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  // `name` is that of a member of an object; it is empty within an array and for the document
  // itself.
  void begin_object(std::string_view name = {}) { begin(name, '{'); }
  void end_object() { end('}'); }
  void begin_array(std::string_view name = {}) { begin(name, '['); }
  void end_array() { end(']'); }

  void text(std::string_view name, std::string_view value);
  void boolean(std::string_view name, bool value);
  void number(std::string_view name, std::uint64_t value);

 private:
  void begin(std::string_view name, char bracket);
  void end(char bracket);
  void introduce(std::string_view name);
  void quote(std::string_view bytes);

  std::ostream* const out_;
  std::vector<bool> has_member_;  // of open objects and arrays, outermost first
};

}  // namespace foedus::base
