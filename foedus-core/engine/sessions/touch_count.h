#pragma once
// TouchCount: counts the volatile pages that a session's transactions touch: local ones, in memory
// of the SOC on which the thread runs, and remote ones, in memory of other SOCs.
//
//   E46 One in kInterval of the transactions that come to commit is sampled. The pages of its reads
//       and writes are counted; successive records of one page count once. With one SOC no
//       transaction is sampled. All words are the session's own, and a transaction that is not
//       sampled only decrements one of them.
//   E47 The thread counts as running on the session's SOC if its processor has that SOC (N8), else
//       as running on the first SOC of its processor. So if a thread of another SOC uses the
//       session, the session's own pages count as remote.

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

  // Counts the pages of the transaction if it is sampled. Called by the session's thread, before
  // the commit.
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
  std::uint64_t left_;  // transactions until the next sample
  base::AtomicWord<std::uint64_t> local_;
  base::AtomicWord<std::uint64_t> remote_;
};

}  // namespace foedus::engine
