#pragma once
// Subtree: the page that a composer made of one range of positions. The join puts these pages under
// one root (the root info of paper §7.5).

#include <cstdint>

#include "foedus-core/page/page_id.h"
#include "gleaner/handoff/record_stream.h"

namespace foedus::gleaner {

struct Subtree {
  PositionRange range;
  page::SnapshotPageId page;
  std::uint32_t level = 0;  // of the page; 0 holds records
};

}  // namespace foedus::gleaner
