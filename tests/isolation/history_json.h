#pragma once
// The lines of FORMAT.md as text, and back.

#include <string>
#include <string_view>

#include "tests/isolation/history.h"

namespace foedus::isolation {

// One line of JSON, with its newline.
void append_json(const Line& line, std::string* out);
void append_json(const TxnLine& txn, std::string* out);

// False: the text is not such a line; *why says where.
bool parse_line(std::string_view text, Line* line, std::string* why);

}  // namespace foedus::isolation
