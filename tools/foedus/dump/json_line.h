#pragma once
// JsonLine: one line of a dump as JSON, an object of strings, numbers and byte strings.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/status.h"

namespace foedus::cli {

// Returns a byte string as JSON: a string if it is UTF-8, otherwise {"hex":"00ff"}.
std::string json_bytes(std::string_view bytes);

class JsonLine {
 public:
  struct Member {
    std::string name;
    bool is_number = false;
    std::uint64_t number = 0;
    std::string bytes;  // of a string, or of an object {"hex":…}
  };

  // Parses a line. kInvalidArgument: the message names the column and what is wrong there. Members
  // may stand in any order, with blanks between tokens.
  static Result<JsonLine> parse(std::string_view line);

  // Returns the member of that name and type; null if there is none.
  const Member* bytes(std::string_view name) const { return find(name, false); }
  const Member* number(std::string_view name) const { return find(name, true); }
  std::size_t size() const { return members_.size(); }

 private:
  const Member* find(std::string_view name, bool is_number) const;

  std::vector<Member> members_;
};

}  // namespace foedus::cli
