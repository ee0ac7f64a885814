#pragma once
// SearchHints: pages at which a session's next search may begin, or go on. A search checks a hint
// before it follows it. So a wrong or missing hint costs a search from the root, and nothing else.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::occ {

// A search that a prefetch has begun. `page` is the page in which the record seems to be; the
// prefetch has not looked at it yet. `parent` is the page above. If the record seems to be in a
// snapshot page, the members name that page and the pointer that leads to it instead.
struct alignas(64) PrefetchedLookup {
  std::uint64_t txn = 0;  // turn of the transaction that began it
  const StorageControl* storage = nullptr;
  std::uint64_t number = 0;  // by kind of storage: the slice or index that is searched for
  page::PageHeader* page = nullptr;
  void* parent = nullptr;  // its type is by kind of storage
  // If the search ends at a pointer without a volatile half, this is the snapshot half of that
  // pointer; otherwise it is null. In the first case `parent` is the pointer, `page` is the page
  // that holds it (null: it is a root), and `cold_page` is the snapshot page in which the record
  // seems to be.
  page::SnapshotPageId cold_top = {};
  page::SnapshotPageId cold_page = {};
};

// `page` is the last page of `storage` that transaction `txn` has reached, and `parent` the page
// above. When the transaction reached `page`, the page was neither moved nor dropped.
struct LastPage {
  std::uint64_t txn;
  const StorageControl* storage;
  page::PageHeader* page;
  void* parent;  // its type is by kind of storage
};

class SearchHints {
 public:
  LastPage& last_page(const StorageControl* storage) {
    return last_pages_[static_cast<std::size_t>(storage->id()) % kLastPages];
  }
  // Returns the slot for the search of a key. Another key may have the same slot: the caller
  // compares its members.
  PrefetchedLookup& prefetched(const StorageControl* storage, std::uint64_t number) {
    const std::uint64_t mixed = (number + static_cast<std::uint64_t>(storage->id())) * kSpread;
    return prefetched_[mixed >> (64 - kPrefetchedBits)];
  }
  // Remembers `prefetched`. Returns the search that was passed kLookupsAhead calls ago, or null.
  // The page of that search should be in the processor's cache by now.
  PrefetchedLookup* exchange_turn(PrefetchedLookup* prefetched) {
    return std::exchange(turns_[prefetched_count_++ % kLookupsAhead], prefetched);
  }

 private:
  static constexpr std::size_t kLastPages = 8;
  static constexpr unsigned kPrefetchedBits = 6;
  static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15u;
  // A prefetched search is finished this many prefetches after it was begun. Meanwhile the
  // processor loads the pages of all these searches, four lines of each (masstree::prefetch_page).
  static constexpr std::size_t kLookupsAhead = 4;

  std::array<LastPage, kLastPages> last_pages_{};
  std::array<PrefetchedLookup, std::size_t{1} << kPrefetchedBits> prefetched_{};
  std::array<PrefetchedLookup*, kLookupsAhead> turns_{};
  std::size_t prefetched_count_ = 0;
};

}  // namespace foedus::occ
