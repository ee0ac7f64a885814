#pragma once
// Exchanging neighbours under an interior page for pages of a snapshot.
//
//      interior page   | hot |  a  |  b  |  c  | hot |     volatile children of any fences
//      snapshot           |   r   |   s   |   t   |       pages of the same level
//      afterwards      | hot |a'|    s    | c' | hot |    a', c': what a and c have besides s
//
//   M33 The interior page moves to a copy with other children (M4). This is done under the locks of
//       both, of the children that go and all their records, and of the page that leads to it. So
//       readers find old children or new ones, each with its fences, and meet no shift.
//   M34 The remainder at either end, of one page or of several, goes into one page each. A page of
//       which nothing is dropped moves there with its records, as in a merge (M16, M18). A
//       transaction that knows it finds them, and nothing conflicts. A page that is cut is dropped,
//       and its remainder is like a page that was made volatile anew.

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
  VolatileContents contents;  // nothing: it is cold
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
  SliceRange left;   // of pages that go, before all that comes
  SliceRange right;  // and after it
};

// The pages that were made for the remainders; null: there was none.
struct RemainderPages {
  TreePage* left = nullptr;
  TreePage* right = nullptr;
};

// Attempts an exchange. Returns the page that took the place of `page`; null: nothing has changed.
// Adds to `dropped` by how many pages there are fewer.
InteriorPage* exchange(const Installation& installation, Subtree* subtree, const Above& above,
                       InteriorPage* page, const Exchange& exchange, RemainderPages* remainders,
                       std::uint64_t* dropped);

// Attempts to exchange the layer's root for that of the snapshot, with all below it.
bool exchange_root(Subtree* subtree, const LayerRoot& layer, TreePage* root,
                   page::SnapshotPageId cold, std::uint64_t* dropped);

// Attempts to exchange the page of a snapshot at a snapshot-resident child or layer for another.
bool exchange_cold(BorderPage* holder, page::DualPagePointer* pointer, page::SnapshotPageId cold);

}  // namespace foedus::storage::masstree
