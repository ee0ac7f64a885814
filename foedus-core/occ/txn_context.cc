#include "foedus-core/occ/txn_context.h"

#include <algorithm>
#include <cstring>
#include <string>


namespace foedus::occ {

namespace {

// Room that most transactions never outgrow.
constexpr std::size_t kReadsReserved = 4096;
constexpr std::size_t kPointersReserved = 256;
// Entries that one page of the page-version set becomes when its keys move, of two that are joined.
constexpr std::size_t kPageMovesMax = 4;

// The number of tries for a lock where waiting could close a circle (O1): a few commits, and short
// of yielding the processor. Its holder may wait for a lock of this transaction.
constexpr unsigned kHoldSpins = 100;

// Copies the part of [from_offset, from_offset + from.size()) that `range` wants to its place.
void overlay_bytes(std::uint32_t from_offset, std::string_view from, ReadRange* range) {
  const std::uint64_t begin = std::max<std::uint64_t>(from_offset, range->offset);
  const std::uint64_t end = std::min<std::uint64_t>(
      from_offset + from.size(), static_cast<std::uint64_t>(range->offset) + range->out_bytes);
  if (begin >= end) return;
  std::memcpy(range->out + (begin - range->offset), from.data() + (begin - from_offset),
              end - begin);
}

bool holds_number(std::uint32_t at, const ReadRange& range) {
  return at >= range.offset &&
         at + 8ull <= static_cast<std::uint64_t>(range.offset) + range.out_bytes;
}

// Adds to the number at `at` of the payload, if `range` holds all of it.
void overlay_increment(std::uint32_t at, std::uint64_t delta, ReadRange* range) {
  if (!holds_number(at, *range)) return;
  std::uint64_t value;
  std::memcpy(&value, range->out + (at - range->offset), sizeof(value));
  value += delta;
  std::memcpy(range->out + (at - range->offset), &value, sizeof(value));
}

}  // namespace

TxnContext::TxnContext(const Resources& resources)
    : resources_(resources),
      cold_pages_({.cache = resources.cache,
                   .page_reader = resources.page_reader,
                   .lines = resources.lines,
                   .line_reads = resources.line_reads,
                   .clock = resources.clock,
                   .session = resources.session,
                   .soc = resources.soc}),
      reads_(resources.memory),
      pointers_(base::LineAllocator<PointerEntry>(resources.memory)),
      write_set_(resources.memory),
      page_set_(resources.memory),
      held_(resources.memory),
      to_hold_(base::LineAllocator<page::RecordHeader*>(resources.memory)),
      waiters_(resources.memory, resources.session),
      whole_payload_(base::LineAllocator<char>(resources.memory)),
      turn_(resources.turn == nullptr ? &own_turn_ : resources.turn) {
  reads_.reserve(kReadsReserved);
  pointers_.reserve(kPointersReserved);
}

void TxnContext::begin(const TxnOptions& options) {
  FOEDUS_INVARIANT(!is_open(), turn());
  FOEDUS_INVARIANT(write_set_.is_empty() && held_.is_empty(), write_set_.size(), held_.size());
  turn_->store_relaxed(TxnTurn::number_of(turn()) + 1);  // order: relaxed, as turn()
  doomed_ = ConflictReason::kNone;
  lock_timeout_ = {};
  is_out_of_memory_ = false;
  page_failure_ = {};  // of a failed cold_page() that was never reported
  isolation_ = options.isolation;
  read_only_ = options.read_only || options.isolation != Isolation::kSerializable;
  const bool of_snapshot = options.isolation == Isolation::kSnapshot;
  read_mode_ = of_snapshot ? ReadMode::kSnapshot : ReadMode::kOptimistic;
  const bool is_held = options.is_retry && !to_hold_.empty();
  // begin_epoch_ stays that of the pin: no fence of this transaction comes after a newer one.
  if (is_held && resources_.clock->take_pin_back(resources_.session)) return relock_held();
  forget_retry();
  // Before the fence of pin(): an epoch that is too old is a safe answer to "since it began".
  begin_epoch_ = resources_.clock->current();
  // A snapshot transaction sees no page that is ever retired, however long it takes.
  if (!of_snapshot) resources_.clock->pin(resources_.session);
  resources_.pages->reclaim();
}

// Waits for the lock of each record, by ascending address (O1). A record that has moved meanwhile
// is held in vain. From the first one that cannot be locked on, records are left to the calls that
// ask for them.
void TxnContext::relock_held() {
  held_.reserve(to_hold_.size());
  for (page::RecordHeader* const record : to_hold_) {
    LockWaiter* const waiter = waiters_.take();
    if (!lock_for(&record->lock, waiter, lock_wait_us_)) break;
    held_.add(record, waiter);
  }
  to_hold_.clear();
}

void TxnContext::end() {
  cold_pages_.settle();
  forget_sets();
  to_hold_.clear();
  resources_.clock->unpin(resources_.session);
}

void TxnContext::end_for_retry() {
  if (locks_reads()) {
    for (const ReadEntry& read : reads_) hold_in_retry(read.record);
  }
  std::sort(to_hold_.begin(), to_hold_.end());
  to_hold_.erase(std::unique(to_hold_.begin(), to_hold_.end()), to_hold_.end());
  forget_sets();
  cold_pages_.settle();
  if (to_hold_.empty()) {
    resources_.clock->unpin(resources_.session);
  } else {
    resources_.clock->lend_pin(resources_.session);
  }
}

void TxnContext::forget_retry() {
  if (to_hold_.empty()) return;
  to_hold_.clear();
  resources_.clock->unpin(resources_.session);
}

// Chooses a page to mark. Distances vary: otherwise transactions of one length would mark the same
// one of their records each time.
//
// The page is marked at the next such look, or when the transaction ends, which protects it until
// then. Its header is on no line that a read of the record needs; the prefetch has brought it
// meanwhile.
void TxnContext::mark_use(const page::RecordHeader* record) {
  if (page_to_mark_ != nullptr) page_to_mark_->mark_used();
  page_to_mark_ = page::PageHeader::of(const_cast<page::RecordHeader*>(record));
  base::prefetch_line(page_to_mark_);
  constexpr std::uint32_t kMultiplier = 0x9e3779b1u;
  use_steps_ = use_steps_ * kMultiplier + 1;
  uses_to_mark_ = kUsesPerMark / 2 + (use_steps_ >> 16) % kUsesPerMark;
}

void TxnContext::release_held() {
  for (const HeldLock& held : held_.entries()) {
    hold_in_retry(held.record);
    unlock(&held.record->lock, held.waiter);
  }
  held_.clear();
}

void TxnContext::forget_sets() {
  FOEDUS_INVARIANT(is_open(), turn());
  FOEDUS_INVARIANT(held_.is_empty(), held_.size());
  if (page_to_mark_ != nullptr) {
    page_to_mark_->mark_used();
    page_to_mark_ = nullptr;
  }
  reads_.clear();
  pointers_.clear();
  base::trim(&pointers_, kKeptBytesMax);
  base::trim(&whole_payload_, kKeptBytesMax);
  write_set_.clear();
  page_set_.clear();
  waiters_.clear();
  // A turn that was revoked is its owner's to end.
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
    const auto i = static_cast<std::size_t>(reason);
    Counters::count(&counters_.conflicts[i]);
    // order: relaxed, statistics.
    if (storage != nullptr) storage->conflicts[i].fetch_add_relaxed(1);
  }
  Status status = Status::conflict(doomed_);
  if (storage != nullptr) status.at_storage(storage->meta.name);
  status.at_key(key.data(), key.size());
  return has_lock_timed_out() ? with_lock_timeout(std::move(status)) : status;
}

