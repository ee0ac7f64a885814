#include "foedus-core/engine/sessions/unapplied.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/sessions/catalog.h"
#include "foedus-core/engine/sessions/session_factory.h"
#include "foedus-core/engine/sessions/tail_row.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/txn/commit.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kClaimLookUs = 20;   // between looks at a claimed row, and between tries
constexpr std::uint64_t kOverLookUs = 1000;  // pause between looks at a storage with waiting rows
// Rows that a scan applies at a time: some pages' worth, so that a short scan stays short.
constexpr std::size_t kRowsOfScan = 64;
// Number of attempts to apply a row. The first may conflict with another session's change of the
// row's page. More attempts would not help if the page must be split, and a user's transaction
// holds locks of its records.
constexpr int kTries = 4;
constexpr std::uint64_t kAppliersLockWaitUs = 10'000;
constexpr std::uint64_t kOverWaitUs = 1'000'000;

}  // namespace

// Holds the mutex of one of the sessions, and so the session, while a row is claimed (E42).
class Unapplied::Claim {
 public:
  // Takes a free session, if there is one, beginning with number `first` modulo kSessions. If none
  // is free, waits for session `first` modulo kSessions. `first` is the row's first record, so
  // threads that need one row wait for the same session.
  Claim(Unapplied* all, std::size_t first) : lock_(lock(all, first, &session_)) {}
  EngineSession* session() const { return session_; }

 private:
  static std::unique_lock<std::mutex> lock(Unapplied* all, std::size_t first,
                                           EngineSession** session) {
    for (std::uint32_t i = 0; i < kSessions; ++i) {
      Applier& applier = all->appliers_[(first + i) % kSessions];
      std::unique_lock lock(applier.mutex, std::try_to_lock);
      if (!lock.owns_lock()) continue;
      *session = applier.session.get();
      return lock;
    }
    Applier& applier = all->appliers_[first % kSessions];
    std::unique_lock lock(applier.mutex);
    *session = applier.session.get();
    return lock;
  }

  EngineSession* session_ = nullptr;
  const std::unique_lock<std::mutex> lock_;
};

Unapplied::Unapplied(const Parts& parts, Epoch covered) : parts_(parts), covered_(covered) {}

Unapplied::~Unapplied() { leave_found(); }

// Leaves the snapshot that was the newest at open, which attach() has entered: that snapshot may
// then be removed. Does nothing if there is none, or in a second call.
void Unapplied::leave_found() {
  if (found_ != nullptr) parts_.snapshots->leave(looker_->context().session());
  found_ = nullptr;
}

Result<std::unique_ptr<Unapplied>> Unapplied::make(const Parts& parts,
                                                   std::unique_ptr<SortedTail>* tail,
                                                   BorrowedMemory* borrowed, Epoch covered) {
  return base::catching([&]() -> Result<std::unique_ptr<Unapplied>> {
    std::unique_ptr<Unapplied> made(new Unapplied(parts, covered));
    FOEDUS_CHECK(made->make_parts(**tail));
    made->tail_ = std::move(*tail);
    // The tail may take half of the gleaner's memory; the other half is left to gleans.
    const std::uint64_t held = made->bytes_held();
    borrowed->keep(held - std::min(held, parts.options->glean.memory_bytes / 2));
    made->borrowed_.take(borrowed);
    return made;
  });
}

Status Unapplied::make_parts(const SortedTail& tail) {
  FOEDUS_TRY(looker_, parts_.sessions->make_applier(kSessions));
  for (std::uint32_t i = 0; i < kSessions; ++i) {
    FOEDUS_TRY(appliers_[i].session, parts_.sessions->make_applier(i));
    appliers_[i].session->context().locks().set_wait_us(kAppliersLockWaitUs);
  }
  for (std::size_t i = 0; i < tail.storages().size(); ++i) {
    Rows rows;
    rows.id = tail.storages()[i].id;
    rows.place = i;
    rows.count = tail.record_count(i);
    if (rows.count == 0) continue;
    if (tail.storages()[i].kind != StorageKind::kSequential) {
      rows.states = std::make_unique<base::AtomicWord<std::uint8_t>[]>(rows.count);
    }
    rows_.push_back(std::move(rows));
  }
  return {};
}

void Unapplied::attach() {
  found_ = parts_.snapshots->enter(looker_->context().session());
  for (Rows& rows : rows_) {
    rows.control = parts_.catalog->find(rows.id);
    FOEDUS_INVARIANT(rows.control != nullptr, static_cast<std::uint32_t>(rows.id));
    if (found_ != nullptr) rows.root = found_->root_of(rows.id);
    rows.control->set_unapplied();
  }
}

Unapplied::Rows* Unapplied::find(const occ::StorageControl& control) {
  const auto found = std::ranges::lower_bound(rows_, control.id(), {}, &Rows::id);
  return found != rows_.end() && found->control == &control ? &*found : nullptr;
}

