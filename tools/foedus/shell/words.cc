#include "tools/foedus/shell/words.h"

namespace foedus::cli {

Result<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  bool is_quoted = false;
  bool is_in_word = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    const bool is_blank = c == ' ' || c == '\t' || c == '\r';
    if (!is_in_word) {
      if (is_blank) continue;
      if (c == '#' && words.empty()) return words;
      words.emplace_back();
      is_in_word = true;
    } else if (is_blank && !is_quoted) {
      is_in_word = false;
      continue;
    }
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == '\\' && at + 1 < line.size()) {
      at += 1;
      words.back() += line[at] == '"' ? std::string("\\x22") : std::string({c, line[at]});
    } else {
      words.back() += c;
    }
  }
  if (is_quoted) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "a quote is not closed; a quote within a word is \\\" or \\x22");
  }
  return words;
}

}  // namespace foedus::cli
