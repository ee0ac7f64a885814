#pragma once
// What can be said against a page of a Master-Tree in a snapshot (P17).
//
//   M42  Records of a border page lie in the order of their keys from the end of the page on, none
//        over another and nothing between them.

#include "foedus-core/page/page_check.h"
#include "foedus-core/storage/masstree/masstree_page.h"

namespace foedus::storage::masstree {

// A key of kMaxKeyBytes has a layer for each slice. No tree is as high as the other one.
inline constexpr unsigned kLayersMax = (kMaxKeyBytes + 7) / 8;
inline constexpr unsigned kLevelMax = 31;

// `newest`: the epoch that no record is above.
page::BrokenRule broken_rule(BorderPage& page, Epoch newest);
page::BrokenRule broken_rule(InteriorPage& page);

// Whether this is a page of that layer and level.
inline bool is_page_of(const page::PageHeader& page, page::StorageId storage, unsigned layer,
                       unsigned level) {
  const auto kind =
      level == 0 ? page::PageKind::kMasstreeBorder : page::PageKind::kMasstreeInterior;
  return page.kind == kind && page.level == level && page.layer == layer &&
         page.storage_id == storage;
}

// What the pointer to a page says of it; of a pointer to the root of a layer, the layer alone.
struct ColdPlace {
  static constexpr unsigned kAnyLevel = ~0u;

  page::StorageId storage;
  unsigned layer = 0;
  unsigned level = kAnyLevel;
  std::uint64_t low = 0;
  std::uint64_t last = ~std::uint64_t{0};

  // Whether this is the page of the place.
  bool is_of(const page::PageHeader& page) const {
    const auto& tree_page = reinterpret_cast<const TreePage&>(page);
    return is_page_of(page, storage, layer, level == kAnyLevel ? page.level : level) &&
           tree_page.low == low && tree_page.last == last;
  }
  // The place of a child. REQUIRES: is_of(); child <= keys.
  ColdPlace below(const InteriorPage& page, unsigned child, unsigned keys) const {
    return {storage, layer, page.header.level - 1u, page.low_of(child), page.last_of(child, keys)};
  }
};

}  // namespace foedus::storage::masstree
