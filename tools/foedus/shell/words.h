#pragma once
// Splits a line of the shell into words.

#include <string>
#include <string_view>
#include <vector>

#include "foedus/status.h"

namespace foedus::cli {

// Words are separated by blanks. A word in double quotes may have blanks; \" is a quote there. All
// other backslashes stay, for parse_bytes(). A line that begins with # has no words.
// kInvalidArgument: a quote is not closed.
Result<std::vector<std::string>> split_words(std::string_view line);

}  // namespace foedus::cli
