#pragma once
// Throughput while a run goes on: how far it was at some times, and for how long it was slow.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace experiments {

// How far a worker is. A cache line each: written by that worker only.
struct alignas(64) LiveCount {
  std::atomic<std::uint64_t> txns{0};
};

inline std::uint64_t sum_of(const std::vector<LiveCount>& live) {
  std::uint64_t txns = 0;
  // order: relaxed, a statistic
  for (const LiveCount& count : live) txns += count.txns.load(std::memory_order_relaxed);
  return txns;
}

class ThroughputSamples {
 public:
  // Ascending times, from the begin of the run; `done`: transactions so far.
  void add(std::uint64_t now_ns, std::uint64_t done) { samples_.push_back({now_ns, done}); }

  // The longest time, in milliseconds, in which each interval between two samples had less than
  // half of the median throughput of all of them. 0: none had.
  double stall_ms_max() const {
    std::vector<double> rates;
    for (std::size_t i = 1; i < samples_.size(); ++i) rates.push_back(rate(i));
    if (rates.empty()) return 0;
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    const double slow = sorted[sorted.size() / 2] / 2;
    std::uint64_t longest_ns = 0;
    std::uint64_t stall_ns = 0;
    for (std::size_t i = 1; i < samples_.size(); ++i) {
      stall_ns = rates[i - 1] < slow ? stall_ns + samples_[i].now_ns - samples_[i - 1].now_ns : 0;
      longest_ns = std::max(longest_ns, stall_ns);
    }
    return static_cast<double>(longest_ns) * 1e-6;
  }

 private:
  struct Sample {
    std::uint64_t now_ns;
    std::uint64_t done;
  };
  // Returns the throughput in the interval that ends with sample i, in transactions a nanosecond.
  double rate(std::size_t i) const {
    const auto ns = static_cast<double>(samples_[i].now_ns - samples_[i - 1].now_ns);
    return static_cast<double>(samples_[i].done - samples_[i - 1].done) / std::max(ns, 1.0);
  }

  std::vector<Sample> samples_;
};

}  // namespace experiments
