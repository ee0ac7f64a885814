#pragma once
// LineMask: a set of cache lines of a page. A page of a snapshot on non-volatile memory is read
// line by line (Van Renen et al., "Managing Non-Volatile Memory in Database Systems", SIGMOD'18,
// §3.1).

#include <bit>
#include <cstdint>

#include "foedus-core/page/page_id.h"

namespace foedus::page {

inline constexpr std::uint32_t kLineBytes = 64;
inline constexpr std::uint32_t kLinesPerPage = kPageBytes / kLineBytes;
static_assert(kLinesPerPage == 64);

// Bit i stands for bytes [i * kLineBytes, (i + 1) * kLineBytes).
using LineMask = std::uint64_t;

inline bool is_within_page(PagePart part) {
  return part.offset <= kPageBytes && part.bytes <= kPageBytes - part.offset;
}

// Returns the lines that the part touches. REQUIRES: is_within_page(part).
inline LineMask lines_of(PagePart part) {
  if (part.bytes == 0) return 0;
  const std::uint32_t first = part.offset / kLineBytes;
  const std::uint32_t last = (part.offset + part.bytes - 1) / kLineBytes;
  const LineMask up_to_last = ~LineMask{0} >> (kLinesPerPage - 1 - last);
  return up_to_last & (~LineMask{0} << first);
}

inline std::uint32_t count_of(LineMask lines) {
  return static_cast<std::uint32_t>(std::popcount(lines));
}

// Lines that follow one another.
struct LineRun {
  std::uint32_t first;
  std::uint32_t count;

  std::uint32_t offset() const { return first * kLineBytes; }
  std::uint32_t bytes() const { return count * kLineBytes; }
};

// Takes the first run out of a mask. REQUIRES: *lines is not 0.
inline LineRun take_run(LineMask* lines) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(*lines));
  const auto count = static_cast<std::uint32_t>(std::countr_one(*lines >> first));
  *lines &= first + count == kLinesPerPage ? 0 : ~LineMask{0} << (first + count);
  return {first, count};
}

}  // namespace foedus::page
