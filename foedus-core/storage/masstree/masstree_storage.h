#pragma once
// The Master-Tree (paper §8): a B-trie of 64-bit key slices, each layer a B-tree with foster twins.
// Ordered keys, points and ranges. What transactions call, and what the commit protocol asks.
// The rules of its pages stand in masstree_page.h, those of the folder in README.md.
//
// Common to the calls of transactions: the session's thread; kConflict dooms the transaction;
// kOutOfMemory changes nothing that anybody can see. Keys have at most kMaxKeyBytes bytes, payloads
// at most kMaxPayloadBytes; both are the caller's and are copied.

#include <cstdint>
#include <string_view>

#include "foedus-core/log/log_record.h"
#include "foedus-core/occ/access_set.h"
#include "foedus-core/occ/storage_control.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage/masstree/masstree_operations.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// ---- life of a storage

// Makes the first, empty border page. REQUIRES: nobody else knows the storage yet.
Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);
// Retires all its pages. REQUIRES: no transaction that begins now finds the storage.
void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);

// ---- operations of transactions

// Copies the part of the payload that `range` asks for. kNotFound: absence is remembered.
inline Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                  occ::ReadRange* range) {
  if (control->has_delta()) [[unlikely]] return with_delta::get(ctx, control, key, range);
  return one_tree::get(ctx, control, key, range);
}
// The same, holding the record's lock until the transaction ends.
inline Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control,
                             std::string_view key, occ::ReadRange* range) {
  return control->has_delta() ? with_delta::get_for_update(ctx, control, key, range)
                              : one_tree::get_for_update(ctx, control, key, range);
}
// The whole payload.
inline Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                          std::string_view key, const std::string_view& payload) {
  if (control->has_delta()) [[unlikely]] {
    return with_delta::write_whole(ctx, control, mode, key, payload);
  }
  return one_tree::write_whole(ctx, control, mode, key, payload);
}
// Payload bytes [offset, offset + part.size()). kNotFound; kInvalidArgument: not all there.
inline Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                       std::uint32_t offset, const std::string_view& part) {
  return control->has_delta() ? with_delta::write_at(ctx, control, key, offset, part)
                              : one_tree::write_at(ctx, control, key, offset, part);
}
// Adds to the 64-bit number at payload byte `offset`. Fails as write_at does.
inline Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                        std::uint32_t offset, std::int64_t delta) {
  return control->has_delta() ? with_delta::increment(ctx, control, key, offset, delta)
                              : one_tree::increment(ctx, control, key, offset, delta);
}
// kNotFound if the key is not there.
inline Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  return control->has_delta() ? with_delta::erase(ctx, control, key)
                              : one_tree::erase(ctx, control, key);
}

// Loads ahead the lines that a lookup of `key` will touch. Changes and remembers nothing.
void prefetch(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);

// ---- the commit protocol (txn/, by the dispatch of storage/)

// Where a moved record is now: through foster twins, pages in place of others, and next layers. No
// locks, no transaction. False: it was deleted, and a split left it behind. *to is the last record
// that the key had, which may have been inserted and purged again since; null: that is not known.
bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place);
// Finds the record of this write from the root by the full key in its log record, or makes one;
// gives it room for the payload. The entry says the new record and place afterwards.
// REQUIRES: the transaction holds no record lock of its lock phase.
Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry);
// Whether apply() can: the payload has room, the offset is inside. REQUIRES: the record is locked
// by the caller and has not moved. False: the record is not what the call that wrote it found.
bool accepts(page::PagePool& pool, const occ::WriteEntry& entry);
// Changes the payload as the log record says, and leaves the TID alone. REQUIRES: accepts(), the
// record is locked and marked being-written.
void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry);
// Verify of a page-version: true if no key was added to what the entry saw, also not through
// foster twins and layers that came to be since.
bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry);

// Verify of a pointer that was followed to a snapshot page: by M20, wherever it is now.
occ::PointerLook look_again(page::PagePool& pool, const occ::PointerEntry& entry);

// ---- for tests and statistics

struct Statistics {
  std::uint64_t border_pages = 0;
  std::uint64_t interior_pages = 0;
  std::uint64_t overflow_pages = 0;
  std::uint64_t foster_twins = 0;  // moved pages that no parent has adopted yet
  std::uint64_t layers = 0;        // in volatile pages
  std::uint64_t records = 0;       // present
  std::uint64_t deleted_records = 0;
  std::uint64_t key_bytes = 0;      // of present records
  std::uint64_t live_bytes = 0;     // of border pages: what present records and layers take there
  std::uint64_t payload_bytes = 0;  // chains in snapshots aside
  std::uint64_t cold_pointers = 0;  // to snapshot pages only; what is below them is not counted
};

// Walks the whole tree and stops the process at the first broken rule of masstree_page.h.
// REQUIRES: no other thread changes the tree.
Statistics verify_tree(page::PagePool& pool, occ::StorageControl* control);

}  // namespace foedus::storage::masstree