void TxnContext::set_lock_timeout(const LockWaiter& waiter) {
  lock_timeout_ = {lock_wait_us_, waiter.met_session()};
}

Status TxnContext::with_lock_timeout(Status status) const {
  base::trying([&] {
    const std::string holder = lock_timeout_.session < 0
                                   ? "a change of its page"
                                   : "session " + std::to_string(lock_timeout_.session);
    status.with_detail("waited " + std::to_string(lock_timeout_.waited_us / 1'000) +
                       " ms for the record's lock, which " + holder +
                       " has; a transaction that called get_for_update() must end");
  });
  return status;
}

void TxnContext::reserve_moves(std::size_t records) {
  const std::size_t held = std::min(records, held_.size());
  write_set_.reserve_moves(std::min(records, write_set_.size()));
  waiters_.reserve(held);
  held_.reserve(held);
  if (!page_set_.is_empty()) page_set_.reserve(kPageMovesMax);
}

Status TxnContext::out_of_pages(StorageControl* storage) {
  Status status = page::no_free_page();
  return std::move(status.at_storage(storage->meta.name));
}

const page::PageHeader* TxnContext::cold_page(page::SnapshotPageId id, page::PagePart wanted) {
  if (!page_failure_.is_ok()) [[unlikely]]
    page_failure_ = {};
  return cold_pages_.page(id, &page_failure_, wanted);
}

const page::PageHeader* TxnContext::cold_child(page::DualPagePointer* pointer,
                                               page::PagePart wanted) {
  if (!page_failure_.is_ok()) [[unlikely]]
    page_failure_ = {};
  return cold_pages_.child(pointer, &page_failure_, wanted);
}

std::nullptr_t TxnContext::not_that_page(page::SnapshotPageId id) {
  page_failure_ = occ::not_that_page(id);
  return nullptr;
}

Status TxnContext::no_page(StorageControl* storage) {
  if (page_failure_.is_ok()) return out_of_pages(storage);
  Status status = std::exchange(page_failure_, {});
  return std::move(status.at_storage(storage->meta.name));
}

bool TxnContext::has_followed(const page::DualPagePointer* pointer,
                              const page::DualPageIds& ids) const {
  return std::any_of(pointers_.begin(), pointers_.end(), [&](const PointerEntry& entry) {
    return entry.pointer == pointer && entry.observed == ids;
  });
}

bool TxnContext::own_install(const page::DualPagePointer* pointer, const page::DualPageIds& before,
                             const page::DualPageIds& after) {
  bool followed = false;
  for (PointerEntry& entry : pointers_) {
    if (entry.pointer != pointer || entry.observed != before) continue;
    entry.observed = after;
    followed = true;
  }
  return followed;
}

bool TxnContext::forget_pointer(const StorageControl* storage, const page::DualPageIds& observed) {
  ++installs_;
  const std::size_t count = pointers_.size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const PointerEntry entry = pointers_[i];
    if (entry.storage != storage || entry.observed != observed) pointers_[kept++] = entry;
  }
  while (pointers_.size() > kept) pointers_.pop_back();
  return kept != count;
}