std::size_t Unapplied::end_of_row(const Rows& rows, std::size_t begin) const {
  const std::string_view key = record(rows, begin).key();
  std::size_t end = begin + 1;
  while (end != rows.count && record(rows, end).key() == key) ++end;
  return end;
}

std::size_t Unapplied::begin_of_row(const Rows& rows, std::size_t last) const {
  const std::string_view key = record(rows, last).key();
  while (last != 0 && record(rows, last - 1).key() == key) --last;
  return last;
}

// ---- users

Status Unapplied::touch(occ::StorageControl* control, std::string_view key) {
  Rows* const rows = find(*control);
  if (rows == nullptr || rows->states == nullptr) return {};
  const std::size_t begin = tail_->find(rows->place, key);
  if (begin == rows->count || record(*rows, begin).key() != key) return {};
  return apply_row(rows, begin);
}

// Applies the row, or waits until another thread has applied it (E39, E42).
Status Unapplied::apply_row(Rows* rows, std::size_t begin) {
  base::AtomicWord<std::uint8_t>& state = rows->states[begin];
  // order: acquire, pairs with the release below: the caller sees the applied row.
  while (state.load_acquire() != kApplied) {
    {
      const Claim claim(this, begin);
      // order: relaxed. end() sets is_over_ before it takes the mutex that `claim` holds. So this
      // thread sees is_over_, or end() gets that mutex only after `claim` has ended.
      const bool is_over = is_over_.load_relaxed() != 0;
      std::uint8_t expected = kWaiting;
      // If is_over is set, the row needs no change: its page has it already (E41, E42).
      // order: acq_rel, pairs with the release below.
      if (state.compare_exchange_acq_rel(expected, is_over ? kApplied : kClaimed)) {
        if (is_over) return {};
        FOEDUS_SYNC_POINT("unapplied:claimed");
        Status applied =
            base::catching([&] { return apply_claimed(claim.session(), *rows, begin); });
        // order: release, pairs with both acquires of `state` above, whose threads then see the
        // row.
        state.store_release(applied.is_ok() ? kApplied : kWaiting);
        return applied;
      }
      if (expected == kApplied) return {};
    }
    parts_.runtime->pause(kClaimLookUs);
  }
  return {};
}

Status Unapplied::apply_claimed(EngineSession* session, const Rows& rows, std::size_t begin) {
  const std::size_t end = end_of_row(rows, begin);
  for (int i = 1;; ++i) {
    Status applied = try_apply(session, rows, begin, end);
    if (applied.code() != ErrorCode::kConflict || i == kTries) return applied;
    parts_.runtime->pause(kClaimLookUs);
  }
}

Status Unapplied::try_apply(EngineSession* session, const Rows& rows, std::size_t begin,
                            std::size_t end) {
  occ::TxnContext& txn = session->context();
  const std::string_view key = record(rows, begin).key();
  TailRow row(rows.control, rows.root);
  std::size_t first = end;
  while (first != begin && !row.is_whole(record(rows, first - 1))) --first;
  txn.begin({});
  const auto fill = [&]() -> Status {
    if (first == begin) {
      FOEDUS_CHECK(row.read(txn, key));
    } else {
      --first;  // to the last record that sets the whole row
    }
    for (std::size_t i = first; i != end; ++i) FOEDUS_CHECK(row.change(record(rows, i)));
    return row.write(txn, key);
  };
  Status status = base::catching(fill);
  if (!status.is_ok()) {
    txn::rollback(&txn);
    return status;
  }
  Epoch epoch;
  status = txn::commit(&txn, &epoch);
  if (!status.is_ok()) txn.forget_retry();  // E39: the next try locks nothing
  return status;
}

// Waits until the rows have ended. The transaction stays open meanwhile, and holds back retired
// pages that the gleaner may need to end the rows. So it conflicts after kOverWaitUs.
Status Unapplied::wait_over(occ::TxnContext* txn, occ::StorageControl* control) {
  for (std::uint64_t waited_us = 0; control->has_unapplied(); waited_us += kOverLookUs) {
    FOEDUS_CHECK(parts_.snapshots->trouble());
    if (waited_us >= kOverWaitUs || occ::TxnTurn::is_revoked(txn->turn())) {
      return txn->conflict(ConflictReason::kPageInstalled, control);
    }
    parts_.runtime->pause(kOverLookUs);
  }
  return {};
}

Unapplied::Range Unapplied::range(occ::StorageControl* control, std::string_view low,
                                  std::string_view high, bool reverse) {
  Range range;
  Rows* const rows = find(*control);
  if (rows == nullptr) return range;
  const std::size_t begin = tail_->find(rows->place, low);
  const std::size_t end =
      high.empty() ? rows->count : std::max(begin, tail_->find(rows->place, high));
  range.all_ = this;
  range.rows_ = rows;
  range.reverse_ = reverse;
  range.next_ = reverse ? end : begin;
  range.end_ = reverse ? begin : end;
  return range;
}

