#pragma once
// Sequential storages: append only, read as a whole in serial order. Each session appends to a
// chain of pages of its own. Here are the operations of transactions, and the calls of the commit
// protocol. The rules of the pages stand in sequential_page.h, those of the folder in README.md.
//
// Common to the calls of transactions: the session's thread; kConflict dooms the transaction;
// kOutOfMemory changes nothing that another thread can see. Payloads have at most
// kMaxSequentialPayloadBytes bytes and are copied.

#include <cstdint>
#include <string_view>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/occ/access_sets.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::sequential {

// ---- life of a storage --------------------------------------------------------------------------

// Makes the root page. REQUIRES: no other thread knows the storage yet.
Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);
// Retires all pages of the storage. REQUIRES: no transaction that begins now finds it.
void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);

// ---- operations of transactions -----------------------------------------------------------------

// Adds a record after all others of the context's session. kTooLarge, kOutOfMemory.
Status append(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view payload);

// The scan is sequential_cursor.h.

// ---- the commit protocol (storage/dispatch.h has the contracts) ---------------------------------

// The next two are never called: records of sequential storages do not move.
bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place);
Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry);
// Returns true: append() has made room.
bool accepts(page::PagePool& pool, const occ::WriteEntry& entry);
// Notes the SOC in the page; the payload has been there since the call (S3).
void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry);
// Returns whether the page still counts what the entry saw, and no page that was linked after it
// counts anything. False if one of them was dropped.
bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry);

}  // namespace foedus::storage::sequential
