#include "foedus-core/occ/txn_context.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/probe.h"

namespace foedus::occ {

TxnContext::TxnContext(const Resources& resources)
    : resources_(resources),
      turn_(resources.turn == nullptr ? &own_turn_ : resources.turn),
      cold_pages_({.cache = resources.cache,
                   .page_reader = resources.page_reader,
                   .lines = resources.lines,
                   .line_reads = resources.line_reads,
                   .clock = resources.clock,
                   .session = resources.session,
                   .soc = resources.soc}),
      sets_(resources.memory),
      located_writes_(turn_, resources.clock, &sets_.writes()),
      locks_(resources.memory, resources.session),
      payload_room_(base::LineAllocator<char>(resources.memory)) {}

bool TxnContext::begin(const TxnOptions& options, bool is_retry) {
  FOEDUS_INVARIANT(!is_open(), turn());
  FOEDUS_INVARIANT(sets_.writes().is_empty() && locks_.held().is_empty(), sets_.writes().size(),
                   locks_.held().size());
  doomed_ = ConflictReason::kNone;
  is_out_of_memory_ = false;
  cold_pages_.forget_failure();  // a failure that no call of the last transaction has reported
  locks_.begin();
  isolation_ = options.isolation;
  sets_.begin(isolation_ == Isolation::kSerializable);
  read_only_ = options.read_only || options.isolation != Isolation::kSerializable;
  const bool of_snapshot = options.isolation == Isolation::kSnapshot;
  read_mode_ = of_snapshot ? ReadMode::kSnapshot : ReadMode::kOptimistic;
  const bool has_list = is_retry && locks_.has_to_reacquire();
  // If the session still has the pin of the last try, begin_epoch_ stays that of the pin: this try
  // uses addresses that were found since then, and makes no fence of its own.
  const bool has_pin = has_list && resources_.clock->take_pin_back(resources_.session);
  if (!has_pin) pin(of_snapshot);
  // order: release, pairs with the exchange of TxnWatch::look_at(), which may roll the transaction
  // back from here on.
  turn_->store_release(TxnTurn::number_of(turn()) + 1);
  return has_pin;
}

void TxnContext::pin(bool is_of_snapshot) {
  forget_retry();
  // Reads the clock before the fence of pin(). The epoch may be too old, which is safe: the
  // transaction then looks for own writes in a page that was born before its begin and cannot have
  // them.
  begin_epoch_ = resources_.clock->current();
  // A snapshot transaction needs no pin: it looks at no volatile page, and only volatile pages are
  // retired.
  if (!is_of_snapshot) resources_.clock->pin(resources_.session);
  resources_.pages->reclaim();
}

void TxnContext::end() {
  cold_pages_.settle();
  forget_sets();
  locks_.forget_retry();
  resources_.clock->unpin(resources_.session);
}

void TxnContext::end_for_retry() {
  if (locks_reads()) {
    for (const ReadEntry& read : sets_.reads()) locks_.add_to_reacquire(read.record);
  }
  locks_.sort_for_retry();
  forget_sets();
  cold_pages_.settle();
  if (locks_.has_to_reacquire()) {
    resources_.clock->lend_pin(resources_.session);
  } else {
    resources_.clock->unpin(resources_.session);
  }
}

void TxnContext::forget_retry() {
  if (!locks_.has_to_reacquire()) return;
  locks_.forget_retry();
  resources_.clock->unpin(resources_.session);
}

void TxnContext::forget_sets() {
  FOEDUS_INVARIANT(is_open(), turn());
  FOEDUS_INVARIANT(locks_.held().is_empty(), locks_.held().size());
  uses_.end();
  sets_.clear();
  locks_.end();
  base::trim(&payload_room_, kKeptBytesMax);
  // If the transaction was revoked, only kEnded is set here. The thread that owns it makes the
  // number even (E36, engine/sessions/txn_watch.cc).
  const std::uint64_t now = turn();
  turn_->store_relaxed(TxnTurn::is_revoked(now) ? now | TxnTurn::kEnded
                                                : now + 1);  // order: relaxed, as turn()
}

Status TxnContext::conflict(ConflictReason reason, StorageControl* storage, std::string_view key) {
  if (is_out_of_memory_) {
    return Status::error(ErrorCode::kOutOfMemory,
                         "the system gave the transaction no memory; give the process more, or "
                         "lower Options::memory_bytes");
  }
  if (!is_doomed()) {
    doomed_ = reason;
    FOEDUS_PROBE(txn_conflict, resources_.session, static_cast<int>(reason),
                 storage == nullptr ? nullptr : storage->meta.name.c_str());
    const auto i = static_cast<std::size_t>(reason);
    Counters::count(&counters_.conflicts[i]);
    // order: relaxed, statistics.
    if (storage != nullptr) storage->conflicts[i].fetch_add_relaxed(1);
  }
  Status status = Status::conflict(doomed_);
  if (storage != nullptr) status.at_storage(storage->meta.name);
  status.at_key(key.data(), key.size());
  return locks_.has_timed_out() ? locks_.with_timeout(std::move(status)) : status;
}

void TxnContext::reserve_moves(std::size_t records) {
  locks_.reserve(std::min(records, locks_.held().size()));
  sets_.reserve_moves(records);
}

Status TxnContext::out_of_pages(StorageControl* storage) {
  Status status = page::no_free_page();
  return std::move(status.at_storage(storage->meta.name));
}

Status TxnContext::no_page(StorageControl* storage) {
  if (!cold_pages_.has_failed()) return out_of_pages(storage);
  return std::move(cold_pages_.take_failure().at_storage(storage->meta.name));
}

// Throws nothing, so that on failure the caller can release what it has prepared for the write.
Status TxnContext::reserve_slowly(StorageControl* storage, std::size_t bytes,
                                  log::LogRecord** record) {
  Status status = base::catching([&] {
    sets_.writes().reserve_one();
    Status reserved;
    *record = resources_.log->reserve(bytes, &reserved);
    return reserved;
  });
  return std::move(status.at_storage(storage->meta.name));
}

Status TxnContext::hold(StorageControl* storage, page::RecordHeader* record, std::string_view key) {
  FOEDUS_INVARIANT(!cold_pages_.is_open());  // O15: it may wait for the record's lock
  if (isolation_ != Isolation::kSerializable || locks_.holds(record)) return {};
  if (locks_.hold(record)) return {};
  return conflict(ConflictReason::kRecordLocked, storage, key);
}

}  // namespace foedus::occ
