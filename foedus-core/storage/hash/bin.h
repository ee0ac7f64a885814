#pragma once
// Searches one bin, appends to it and finds its successors. Nothing here knows of transactions.

#include <cstdint>
#include <string_view>

#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::hash {

// The source of new pages, and the storage and SOC that they are for.
struct PageSource {
  page::PagePool* pool;
  page::SessionPages* pages;
  occ::StorageControl* control;
  std::uint32_t soc;
};

// A key's record, or the bin in which the key is missing. If the bin is in a snapshot, the
// transaction has remembered the pointer that led there, and only the two flags are set.
struct KeyPosition {
  bool is_cold = false;                  // the bin is in a snapshot: bin, page and record are null
  bool is_cold_found = false;            // the snapshot has the key, and the wanted part is copied
  HashBinPage* bin = nullptr;            // head of the bin
  page::PageVersion version;             // of the bin, loaded before it was searched
  HashBinPage* page = nullptr;           // of the record
  page::RecordHeader* record = nullptr;  // null: missing
  std::uint32_t place = 0;               // of its slot in `page`

  HashSlot slot() const { return page->slot(place); }
};

enum class Search : std::uint8_t {
  kFound,
  kMissing,
  kUnsettled,  // a record is moved, its copy was not found: search again from the root (H4)
};

// The number of tries for the lock of a bin, where the caller can go on without that lock.
inline constexpr unsigned kBinSpins = 100;

inline HashBinPage* bin_of(page::PagePool& pool, std::uint64_t id) {
  return reinterpret_cast<HashBinPage*>(pool.resolve(page::VolatilePageId(id)));
}
// Returns the page that a record lies in.
inline HashBinPage* page_of(page::RecordHeader* record) {
  auto* const page = reinterpret_cast<HashBinPage*>(page::PageHeader::of(record));
  FOEDUS_INVARIANT(page->header.kind == page::PageKind::kHashBin, page->header.kind, record);
  return page;
}
// Returns the key of a record, from its address alone.
std::string_view key_at(page::RecordHeader* record);

// Returns the next page of the chain, or null.
inline HashBinPage* next_of(page::PagePool& pool, const HashBinPage* page) {
  // order: acquire, pairs with the release of the session that linked it.
  const std::uint64_t id = page->next_page.load_acquire();
  return id == 0 ? nullptr : bin_of(pool, id);
}

// Returns the successor of a moved bin that covers `hash`.
HashBinPage* successor_of(page::PagePool& pool, const HashBinPage* bin, std::uint64_t hash);

// Searches one page for the record of `key` that is not moved; it may be deleted. True: page,
// record and place of `found` are set. A moved record of `key` sets *saw_moved.
bool search_page(HashBinPage* page, std::uint64_t hash, std::string_view key, KeyPosition* found,
                 bool* saw_moved);
// Searches all pages of `bin` for the record of `key` that is not moved, and sets all of `found`
// except version.
Search search_bin(page::PagePool& pool, HashBinPage* bin, std::uint64_t hash, std::string_view key,
                  KeyPosition* found);

// Makes an empty page of a bin, which no other session can reach. If `head` is null, the page is
// the head. Returns null if no page is free.
HashBinPage* make_bin_page(const PageSource& source, std::uint64_t prefix, unsigned prefix_bits,
                           const HashBinPage* head);
// Takes back pages that were never reachable: `bin` and the pages chained to it; null is allowed.
void release_bin(const PageSource& source, HashBinPage* bin);
// Retires all pages of `bin`. REQUIRES: no pointer leads to it.
void retire_bin(const PageSource& source, HashBinPage* bin);

// Appends a record after all others of `page`, complete but for its payload; not visible before
// publish_record(). REQUIRES: has_room(), the lock of the bin is held or the page is not reachable.
page::RecordHeader* place_record(HashBinPage* page, std::uint64_t hash, std::string_view key,
                                 std::uint32_t room, std::uint32_t length, page::Tid tid);
void publish_record(HashBinPage* page);

}  // namespace foedus::storage::hash
