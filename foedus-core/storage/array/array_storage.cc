#include "foedus-core/storage/array/array_storage.h"

#include <cstring>
#include <string>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/read_record.h"
#include "foedus-core/storage/array/array_calls.h"
#include "foedus-core/storage/array/array_find.h"
#include "foedus-core/storage/array/array_pages.h"
#include "foedus-core/storage/moves/payload.h"

namespace foedus::storage::array {

namespace {

using log::LogRecordType;
using page::RecordHeader;

std::string_view key_of(const std::uint64_t& index) {
  return {reinterpret_cast<const char*>(&index), sizeof(index)};
}

[[gnu::cold]] Status out_of_range(const occ::StorageControl* control, const std::string& what) {
  Status status = Status::error(ErrorCode::kInvalidArgument, what);
  return std::move(status.at_storage(control->meta.name));
}
[[gnu::cold]] Status index_out_of_range(const occ::StorageControl* control, std::uint64_t index) {
  return out_of_range(control, "index " + std::to_string(index) + " is not below " +
                                   std::to_string(control->meta.records));
}
[[gnu::cold]] Status part_out_of_range(const occ::StorageControl* control, std::uint32_t offset,
                                       std::size_t bytes) {
  return out_of_range(control, "bytes " + std::to_string(offset) + " + " + std::to_string(bytes) +
                                   " end after the payload of " +
                                   std::to_string(control->meta.payload_bytes));
}

// Returns where the record is. It may be marked moved (A8).
Place locate(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index, Intent intent,
             occ::ReadRange* range = nullptr) {
  for (;;) {
    Place place{find_volatile(ctx.pool(), control, index), false};
    if (place.record == nullptr) [[unlikely]] {
      const occ::PrefetchedLookup& prefetched = ctx.hints().prefetched(control, index);
      const bool is_prefetched = intent == Intent::kRead && prefetched.number == index &&
                                 prefetched.txn == ctx.turn() && prefetched.storage == control;
      if (is_prefetched) place = read_prefetched_cold(ctx, control, prefetched, range);
      if (!place.is_cold) place = locate_cold(ctx, control, index, intent, range);
    }
    if (!may_hide_own(ctx, control)) [[likely]] return place;
    // order: relaxed, as in may_hide_own().
    const Relocated settled = relocate_own(ctx, control, Epoch(control->drop_epoch.load_relaxed()));
    if (settled == Relocated::kNone) return place;
    if (settled == Relocated::kFailed) return {};
  }
}

// Reads the record. kMoved: it has to be searched again.
occ::ReadOutcome read(occ::TxnContext& ctx, occ::StorageControl* control, RecordHeader* record,
                      occ::ReadRange* range) {
  const std::uint32_t payload_bytes = control->meta.payload_bytes;
  return occ::read_record(ctx, control, record, range,
                          [record, payload_bytes](occ::ReadRange* wanted) {
                            copy_wanted(record, payload_bytes, wanted);
                          });
}

// Bounds the searches for a record. A page that is being dropped is found as long as its pointer
// leads there: for an instant, or until the gleaner has a processor again.
class Searches {
 public:
  // Returns whether there is to be another search.
  bool next() {
    if (count_ != 0) [[unlikely]]
      spin_.once();
    return ++count_ <= occ::kReadTries;
  }

 private:
  unsigned count_ = 0;
  base::SpinWait spin_;
};

// Returns the status of a call that ended with `found`.
Status answer(occ::TxnContext& ctx, occ::StorageControl* control, occ::ReadOutcome found,
              std::uint64_t index) {
  if (found == occ::ReadOutcome::kPresent) [[likely]]
    return {};
  FOEDUS_INVARIANT(found == occ::ReadOutcome::kConflict || found == occ::ReadOutcome::kMoved, found,
                   index);
  return ctx.conflict(ConflictReason::kRetryBound, control, key_of(index));
}

Status write(occ::TxnContext& ctx, occ::StorageControl* control, LogRecordType type,
             std::uint64_t index, std::uint32_t offset, std::string_view payload) {
  if (index >= control->meta.records) return index_out_of_range(control, index);
  if (payload.size() > control->meta.payload_bytes ||
      offset > control->meta.payload_bytes - payload.size()) {
    return part_out_of_range(control, offset, payload.size());
  }
  for (Searches searches; searches.next();) {
    RecordHeader* const record = locate(ctx, control, index, Intent::kWrite).record;
    if (record == nullptr) return no_record(ctx, control);
    base::prefetch_line(page::PageHeader::of(record));  // for note_soc(), at commit
    if (!record->load_tid().is_moved()) [[likely]] {    // A9
      return ctx.write(type, control, record, 0, key_of(index), offset, payload,
                       occ::Precondition::kNone);
    }
  }
  return answer(ctx, control, occ::ReadOutcome::kMoved, index);
}

}  // namespace

Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  const storage_meta::StorageMeta& meta = control->meta;
  if (meta.records == 0 || meta.records > kMaxArrayRecords || meta.payload_bytes == 0 ||
      meta.payload_bytes > kMaxArrayPayloadBytes) {
    return out_of_range(control, "an array has 1 to " + std::to_string(kMaxArrayRecords) +
                                     " records of 1 to " + std::to_string(kMaxArrayPayloadBytes) +
                                     " bytes");
  }
  const std::uint32_t levels = levels_of(shape_of(meta.payload_bytes).pages_of(meta.records));
  FOEDUS_INVARIANT(levels <= kLevelsMax, levels, meta.records);
  page::PageHeader* const root = make_page({pool, pages, control, 0}, levels, 0);
  if (root == nullptr) {
    Status status = page::no_free_page();
    return std::move(status.at_storage(meta.name));
  }
  control->root.store({root->volatile_id(), page::SnapshotPageId()});
  return {};
}

