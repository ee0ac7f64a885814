#pragma once
// OverflowPage: part of a payload that is larger than a page gives room for. The pages of one
// payload form a chain. They are written before any other thread can reach them, and never change
// afterwards (storage/base/overflow.h). A chain is volatile or in a snapshot as a whole.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "foedus-core/page/page_header.h"

namespace foedus::page {

// A record with such a payload and a key of kMaxKeyBytes leaves over a third of its page free.
inline constexpr std::uint32_t kInlinePayloadBytesMax = 1400;
// Room for the payload in a record is a multiple of 8 and at least this: the id of a chain fits
// always.
inline constexpr std::uint32_t kPayloadRoomBytesMin = 8;
// Values of a record's length field: the body holds the id of a chain's first page instead of the
// payload. There are two, because a record that was copied out of a snapshot page keeps naming the
// chain in the snapshot until it is written to (O13).
inline constexpr std::uint16_t kOverflowLength = 0xffff;          // a VolatilePageId
inline constexpr std::uint16_t kSnapshotOverflowLength = 0xfffe;  // a SnapshotPageId

inline constexpr bool is_overflow(std::size_t payload_bytes) {
  return payload_bytes > kInlinePayloadBytesMax;
}
// Returns the room that a record needs for a payload of that size.
inline constexpr std::uint32_t payload_room_of(std::size_t payload_bytes) {
  if (payload_bytes <= kPayloadRoomBytesMin || is_overflow(payload_bytes)) {
    return kPayloadRoomBytesMin;
  }
  return (static_cast<std::uint32_t>(payload_bytes) + 7) & ~7u;
}

struct OverflowPage {
  static constexpr std::uint32_t kDataBytes = kPageBytes - sizeof(PageHeader) - 16;

  PageHeader header;            // +64 -> 64
  std::uint64_t next_page;      // +8 -> 72    VolatilePageId or SnapshotPageId, 0: the last page
  std::uint32_t payload_bytes;  // +4 -> 76    of the whole payload, in every page of the chain
  std::uint32_t bytes_here;     // +4 -> 80    kDataBytes in all pages but the last
  char data[kDataBytes];        // +4016 -> 4096

  // Returns the number of pages of a payload of that size.
  static constexpr std::uint32_t pages_of(std::uint64_t payload_bytes) {
    return static_cast<std::uint32_t>(
        std::max<std::uint64_t>(1, (payload_bytes + kDataBytes - 1) / kDataBytes));
  }
};
static_assert(sizeof(OverflowPage) == kPageBytes);

}  // namespace foedus::page
