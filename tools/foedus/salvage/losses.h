#pragma once
// Losses: what a salvage could not read. Each has one line, which is handed on as it comes: the
// file and the page or offset, the storage, and the keys or epochs that are gone with it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/foedus/finding.h"

namespace foedus::cli {

class Losses {
 public:
  static constexpr std::size_t kKeptMax = 1000;

  // `each` is called for each line; it may be empty.
  explicit Losses(std::function<void(const std::string&)> each)
      : each_(std::move(each)), findings_([this](const Finding& one) { take(one); }) {}
  Losses(const Losses&) = delete;
  Losses& operator=(const Losses&) = delete;

  // Takes the findings of a walk over pages. They wait until rows() or settle() says what they
  // cost.
  Findings* findings() { return &findings_; }
  // Adds a loss of rows of a storage. The reason is the findings since the last loss.
  void rows(std::string_view storage, std::string_view what);
  // Adds a loss of a file that is no page: of the log, or a manifest.
  void file(std::string_view name, std::string_view what);
  // Adds a loss of one row, for a reason that is no finding.
  void row(std::string_view storage, std::string_view what);
  // Adds findings that cost no rows which pointers tell of.
  void settle();

  std::uint64_t count() const { return count_; }
  // Returns the first kKeptMax lines.
  const std::vector<std::string>& kept() const { return kept_; }

 private:
  void take(const Finding& finding);
  void add(std::string line);

  const std::function<void(const std::string&)> each_;
  Findings findings_;
  std::string waiting_;     // the first finding that waits, without its first word
  std::uint64_t more_ = 0;  // findings that wait besides
  std::uint64_t count_ = 0;
  std::vector<std::string> kept_;
};

}  // namespace foedus::cli
