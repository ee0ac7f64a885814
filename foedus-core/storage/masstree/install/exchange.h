#pragma once
// Exchanges neighbours under an interior page for pages of a snapshot.
//
//      interior page   | hot |  a  |  b  |  c  | hot |     volatile children of any fences
//      snapshot           |   r   |   s   |   t   |       pages of the same level
//      afterwards      | hot |a'|    s    | c' | hot |    a', c': what a and c have besides s
//
//   M33 The interior page moves to a copy with other children (M4). This is done under the locks of
//       the page, of the page that leads to it, of the children that go and all their records, and
//       of the remainder pages. So readers find old children or new ones, each with its fences, and
//       meet no shift.
//   M34 The slices that remain at either end of the run go into one page each, whether they are of
//       one page or of several. If all slices of a page remain, its records move there as in a
//       merge (M16, M18): transactions that know the page find them, and nothing conflicts. A page
//       of which only some slices remain is dropped, and to transactions its remainder is like a
//       page that was made volatile anew.

#include <cstdint>
#include <span>

#include "foedus-core/storage/masstree/install/cold_layer.h"
#include "foedus-core/storage/masstree/install/subtree.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// A child of an interior page, as it was seen.
struct Child {
  page::DualPageIds ids;
  std::uint64_t low = 0;
  std::uint64_t last = 0;
  VolatileContents contents;  // empty if the child is cold
  bool is_divisible = false;  // it is volatile, and has not moved

  bool is_cold() const { return ids.volatile_page.is_null(); }
};

// The place of the pointer to an interior page: a page above, or the root pointer of a layer.
struct Above {
  InteriorPage* parent = nullptr;  // null: the root pointer
  LayerRoot layer;
};

// The children that go and the pages that come, of the same slices.
struct Exchange {
  std::span<const Child> out;
  std::span<const ColdPage> in;
  SliceRange left;   // of pages that go, before `in`
  SliceRange right;  // of pages that go, after `in`
};

// The pages that were made for the remainders; null: there was none.
struct RemainderPages {
  TreePage* left = nullptr;
  TreePage* right = nullptr;
};

// Attempts an exchange. Returns the page that took the place of `page`. Null: nothing has changed.
// Adds to `dropped` by how many the number of volatile pages has fallen.
InteriorPage* exchange(const Installation& installation, Subtree* subtree, const Above& above,
                       InteriorPage* page, const Exchange& exchange, RemainderPages* remainders,
                       std::uint64_t* dropped);

// Attempts to exchange the layer's root for that of the snapshot, with all below it.
bool exchange_root(Subtree* subtree, const LayerRoot& layer, TreePage* root,
                   page::SnapshotPageId cold, std::uint64_t* dropped);

// Attempts to change a pointer without a volatile half, to a child or a layer, from its snapshot
// page to another.
bool exchange_cold(BorderPage* holder, page::DualPagePointer* pointer, page::SnapshotPageId cold);

}  // namespace foedus::storage::masstree
