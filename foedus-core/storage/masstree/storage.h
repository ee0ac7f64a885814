#pragma once
// The Master-Tree (paper §8): a B-trie of 64-bit key slices, each layer a B-tree with foster twins.
// Ordered keys, points and ranges. The calls of transactions and of the commit protocol. The rules
// of its pages stand in layout/page.h, those of the folder in README.md.
//
// Common to the calls of transactions: the session's thread; kConflict dooms the transaction;
// kOutOfMemory changes nothing that a user can see. Keys have at most kMaxKeyBytes bytes, payloads
// at most kMaxPayloadBytes; both are the caller's and are copied.

#include <cstdint>
#include <string_view>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/occ/access_sets.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/track.h"
#include "foedus-core/storage/masstree/operations/apply.h"
#include "foedus-core/storage/masstree/operations/operations.h"
#include "foedus-core/storage/masstree/search/prefetch.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// ---- life of a storage

// create(): change/make.h.

// Retires all pages of the storage. REQUIRES: no transaction that begins now finds it.
void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);

// ---- operations of transactions

// Copies the part of the payload that `range` asks for. kNotFound: absence is remembered.
inline Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                  occ::ReadRange* range) {
  if (control->has_delta()) [[unlikely]]
    return with_delta::get(ctx, control, key, range);
  return one_tree::get(ctx, control, key, range);
}
// Does what get() does, and holds the record's lock until the transaction ends.
inline Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control,
                             std::string_view key, occ::ReadRange* range) {
  return control->has_delta() ? with_delta::get_for_update(ctx, control, key, range)
                              : one_tree::get_for_update(ctx, control, key, range);
}
// Writes the whole payload.
inline Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                          std::string_view key, const std::string_view& payload) {
  if (control->has_delta()) [[unlikely]] {
    return with_delta::write_whole(ctx, control, mode, key, payload);
  }
  return one_tree::write_whole(ctx, control, mode, key, payload);
}
// Writes to payload bytes [offset, offset + part.size()), as storage/keyed/operations.h says.
// kNotFound; kInvalidArgument: not all are there.
inline Status write_part(occ::TxnContext& ctx, occ::StorageControl* control,
                         log::LogRecordType type, std::string_view key, std::uint32_t offset,
                         const std::string_view& part) {
  return control->has_delta() ? with_delta::write_part(ctx, control, type, key, offset, part)
                              : one_tree::write_part(ctx, control, type, key, offset, part);
}
// Erases the record. kNotFound if the key is not there.
inline Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  return control->has_delta() ? with_delta::erase(ctx, control, key)
                              : one_tree::erase(ctx, control, key);
}

// ---- the commit protocol (txn/, by the dispatch of storage/)

// track_moved(), page_still_holds(), look_again(): change/track.h; accepts(), apply():
// operations/apply.h; relocate(): operations/operations.h.

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
  std::uint64_t cold_pointers = 0;  // to snapshot pages only; pages below them are not counted
};

// Walks the whole tree and stops the process at the first broken rule of layout/page.h.
// REQUIRES: no other thread changes the tree.
Statistics verify_tree(page::PagePool& pool, occ::StorageControl* control);

}  // namespace foedus::storage::masstree
