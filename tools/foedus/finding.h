#pragma once
// Finding: something that is not as it should be, and where.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace foedus::cli {

struct Finding {
  bool is_warning = false;            // no data is lost or wrong because of it
  std::string file;                   // its name in the directory; empty: the directory
  std::optional<std::uint64_t> page;  // of a snapshot file
  std::string storage;                // its name; empty: of none
  std::string what;
};

// "problem: snapshot-00000001-0, page 5, storage tree: its checksum is wrong"
std::string line_of(const Finding& finding);

// The findings of a command. They can be too many for memory: all are counted and handed on, and
// the first kKeptMax are kept.
class Findings {
 public:
  static constexpr std::size_t kKeptMax = 1000;

  // `each` is called for each finding as it comes; it may be empty.
  explicit Findings(std::function<void(const Finding&)> each = {}) : each_(std::move(each)) {}

  void add(Finding finding);
  void problem(std::string file, std::string what) {
    add({false, std::move(file), {}, {}, std::move(what)});
  }
  void warning(std::string file, std::string what) {
    add({true, std::move(file), {}, {}, std::move(what)});
  }

  std::uint64_t problems() const { return problems_; }
  std::uint64_t warnings() const { return warnings_; }
  const std::vector<Finding>& kept() const { return kept_; }
  // Prints a line for each finding that is kept, and one that counts the others.
  enum class Which : std::uint8_t { kAll, kProblems };
  void print(std::ostream* out, Which which = Which::kAll) const;

 private:
  std::function<void(const Finding&)> each_;
  std::uint64_t problems_ = 0;
  std::uint64_t warnings_ = 0;
  std::vector<Finding> kept_;
};

}  // namespace foedus::cli
