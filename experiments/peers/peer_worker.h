#pragma once
// PeerWorker: what one thread uses to run transactions on a peer. The peers differ in how a
// transaction begins, reads, writes and ends; how it is repeated and counted is the same for all
// and the same as in our engine's transact(): conflicts are run again after a bounded back-off,
// anything else is rolled back and handed out.
//
// A peer's Txn has, besides the operations of experiments/common/backend.h:
//   foedus::Status begin(bool read_only)
//   foedus::Status commit()        kConflict if the peer refused it; the transaction has ended then
//   void rollback()                after a failed operation or by the user's wish
//   const char* conflict_name() const    the peer's word for the last kConflict that it returned

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "experiments/common/backend.h"
#include "experiments/common/random.h"
#include "foedus/status.h"

namespace experiments {

template <class Txn>
class PeerWorker {
 public:
  // A pointer, so that the worker may move while cursors of the transaction point back to it.
  explicit PeerWorker(std::unique_ptr<Txn> txn) : txn_(std::move(txn)) {}

  template <class F>
  foedus::Status transact(F&& function) {
    return run(function, false);
  }
  template <class F>
  foedus::Status read_only(F&& function) {
    return run(function, true);
  }
  Counters counters() const { return counters_; }

 private:
  template <class F>
  foedus::Status run(F& function, bool read_only) {
    for (unsigned conflicts = 0;; ++conflicts) {
      FOEDUS_CHECK(txn_->begin(read_only));
      foedus::Status status = function(*txn_);
      if (status.is_ok()) {
        status = txn_->commit();
      } else {
        txn_->rollback();
      }
      if (status.is_ok()) {
        ++counters_.commits;
        return status;
      }
      if (status.code() != foedus::ErrorCode::kConflict) {
        ++counters_.rollbacks;
        return status;
      }
      ++counters_.conflicts[txn_->conflict_name()];
      back_off(conflicts);
    }
  }

  // Waits about 2^conflicts pauses of the processor, at random, and yields it from some length on:
  // the same as our engine's worker does, so that neither side waits longer than the other.
  void back_off(unsigned conflicts) {
    constexpr unsigned kDoublingsMax = 13;
    constexpr unsigned kYieldFrom = 5;
    const unsigned tries = conflicts + 1;
    const std::uint64_t longest = std::uint64_t{1} << std::min(tries, kDoublingsMax);
    if (tries >= kYieldFrom) sched_yield();
    for (std::uint64_t pauses = random_.uniform(0, longest - 1); pauses > 0; --pauses) {
      __builtin_ia32_pause();
    }
  }

  std::unique_ptr<Txn> txn_;
  Counters counters_;
  Random random_{0};
};

}  // namespace experiments