void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  const page::DualPageIds ids = control->root.load();
  if (ids.volatile_page.is_null()) return;
  const bool taken = control->root.compare_exchange(ids, {});
  FOEDUS_INVARIANT(taken, control->id());
  retire_below({pool, pages, control, 0}, pool->resolve(ids.volatile_page));
}

Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
           occ::ReadRange* range) {
  if (index >= control->meta.records) [[unlikely]]
    return index_out_of_range(control, index);
  occ::ReadOutcome found = occ::ReadOutcome::kMoved;
  for (Searches searches; found == occ::ReadOutcome::kMoved && searches.next();) {
    const Place place = locate(ctx, control, index, Intent::kRead, range);
    if (place.record == nullptr) [[unlikely]] {
      return place.is_cold ? Status() : no_record(ctx, control);
    }
    found = read(ctx, control, place.record, range);
  }
  return answer(ctx, control, found, index);
}

Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
                      occ::ReadRange* range) {
  if (index >= control->meta.records) [[unlikely]]
    return index_out_of_range(control, index);
  occ::ReadOutcome found = occ::ReadOutcome::kMoved;
  for (Searches searches; found == occ::ReadOutcome::kMoved && searches.next();) {
    // A lock needs a volatile record.
    const Place place = locate(ctx, control, index, Intent::kWrite);
    if (place.record == nullptr) [[unlikely]]
      return no_record(ctx, control);
    FOEDUS_CHECK(ctx.hold(control, place.record, key_of(index)));
    found = read(ctx, control, place.record, range);
  }
  return answer(ctx, control, found, index);
}

Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
                std::uint32_t offset, std::string_view part) {
  const bool whole = part.size() == control->meta.payload_bytes;
  return write(ctx, control, whole ? LogRecordType::kPut : LogRecordType::kWriteAt, index, offset,
               part);
}

Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
                 std::uint32_t offset, std::int64_t delta) {
  const std::string_view bytes(reinterpret_cast<const char*>(&delta), sizeof(delta));
  return write(ctx, control, LogRecordType::kIncrement, index, offset, bytes);
}

page::RecordHeader* find_volatile_deep(page::PagePool& pool, const occ::StorageControl* control,
                                       std::uint64_t index) {
  const ArrayShape& shape = shape_of(control->meta.payload_bytes);
  const std::uint64_t number = shape.page_of(index);
  const Path path(number, shape.pages_of(control->meta.records));
  page::VolatilePageId id = control->root.load_volatile();
  for (std::uint32_t level = path.levels; level-- != 0 && !id.is_null();) {
    id = volatile_child(pool, id, path.slots[level]);
  }
  if (id.is_null()) return nullptr;
  return record_at(reinterpret_cast<ArrayBorderPage*>(pool.resolve(id)),
                   index - number * shape.records_per_page, shape);
}

void prefetch(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index) {
  if (index >= control->meta.records) return;
  if (!try_prefetch(ctx.pool(), control, index)) [[unlikely]] prefetch_cold(ctx, control, index);
}

bool track_moved(page::PagePool&, occ::StorageControl*, RecordHeader* record, RecordHeader** to,
                 std::uint32_t*) {
  *to = record;
  return false;
}

Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry) { return find_again(ctx, entry); }

bool accepts(page::PagePool&, const occ::WriteEntry&) { return true; }

void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry) {
  const LogRecordType type = entry.log->type;
  FOEDUS_INVARIANT(type == LogRecordType::kPut || type == LogRecordType::kWriteAt ||
                       type == LogRecordType::kIncrement,
                   type);
  moves::change_part(payload_of(entry.record), *entry.log);
  moves::note_soc(page::PageHeader::of(entry.record), ctx.soc());
}

bool page_still_holds(page::PagePool&, const occ::PageEntry& entry) {
  FOEDUS_INVARIANT(false, entry.storage->id(), entry.page);
}

}  // namespace foedus::storage::array
