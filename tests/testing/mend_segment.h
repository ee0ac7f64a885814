#pragma once
// Recomputes the checksums of a log segment whose bytes were changed.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/segments/format.h"

namespace foedus::testing {

template <typename T>
T load_at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}
template <typename T>
void store_at(std::string* bytes, std::size_t offset, T value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

// Recomputes the checksum at `begin + crc_offset`, which is of `count` bytes at `begin` without its
// own four.
inline void mend_crc(std::string* bytes, std::size_t begin, std::size_t count,
                     std::size_t crc_offset) {
  store_at(bytes, begin + crc_offset, std::uint32_t{0});
  store_at(bytes, begin + crc_offset, base::crc32c(bytes->data() + begin, count));
}

// Recomputes the checksums of slots that are not empty, and of frames as far as their lengths lead,
// each with the checksum of the frame before. `each` is called with offset and length of a frame
// before its checksum is recomputed.
template <typename Each>
void mend_segment(std::string* bytes, const Each& each) {
  constexpr std::size_t kBlock = log::kBlockBytes;
  if (bytes->size() < kBlock) return;
  mend_crc(bytes, 0, log::kSlotBytes, offsetof(log::SegmentHeader, crc));
  const bool has_seal = bytes->find_first_not_of('\0', log::kSlotBytes) < 2 * log::kSlotBytes;
  if (has_seal) {
    mend_crc(bytes, log::kSlotBytes, log::kSlotBytes, offsetof(log::SegmentSeal, crc));
  }
  auto before = load_at<std::uint32_t>(*bytes, offsetof(log::SegmentHeader, crc));
  for (std::size_t at = kBlock; at + kBlock <= bytes->size();) {
    const auto count = load_at<std::uint32_t>(*bytes, at + offsetof(log::FrameHeader, frame_bytes));
    if (count < kBlock || count % kBlock != 0 || count > bytes->size() - at) return;
    each(at, count);
    store_at(bytes, at + offsetof(log::FrameHeader, previous_crc), before);
    store_at(bytes, at + offsetof(log::FrameHeader, sector_crc),
             log::crc_of_first_sector(bytes->data() + at));
    mend_crc(bytes, at, count, offsetof(log::FrameHeader, crc));
    before = load_at<std::uint32_t>(*bytes, at + offsetof(log::FrameHeader, crc));
    at += count;
  }
}

}  // namespace foedus::testing
