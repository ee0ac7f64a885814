#pragma once
// How a transaction reads a record: the record's payload, with the transaction's own writes
// applied.

#include <cstdint>
#include <cstring>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/occ/write_set.h"
#include "foedus-core/page/page_header.h"

namespace foedus::occ {

// OwnPayload: applies a transaction's own writes of one record to a copy of the record's payload.
class OwnPayload {
 public:
  // `own`: the result of `writes->find()` for the record. REQUIRES: the record has entries.
  OwnPayload(WriteSet* writes, const WriteSet::Own& own) : writes_(*writes), own_(own) {}

  // Returns whether the record exists after the newest entry. Any entry but an erase leaves it
  // existing, because partial writes are made only to records that exist.
  bool is_present() const { return writes_[own_.newest].log->type != log::LogRecordType::kErase; }
  // Returns whether the entries from own.first on begin with a put or an erase, so that the payload
  // in the record is not needed.
  bool begins_with_whole() const;
  // Returns whether `range` has some, but not all, of the 8 bytes of a number that an own increment
  // changes.
  bool cuts_increment(const ReadRange& range) const;
  // Applies the entries to the bytes in `range`. Returns whether the record exists after them.
  // `was`: whether it exists before them.
  bool overlay(bool was, ReadRange* range) const;

 private:
  WriteSet& writes_;
  const WriteSet::Own own_;
};

// Which answer of read_presence() is remembered as a read. The other answer need not be: the caller
// makes it the precondition of a write.
enum class Remember : std::uint8_t { kAbsence, kPresence };

// Returns whether `record` exists for this transaction. `own`: the result of WriteSet::find() for
// `record`.
ReadOutcome read_presence(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                          const WriteSet::Own& own, Remember remember);
inline ReadOutcome read_presence(TxnContext& ctx, StorageControl* storage,
                                 page::RecordHeader* record, Remember remember) {
  return read_presence(ctx, storage, record, ctx.sets().writes().find(record), remember);
}

// Reads the record without own writes, and remembers the read.
template <typename CopyBase>
ReadOutcome read_below(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                       ReadRange* range, CopyBase&& copy_base) {
  constexpr std::uint64_t kElsewhere = page::Tid::kMoved | page::Tid::kNextLayer;
  page::Tid observed;
  const bool settled = optimistic_read(*record, &observed, [&](page::Tid tid) {
    if ((tid.word() & (kElsewhere | page::Tid::kDeleted)) == 0) copy_base(range);
  });
  if (!settled) return ReadOutcome::kConflict;
  if ((observed.word() & kElsewhere) != 0) return ReadOutcome::kMoved;
  ctx.sets().remember_read(record, observed, storage);
  return observed.is_deleted() ? ReadOutcome::kAbsent : ReadOutcome::kPresent;
}

// Reads the record and applies own writes to it. Leaves out increments of numbers that `range`
// holds only in part.
template <typename CopyBase>
ReadOutcome read_own_range(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                           const OwnPayload& own, ReadRange* range, CopyBase&& copy_base) {
  bool present = false;
  if (!own.begins_with_whole()) {
    const ReadOutcome below = read_below(ctx, storage, record, range, copy_base);
    if (below != ReadOutcome::kPresent && below != ReadOutcome::kAbsent) return below;
    present = below == ReadOutcome::kPresent;
  }
  return own.overlay(present, range) ? ReadOutcome::kPresent : ReadOutcome::kAbsent;
}

// Reads the record and applies own writes to it, for a `range` that cuts an own increment. Reads
// the whole payload first, because the carry into the wanted bytes depends on the bytes of the
// number that `range` does not want.
template <typename CopyBase>
ReadOutcome read_own_whole(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                           const OwnPayload& own, ReadRange* range, CopyBase&& copy_base) {
  ReadRange whole;
  ReadOutcome found = read_own_range(ctx, storage, record, own, &whole, copy_base);
  if (found != ReadOutcome::kPresent) return found;
  base::LineVector<char>& room = ctx.payload_room();
  room.resize(whole.payload_bytes);
  whole.out = room.data();
  whole.out_bytes = whole.payload_bytes;
  found = read_own_range(ctx, storage, record, own, &whole, copy_base);
  if (found != ReadOutcome::kPresent) return found;
  // The payload's size has changed between the two reads, or the payload now ends within a number
  // that an own increment changes. In both cases another session has written the record since, so
  // this transaction cannot commit.
  if (whole.payload_bytes != whole.out_bytes || own.cuts_increment(whole))
    return ReadOutcome::kConflict;
  range->payload_bytes = whole.payload_bytes;
  const std::uint32_t wanted = range->wanted_of(whole.payload_bytes);
  if (wanted != 0) std::memcpy(range->out, whole.out + range->offset, wanted);
  return found;
}

template <typename CopyBase>
ReadOutcome read_own(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
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
ReadOutcome read_record(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                        ReadRange* range, CopyBase&& copy_base) {
  ctx.uses().note(record);
  const WriteSet::Own own = ctx.sets().writes().find(record);
  if (own.newest != WriteEntry::kNone) [[unlikely]] {
    return read_own(ctx, storage, record, own, range, copy_base);
  }
  return read_below(ctx, storage, record, range, copy_base);
}

}  // namespace foedus::occ
