#pragma once
// OverflowPage: part of a payload that is larger than a page gives room for. The pages of one
// payload form a chain; they are written before anyone can reach them and never change afterwards
// (occ/overflow.h).

#include <algorithm>
#include <cstdint>

#include "foedus-core/page/page_header.h"

namespace foedus::page {

struct OverflowPage {
  static constexpr std::uint32_t kDataBytes = kPageBytes - sizeof(PageHeader) - 16;

  PageHeader header;            // +64 -> 64
  std::uint64_t next_page;      // +8 -> 72    VolatilePageId or SnapshotPageId, 0: the last page
  std::uint32_t payload_bytes;  // +4 -> 76    of the whole payload, in every page of the chain
  std::uint32_t bytes_here;     // +4 -> 80    kDataBytes in all pages but the last
  char data[kDataBytes];        // +4016 -> 4096

  // Pages of a payload of that size.
  static constexpr std::uint32_t pages_of(std::uint64_t payload_bytes) {
    return static_cast<std::uint32_t>(
        std::max<std::uint64_t>(1, (payload_bytes + kDataBytes - 1) / kDataBytes));
  }
};
static_assert(sizeof(OverflowPage) == kPageBytes);

}  // namespace foedus::page
