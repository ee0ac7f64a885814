#pragma once
// Pages of arrays: bytes and the arithmetic from an index to a place, nothing else.
//
//   border page                                    interior page
//   | header | record | record | … | unused |      | header | dual page pointer × 252 |
//   record: | RecordHeader (16) | payload, rounded up to 8 |
//
//   A1  The shape (records per page, levels) follows from records and payload_bytes alone, and is
//       not stored. The root is at level levels(); level 0 holds records.
//   A2  Pages are made when they are touched first, by a reader or a writer. A pointer that is null
//       in both halves stands for a subtree of records of TID 0 that are full of zeros.
//   A3  Pages are never split, and records move only out of pages that are dropped for their
//       snapshot pages. A pointer in a page is changed as O10 says (storage/base/install.h).

#include <cstdint>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/tid.h"
#include "foedus/options.h"

namespace foedus::storage::array {

struct ArrayBorderPage {
  static constexpr std::uint32_t kDataBytes = page::kPageBytes - sizeof(page::PageHeader);

  page::PageHeader header;  // +64 -> 64    kind_word: index of the first record; constant
  char data[kDataBytes];    // +4032 -> 4096
};
static_assert(sizeof(ArrayBorderPage) == page::kPageBytes);

struct ArrayInteriorPage {
  static constexpr std::uint32_t kPointers = 252;

  page::PageHeader header;                        // +64 -> 64  kind_word: as in a border page
  page::DualPagePointer pointers[kPointers];      // +4032 -> 4096
};
static_assert(sizeof(ArrayInteriorPage) == page::kPageBytes);

inline constexpr std::uint32_t kLevelsMax = 6;

// The layout of an array of one payload size.
struct ArrayShape {
  std::uint32_t record_bytes;      // header and payload, rounded up to 8
  std::uint32_t records_per_page;
  std::uint64_t reciprocal;        // 2^64 / records_per_page, rounded up
  std::uint64_t records_of_level;  // below one interior page of level 1
  std::uint64_t records_of_two_levels;

  // Returns n / records_per_page. Exact below 2^56: reciprocal / 2^64 is above 1 / records_per_page
  // by less than 1 / 2^64. For such an n that adds less than 1 / records_per_page, because
  // records_per_page is below 2^8.
  std::uint64_t page_of(std::uint64_t n) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(n) * reciprocal) >> 64);
  }
  std::uint64_t pages_of(std::uint64_t records) const { return page_of(records - 1) + 1; }
};

namespace internal {

inline constexpr std::uint32_t kPayloadWordsMax = (kMaxArrayPayloadBytes + 7) / 8;

// One shape for each number of 8-byte words of payload, so that the way to a record divides by
// nothing that is not a constant.
struct ShapeTable {
  ArrayShape shapes[kPayloadWordsMax + 1] = {};
  constexpr ShapeTable() {
    for (std::uint32_t words = 0; words <= kPayloadWordsMax; ++words) {
      constexpr std::uint32_t kHeaderBytes = sizeof(page::RecordHeader);
      const std::uint32_t bytes = kHeaderBytes + words * 8;
      const std::uint32_t count = ArrayBorderPage::kDataBytes / bytes;
      const std::uint64_t of_level = std::uint64_t{count} * ArrayInteriorPage::kPointers;
      shapes[words] = {bytes, count, ~std::uint64_t{0} / count + 1, of_level,
                       of_level * ArrayInteriorPage::kPointers};
    }
  }
};
inline constexpr ShapeTable kShapes;

}  // namespace internal

// Returns the layout of an array. REQUIRES: payload_bytes <= kMaxArrayPayloadBytes.
inline const ArrayShape& shape_of(std::uint32_t payload_bytes) {
  return internal::kShapes.shapes[(payload_bytes + 7) / 8];
}

// Returns the number of levels above the border pages. REQUIRES: pages >= 1.
constexpr std::uint32_t levels_of(std::uint64_t pages) {
  std::uint32_t levels = 0;
  for (std::uint64_t room = 1; room < pages; room *= ArrayInteriorPage::kPointers) ++levels;
  return levels;
}

// Returns the index of the first record below the page of `level` on the way to border page
// `number`.
inline std::uint64_t first_index_of(std::uint64_t number, std::uint32_t level,
                                    const ArrayShape& shape) {
  std::uint64_t span = 1;
  for (std::uint32_t i = 0; i < level; ++i) span *= ArrayInteriorPage::kPointers;
  return number / span * span * shape.records_per_page;
}

inline page::RecordHeader* record_at(ArrayBorderPage* page, std::uint64_t place,
                                     const ArrayShape& shape) {
  return reinterpret_cast<page::RecordHeader*>(page->data + place * shape.record_bytes);
}
inline char* payload_of(page::RecordHeader* record) { return reinterpret_cast<char*>(record + 1); }

}  // namespace foedus::storage::array
