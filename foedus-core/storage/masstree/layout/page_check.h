#pragma once
// Checks of one page of a Master-Tree in a snapshot (P17).
//
//   M42  Records of a border page lie in the order of their keys from the end of the page on. None
//        lies over another, and nothing lies between them.

#include "foedus-core/page/page_check.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// A key of kMaxKeyBytes has a layer for each slice. kLevelMax is a limit that no tree reaches.
inline constexpr unsigned kLayersMax = (kMaxKeyBytes + 7) / 8;
inline constexpr unsigned kLevelMax = 31;

// Returns the rule that the page breaks. `newest`: no record may be of a later epoch.
page::BrokenRule broken_rule(BorderPage& page, Epoch newest);
page::BrokenRule broken_rule(InteriorPage& page);

// The facts that P6 has of a snapshot page besides its id, in one word: a search compares it on
// every level.
class Identity {
 public:
  // Makes the identity of pages of that layer and level.
  constexpr Identity(page::StorageId storage, unsigned layer, unsigned level)
      : word_(static_cast<std::uint64_t>(storage) << 32 | layer << kLayerShift |
              level << kLevelShift | kind_of(level)) {}
  // Reads the identity of this page, whatever its kind. No page of a snapshot has flags, so with
  // flags the identity is that of no such page.
  explicit Identity(const page::PageHeader& page)
      : word_(static_cast<std::uint64_t>(page.storage_id) << 32 | std::uint64_t{page.flags} << 24 |
              std::uint64_t{page.layer} << kLayerShift | std::uint64_t{page.level} << kLevelShift |
              static_cast<std::uint64_t>(page.kind)) {}
  constexpr bool operator==(const Identity&) const = default;

 private:
  static constexpr unsigned kLevelShift = 8;
  static constexpr unsigned kLayerShift = 16;

  static constexpr std::uint64_t kind_of(unsigned level) {
    return static_cast<std::uint64_t>(level == 0 ? page::PageKind::kMasstreeBorder
                                                 : page::PageKind::kMasstreeInterior);
  }

  std::uint64_t word_;
};

// Returns whether this is a page of that layer and level.
inline bool is_page_of(const page::PageHeader& page, page::StorageId storage, unsigned layer,
                       unsigned level) {
  return Identity(page) == Identity(storage, layer, level);
}

// The identity and the fences that a page has to have, by the pointer to it.
struct ColdPlace {
  Identity identity;
  std::uint64_t low;
  std::uint64_t last;

  // Returns the place of a child of a page that has been checked itself.
  static ColdPlace below(const InteriorPage& page, unsigned child, unsigned keys) {
    const page::PageHeader& header = page.header;
    return {Identity(header.storage_id, header.layer, header.level - 1u), page.low_of(child),
            page.last_of(child, keys)};
  }
  // Returns whether `page` is the page of this place.
  bool is_of(const page::PageHeader& page) const {
    const auto& tree_page = reinterpret_cast<const TreePage&>(page);
    return Identity(page) == identity && tree_page.low == low && tree_page.last == last;
  }
};

// The identity that the root of a layer has to have, by the pointer to it. Its level may be any.
struct ColdRoot {
  page::StorageId storage;
  unsigned layer;

  ColdPlace place(const page::PageHeader& page) const {
    return {Identity(storage, layer, page.level), 0, kLastSlice};
  }
  bool is_of(const page::PageHeader& page) const { return place(page).is_of(page); }
};

}  // namespace foedus::storage::masstree
