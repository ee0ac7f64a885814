#pragma once
// SearchHints: where a session's next search may begin, or go on. A wrong or forgotten hint costs a
// search, and nothing else: each is checked where it is followed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::occ {

// A search that was begun ahead of the record's use. It names the page where the record seems to
// be, which has not been looked at yet, and the page above; or the way to a snapshot page.
struct alignas(64) BegunSearch {
  std::uint64_t txn = 0;  // by which transaction of the session
  const StorageControl* storage = nullptr;
  std::uint64_t number = 0;  // the storage's own name of the key that is searched for
  page::PageHeader* page = nullptr;
  void* parent = nullptr;  // the storage's own
  // The snapshot half of the pointer at which the search ends, where that has no volatile half;
  // else null. `parent` is the pointer then, `page` holds it (null: it is a root), and it seems to
  // lead to `cold_page`.
  page::SnapshotPageId cold_top = {};
  page::SnapshotPageId cold_page = {};
};

// A page of `storage` that transaction `txn` has reached, neither moved nor dropped then, and the
// page above.
struct LastPage {
  std::uint64_t txn;
  const StorageControl* storage;
  page::PageHeader* page;
  void* parent;  // the storage's own
};

class SearchHints {
 public:
  LastPage& last_page(const StorageControl* storage) {
    return last_pages_[static_cast<std::size_t>(storage->id()) % kLastPages];
  }
  // Returns a slot for the search of a key, begun or to begin.
  BegunSearch& begun(const StorageControl* storage, std::uint64_t number) {
    const std::uint64_t mixed = (number + static_cast<std::uint64_t>(storage->id())) * kSpread;
    return begun_[mixed >> (64 - kBegunBits)];
  }
  // Puts `begun` in the place of the search begun kBegunAhead calls ago, which it returns.
  BegunSearch* exchange_turn(BegunSearch* begun) {
    return std::exchange(turns_[begun_count_++ % kBegunAhead], begun);
  }

 private:
  static constexpr std::size_t kLastPages = 8;
  static constexpr unsigned kBegunBits = 6;
  static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15u;
  // This many pages are on the way at once, four lines of each.
  static constexpr std::size_t kBegunAhead = 4;

  std::array<LastPage, kLastPages> last_pages_{};
  std::array<BegunSearch, std::size_t{1} << kBegunBits> begun_{};
  std::array<BegunSearch*, kBegunAhead> turns_{};
  std::size_t begun_count_ = 0;
};

}  // namespace foedus::occ
