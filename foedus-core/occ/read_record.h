#pragma once
// Reads of a transaction with its own writes over them.

#include <cstdint>
#include <cstring>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/occ/write_set.h"
#include "foedus-core/page/page_header.h"

namespace foedus::occ {

// What a transaction's own writes make of a record's payload.
class OwnPayload {
 public:
  // `own`: what `writes->find()` says of the record; not one of WriteEntry::kNone.
  OwnPayload(WriteSet* writes, const WriteSet::Own& own) : writes_(*writes), own_(own) {}

  // Returns whether the newest entry leaves the record there: partial writes are only made to
  // records that are there.
  bool is_present() const { return writes_[own_.newest].log->type != log::LogRecordType::kErase; }
  // Returns whether the entries begin with one that sets all of the payload, so that the record's
  // own is not needed.
  bool begins_with_whole() const;
  // Returns whether an increment is of a number that lies only in part in `range`.
  bool cuts_increment(const ReadRange& range) const;
  // Copies what the entries say of `range` over the bytes there. Returns whether the record is
  // there after them, if it `was` before.
  bool overlay(bool was, ReadRange* range) const;

 private:
  WriteSet& writes_;
  const WriteSet::Own own_;
};

// Answers of look_at() that are remembered as reads. The others become the premise of a write.
enum class Remember : std::uint8_t { kAbsence, kPresence };

// Returns whether `record` is there for this transaction; `own` is what the write set says of it.
Found look_at(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
              const WriteSet::Own& own, Remember remember);
inline Found look_at(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                     Remember remember) {
  return look_at(ctx, storage, record, ctx.sets().writes().find(record), remember);
}

// Reads the record without own writes, and remembers it.
template <typename CopyBase>
Found read_below(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                 ReadRange* range, CopyBase&& copy_base) {
  constexpr std::uint64_t kElsewhere = page::Tid::kMoved | page::Tid::kNextLayer;
  page::Tid observed;
  const bool settled = optimistic_read(*record, &observed, [&](page::Tid tid) {
    if ((tid.word() & (kElsewhere | page::Tid::kDeleted)) == 0) copy_base(range);
  });
  if (!settled) return Found::kConflict;
  if ((observed.word() & kElsewhere) != 0) return Found::kMoved;
  ctx.sets().remember_read(record, observed, storage);
  return observed.is_deleted() ? Found::kAbsent : Found::kPresent;
}

// Reads with own writes, except increments that `range` cuts.
template <typename CopyBase>
Found read_own_range(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                     const OwnPayload& own, ReadRange* range, CopyBase&& copy_base) {
  bool present = false;
  if (!own.begins_with_whole()) {
    const Found below = read_below(ctx, storage, record, range, copy_base);
    if (below != Found::kPresent && below != Found::kAbsent) return below;
    present = below == Found::kPresent;
  }
  return own.overlay(present, range) ? Found::kPresent : Found::kAbsent;
}

// Takes the whole payload: the carry into the wanted part needs the rest of the number.
template <typename CopyBase>
Found read_own_whole(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                     const OwnPayload& own, ReadRange* range, CopyBase&& copy_base) {
  ReadRange whole;
  Found found = read_own_range(ctx, storage, record, own, &whole, copy_base);
  if (found != Found::kPresent) return found;
  base::LineVector<char>& room = ctx.payload_room();
  room.resize(whole.payload_bytes);
  whole.out = room.data();
  whole.out_bytes = whole.payload_bytes;
  found = read_own_range(ctx, storage, record, own, &whole, copy_base);
  if (found != Found::kPresent) return found;
  // The size has changed, or it cuts an own increment, which was made when the record was longer.
  // Other sessions have written it since, so this transaction cannot commit.
  if (whole.payload_bytes != whole.out_bytes || own.cuts_increment(whole)) return Found::kConflict;
  range->payload_bytes = whole.payload_bytes;
  const std::uint32_t wanted = range->wanted_of(whole.payload_bytes);
  if (wanted != 0) std::memcpy(range->out, whole.out + range->offset, wanted);
  return found;
}

template <typename CopyBase>
Found read_own(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
               const WriteSet::Own& entries, ReadRange* range, CopyBase&& copy_base) {
  FOEDUS_SYNC_POINT("occ:read_own");
  const OwnPayload own(&ctx.sets().writes(), entries);
  return own.cuts_increment(*range) ? read_own_whole(ctx, storage, record, own, range, copy_base)
                                    : read_own_range(ctx, storage, record, own, range, copy_base);
}

// Reads `record` with the transaction's own writes applied. Remembers the read, unless own writes
// set the whole payload. copy_base(range) copies the part of the record's payload that its `range`
// asks for to range->out, with base::racy_read, and sets range->payload_bytes. It may be called
// several times. It is not called for deleted, moved or next-layer records.
template <typename CopyBase>
Found read_record(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                  ReadRange* range, CopyBase&& copy_base) {
  ctx.uses().note(record);
  const WriteSet::Own own = ctx.sets().writes().find(record);
  if (own.newest != WriteEntry::kNone) [[unlikely]] {
    return read_own(ctx, storage, record, own, range, copy_base);
  }
  return read_below(ctx, storage, record, range, copy_base);
}

}  // namespace foedus::occ
