#pragma once
// DurabilityWatch: one worker's commits that are not yet durable. It measures the latency until
// durable of a sample of them, and acknowledges new-orders once, and only once, they are durable.

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "experiments/common/backend.h"
#include "experiments/common/histogram.h"
#include "experiments/tpcc/acks.h"
#include "experiments/tpcc/deck.h"

namespace experiments::tpcc {

class DurabilityWatch {
 public:
  // `ack_file` may be null: no acks.
  explicit DurabilityWatch(const AckFile* ack_file) : ack_file_(ack_file) {}

  // Tokens of one worker never decrease, so both queues are in the order in which they get durable.
  void add_sample(TxnType type, std::uint64_t token, std::uint64_t start_ns) {
    if (samples_.size() < kSamplesMax) samples_.push_back({token, start_ns, type});
  }
  void add_ack(std::uint64_t token, const Ack& ack) {
    if (ack_file_ != nullptr) acks_.emplace_back(token, ack);
  }

  bool is_empty() const { return samples_.empty() && acks_.empty(); }

  // `now_ns`: the time at which `durable_token` was seen.
  foedus::Status poll(std::uint64_t durable_token, std::uint64_t now_ns) {
    while (!samples_.empty() && samples_.front().token <= durable_token) {
      const Sample& sample = samples_.front();
      latency_[static_cast<std::size_t>(sample.type)].add(now_ns - sample.start_ns);
      samples_.pop_front();
    }
    lines_.clear();
    while (!acks_.empty() && acks_.front().first <= durable_token) {
      lines_ += ack_line(acks_.front().second);
      acks_.pop_front();
    }
    return lines_.empty() ? foedus::Status() : ack_file_->append(lines_);
  }

  const std::array<Histogram, kTxnTypes>& latency() const { return latency_; }

 private:
  static constexpr std::size_t kSamplesMax =
      65'536;  // a store that falls further behind is not sampled
  struct Sample {
    std::uint64_t token;
    std::uint64_t start_ns;
    TxnType type;
  };

  const AckFile* ack_file_;
  std::deque<Sample> samples_;
  std::deque<std::pair<std::uint64_t, Ack>> acks_;
  std::string lines_;
  std::array<Histogram, kTxnTypes> latency_;
};

}  // namespace experiments::tpcc
