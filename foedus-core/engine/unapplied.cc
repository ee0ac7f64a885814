#include "foedus-core/engine/unapplied.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/process.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/tail_row.h"
#include "foedus-core/txn/commit.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kClaimLookUs = 20;   // whether a row that another thread has is applied
constexpr std::uint64_t kOverLookUs = 1000;  // whether all rows of a storage are
// Rows that a scan applies at a time: a few pages' worth, so that a short scan is not long.
constexpr std::size_t kRowsOfScan = 64;
// A transaction of one row conflicts with changes of its page: so many tries mean a mistake.
constexpr int kTries = 10'000;
constexpr std::uint64_t kPatientFrom = 10;  // tries without a pause

}  // namespace

// One of the sessions, for as long as a row is claimed (E42).
class Unapplied::Claim {
 public:
  explicit Claim(Unapplied* all) : lock_(lock(all, &session_)) {}
  EngineSession* session() const { return session_; }

 private:
  static std::unique_lock<std::mutex> lock(Unapplied* all, EngineSession** session) {
    const std::uint32_t first = base::thread_id() % kSessions;
    for (std::uint32_t i = 0; i < kSessions; ++i) {
      Applier& applier = all->appliers_[(first + i) % kSessions];
      std::unique_lock lock(applier.mutex, std::try_to_lock);
      if (!lock.owns_lock()) continue;
      *session = applier.session.get();
      return lock;
    }
    Applier& applier = all->appliers_[first];
    std::unique_lock lock(applier.mutex);
    *session = applier.session.get();
    return lock;
  }

  EngineSession* session_ = nullptr;
  const std::unique_lock<std::mutex> lock_;
};

Unapplied::Unapplied(Engine* engine, std::unique_ptr<SortedTail> tail, Epoch covered)
    : engine_(engine), tail_(std::move(tail)), covered_(covered) {}

Unapplied::~Unapplied() { leave_found(); }

// Once.
void Unapplied::leave_found() {
  if (found_ != nullptr) engine_->snapshots().leave(looker_->context().session());
  found_ = nullptr;
}

Result<std::unique_ptr<Unapplied>> Unapplied::make(Engine* engine, std::unique_ptr<SortedTail> tail,
                                                   Epoch covered) {
  return base::catching([&]() -> Result<std::unique_ptr<Unapplied>> {
    std::unique_ptr<Unapplied> made(new Unapplied(engine, std::move(tail), covered));
    FOEDUS_CHECK(made->make_parts());
    return made;
  });
}

Status Unapplied::make_parts() {
  FOEDUS_TRY(looker_, engine_->make_applier(kSessions));
  for (std::uint32_t i = 0; i < kSessions; ++i) {
    FOEDUS_TRY(appliers_[i].session, engine_->make_applier(i));
  }
  found_ = engine_->snapshots().enter(looker_->context().session());
  const auto& storages = tail_->storages();
  for (std::size_t i = 0; i < storages.size(); ++i) {
    Rows rows;
    rows.control = engine_->catalog().find(storages[i].id);
    rows.place = i;
    rows.count = tail_->record_count(i);
    if (found_ != nullptr) rows.root = found_->root_of(storages[i].id);
    FOEDUS_INVARIANT(rows.control != nullptr, static_cast<std::uint32_t>(storages[i].id));
    if (rows.count == 0) continue;
    if (storages[i].kind != StorageKind::kSequential) {
      rows.states = std::make_unique<base::AtomicWord<std::uint8_t>[]>(rows.count);
    }
    rows_.push_back(std::move(rows));
  }
  for (const Rows& rows : rows_) rows.control->set_unapplied();
  return {};
}

