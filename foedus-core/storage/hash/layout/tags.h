#pragma once
// Tags: 16 bits of the hash of each record of a bin page, compared four at a time.

#include <bit>
#include <cstdint>

#include "foedus-core/storage/hash/layout/page.h"

namespace foedus::storage::hash {

inline constexpr std::uint64_t kTagMask = (std::uint64_t{1} << HashBinPage::kTagBits) - 1;
inline constexpr std::uint64_t kEachTag = 0x0001'0001'0001'0001u;

// Returns the high bit of each 16-bit lane of `word` that equals the lane of `tags`; exact.
inline std::uint64_t equal_lanes(std::uint64_t word, std::uint64_t tags) {
  constexpr std::uint64_t kLowBits = 0x7fff * kEachTag;
  const std::uint64_t differs = word ^ tags;
  return ~(((differs & kLowBits) + kLowBits) | differs | kLowBits);
}

// Calls visit(place) for each of the first `count` records of the page that has the tag of this
// hash, until one call returns true. Returns whether one did.
template <typename Visit>
[[gnu::always_inline]] inline bool visit_tags(HashBinPage* page, std::uint64_t hash,
                                              std::uint32_t count, Visit&& visit) {
  const std::uint64_t tags = (hash & kTagMask) * kEachTag;
  for (std::uint32_t begin = 0; begin < count; begin += HashBinPage::kTagsPerWord) {
    // order: relaxed, the tags of the first `count` records were stored before the count.
    const std::uint64_t word = page->tags[begin / HashBinPage::kTagsPerWord].load_relaxed();
    for (std::uint64_t lanes = equal_lanes(word, tags); lanes != 0; lanes &= lanes - 1) {
      const std::uint32_t place =
          begin + static_cast<std::uint32_t>(std::countr_zero(lanes)) / HashBinPage::kTagBits;
      if (place >= count) break;
      if (visit(place)) return true;
    }
  }
  return false;
}

}  // namespace foedus::storage::hash
