// Engine: the statistics of an open database.
#include <algorithm>
#include <vector>

#include "foedus-core/engine/engine.h"

namespace foedus::engine {

Stats Engine::stats() const {
  Stats stats;
  if (!check_process().is_ok()) return stats;  // a child of fork() reads nothing here (E12)
  stats.log_buffer_bytes = kOwnRingBytes;
  stats.socs.resize(options_.socs);
  session_pool_->for_each([&](EngineSession& session) {
    const occ::TxnContext::Counters& counters = session.context().counters();
    // order: relaxed, statistics.
    stats.commits += counters.commits.load_relaxed();
    stats.rollbacks += counters.rollbacks.load_relaxed();
    for (std::size_t i = 0; i < kConflictReasonCount; ++i) {
      stats.conflicts[i] += counters.conflicts[i].load_relaxed();
    }
    stats.log_buffer_bytes += session.ring_bytes();
    stats.waiting_page_bytes += session.pages().retired_count() * page::kPageBytes;
    session.add_stats(&stats.socs[session.soc()]);
    session.add_times(&stats);
  });
  if (log_ != nullptr) {
    stats.log_bytes = log_->bytes_written();
    stats.log_bytes_kept = log_->bytes_kept(snapshots_->covered());
    caches_->add_stats(&stats);
    gleaning_->add_stats(&stats);
  }
  catalog_->add_stats(&stats);
  const std::uint64_t taken = pool_->bytes_taken();
  const std::uint64_t used = stats.volatile_page_bytes + pool_->pages_lent() * page::kPageBytes;
  stats.free_page_bytes = taken - std::min(taken, used);
  stats.current_epoch = clock_->current();
  stats.durable_epoch = durability_->durable();
  add_stats(directories_, &stats);
  const std::vector<OpenTransaction> open = session_pool_->open_transactions();
  stats.waiting_page_bytes += own_session_->pages().retired_count() * page::kPageBytes;
  if (!open.empty()) stats.oldest_transaction_us = open.front().age_us;
  stats.open_transactions = open.size();
  return stats;
}

}  // namespace foedus::engine
