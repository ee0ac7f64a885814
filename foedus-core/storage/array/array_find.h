#pragma once
// Finds the record of an index in volatile pages. Where a volatile page is missing, the search goes
// on in the snapshot pages that dual page pointers lead to.
//
//   A6  A reader follows a pointer whose volatile half is null to the snapshot page, and remembers
//       the pointer. That is enough, because nothing below the pointer changes. In a snapshot page,
//       as in a volatile one (A2), a pointer that is null in both halves stands for a subtree of
//       records that are full of zeros.
//   A7  A writer makes each page on its way volatile. So does a reader where both halves are null,
//       so that it has a TID to verify. If the transaction had followed the pointer before, it adds
//       the whole page to its access sets: all pointers, or all records, as it read them. It takes
//       them from its copy before other sessions can reach that. The entry of the pointer alone
//       would not be enough, because later writes to the volatile page do not change the pointer.
//   A8  A record that is marked moved lies in a page that was dropped. A search that comes to it
//       begins again from the root. While the pointer still leads there, it does so for a bounded
//       time. A write that waits for its commit finds its record by the index in its log record. A
//       read of a marked record conflicts.
//   A9  If a page was dropped since a transaction began, the transaction changes its own writes to
//       where their records are now, before it uses what a search has found. Otherwise it would not
//       see its own writes. A drop is announced (StorageControl::drop_epoch) after all records of
//       the page are marked, and no write is added to a marked record. So a transaction that begins
//       in a later epoch has no write there. The announcement comes before the pointer loses the
//       page, so before the record's next place can be found.

#include <cstdint>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::array {

enum class Intent : std::uint8_t { kRead, kWrite };

struct Place {
  page::RecordHeader* record = nullptr;  // a volatile one
  bool is_cold = false;                  // it is in a snapshot page, and the wanted part is copied
};

// Searches from the root, through volatile pages and snapshot pages. A write always ends at a
// volatile record. A read that ends in a snapshot page copies the wanted part to `range`, unless
// that is null, because the page is not kept (O14). If the result is neither a record nor cold, no
// page is free, a snapshot page cannot be read, or the storage was dropped; no_record() says which.
// REQUIRES: index < records.
[[gnu::noinline]] Place locate_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                    std::uint64_t index, Intent intent, occ::ReadRange* range);

// Follows the way to a record through cached snapshot pages. At the border page it loads the
// record's lines ahead, or asks the device for them if they are not cached, and leaves the way in
// ctx.hints().prefetched(). At an interior page that is not cached, it asks the device for that
// page, and leaves nothing. REQUIRES: index < records.
void prefetch_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index);
// Reads a record by the way that prefetch_cold() has left. If the result is neither a record nor
// cold, the pointer has changed since, or the page cannot be had: locate_cold() has to search.
Place read_prefetched_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                           const occ::PrefetchedLookup& prefetched, occ::ReadRange* range);

// Copies the wanted part of a payload.
inline void copy_wanted(page::RecordHeader* record, std::uint32_t payload_bytes,
                        occ::ReadRange* wanted) {
  wanted->payload_bytes = payload_bytes;
  const std::uint32_t bytes = wanted->wanted_of(payload_bytes);
  if (bytes != 0) base::racy_read(wanted->out, payload_of(record) + wanted->offset, bytes);
}

// Result of relocate_own(), which moves own writes after a drop (A9, O17). `dropped`: the control's
// drop_epoch. kNone: the transaction may use what it found before the call. kSome: it searches
// again. kFailed: no_record() says why.
enum class Relocated : std::uint8_t { kNone, kSome, kFailed };
[[gnu::cold]] Relocated relocate_own(occ::TxnContext& ctx, occ::StorageControl* control,
                                     Epoch dropped);

// Returns the status of a search that has found no record.
[[gnu::cold]] Status no_record(occ::TxnContext& ctx, occ::StorageControl* control);

// Finds the write's own record again (A8). Errors: those of no_record().
Status find_again(occ::TxnContext& ctx, occ::WriteEntry* entry);

}  // namespace foedus::storage::array
