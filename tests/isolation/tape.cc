#include "tests/isolation/tape.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "foedus-core/base/invariant.h"

namespace foedus::isolation {

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

SharedMemory::SharedMemory(std::size_t bytes)
    : data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0)),
      bytes_(bytes) {
  FOEDUS_INVARIANT(data_ != MAP_FAILED, bytes);
}
SharedMemory::~SharedMemory() { munmap(data_, bytes_); }

bool Tape::put(const TxnLine& txn) {
  const std::size_t at = used();
  if (at + kFields + txn.ops.size() > words_max_) return false;
  std::uint64_t* const head = words_ + at;
  head[kWords] = txn.ops.size();
  head[kId] = txn.id;
  head[kProcess] = txn.process;
  head[kSession] = txn.session;
  head[kBeginNs] = txn.begin_ns;
  head[kEndNs] = 0;
  head[kTxnKind] = static_cast<std::uint64_t>(txn.kind);
  head[kOutcome] = static_cast<std::uint64_t>(Outcome::kUnknown);
  head[kEpoch] = head[kOrdinal] = head[kDurableNs] = head[kDurableEpoch] = 0;
  std::copy(txn.ops.begin(), txn.ops.end(), head + kFields);
  last_ = at;
  // order: release, R3.
  used_word().store(at + kFields + txn.ops.size(), std::memory_order_release);
  return true;
}

void Tape::note_tid(std::uint64_t epoch, std::uint64_t ordinal) {
  set(kEpoch, epoch);
  set(kOrdinal, ordinal);  // last, because it marks the TID as valid
}

void Tape::note_end(Outcome outcome, std::uint64_t epoch, std::uint64_t end_ns,
                    std::uint64_t durable_ns, std::uint64_t durable_epoch) {
  set(kEndNs, end_ns);
  set(kEpoch, epoch);
  set(kDurableNs, durable_ns);
  set(kDurableEpoch, durable_epoch);
  set(kOutcome, static_cast<std::uint64_t>(outcome));
}

std::uint64_t Tape::last_tid_epoch() const {
  return words_[last_ + kOrdinal] == 0 ? 0 : words_[last_ + kEpoch];
}

std::size_t Tape::take(std::size_t at, Line* line) const {
  const std::uint64_t* const head = words_ + at;
  line->kind = LineKind::kTxn;
  TxnLine& txn = line->txn;
  txn.id = head[kId];
  txn.process = static_cast<std::uint32_t>(head[kProcess]);
  txn.session = static_cast<std::uint32_t>(head[kSession]);
  txn.begin_ns = head[kBeginNs];
  txn.kind = static_cast<TxnKind>(head[kTxnKind]);
  txn.outcome = static_cast<Outcome>(head[kOutcome]);
  txn.ordinal = head[kOrdinal];
  const bool has_ended = txn.outcome != Outcome::kUnknown;
  txn.end_ns = has_ended ? head[kEndNs] : 0;
  txn.durable_ns = has_ended ? head[kDurableNs] : 0;
  txn.durable_epoch = has_ended ? head[kDurableEpoch] : 0;
  txn.epoch = has_ended || txn.ordinal != 0 ? head[kEpoch] : 0;
  txn.ops.assign(head + kFields, head + kFields + head[kWords]);
  return at + kFields + head[kWords];
}

}  // namespace foedus::isolation
