#pragma once
// TxnTimes: how long the transactions of a session take, how long its commits wait for the device,
// and how many tries transact() needs.
//
//   E56 A measured transaction is timed from the begin of its first try to the end of its commit.
//       It counts as often as transactions began since the one that was measured before. So each
//       transaction of the session counts once, on average. Which one is measured next is decided
//       before that one begins. If the last transactions began less than kBusyNs apart, in the
//       mean, it is one of the next 2 * kInterval - 1, by chance; otherwise it is the next one.
//   E57 All words are written by the thread that has claimed the session. Histograms are read by
//       all threads, in stats().

#include <cstdint>
#include <utility>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/clock.h"
#include "foedus/stats.h"

namespace foedus::engine {

// A Histogram with one writer, which other threads read meanwhile.
class SharedHistogram {
 public:
  // Adds `value`, which counts `weight` times.
  void add(std::uint64_t value, std::uint64_t weight = 1) {
    // order: relaxed four times, one writer (E57), and statistics only.
    base::AtomicWord<std::uint64_t>& bucket = buckets_[Histogram::bucket_of(value)];
    bucket.store_relaxed(bucket.load_relaxed() + weight);
    sum_.store_relaxed(sum_.load_relaxed() + value * weight);
  }
  // Adds all values to `to`. Any thread.
  void add_to(Histogram* to) const;

 private:
  base::AtomicWord<std::uint64_t> sum_;
  base::AtomicWord<std::uint64_t> buckets_[Histogram::kBuckets];
};

class TxnTimes {
 public:
  // The mean of the gaps between measured transactions in a busy session. Two looks at the
  // time-stamp counter, some 50 cycles, are 2 % of a transaction of one read.
  static constexpr std::uint64_t kInterval = 16;
  static constexpr std::uint64_t kBusyNs = 1'000'000;

  // `seed`: differs between sessions.
  explicit TxnTimes(std::uint64_t seed);

  // Called when a try begins. The next tries of a transaction belong to the first one.
  void note_begin(bool is_retry) {
    if (is_retry) [[unlikely]]
      return;
    begin_ = 0;
    if (--left_ == 0) [[unlikely]]
      begin_measured();
  }
  // Called at the end of a successful commit.
  void note_commit(bool is_serializable) {
    if (begin_ != 0 && is_serializable) [[unlikely]]
      end_measured();
  }
  // Called at the end of a commit's wait, which began at `begin` by system_ticks().
  void note_wait(std::uint64_t begin) { waits_.add(ns_since(begin)); }
  // Called at the end of a call of transact().
  void note_tries(std::uint32_t tries) { tries_.add(tries); }

  // Adds what was measured. Any thread.
  void add_stats(Stats* stats) const;

 private:
  void begin_measured();
  void end_measured();
  std::uint64_t ns_since(std::uint64_t begin) const;

  std::uint64_t left_ = 1;      // transactions until the next one that is measured
  std::uint64_t begin_ = 0;     // of the open transaction, by system_ticks(); 0: it is not measured
  std::uint64_t interval_ = 1;  // distance of the next measured transaction from the last one
  std::uint64_t weight_ = 1;    // how often the measured transaction counts
  std::uint64_t last_ = 0;      // begin of the last measured transaction
  const double ticks_per_ns_;
  base::Random random_;
  SharedHistogram transactions_;
  SharedHistogram waits_;
  SharedHistogram tries_;
};

}  // namespace foedus::engine
