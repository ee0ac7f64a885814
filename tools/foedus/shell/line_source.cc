#include "tools/foedus/shell/line_source.h"

#include <cstdlib>
#include <cstring>
#include <istream>
#include <ostream>

#ifdef FOEDUS_HAVE_EDITLINE
#include <editline/readline.h>
#endif

namespace foedus::cli {

namespace {

class StreamLines : public LineSource {
 public:
  StreamLines(std::istream* in, std::ostream* out) : in_(in), out_(out) {}
  bool read(const std::string& prompt, std::string* line) override {
    if (out_ != nullptr) *out_ << prompt << std::flush;
    return static_cast<bool>(std::getline(*in_, *line));
  }

 private:
  std::istream* const in_;
  std::ostream* const out_;
};

#ifdef FOEDUS_HAVE_EDITLINE

// libedit calls functions without an argument of ours.
struct Completion {
  Completer completer;
  std::vector<std::string> words;
  std::size_t next = 0;
};
Completion completion;  // NOLINT: see above

char* next_completion(const char* begin, int state) {
  if (state == 0) completion.next = 0;
  while (completion.next < completion.words.size()) {
    const std::string& word = completion.words[completion.next++];
    if (word.starts_with(begin)) return ::strdup(word.c_str());
  }
  return nullptr;
}

char** complete(const char* word, int start, int /*end*/) {
  const std::string_view line(rl_line_buffer);
  completion.words = completion.completer(line.substr(0, static_cast<std::size_t>(start)));
  rl_attempted_completion_over = 1;  // no names of files
  return rl_completion_matches(word, next_completion);
}

class EditedLines : public LineSource {
 public:
  explicit EditedLines(Completer completer) {
    completion.completer = std::move(completer);
    rl_readline_name = "foedus";
    rl_attempted_completion_function = complete;
    using_history();
    if (const char* const home = std::getenv("HOME"); home != nullptr) {
      history_ = std::string(home) + "/.foedus_history";
      read_history(history_.c_str());
    }
  }
  ~EditedLines() override {
    if (!history_.empty()) write_history(history_.c_str());
    completion = {};
  }
  bool read(const std::string& prompt, std::string* line) override {
    char* const typed = ::readline(prompt.c_str());
    if (typed == nullptr) return false;
    *line = typed;
    if (!line->empty()) add_history(typed);
    std::free(typed);
    return true;
  }

 private:
  std::string history_;
};

#endif

}  // namespace

std::unique_ptr<LineSource> make_stream_lines(std::istream* in, std::ostream* out) {
  return std::make_unique<StreamLines>(in, out);
}

std::unique_ptr<LineSource> make_edited_lines([[maybe_unused]] Completer completer) {
#ifdef FOEDUS_HAVE_EDITLINE
  return std::make_unique<EditedLines>(std::move(completer));
#else
  return nullptr;
#endif
}

}  // namespace foedus::cli
