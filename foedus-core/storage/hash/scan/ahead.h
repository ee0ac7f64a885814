#pragma once
// Ahead: asks for the snapshot pages that a scan comes to next, while it is at the one before.

#include <array>
#include <cstdint>

#include "foedus-core/occ/cold_pages.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/hash/layout/page.h"

namespace foedus::storage::hash {

class Ahead {
 public:
  // Begins another scan.
  void reset() { *this = Ahead(); }

  // Asks for the pages at `owner` and after it in `parent`, a page of a snapshot that the caller
  // may look at: two the first time that the scan is in an interior page of this level, and twice
  // as many each time that it comes to another page there. Pages of which the cache refuses the
  // reads are read when the scan comes to them.
  void look(occ::ColdPages* pages, const HashInteriorPage& parent, std::uint32_t owner);

 private:
  static constexpr std::uint32_t kWindowMax = 32;
  static constexpr std::uint32_t kLevels = kPrefixBitsMax / kDigitBits;

  // What was asked for on one level of interior pages.
  struct Level {
    page::SnapshotPageId parent;
    std::uint32_t owner = kDigits;  // at the last call; kDigits: none
    std::uint32_t asked_end = 0;    // digits of `parent` before it were asked for
    std::uint32_t window = 1;       // pages
  };

  std::array<Level, kLevels> levels_;
};

}  // namespace foedus::storage::hash
