#pragma once
// LineSource: the lines that a shell reads, from a stream or from a person.

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace foedus::cli {

class LineSource {
 public:
  virtual ~LineSource() = default;
  // Reads a line, without its newline. Returns false at the end of the input.
  virtual bool read(const std::string& prompt, std::string* line) = 0;
};

// Returns the words that the word which is being typed may become. `before` is the line before that
// word.
using Completer = std::function<std::vector<std::string>(std::string_view before)>;

// Reads a stream. `out` shows the prompt; null: no prompt.
std::unique_ptr<LineSource> make_stream_lines(std::istream* in, std::ostream* out);
// Reads the terminal, with history (in ~/.foedus_history) and completion. Null in a build without
// libedit. One at a time.
std::unique_ptr<LineSource> make_edited_lines(Completer completer);

}  // namespace foedus::cli
