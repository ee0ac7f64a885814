#pragma once
// The way from an index to its record: in volatile pages, and where one is missing in the snapshot
// pages that dual page pointers lead to.
//
//   A6  A reader follows a pointer whose volatile half is null to the snapshot page, and remembers
//       the pointer; all below it never changes. Null in both halves of a pointer in a snapshot
//       page is a subtree of zero records, as in a volatile one (A2).
//   A7  A writer makes each page on its way volatile. So does a reader where both halves are null,
//       so that it has a TID to verify. If the transaction had followed the pointer before, it
//       takes over the whole page: all pointers, or all records, of an instant at which they were
//       what it read; from its copy, before others can change that. For later changes of others its
//       pointer entry is blind.
//   A8  A record that is marked moved lies in a page that was dropped. Who comes to it looks again
//       from the root, as long as the pointer leads there for a bounded time; a write that waits
//       for its commit finds its record by the index in its log record; what was read there
//       conflicts.
//   A9  Before a transaction uses what it found after a drop, its own writes follow to where their
//       records are now: else it would not see them. A drop says so in the control
//       (StorageControl::drop_epoch) after it has marked all records, so that who began later has
//       none of them, for no write is added to a record that is marked; and before the pointer
//       loses the page, so before the place where the record is next can be found.

#include <cstdint>

#include "foedus-core/occ/storage_control.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage/array/array_page.h"

namespace foedus::storage::array {

enum class Intent : std::uint8_t { kRead, kWrite };

struct Place {
  page::RecordHeader* record = nullptr;  // a volatile one
  bool is_cold = false;                  // it is in a snapshot page: what was wanted is copied
};

// From the root, through pages of both kinds. Writes come to volatile records only. What a read
// comes to in a snapshot page never changes: it copies to `range`, if there is one, at once, for
// the page is not kept (O14). No record and not cold: out of pages, a page of the snapshot cannot
// be read, or the storage was dropped; no_record() says which. REQUIRES: index < records.
[[gnu::noinline]] Place locate_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                    std::uint64_t index, Intent intent, occ::ReadRange* range);

// Loads ahead what locate_cold() will need to read this record, if all of it is cached, and leaves
// in ctx.begun() how to get there. REQUIRES: index < records.
void prefetch_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index);
// Goes on with what prefetch_cold() began. Neither a record nor cold: the pointer has changed
// since, or the page cannot be read; locate_cold() knows.
Place read_begun_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                      const occ::BegunSearch& begun, occ::ReadRange* range);

// Copies what is wanted of a payload.
inline void copy_wanted(page::RecordHeader* record, std::uint32_t payload_bytes,
                        occ::ReadRange* wanted) {
  wanted->payload_bytes = payload_bytes;
  const std::uint32_t bytes = wanted->wanted_of(payload_bytes);
  if (bytes != 0) base::racy_read(wanted->out, payload_of(record) + wanted->offset, bytes);
}

// A9, O17. `dropped`: the control's drop_epoch. kNone: the transaction may use what it found before
// the call; kSome: it looks again; kFailed: no_record() says why.
enum class Settled : std::uint8_t { kNone, kSome, kFailed };
[[gnu::cold]] Settled settle_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch dropped);

[[gnu::cold]] Status no_record(occ::TxnContext& ctx, occ::StorageControl* control);

// A8: the write's own record is found again. Failures as those of no_record().
Status find_again(occ::TxnContext& ctx, occ::WriteEntry* entry);

}  // namespace foedus::storage::array
