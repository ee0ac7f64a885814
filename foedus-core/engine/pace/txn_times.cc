#include "foedus-core/engine/pace/txn_times.h"

#include <algorithm>

namespace foedus::engine {

void SharedHistogram::add_to(Histogram* to) const {
  // order: relaxed, statistics. The count is made of the buckets that are read here, so that the
  // two agree.
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
    const std::uint64_t values = buckets_[i].load_relaxed();
    to->buckets[i] += values;
    to->count += values;
  }
  to->sum += sum_.load_relaxed();  // order: as above
}

TxnTimes::TxnTimes(std::uint64_t seed)
    : ticks_per_ns_(base::system_ticks_per_ns()), random_(seed) {}

void TxnTimes::begin_measured() {
  begin_ = base::system_ticks();
  weight_ = interval_;
  const auto busy = static_cast<std::uint64_t>(ticks_per_ns_ * kBusyNs) * interval_;
  interval_ = begin_ - last_ < busy ? 1 + random_.below(2 * kInterval - 1) : 1;
  left_ = interval_;
  last_ = begin_;
}

void TxnTimes::end_measured() { transactions_.add(ns_since(std::exchange(begin_, 0)), weight_); }

std::uint64_t TxnTimes::ns_since(std::uint64_t begin) const {
  // The counters of two processors may differ by a little, and the thread may have moved.
  const std::uint64_t now = std::max(base::system_ticks(), begin);
  return static_cast<std::uint64_t>(static_cast<double>(now - begin) / ticks_per_ns_);
}

void TxnTimes::add_stats(Stats* stats) const {
  transactions_.add_to(&stats->transaction_ns);
  waits_.add_to(&stats->durable_wait_ns);
  tries_.add_to(&stats->transact_tries);
}

}  // namespace foedus::engine
