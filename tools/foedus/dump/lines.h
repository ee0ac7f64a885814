#pragma once
// Lines: the lines of a dump in a text format. The last line ends with a newline, too.

#include <istream>
#include <string>

#include "tools/foedus/dump/dump_reader.h"

namespace foedus::cli {

class LineReader : public DumpReader {
 public:
  explicit LineReader(std::istream* in) : in_(in) {}
  std::string place() const override { return "line " + std::to_string(number_); }

 protected:
  // Reads the next line, without its newline. kCorruption: there is none, or it is cut.
  Status read_line(std::string* line) {
    number_ += 1;
    if (!std::getline(*in_, *line)) {
      if (in_->bad()) return Status::error(ErrorCode::kIoError, "the dump cannot be read");
      return damaged("the dump ends here without its last line");
    }
    if (in_->eof()) return damaged("the line has no end: the dump is cut");
    return {};
  }
  Status check_rest() override {
    if (in_->peek() == std::istream::traits_type::eof()) return {};
    number_ += 1;
    return damaged("a line follows the end");
  }

 private:
  std::istream* const in_;
  std::uint64_t number_ = 0;
};

}  // namespace foedus::cli
