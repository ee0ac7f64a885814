#pragma once
// Tape: the transactions of one session, in memory that outlives its process. The session writes;
// the recorder's parent reads when the session rests or its process is dead.
//
//   R1  A transaction is on the tape, with all its operations and the outcome "unknown", before its
//       commit begins; no reader can have seen an earlier one.
//   R2  Its TID is there before a reader can see its writes, and before its epoch can become
//       durable: it is taken at the sync point commit:published, where the records are still marked
//       as being written and the session still holds the epoch. So every visible or durable commit
//       has its TID, and after a crash the recovered epoch alone says whether it survived.
//   R3  Words after `used` do not exist. It is raised when the words that it covers are complete.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/isolation/history.h"

namespace foedus::isolation {

std::uint64_t now_ns();  // CLOCK_MONOTONIC: the same for all processes until the machine restarts

// Zeroed pages that a child of fork() shares.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
};

class Tape {
 public:
  Tape(std::uint64_t* words, std::size_t words_max) : words_(words), words_max_(words_max) {}

  // ---- the session ---------------------------------------------------------------------------
  // Too full for another transaction of the usual size.
  bool is_full() const { return used() > words_max_ / 2; }
  // Puts all but outcome, end and the results of the commit. Returns false if there is no space.
  bool put(const TxnLine& txn);
  // Notes the TID of the transaction that was put last.
  void note_tid(std::uint64_t epoch, std::uint64_t ordinal);
  void note_end(Outcome outcome, std::uint64_t epoch, std::uint64_t end_ns,
                std::uint64_t durable_ns, std::uint64_t durable_epoch);
  std::uint64_t last_tid_epoch() const;  // of that one; 0: it has no TID

  // ---- the parent ----------------------------------------------------------------------------
  // Takes everything off.
  template <typename Sink>
  void drain(Sink&& sink) {
    Line line;
    for (std::size_t at = kBegin; at < used();) {
      at = take(at, &line);
      sink(std::move(line));
    }
    // order: relaxed, the session rests or is dead.
    used_word().store(kBegin, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kBegin = 8;  // the first word is `used`
  // The words of a head.
  enum Field : std::size_t {
    kWords,
    kId,
    kProcess,
    kSession,
    kBeginNs,
    kEndNs,
    kTxnKind,
    kOutcome,
    kEpoch,
    kOrdinal,
    kDurableNs,
    kDurableEpoch,
    kFields,
  };

  // Words in which a killed process could leave half of a change are atomic.
  std::atomic_ref<std::uint64_t> used_word() const { return std::atomic_ref(words_[0]); }
  std::size_t used() const {
    // order: acquire, pairs with the release of R3.
    const std::uint64_t used = used_word().load(std::memory_order_acquire);
    return used < kBegin ? kBegin : used;
  }
  void set(std::size_t field, std::uint64_t value) {
    // order: release, so that the fields of a commit come in the order of the calls.
    std::atomic_ref(words_[last_ + field]).store(value, std::memory_order_release);
  }
  std::size_t take(std::size_t at, Line* line) const;

  std::uint64_t* const words_;
  const std::size_t words_max_;
  std::size_t last_ = 0;  // head of the transaction put last
};

}  // namespace foedus::isolation
