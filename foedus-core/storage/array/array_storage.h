#pragma once
// Arrays: a fixed number of records of one payload size, addressed by index. All are there from the
// start, with TID 0 and payloads full of zeros. Here are the operations of transactions, and the
// calls of the commit protocol. The rules of the pages stand in array_page.h, those of the folder
// in README.md.
//
// Common to the calls of transactions: the session's thread; kConflict dooms the transaction;
// kInvalidArgument: the index or a part of the payload is out of range; kOutOfMemory changes
// nothing.

#include <cstdint>
#include <string_view>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/occ/access_sets.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::array {

// ---- life of a storage --------------------------------------------------------------------------

// Makes the root page. REQUIRES: no other thread knows the storage yet; records is not 0 and
// payload_bytes within 1 .. kMaxArrayPayloadBytes.
Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);
// Retires all pages of the storage. REQUIRES: no transaction that begins now finds it.
void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);

// ---- operations of transactions -----------------------------------------------------------------

// Copies the part of the payload that `range` asks for.
Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
           occ::ReadRange* range);
// Does as get() does, and holds the record's lock until the transaction ends.
Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
                      occ::ReadRange* range);

// Writes payload bytes [offset, offset + part.size()); a write of all of them is a put.
Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
                std::uint32_t offset, std::string_view part);
// Adds to the 64-bit number at payload byte `offset`.
Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
                 std::uint32_t offset, std::int64_t delta);

// Starts to load the lines that a read of `index` will touch. Changes and remembers nothing.
void prefetch(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index);

// ---- the commit protocol (storage/dispatch.h has the contracts) ---------------------------------

// Returns false with *to == record: a moved record is in a dropped page (A8), and is found by its
// index.
bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place);
Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry);
// Returns true: the calls have checked the range.
bool accepts(page::PagePool& pool, const occ::WriteEntry& entry);
void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry);
// Never called: no page-version of an array is remembered, because no record comes or goes.
bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry);

}  // namespace foedus::storage::array
