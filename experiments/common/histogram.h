#pragma once
// Histogram: a log-linear histogram of nanoseconds. 32 steps per power of two, so a percentile is
// within 3.2 % of the truth; fixed size, one add is an increment. Of one thread.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace experiments {

class Histogram {
 public:
  void add(std::uint64_t value) {
    ++counts_[bucket_of(value)];
    ++count_;
    max_ = std::max(max_, value);
  }

  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }

  // The value that `share` (0 .. 1) of all values are not above: the middle of its bucket, but
  // never above the highest value seen. 0 if the histogram is empty.
  double percentile(double share) const {
    if (count_ == 0) return 0;
    const double wanted = share * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (counts_[i] != 0 && static_cast<double>(seen) >= wanted) {
        const std::uint64_t low = low_of(i);
        const double middle = static_cast<double>(low) + static_cast<double>(width_of(i) - 1) / 2;
        return std::min(middle, static_cast<double>(max_));
      }
    }
    return static_cast<double>(max_);
  }

  // Values below 2 * kSteps have a bucket each; above, the top kStepBits bits after the first one
  // choose among the kSteps buckets of their power of two.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value < kSteps) return value;
    const unsigned power = 63 - static_cast<unsigned>(std::countl_zero(value));
    const unsigned shift = power - kStepBits;
    return (shift + 1) * kSteps + ((value >> shift) - kSteps);
  }
  static constexpr std::uint64_t low_of(std::size_t bucket) {
    if (bucket < kSteps) return bucket;
    return (kSteps + bucket % kSteps) << (bucket / kSteps - 1);
  }
  static constexpr std::uint64_t width_of(std::size_t bucket) {
    return bucket < kSteps ? 1 : std::uint64_t{1} << (bucket / kSteps - 1);
  }

 private:
  static constexpr unsigned kStepBits = 5;
  static constexpr std::uint64_t kSteps = 1u << kStepBits;
  static constexpr std::size_t kBuckets = (64 - kStepBits + 1) * kSteps;

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace experiments
