// foedus/txn.h: scans.
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/txn_calls.h"
#include "foedus/txn.h"

namespace foedus {

namespace {

// Returns the error that every operation has if its transaction is not open or is doomed; else ok.
Status check_open(engine::SessionSlot* slot, std::uint64_t turn) {
  FOEDUS_CHECK(engine::check_txn(slot, turn));
  occ::TxnContext& txn = slot->session.load_relaxed()->context();  // order: relaxed, checked (E30)
  return txn.is_doomed() ? txn.conflict(ConflictReason::kNone, nullptr) : Status();
}

}  // namespace

Status engine::ScanCursor::open_sequential() {
  if (!is_of_snapshot_ && control_->has_unapplied()) [[unlikely]] {
    FOEDUS_CHECK(session_->engine().unapplied().wait_over(&session_->context(), control_));
  }
  return is_of_snapshot_ ? sequential_.open_in_snapshot(session_->context(), control_, root_)
                         : sequential_.open(session_->context(), control_);
}

Status engine::ScanCursor::open_tree(std::string_view low, std::string_view high, bool reverse) {
  unapplied_.reset();
  may_have_rows_ = !control_->has_unapplied();
  if (may_have_rows_) [[likely]] {
    masstree_.open(session_->context(), control_, low, high, reverse);
    return {};
  }
  unapplied_ = session_->engine().unapplied().range(control_, low, high, reverse);
  low_ = low;
  high_ = high;
  reverse_ = reverse;
  return open_applied();
}

// Applies some waiting rows of the range, and opens the cursor up to the next row that waits. The
// cursor must not reach the waiting row (E38), because it reads whole pages ahead of the row that
// it returns. The scan goes on like this until its end, even if no row of the storage waits by
// then: a page that the cursor saw before may be of a snapshot that lacks the rows.
Status engine::ScanCursor::open_applied() {
  const Status applied = unapplied_->apply_some();
  if (applied.code() == ErrorCode::kConflict) {
    return session_->touch_later(control_, unapplied_->waiting_key());
  }
  FOEDUS_CHECK(applied);
  std::string low = low_;
  std::string high = high_;
  if (!unapplied_->is_applied() && reverse_) {
    low = unapplied_->waiting_key();
    low.push_back('\0');
  } else if (!unapplied_->is_applied()) {
    high = unapplied_->waiting_key();
  }
  masstree_.open(session_->context(), control_, low, high, reverse_);
  return {};
}

Status engine::ScanCursor::next_of_tree(std::uint64_t rows_left) {
  if (!unapplied_.has_value()) [[likely]] return masstree_.next(rows_left);
  for (;;) {
    FOEDUS_CHECK(masstree_.next(rows_left));
    if (!masstree_.at_end() || unapplied_->is_applied()) return {};
    // The cursor has passed all rows before the waiting one. The rest of the range begins there.
    (reverse_ ? high_ : low_) = unapplied_->waiting_key();
    if (reverse_) high_.push_back('\0');
    masstree_.close();
    FOEDUS_CHECK(open_applied());
  }
}

// Applies all waiting rows of the storage. The cursor remembers pointers and bins that stand for
// many keys. If a row of one of them were applied later, the transaction would conflict with that.
Status engine::ScanCursor::apply_all() {
  Unapplied::Range rows = session_->engine().unapplied().all_of(control_);
  while (!rows.is_applied()) {
    if (occ::TxnTurn::is_revoked(session_->context().turn())) return revoked();
    const Status applied = rows.apply_some();
    if (applied.code() == ErrorCode::kConflict) {
      return session_->touch_later(control_, rows.waiting_key());
    }
    FOEDUS_CHECK(applied);
  }
  return {};
}

Status engine::ScanCursor::open_hash() {
  if (is_of_snapshot_) {
    hash_.open_in_snapshot(session_->context(), control_, root_);
    return {};
  }
  if (control_->has_unapplied()) [[unlikely]]
    FOEDUS_CHECK(apply_all());
  hash_.open(session_->context(), control_);
  return {};
}

void engine::ScanCursor::close() {
  switch (kind_) {
    case StorageKind::kMasstree:
      return masstree_.close();
    case StorageKind::kHash:
      return hash_.close();
    default:
      return sequential_.close();
  }
}

Scan::Scan(const Txn& txn, engine::ScanCursor* cursor, Status failure)
    : slot_(txn.slot_),
      turn_(txn.turn_),
      cursor_(cursor),
      at_end_(cursor == nullptr || !failure.is_ok()),
      failure_(std::move(failure)) {}

Scan::Scan(Scan&& other) noexcept
    : slot_(other.slot_),
      turn_(other.turn_),
      cursor_(std::exchange(other.cursor_, nullptr)),
      started_(other.started_),
      at_end_(std::exchange(other.at_end_, true)),
      row_(other.row_),
      failure_(std::move(other.failure_)) {}

Scan::~Scan() {
  if (cursor_ == nullptr) return;
  // By now the session may be gone, or another transaction may use it: the session cannot take the
  // cursor back.
  if (!engine::is_txn_open(slot_, turn_)) {
    delete cursor_;
    return;
  }
  cursor_->close();
  cursor_->session_->give_cursor(cursor_);
}

Scan::iterator Scan::begin() {
  if (!started_) {
    started_ = true;
    next();
  }
  return iterator(this);
}

// Moves to the next row if the cursor has read it ahead, without access to the storage. Returns
// false if there is no such row, or if the session's operations have to announce themselves (E36).
// The caller then calls next_slowly(), which announces an operation.
inline bool Scan::try_next() {
  engine::ScanCursor& cursor = *cursor_;
  // order: relaxed. is_tracked changes only when the slot gets another session. The turn has grown
  // by then, so is_txn_open() returns false.
  if (!cursor.may_have_rows_ || slot_->is_tracked.load_relaxed() != 0) return false;
  if (!engine::is_txn_open(slot_, turn_) || cursor.session_->context().is_doomed()) return false;
  if (cursor.rows_left_ == 0 || !cursor.masstree_.try_next()) return false;
  --cursor.rows_left_;
  row_ = {cursor.masstree_.key(), cursor.masstree_.payload()};
  return true;
}

void Scan::next() {
  if (!at_end_ && !try_next()) next_slowly();
}

void Scan::next_slowly() {
  Status moved = engine::operation(slot_, turn_, [this] {
    move();
    return Status();
  });
  if (moved.is_ok()) return;
  failure_ = std::move(moved);
  at_end_ = true;
}

void Scan::move() {
  failure_ = check_open(slot_, turn_);
  if (!failure_.is_ok()) {
    at_end_ = true;
    return;
  }
  if (cursor_->rows_left_ == 0) {
    at_end_ = true;
    return;
  }
  const std::uint64_t rows_left = cursor_->rows_left_--;
  if (cursor_->kind_ == StorageKind::kMasstree) {
    failure_ = cursor_->next_of_tree(rows_left);
    at_end_ = !failure_.is_ok() || cursor_->masstree_.at_end();
    if (!at_end_) row_ = {cursor_->masstree_.key(), cursor_->masstree_.payload()};
  } else if (cursor_->kind_ == StorageKind::kHash) {
    if (!std::exchange(cursor_->is_positioned_, true)) failure_ = cursor_->open_hash();
    if (failure_.is_ok()) failure_ = cursor_->hash_.next();
    at_end_ = !failure_.is_ok() || cursor_->hash_.at_end();
    if (!at_end_) row_ = {cursor_->hash_.key(), cursor_->hash_.payload()};
  } else {
    // Opening a sequential cursor moves it to the first record.
    failure_ = std::exchange(cursor_->is_positioned_, true) ? cursor_->sequential_.next()
                                                            : cursor_->open_sequential();
    at_end_ = !failure_.is_ok() || cursor_->sequential_.at_end();
    if (!at_end_) row_ = {{}, cursor_->sequential_.payload()};
  }
}

Scan Txn::scan(const Masstree& storage, std::string_view low, std::string_view high,
               ScanOptions options) {
  const engine::Call call(slot_, turn_, storage);
  Status status = base::catching([&]() -> Status {
    FOEDUS_CHECK(call.check_bound(low));
    return call.check_bound(high);
  });
  if (!status.is_ok()) return Scan(*this, nullptr, std::move(status));
  engine::ScanCursor* cursor = nullptr;
  status = engine::operation(slot_, turn_, [&] {
    cursor = call.session()->take_cursor();
    cursor->kind_ = StorageKind::kMasstree;
    cursor->rows_left_ = options.limit;
    cursor->is_of_snapshot_ = call.is_of_snapshot();
    cursor->control_ = call.control();
    cursor->may_have_rows_ = false;
    if (!cursor->is_of_snapshot_) [[likely]]
      return cursor->open_tree(low, high, options.reverse);
    cursor->unapplied_.reset();
    cursor->masstree_.open_in_snapshot(call.context(), call.control(), call.root_in_snapshot(), low,
                                       high, options.reverse);
    return Status();
  });
  return Scan(*this, cursor, std::move(status));
}

Scan Txn::scan_prefix(const Masstree& storage, std::string_view prefix, ScanOptions options) {
  return scan(storage, prefix, prefix_end(prefix), options);
}

Result<std::uint64_t> Txn::erase_range(const Masstree& storage, std::string_view low,
                                       std::string_view high, std::uint64_t limit) {
  FOEDUS_CHECK(base::catching([&] { return engine::Call(slot_, turn_, storage).check(true); }));
  std::uint64_t erased = 0;
  Scan rows = scan(storage, low, high, {.limit = limit});
  for (const Row& row : rows) {
    FOEDUS_SYNC_POINT("txn:erase_scanned");
    const Status status = erase(storage, row.key);
    // Another transaction has erased the row since the scan has read it: that read is not valid
    // any more. Or the storage was dropped.
    if (status.code() == ErrorCode::kNotFound) FOEDUS_CHECK(verify());
    FOEDUS_CHECK(status);
    ++erased;
  }
  if (const auto failure = rows.failure()) return *failure;
  return erased;
}

namespace {

// Returns a cursor that opens at the first call of Scan::next(), for a scan of all of a storage.
Result<engine::ScanCursor*> cursor_for_all(const engine::Call& call, engine::SessionSlot* slot,
                                           std::uint64_t turn, StorageKind kind,
                                           std::uint64_t limit) {
  FOEDUS_CHECK(base::catching([&] { return call.check(false); }));
  engine::ScanCursor* cursor = nullptr;
  FOEDUS_CHECK(engine::operation(slot, turn, [&] {
    cursor = call.session()->take_cursor();
    return Status();
  }));
  cursor->kind_ = kind;
  cursor->may_have_rows_ = false;
  cursor->rows_left_ = limit;
  cursor->is_positioned_ = false;
  cursor->control_ = call.control();
  cursor->is_of_snapshot_ = call.is_of_snapshot();
  if (cursor->is_of_snapshot_) cursor->root_ = call.root_in_snapshot();
  return cursor;
}

}  // namespace

Scan Txn::scan(const Sequential& storage, SequentialScanOptions options) {
  const engine::Call call(slot_, turn_, storage);
  Result<engine::ScanCursor*> cursor =
      cursor_for_all(call, slot_, turn_, StorageKind::kSequential, options.limit);
  return cursor.is_ok() ? Scan(*this, *cursor, {}) : Scan(*this, nullptr, cursor.status());
}

Scan Txn::scan(const Hash& storage, HashScanOptions options) {
  const engine::Call call(slot_, turn_, storage);
  Result<engine::ScanCursor*> cursor =
      cursor_for_all(call, slot_, turn_, StorageKind::kHash, options.limit);
  return cursor.is_ok() ? Scan(*this, *cursor, {}) : Scan(*this, nullptr, cursor.status());
}

}  // namespace foedus
