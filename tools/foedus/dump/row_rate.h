#pragma once
// RowRate: counts rows, and shows their number and rate on a line of progress.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace foedus::cli {

class RowRate {
 public:
  // "dumped 81920 rows, 350000 rows/s"; `progress` may be empty.
  RowRate(std::string_view verb, std::function<void(std::string_view)> progress)
      : verb_(verb), progress_(std::move(progress)) {}

  void add(std::uint64_t rows) {
    rows_ += rows;
    if (!progress_ || rows_ < next_) return;
    next_ = rows_ + kRowsBetween;
    progress_(line());
  }
  std::uint64_t rows() const { return rows_; }
  std::string line() const {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
    const double rate = time.count() > 0 ? static_cast<double>(rows_) / time.count() : 0;
    return verb_ + " " + std::to_string(rows_) + " rows, " +
           std::to_string(static_cast<std::uint64_t>(rate)) + " rows/s";
  }

 private:
  static constexpr std::uint64_t kRowsBetween = 1000;

  const std::string verb_;
  const std::function<void(std::string_view)> progress_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t rows_ = 0;
  std::uint64_t next_ = kRowsBetween;
};

}  // namespace foedus::cli
