#pragma once
// Goes down the tree without writing a word: no locks, no fences beyond acquire loads, no retries
// from the root (paper §8.2).
//
//   M8  A moved page, border or interior, is left through its foster words. Pointers in a page are
//       followed only after a look that found it not moved. A page to which such a pointer leads
//       was not retired before this transaction began. The pointers of a moved page do not change
//       any more, and may lead to a page that was.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::masstree {

// A pointer that leads to a snapshot page only (search/cold.h).
struct ColdPointer {
  page::DualPagePointer* pointer = nullptr;
  page::PageHeader* holder = nullptr;  // null: it is the storage's root
  page::DualPageIds ids;
  std::uint64_t place = 0;  // M20

  // Returns true if the pointer surely leads there now, without a search.
  bool is_in_place() const {
    return (holder == nullptr || !holder->load_version().is_gone()) && pointer->load() == ids;
  }
};

// A snapshot page that leads to all of low..last in its layer.
struct ColdTop {
  page::SnapshotPageId id;
  std::uint64_t low = 0;
  std::uint64_t last = 0;

  bool contains(std::uint64_t slice) const { return low <= slice && slice <= last; }
};

// The place of the root pointer of a layer.
struct LayerRoot {
  page::DualPagePointer* pointer = nullptr;
  BorderPage* owner = nullptr;  // page of the next-layer record; null: the storage's own root
};

// Returns the root page of a layer. Null: it is a snapshot page.
inline TreePage* root_page(page::PagePool& pool, const LayerRoot& layer) {
  const page::VolatilePageId id = layer.pointer->load_volatile();
  return id.is_null() ? nullptr : TreePage::of(pool.resolve(id));
}

// Returns the twin (or replacement page) that has `slice`. REQUIRES: the foster words are set.
inline TreePage* twin_of(page::PagePool& pool, const TreePage* moved, std::uint64_t slice) {
  // order: acquire, pairs with the release of the page's reorganizer: the twin is complete.
  const page::VolatilePageId minor_id(moved->foster_minor.load_acquire());
  const page::VolatilePageId major_id(moved->foster_major.load_acquire());
  TreePage* const minor = TreePage::of(pool.resolve(minor_id));
  if (major_id.is_null() || slice <= minor->last) return minor;
  return TreePage::of(pool.resolve(major_id));
}

// Loads, all at once, the lines of a page that every search needs.
inline void prefetch_page(const TreePage* page) { base::prefetch_lines(page, 256); }

// Returns child `index` without a look at it, and starts to load its first lines. Null: it is a
// snapshot page.
inline TreePage* child_unseen(page::PagePool& pool, InteriorPage* page, unsigned index) {
  const page::VolatilePageId id = page->child(index).load_volatile();
  if (id.is_null()) [[unlikely]]
    return nullptr;
  TreePage* const child = TreePage::of(pool.resolve(id));
  prefetch_page(child);
  return child;
}

// Returns the child for `slice`; null while shifts hide it, and if it is a snapshot page. REQUIRES:
// the page was seen not moved, with `keys` separators.
TreePage* child_for(page::PagePool& pool, InteriorPage* page, unsigned keys, std::uint64_t slice);

// A border page of a layer, as it was when it was not moved.
struct BorderPosition {
  BorderPage* page = nullptr;  // null: a snapshot page, or one that was dropped, is on the way
  page::PageVersion version;
  InteriorPage* parent = nullptr;  // the last interior page passed; null: none
  bool passed_moved = false;       // on the way, so that there is something to adopt
  bool is_cold = false;            // a page of a snapshot: all of it is const
};

// Returns the border page for `slice`, from a page that contains it. `from` null: the page is a
// snapshot page, and so no border page is found.
BorderPosition find_border(page::PagePool& pool, TreePage* from, std::uint64_t slice);

// Finds the border page for `slice` in the first layer of a storage. Begins at the page where this
// transaction was last, or where a prefetch of the slice has ended, if that has the slice: rows
// that belong together lie together.
void find_first_layer_border(occ::TxnContext& ctx, occ::StorageControl* control,
                             std::uint64_t slice, BorderPosition* at);

// Returns the first of the sorted keys [begin, sorted) whose slice is not below this one; `sorted`
// if all are. Looks at the last one first, because ascending inserts look for the place after all
// of them.
inline unsigned lower_bound(BorderPage* page, unsigned begin, unsigned sorted,
                            std::uint64_t slice) {
  if (begin >= sorted || page->slice(sorted - 1) < slice) return sorted;
  unsigned at = begin;
  for (unsigned count = sorted - begin; count > 1;) {
    const unsigned half = count / 2;
    at = page->slice(at + half - 1) < slice ? at + half : at;
    count -= half;
  }
  return at;
}

// Returns the slot among [begin, keys) with this slice and length class, or kNone. `begin` is 0 or
// the number of keys known not to match.
unsigned find_slot(BorderPage* page, unsigned begin, unsigned keys, std::uint64_t slice,
                   unsigned key_class);

// The place of a key: where its record is, or would be.
struct KeyPosition {
  BorderPosition at;
  LayerRoot layer;
  std::string_view rest;  // of the key, in this layer
  std::uint64_t slice = 0;
  Slot slot;                           // of index, when it was found
  unsigned index = BorderPage::kNone;  // kNone: no record of this key
  bool differs = false;                // index is of a record with another remainder

  KeyPosition() noexcept {
  }  // NOLINT: defaulted, it would clear all bytes at once, which is slow to start

  // Returns true if the search can go on from here only for a transaction (search/cold.h).
  bool is_cut_short() const { return at.page == nullptr; }
  bool found() const { return index != BorderPage::kNone && !differs; }
  page::RecordHeader* record() const { return at.page->record(slot); }
};

// Searches volatile pages, and is cut short where they end. `position`: a new one.
void find(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
          KeyPosition* position);
// Searches from the root of a layer on, for the rest of a key.
KeyPosition find_below(page::PagePool& pool, const LayerRoot& layer, std::string_view rest);

// Searches one border page. Returns false if the key goes on in the next layer, whose root is then
// in position->layer.
bool find_in_page(KeyPosition* position);

// Reads a record with own writes over it. `place`: its slot.
occ::ReadOutcome read_at(occ::TxnContext& ctx, occ::StorageControl* control,
                         page::RecordHeader* record, std::uint32_t place, occ::ReadRange* range);

// Returns the slot of a record whose TID says next-layer, once it is marked (M7).
Slot wait_for_layer(BorderPage* page, unsigned index);

}  // namespace foedus::storage::masstree
