#pragma once
// Payloads above kInlinePayloadBytesMax: a chain of overflow pages (page/overflow_page.h). The
// record's body then holds the 8-byte id of the first page, and the field that says the payload's
// length holds kOverflowLength.
//
//   prepared --apply()--> the record's --replaced or erased--> retired
//       \--release_overflow(): the transaction ended without being applied
//
//   O7  A chain is written once, at the call, before another session can reach it; partial writes
//       to such a payload are puts of the whole.
//   O8  Each chain has one owner: a WriteEntry::overflow, then a record. apply() is called for
//       every entry of a transaction in order. So a second put of one record finds the chain of the
//       first one in the record and retires it.
//   O13 A record that was copied out of a snapshot names its chain there (kSnapshotOverflowLength)
//       until it is written to. Such a chain has no owner and is never taken back.
//   O9  A reader follows an id only after a second look at the record's TID, after its loads of
//       length and id. The TID must be as it was before them, and not being-written.
//
// Argument for O9. apply() changes length and body only while the TID says being-written. So two
// equal looks without that flag around the loads mean that length and id are of one version. Hence
// the id is no inline bytes, and names a chain that was complete before the apply. (The fences are
// the writer's after the mark, and the reader's before the second look.) The chain may be replaced
// right after. It is then retired, not released, and the reader's pin keeps retired pages as they
// are. The copied bytes count only if the TID is still the same afterwards (O3).

#include <cstdint>
#include <string>
#include <string_view>

#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/read_record.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/overflow_page.h"

namespace foedus::storage {

using page::is_overflow;
using page::kInlinePayloadBytesMax;
using page::kOverflowLength;
using page::kPayloadRoomBytesMin;
using page::kSnapshotOverflowLength;
using page::payload_room_of;

// Writes a chain and returns the id of its first page. On failure nothing was taken. kOutOfMemory.
Result<std::uint64_t> write_overflow(occ::TxnContext& ctx, occ::StorageControl* storage,
                                     std::string_view payload);

// Copies the wanted part of a volatile chain and sets range->payload_bytes.
void read_overflow(page::PagePool& pool, std::uint64_t first_page, occ::ReadRange* range);

// Copies the wanted part of a chain of a snapshot. Returns false if a page of it cannot be read, or
// is no part of it; TxnContext::no_page() says why. With ColdPages::Mode::kNone copies nothing.
bool read_cold_overflow(occ::TxnContext& ctx, page::StorageId storage, std::uint64_t first_page,
                        occ::ReadRange* range);

// Takes back a chain that was never reachable by others.
void release_overflow(occ::TxnContext& ctx, occ::StorageControl* storage, std::uint64_t first_page);

// Retires a chain that its record no longer names; other sessions may still read it.
void retire_overflow(page::PagePool& pool, page::SessionPages& pages, occ::StorageControl* storage,
                     std::uint64_t first_page);
inline void retire_overflow(occ::TxnContext& ctx, occ::StorageControl* storage,
                            std::uint64_t first_page) {
  retire_overflow(ctx.pool(), ctx.pages(), storage, first_page);
}

// Returns the id in a record's body. REQUIRES: the length field says that it is one.
inline std::uint64_t load_overflow_id(const char* body) {
  std::uint64_t id;
  base::racy_read(&id, body, sizeof(id));
  return id;
}

// The outcome of load_payload().
enum class PayloadLook : std::uint8_t { kDone, kUnsettled, kNoPage };

// Copies the part that `range` wants of a payload at `body`, inline or not (O9); load_length()
// reads its length field. kUnsettled: nothing was copied, look again. kNoPage: read_cold_overflow()
// failed. REQUIRES: the caller is the copying function of an optimistic_read of `record`, which
// checks the TID afterwards.
template <typename LoadLength>
PayloadLook load_payload(occ::TxnContext& ctx, page::StorageId storage,
                         const page::RecordHeader& record, const char* body, occ::ReadRange* range,
                         LoadLength&& load_length) {
  const std::uint32_t length = load_length();
  if (length != kOverflowLength && length != kSnapshotOverflowLength) [[likely]] {
    range->payload_bytes = length;
    const std::uint32_t wanted = range->wanted_of(length);
    if (wanted != 0) base::racy_read(range->out, body + range->offset, wanted);
    return PayloadLook::kDone;
  }
  const page::Tid before = record.load_tid();
  if (before.is_being_written()) return PayloadLook::kUnsettled;
  if (load_length() != length) return PayloadLook::kUnsettled;
  const std::uint64_t id = load_overflow_id(body);
  base::fence_reader();  // order: the loads of length and id come before the second look
  // order: relaxed, the fence orders it.
  if (record.tid.load_relaxed() != before.word()) return PayloadLook::kUnsettled;
  if (length == kSnapshotOverflowLength) {
    return read_cold_overflow(ctx, storage, id, range) ? PayloadLook::kDone : PayloadLook::kNoPage;
  }
  read_overflow(ctx.pool(), id, range);
  return PayloadLook::kDone;
}

// Does occ::read_record() for a record whose payload may be a chain. Reads again if the TIDs before
// and after agree, but nothing was copied: a commit may have marked the record being-written
// meanwhile, and put the same TID back when it aborted. kConflict with ColdPages::has_failed(): a
// page of a snapshot cannot be read. If the version that named this page was replaced meanwhile,
// the failure is forgotten.
template <typename LoadLength>
occ::ReadOutcome read_payload(occ::TxnContext& ctx, occ::StorageControl* storage,
                              page::RecordHeader* record, const char* body, occ::ReadRange* range,
                              LoadLength&& load_length) {
  using occ::ReadOutcome;
  for (unsigned i = 0; i < occ::kReadTries; ++i) {
    PayloadLook look = PayloadLook::kDone;
    const ReadOutcome found =
        occ::read_record(ctx, storage, record, range, [&](occ::ReadRange* wanted) {
          if (look == PayloadLook::kNoPage) [[unlikely]]
            ctx.cold_pages().forget_failure();
          look = load_payload(ctx, storage->id(), *record, body, wanted, load_length);
        });
    if (look == PayloadLook::kDone) [[likely]]
      return found;
    if (found == ReadOutcome::kAbsent || found == ReadOutcome::kMoved) {
      ctx.cold_pages().forget_failure();
      return found;
    }
    if (look == PayloadLook::kNoPage || found == ReadOutcome::kConflict)
      return ReadOutcome::kConflict;
  }
  return ReadOutcome::kConflict;
}

// Reads the whole payload, with which a partial write to a chain begins (O7). read(range) reads the
// record as the storage does, with the transaction's own writes over it. Reads again with a larger
// buffer while the payload is larger.
template <typename Read>
occ::ReadOutcome read_whole(Read&& read, std::string* whole) {
  whole->clear();
  for (;;) {
    occ::ReadRange range;
    range.out = whole->data();
    range.out_bytes = static_cast<std::uint32_t>(whole->size());
    const occ::ReadOutcome found = read(&range);
    if (found != occ::ReadOutcome::kPresent || range.payload_bytes == whole->size()) return found;
    whole->resize(range.payload_bytes);
  }
}

}  // namespace foedus::storage