TxnContext::SettledWrites TxnContext::begin_settling(page::StorageId storage, Epoch birth) const {
  const SettledWrites& last = settled_[static_cast<std::size_t>(storage) % kLastPages];
  const bool goes_on = last.txn == turn() && last.storage == storage && birth < last.since;
  if (goes_on) return last;
  const SettledWrites first{turn(), storage, resources_.clock->current(), 0};
  base::fence_seq_cst();  // order: O17: the clock before the looks at the records
  return first;
}

void TxnContext::end_settling(SettledWrites settled) {
  settled.count = static_cast<std::uint32_t>(write_set_.size());
  settled_[static_cast<std::size_t>(settled.storage) % kLastPages] = settled;
}

bool TxnContext::begins_with_whole(const WriteSet::Own& own) {
  const log::LogRecordType type = write_set_[own.first].log->type;
  return type == log::LogRecordType::kPut || type == log::LogRecordType::kErase;
}

bool TxnContext::cuts_increment(const WriteSet::Own& own, const ReadRange& range) {
  for (std::uint32_t i = own.first; i != WriteEntry::kNone; i = write_set_[i].next_own) {
    const log::LogRecord& record = *write_set_[i].log;
    if (record.type != log::LogRecordType::kIncrement) continue;
    const std::uint32_t at = record.payload_offset;
    const bool apart = at + 8ull <= range.offset ||
                       at >= static_cast<std::uint64_t>(range.offset) + range.out_bytes;
    if (!apart && !holds_number(at, range)) return true;
  }
  return false;
}

bool TxnContext::overlay(const WriteSet::Own& own, bool base_present, ReadRange* range) {
  bool present = base_present;
  for (std::uint32_t i = own.first; i != WriteEntry::kNone; i = write_set_[i].next_own) {
    const log::LogRecord& record = *write_set_[i].log;
    switch (record.type) {
      case log::LogRecordType::kPut:
        present = true;
        range->payload_bytes = record.payload_bytes();
        overlay_bytes(0, record.payload(), range);
        break;
      case log::LogRecordType::kErase:
        present = false;
        break;
      case log::LogRecordType::kWriteAt:
        overlay_bytes(record.payload_offset, record.payload(), range);
        break;
      case log::LogRecordType::kIncrement: {
        std::uint64_t delta;
        std::memcpy(&delta, record.payload_data(), sizeof(delta));
        overlay_increment(record.payload_offset, delta, range);
        break;
      }
      default:
        FOEDUS_INVARIANT(false, record.type);
    }
  }
  return present;
}

Found TxnContext::look_at(StorageControl* storage, page::RecordHeader* record,
                          const WriteSet::Own& own, Remember remember) {
  if (own.newest != WriteEntry::kNone) {
    // The newest entry decides: partial writes are only made to records that are there.
    return write_set_[own.newest].log->type == log::LogRecordType::kErase ? Found::kAbsent
                                                                          : Found::kPresent;
  }
  page::Tid observed;
  if (!optimistic_tid(*record, &observed)) return Found::kConflict;
  if (observed.is_moved() || observed.is_next_layer()) return Found::kMoved;
  const bool wanted = observed.is_deleted() == (remember == Remember::kAbsence);
  if (wanted) remember_read(record, observed, storage);
  return observed.is_deleted() ? Found::kAbsent : Found::kPresent;
}

// Throws nothing: on failure the caller gives back what it has prepared for the write.
Status TxnContext::reserve_slowly(StorageControl* storage, std::size_t bytes,
                                  log::LogRecord** record) {
  Status status = base::catching([&] {
    write_set_.reserve_one();
    Status reserved;
    *record = resources_.log->reserve(bytes, &reserved);
    return reserved;
  });
  return std::move(status.at_storage(storage->meta.name));
}

Status TxnContext::hold(StorageControl* storage, page::RecordHeader* record, std::string_view key) {
  FOEDUS_INVARIANT(!cold_pages_.is_open());  // O15
  if (isolation_ != Isolation::kSerializable || holds(record)) return {};
  LockWaiter* const waiter = waiters_.take();
  held_.reserve(1);
  if (held_.are_below(record)) {
    if (!lock_record(record, waiter)) return conflict(ConflictReason::kRecordLocked, storage, key);
  } else if (!try_lock_for(&record->lock, waiter, kHoldSpins)) {
    hold_in_retry(record);  // the retry takes it in its turn
    return conflict(ConflictReason::kRecordLocked, storage, key);
  }
  held_.add(record, waiter);
  return {};
}

}  // namespace foedus::occ
