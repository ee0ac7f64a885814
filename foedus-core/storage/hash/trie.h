#pragma once
// Finds the way through interior pages, and changes their pointers (H1, H2).

#include <cstdint>

#include "foedus-core/storage/hash/bin.h"

namespace foedus::storage::hash {

// The first shape of a trie, by HashOptions: the levels of interior pages above the first bins, and
// the bits that the lowest of them spreads by. create() makes the root, the others are made at
// first touch.
struct FirstLevels {
  std::uint32_t levels;
  unsigned lowest_bits;
};
FirstLevels first_levels_of(const occ::StorageControl* control);

// Makes an interior page that no other session can reach: null pointers, one for each value of the
// first `bits` bits of its digit. Null: out of pages.
HashInteriorPage* make_interior(const PageSource& source, std::uint32_t level, unsigned bits_above,
                                unsigned bits);

// Returns the bin of `hash`, neither moved nor dropped when it was looked at. Null: a page on the
// way is not volatile, or the bin is being dropped for long. Then a search by cold.h is needed.
HashBinPage* peek_bin(page::PagePool& pool, const occ::StorageControl* control, std::uint64_t hash);

// The pages that replace a bin. `interior` is needed if the bin has all bits of its digit: the
// successors are one level below then.
struct Successors {
  HashBinPage* first = nullptr;
  HashBinPage* second = nullptr;  // null: the first has the same prefix
  HashInteriorPage* interior = nullptr;
};

// Returns whether a spread of `bin` needs a new interior page.
bool needs_interior(const HashBinPage* bin);
// Lets the pointer of `bin` lead to its successors. REQUIRES: the lock of `bin` is held, it is
// marked moved, and no pointer leads to the successors.
void replace_bin(const PageSource& source, HashBinPage* bin, const Successors& successors);

// Returns the bin whose prefix differs from that of `bin` in its last bit. Null: there is none that
// is volatile, or the two have all digits of the root, which never goes. REQUIRES: the lock of
// `bin`. Without the lock of the buddy the answer may be out of date at once.
HashBinPage* buddy_of(const PageSource& source, HashBinPage* bin);
// Lets the pointers of `bin` and its buddy lead to `merged` (H6). REQUIRES: the locks of both are
// held, they are marked moved, and no pointer leads to `merged`.
void merge_bins(const PageSource& source, HashBinPage* bin, HashBinPage* merged);

// Calls visit(PageHeader*) for each page below `page`, then for it; chained pages excluded.
template <typename Visit>
void visit_pages(page::PagePool& pool, page::PageHeader* page, Visit&& visit) {
  if (page->kind == page::PageKind::kHashInterior) {
    for (auto& pointer : reinterpret_cast<HashInteriorPage*>(page)->pointers) {
      const page::VolatilePageId child = pointer.load_volatile();
      const bool is_own = child == page->volatile_id();  // H6
      if (!child.is_null() && !is_own) visit_pages(pool, pool.resolve(child), visit);
    }
  }
  visit(page);
}

}  // namespace foedus::storage::hash
