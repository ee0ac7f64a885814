#pragma once
// Hash storages: byte-string keys without order, in a trie on the 64-bit hash of the key. The calls
// of transactions and of the commit protocol. The rules of its pages stand in layout/page.h, those
// of the folder in README.md.
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
#include "foedus-core/storage/keyed/write_mode.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::hash {

// ---- life of a storage --------------------------------------------------------------------------

// Makes the root. Interior pages below it, as many levels as meta.fan_out_bits asks for (at most
// kFanOutBitsMax), and bins come with their first key. REQUIRES: no session knows the storage yet.
Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);
// Retires all pages of the storage. REQUIRES: no transaction that begins now finds it.
void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);

// Returns the bits for an expected number of records (HashOptions): one bin page for about 16 of
// them.
inline constexpr std::uint32_t kFanOutBitsMax = 21;
constexpr std::uint32_t fan_out_bits_for(std::uint64_t records_expected) {
  std::uint32_t bits = 1;
  while (bits < kFanOutBitsMax && (std::uint64_t{16} << bits) < records_expected) ++bits;
  return bits;
}

// ---- operations of transactions -----------------------------------------------------------------

// Copies the part of the payload that `range` asks for. kNotFound: absence is remembered.
Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range);
// Does what get() does, and holds the record's lock until the transaction ends.
Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range);

// Writes the whole payload.
Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload);
// Writes to payload bytes [offset, offset + part.size()), as storage/keyed/operations.h says.
// kNotFound; kInvalidArgument: not all are there.
Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, log::LogRecordType type,
                  std::string_view key, std::uint32_t offset, const std::string_view& part);
// Erases the record. kNotFound if the key is not there.
Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);

// Starts to load the lines that a lookup of `key` will touch. Changes and remembers nothing.
void prefetch(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);

// ---- the commit protocol (storage/dispatch.h has the contracts) ---------------------------------

// Finds the record that a moved one became, in the same bin or a successor of it. If the record was
// deleted, and left behind when its bin was rebuilt, returns false with *to == record: while a
// transaction that has read it is open, its key cannot have been inserted and purged again. *to is
// null if its bin was dropped.
bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place);
Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry);
bool accepts(page::PagePool& pool, const occ::WriteEntry& entry);
void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry);
// Returns whether no key was added to the bin, nor to its successors if it has moved. False if one
// of them was dropped.
bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry);
// Verifies a null pointer that a transaction has followed: whether it is still null, and still owns
// the entry.place digits from its own on (H18). REQUIRES: entry.place is not 0.
occ::PointerState look_again(const occ::PointerEntry& entry);

// ---- for tests and statistics -------------------------------------------------------------------

struct Statistics {
  std::uint64_t interior_pages = 0;
  std::uint64_t bins = 0;
  std::uint64_t bin_pages = 0;  // with those chained to the first of a bin
  std::uint64_t overflow_pages = 0;
  std::uint64_t records = 0;          // present
  std::uint64_t deleted_records = 0;  // room that the next rebuild or spread frees
  std::uint64_t moved_records = 0;    // room that the next rebuild or spread frees
};

// Walks the whole trie and stops the process at the first broken rule of layout/page.h.
// REQUIRES: no other thread changes it.
Statistics verify_trie(page::PagePool& pool, occ::StorageControl* control);

}  // namespace foedus::storage::hash
