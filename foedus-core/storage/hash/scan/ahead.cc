#include "foedus-core/storage/hash/scan/ahead.h"

#include <algorithm>

namespace foedus::storage::hash {

namespace {

// Returns the first digit after those that `owner` owns.
std::uint32_t end_of(const HashInteriorPage& parent, std::uint32_t owner) {
  std::uint32_t end = owner + 1;
  while (end < kDigits && parent.owner_of(end) == owner) ++end;
  return end;
}

}  // namespace

void Ahead::look(occ::ColdPages* pages, const HashInteriorPage& parent, std::uint32_t owner) {
  Level& level = levels_[parent.header.flags / kDigitBits];
  const page::SnapshotPageId id(parent.header.page_id);
  if (level.parent == id && level.owner == owner) return;
  if (level.parent != id) level.asked_end = 0;
  level.parent = id;
  level.owner = owner;
  level.window = std::min(level.window * 2, kWindowMax);
  std::uint32_t digit = owner;
  std::uint32_t ahead = 0;  // pages at `owner` and after it that were asked for
  for (; digit < level.asked_end; digit = end_of(parent, digit)) ++ahead;
  if (ahead > level.window / 2) return;  // so that several are sent at a time
  for (; digit < kDigits && ahead < level.window; digit = end_of(parent, digit)) {
    const page::SnapshotPageId child = parent.pointers[digit].load().snapshot_page;
    if (child.is_null()) continue;
    if (pages->will_read(child) == snapshot::Begun::kRefused) break;
    ++ahead;
  }
  level.asked_end = digit;
  pages->send();
}

}  // namespace foedus::storage::hash
