#pragma once
// A log segment as an input: cut somewhere, and with checksums that may have to be recomputed.

#include <algorithm>
#include <cstdint>
#include <string>

#include "foedus-core/log/segments/format.h"
#include "tests/testing/mend_segment.h"

namespace foedus::fuzz {

// Mends checksums, and the lengths of the file in header and growths, because inputs are cut.
inline void mend_cut_segment(std::string* bytes) {
  const auto cap = [bytes](std::size_t offset) {
    const auto said = testing::load_at<std::uint64_t>(*bytes, offset);
    testing::store_at(bytes, offset, std::min<std::uint64_t>(said, bytes->size()));
  };
  if (bytes->size() < log::kBlockBytes) return;
  cap(offsetof(log::SegmentHeader, file_bytes));
  testing::mend_segment(bytes, [&](std::size_t at, std::size_t) {
    const auto layout =
        testing::load_at<log::FrameLayout>(*bytes, at + offsetof(log::FrameHeader, layout));
    if (layout == log::FrameLayout::kGrowth) cap(at + sizeof(log::FrameHeader));
  });
}

}  // namespace foedus::fuzz
