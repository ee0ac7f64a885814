#pragma once
// The way from an index to its record, in volatile pages. Where one is missing, it goes on in the
// snapshot pages that dual page pointers lead to.
//
//   A6  A reader follows a pointer whose volatile half is null to the snapshot page, and remembers
//       the pointer: nothing below it changes. In a snapshot page, as in a volatile one (A2), a
//       pointer that is null in both halves stands for a subtree of zero records.
//   A7  A writer makes each page on its way volatile. So does a reader where both halves are null,
//       so that it has a TID to verify. If the transaction had followed the pointer before, it
//       takes over the whole page: all pointers, or all records, as it read them. It takes them
//       from its copy, before other sessions can change that. Later changes there do not show in
//       its pointer entry.
//   A8  A record that is marked moved lies in a page that was dropped. A search that comes to it
//       begins again from the root, for a bounded time as long as the pointer leads there. A write
//       that waits for its commit finds its record by the index in its log record. A read of that
//       record conflicts.
//   A9  Before a transaction uses what it found after a drop, its own writes move to where their
//       records are now. Otherwise it would not see them. A drop is announced in the control
//       (StorageControl::drop_epoch) after all records are marked. So a transaction that begins
//       later has no write there: none is added to a marked record. It is announced before the
//       pointer loses the page, so before the record's next place can be found.

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
  bool is_cold = false;                  // it is in a snapshot page: what was wanted is copied
};

// Searches from the root, through pages of both kinds. A write ends at a volatile record only. A
// read that ends in a snapshot page, which never changes, copies to `range` at once, if there is
// one: the page is not kept (O14). Neither a record nor cold: out of pages, a page of the snapshot
// cannot be read, or the storage was dropped; no_record() says which. REQUIRES: index < records.
[[gnu::noinline]] Place locate_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                    std::uint64_t index, Intent intent, occ::ReadRange* range);

// Loads ahead what locate_cold() will need to read this record, if all of it is cached, and leaves
// the way to it in ctx.hints().prefetched(). Otherwise asks the device for the first page that is
// not. REQUIRES: index < records.
void prefetch_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index);
// Goes on with what prefetch_cold() began. Neither a record nor cold: the pointer has changed
// since, or the page cannot be read; locate_cold() tells which.
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

// Returns why a search has found no record.
[[gnu::cold]] Status no_record(occ::TxnContext& ctx, occ::StorageControl* control);

// Finds the write's own record again (A8). Errors: those of no_record().
Status find_again(occ::TxnContext& ctx, occ::WriteEntry* entry);

}  // namespace foedus::storage::array
