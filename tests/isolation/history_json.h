#pragma once
// The lines of FORMAT.md as text, and back.

#include <string>
#include <string_view>

#include "tests/isolation/history.h"

namespace foedus::isolation {

// Appends one line of JSON, with its newline.
void append_json(const Line& line, std::string* out);
void append_json(const TxnLine& txn, std::string* out);

// Parses a line. Returns false if the text is no such line; *why names the place.
bool parse_line(std::string_view text, Line* line, std::string* why);

}  // namespace foedus::isolation
