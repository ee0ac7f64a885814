#include "foedus-core/storage/sequential/sequential_cursor.h"

#include <algorithm>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/read_record.h"
#include "foedus-core/storage/sequential/sequential_pages.h"
#include "foedus/options.h"

namespace foedus::storage::sequential {

void Cursor::prepare(occ::TxnContext& ctx, occ::StorageControl* control) {
  close();
  ctx_ = &ctx;
  control_ = control;
  buffer_.resize(kMaxSequentialPayloadBytes);
}

// Opens a scan without lanes, and without own appends: the transaction only reads.
Status Cursor::open_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                                page::SnapshotPageId root) {
  prepare(ctx, control);
  FOEDUS_CHECK(snapshot_.open(ctx, control, root));
  at_end_ = false;
  return read_first();
}

Status Cursor::open(occ::TxnContext& ctx, occ::StorageControl* control) {
  prepare(ctx, control);
  page::DualPageIds ids;
  do {
    lanes_.clear();
    ids = control->root.load();
    FOEDUS_CHECK(snapshot_.open(ctx, control, ids.snapshot_page));
    FOEDUS_SYNC_POINT("sequential:snapshot_open");
    FOEDUS_CHECK(open_lanes(ids.volatile_page));
    // If a snapshot was installed meanwhile, pages of chains may have been dropped whose records
    // the snapshot at hand does not have. The installer changes the root before any chain. So the
    // second load of the root, after the acquire loads of the chains, shows the installation.
  } while (control->root.load() != ids);
  ctx.sets().remember_pointer(&control->root, nullptr, ids, control);
  at_end_ = false;
  return read_first();
}

Status Cursor::open_lanes(page::VolatilePageId root_id) {
  if (root_id.is_null()) return {};
  auto* const root = page_of<SequentialRootPage>(ctx_->pool(), root_id.word());
  // Remembers each version before it reads what the version counts, so that a change in between is
  // a conflict, not a miss.
  ctx_->sets().remember_page(&root->header, root->header.load_version(), control_);
  for (page::DualPagePointer& pointer : root->pointers) {
    const page::VolatilePageId id = pointer.load_volatile();
    if (!id.is_null()) FOEDUS_CHECK(add_lanes(page_of<HeadsPage>(ctx_->pool(), id.word())));
  }
  return {};
}

Status Cursor::add_lanes(HeadsPage* heads) {
  ctx_->sets().remember_page(&heads->header, heads->header.load_version(), control_);
  for (std::uint32_t i = 0; i < HeadsPage::kChains; ++i) {
    Chain& chain = heads->chains[i];
    const page::VolatilePageId head = chain.head.load_volatile();
    if (head.is_null()) continue;
    // order: acquire, pairs with start_chain() and link_page().
    const std::uint64_t tail = chain.tail.load_acquire();
    // Null: the installer tries to drop the chain's last page (S10). Then the head leads to that
    // page too.
    auto* end = page_of<SequentialPage>(ctx_->pool(), tail != 0 ? tail : head.word());
    page::PageVersion version = end->header.load_version();
    while (version.is_moved()) {
      end = page_of<SequentialPage>(ctx_->pool(), end->next_page.load_acquire());
      version = end->header.load_version();
    }
    ctx_->sets().remember_page(&end->header, version, control_);
    auto* const first = page_of<SequentialPage>(ctx_->pool(), head.word());
    FOEDUS_CHECK(push_next({first, 0, 0, first->session, nullptr, 0}));
  }
  return {};
}

// Moves `lane` to its next present record that is not in the snapshot, and puts the lane into the
// heap, or leaves it out if there is no such record. A page that is dropped meanwhile can still be
// read, because it is not reclaimed while the transaction is open.
Status Cursor::push_next(Lane lane) {
  for (;;) {
    const page::PageVersion version = lane.page->header.load_version();
    while (lane.index < version.keys()) {
      SequentialRecord* const record = lane.page->record_at(lane.offset);
      lane.offset += SequentialRecord::size_of(record->payload_bytes);
      ++lane.index;
      if (ctx_->sets().writes().contains(&record->header)) continue;
      page::Tid tid;
      if (!occ::optimistic_tid(record->header, &tid)) {
        return ctx_->conflict(ConflictReason::kRetryBound, control_);
      }
      if (tid.is_deleted()) {
        ctx_->sets().remember_read(&record->header, tid, control_);
        continue;
      }
      if (tid.epoch() <= snapshot_.last_epoch()) continue;  // S8; it will not change any more (S3)
      lane.record = record;
      lane.version = tid.version();
      lanes_.push_back(lane);
      std::push_heap(lanes_.begin(), lanes_.end(), comes_after);
      return {};
    }
    // A page that has not moved is the last one. The count of a moved page is final (S2).
    if (!version.is_moved()) return {};
    // order: acquire, pairs with link_page().
    lane.page = page_of<SequentialPage>(ctx_->pool(), lane.page->next_page.load_acquire());
    lane.index = 0;
    lane.offset = 0;
    base::prefetch_lines(lane.page, 256);
  }
}

Status Cursor::next() {
  FOEDUS_INVARIANT(ctx_ != nullptr && !at_end_, at_end_);
  return read_first();
}

Status Cursor::read_first() {
  FOEDUS_TRY(const SequentialSnapshotRecord* const record, snapshot_.next());
  if (record == nullptr) return read_volatile();
  payload_ = {record->payload(), record->payload_bytes};
  return {};
}

// Reads the earliest record of all lanes, and moves its lane on.
Status Cursor::read_volatile() {
  if (lanes_.empty()) {
    take_own();
    return {};
  }
  std::pop_heap(lanes_.begin(), lanes_.end(), comes_after);
  const Lane lane = lanes_.back();
  lanes_.pop_back();
  SequentialRecord* const record = lane.record;
  occ::ReadRange range;
  range.out = buffer_.data();
  range.out_bytes = static_cast<std::uint32_t>(buffer_.size());
  const occ::ReadOutcome found =
      occ::read_record(*ctx_, control_, &record->header, &range, [record](occ::ReadRange* wanted) {
        wanted->payload_bytes = record->payload_bytes;
        base::racy_read(wanted->out, record->payload(), wanted->wanted_of(record->payload_bytes));
      });
  if (found == occ::ReadOutcome::kConflict) {
    return ctx_->conflict(ConflictReason::kRetryBound, control_);
  }
  FOEDUS_INVARIANT(found == occ::ReadOutcome::kPresent, found, lane.session);  // S3
  payload_ = {buffer_.data(), range.payload_bytes};
  return push_next(lane);
}

// Moves to this transaction's next append, straight from its log record; to at_end() if there is
// none.
void Cursor::take_own() {
  occ::WriteSet& writes = ctx_->sets().writes();
  // A rollback to a savepoint may have taken away appends that were returned.
  next_own_ = std::min(next_own_, writes.kept_since(writes_));
  writes_ = writes.state();
  for (const auto entries = writes.entries(); next_own_ < entries.size(); ++next_own_) {
    const occ::WriteEntry& entry = entries[next_own_];
    if (entry.storage != control_) continue;
    payload_ = entry.log->payload();
    ++next_own_;
    return;
  }
  at_end_ = true;
}

void Cursor::close() {
  lanes_.clear();
  snapshot_.close();
  payload_ = {};
  next_own_ = 0;
  writes_ = {};
  at_end_ = true;
  ctx_ = nullptr;
  control_ = nullptr;
}

}  // namespace foedus::storage::sequential
