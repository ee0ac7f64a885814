#pragma once
// TouchCount: counts the volatile pages that a session's transactions touch, in memory of their
// thread's SOC and in memory of others.
//
//   E46 One in kInterval of the transactions that come to commit is looked at. The pages of its
//       reads and writes are counted, each run of records of one page once. With one SOC none is
//       looked at. The words are the session's own: a transaction that is not looked at decrements
//       one.
//   E47 The thread is on the session's SOC if its processor is (N8), else on the first SOC of its
//       processor. So a session that is used from elsewhere finds its own pages remote.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/occ/txn_context.h"

namespace foedus::engine {

class TouchCount {
 public:
  static constexpr std::uint64_t kInterval = 64;

  TouchCount(base::Runtime* runtime, const numa::Topology* topology);

  // Looks at the transaction if it is its turn. Called by the session's thread, before the commit.
  void note_commit(occ::TxnContext* txn) {
    if (--left_ == 0) [[unlikely]]
      look_at(txn);
  }
  // Any thread. order: relaxed, statistics.
  std::uint64_t local() const { return local_.load_relaxed(); }
  std::uint64_t remote() const { return remote_.load_relaxed(); }

 private:
  [[gnu::noinline]] void look_at(occ::TxnContext* txn);

  base::Runtime* const runtime_;
  const numa::Topology* const topology_;
  // Written by the session's thread.
  std::uint64_t left_;  // transactions until the next one that is looked at
  base::AtomicWord<std::uint64_t> local_;
  base::AtomicWord<std::uint64_t> remote_;
};

}  // namespace foedus::engine