Unapplied::Rows* Unapplied::find(const occ::StorageControl& control) {
  const auto found = std::ranges::lower_bound(rows_, control.id(), {},
                                              [](const Rows& rows) { return rows.control->id(); });
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
// ------------------------------------------------------------------------------------------

Status Unapplied::touch(occ::StorageControl* control, std::string_view key) {
  Rows* const rows = find(*control);
  if (rows == nullptr || rows->states == nullptr) return {};
  const std::size_t begin = tail_->find(rows->place, key);
  if (begin == rows->count || record(*rows, begin).key() != key) return {};
  return apply_row(rows, begin);
}

// E39, E42.
Status Unapplied::apply_row(Rows* rows, std::size_t begin) {
  base::AtomicWord<std::uint8_t>& state = rows->states[begin];
  // order: acquire, pairs with the release below: what was applied is seen.
  while (state.load_acquire() != kApplied) {
    {
      const Claim claim(this);
      // order: relaxed, the mutex orders it.
      if (is_over_.load_relaxed() != 0) return {};
      std::uint8_t expected = kWaiting;
      // order: acq_rel, pairs with the release of who gave it back.
      if (state.compare_exchange_acq_rel(expected, kClaimed)) {
        FOEDUS_SYNC_POINT("unapplied:claimed");
        Status applied =
            base::catching([&] { return apply_claimed(claim.session(), *rows, begin); });
        // order: release, pairs with the acquire above.
        state.store_release(applied.is_ok() ? kApplied : kWaiting);
        return applied;
      }
      if (expected == kApplied) return {};
    }
    engine_->runtime().pause(kClaimLookUs);
  }
  return {};
}

Status Unapplied::apply_claimed(EngineSession* session, const Rows& rows, std::size_t begin) {
  const std::size_t end = end_of_row(rows, begin);
  for (int i = 1;; ++i) {
    Status applied = try_apply(session, rows, begin, end);
    if (applied.code() != ErrorCode::kConflict || i == kTries) return applied;
    if (i > static_cast<int>(kPatientFrom)) engine_->runtime().pause(kClaimLookUs);
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
      --first;  // to the last whole one
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

Status Unapplied::wait_over(const occ::StorageControl& control) {
  while (control.has_unapplied()) {
    if (engine_->gleaning()->has_failed()) FOEDUS_CHECK(engine_->snapshots().trouble());
    FOEDUS_CHECK(engine_->check_open());
    engine_->runtime().pause(kOverLookUs);
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

bool Unapplied::Range::is_applied_up_to(std::string_view key) const {
  if (is_applied()) return true;
  return reverse_ ? key > all_->record(*rows_, next_ - 1).key()
                  : key < all_->record(*rows_, next_).key();
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
// -----------------------------------------------------------------------------

// A search that meets no page of snapshots. One that conflicts says nothing: as if it were there.
bool Unapplied::is_in_memory(EngineSession* session, const Rows& rows, std::size_t begin) {
  occ::TxnContext& txn = session->context();
  txn.begin({});
  occ::ColdPages& pages = txn.cold_pages();
  pages.set_memory_only(true);
  const Status status = base::catching(
      [&] { return look_for(txn, rows.control, record(rows, begin).key()); });
  const bool is_cold = pages.has_met_cold() && status.code() != ErrorCode::kNotFound &&
                       !status.is_ok();
  pages.set_memory_only(false);
  txn::rollback(&txn);
  return !is_cold;
}

Status Unapplied::end_storage(Rows* rows) {
  for (std::size_t begin = 0; begin != rows->count; begin = end_of_row(*rows, begin)) {
    if (rows->control->is_dropped()) return {};
    // Nothing of the storage is in memory: E41 holds for all that is left.
    if (rows->control->root.load().volatile_page.is_null()) return {};
    // order: relaxed, a row that is seen to wait is looked at again by who claims it.
    if (rows->states[begin].load_relaxed() == kApplied) continue;
    if (is_in_memory(looker_.get(), *rows, begin)) FOEDUS_CHECK(apply_row(rows, begin));
  }
  return {};
}

// E41, E42.
Status Unapplied::end() {
  if (is_over_.load_relaxed() == 0) {  // order: relaxed, set here
    for (Rows& rows : rows_) {
      if (rows.states != nullptr) FOEDUS_CHECK(end_storage(&rows));
    }
    FOEDUS_SYNC_POINT("unapplied:ending");
    is_over_.store_relaxed(1);  // order: relaxed, the mutexes order it
  }
  for (; passed_ != kSessions; ++passed_) {
    const std::unique_lock lock(appliers_[passed_].mutex, std::try_to_lock);
    if (!lock.owns_lock()) return {};
  }
  leave_found();
  for (const Rows& rows : rows_) rows.control->clear_unapplied();
  base::fence_seq_cst();  // order: E3, as for pages: the controls were changed before the stamp
  over_since_ = engine_->clock().current();
  return {};
}

bool Unapplied::is_unused() const { return engine_->clock().reclaimable() >= over_since_; }

}  // namespace foedus::engine