Unapplied::Range Unapplied::all_of(occ::StorageControl* control) {
  Range range;
  Rows* const rows = find(*control);
  if (rows == nullptr) return range;
  range.all_ = this;
  range.rows_ = rows;
  range.end_ = rows->count;
  return range;
}

std::string_view Unapplied::Range::waiting_key() const {
  return all_->record(*rows_, reverse_ ? next_ - 1 : next_).key();
}

Status Unapplied::Range::apply_some() {
  for (std::size_t i = 0; i < kRowsOfScan && !is_applied(); ++i) {
    const std::size_t begin = reverse_ ? all_->begin_of_row(*rows_, next_ - 1) : next_;
    FOEDUS_CHECK(all_->apply_row(rows_, begin));
    next_ = reverse_ ? begin : all_->end_of_row(*rows_, begin);
  }
  return {};
}

// ---- the gleaner's task

// Returns whether a search for the row ends on a volatile page. The search reads no snapshot page,
// and returns false where it would need one. If it fails for another reason, returns true:
// apply_row() then reports the error.
bool Unapplied::is_in_memory(const Rows& rows, std::size_t begin) {
  occ::TxnContext& txn = looker_->context();
  txn.begin({});
  txn.cold_pages().set_mode(occ::ColdPages::Mode::kNone);
  const Status status =
      base::catching([&] { return look_for(txn, rows.control, record(rows, begin).key()); });
  txn.cold_pages().set_default_mode();
  txn::rollback(&txn);
  return status.code() != occ::ColdPages::kNotInMemory;
}

// Ends the next row of the storage: makes sure that a search finds it without Unapplied (E41). If
// the row waits and a search for it ends on a volatile page, applies it. Otherwise the search ends
// on a snapshot page, which has the row. If the storage was dropped or has no volatile page, ends
// all its remaining rows.
Status Unapplied::end_row(Rows* rows, std::uint32_t slot) {
  const epoch::Pinned pinned(parts_.clock, slot);  // E17: before the look at is_dropped()
  // Nothing is left to apply. In a storage without volatile pages every search ends on a page of
  // the new snapshot, which has all rows that were the tail's (E41).
  if (rows->control->is_dropped() || rows->control->root.load().volatile_page.is_null()) {
    end_record_ = rows->count;
    return {};
  }
  const std::size_t begin = end_record_;
  // order: relaxed, apply_row() checks the state again before it claims the row.
  const std::uint8_t state = rows->states[begin].load_relaxed();
  // Does not wait for a row that is claimed: the session that applies it may wait for record locks
  // of a user's transaction. In a runtime of one thread, that session may run on this thread.
  if (state == kClaimed) return ErrorCode::kConflict;
  if (state == kWaiting && is_in_memory(*rows, begin)) {
    const Status applied = apply_row(rows, begin);
    if (!applied.is_ok() && !rows->control->is_dropped()) return applied;
  }
  end_record_ = end_of_row(*rows, begin);
  return {};
}

void Unapplied::end_sequential() {
  for (const Rows& rows : rows_) {
    if (rows.states == nullptr) rows.control->clear_unapplied();
  }
}

// Calls end_row() for each of the remaining rows of keyed storages and arrays (E41). After an error
// the next call goes on with the row that failed.
Status Unapplied::end_rows(std::uint32_t slot) {
  for (; end_storage_ != rows_.size(); ++end_storage_, end_record_ = 0) {
    Rows& rows = rows_[end_storage_];
    if (rows.states == nullptr) continue;
    while (end_record_ != rows.count) {
      if (parts_.state->is_recovery_given_up() || !parts_.state->check_open().is_ok()) {
        return ErrorCode::kClosed;
      }
      FOEDUS_CHECK(end_row(&rows, slot));
    }
  }
  return {};
}

// Ends all rows, then clears the flags by which operations ask for waiting rows (E42).
Status Unapplied::end(std::uint32_t slot) {
  FOEDUS_CHECK(end_rows(slot));
  FOEDUS_SYNC_POINT("unapplied:ending");
  is_over_.store_relaxed(1);  // order: relaxed, each claimer takes a mutex that is taken below
  for (; passed_ != kSessions; ++passed_) {
    const std::unique_lock lock(appliers_[passed_].mutex, std::try_to_lock);
    if (!lock.owns_lock()) return {};
  }
  leave_found();
  for (const Rows& rows : rows_) rows.control->clear_unapplied();
  base::fence_seq_cst();  // order: E3, as for retired pages: the flags are cleared before the stamp
  over_since_ = parts_.clock->current();
  return {};
}

bool Unapplied::is_unused() const { return parts_.clock->reclaimable() >= over_since_; }

}  // namespace foedus::engine
