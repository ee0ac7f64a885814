#pragma once
// Pages of hash storages in snapshots: makes new ones, and reads those of the previous snapshot.
// They equal the volatile pages to the byte (storage/hash/layout/page.h), except that next_page,
// head and the ids of chains are SnapshotPageIds. Pointers have no volatile half, and no record is
// deleted or moved.
//
//   G50  Records of a bin lie in the order of hash and key, over all pages of its chain.
//   G51  A null pointer is an empty bin of all digits that it owns. It owns as many digits as the
//        first record of an empty storage would get for its bin (at a higher level: for its page).
//        Where pages of neighbouring digits leave fewer, it owns these.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

// A record in the form in which a page stores it.
struct HashRecord {
  std::uint64_t hash = 0;
  page::Tid tid;
  std::string key;
  std::string body;          // the payload, or the id of its chain
  std::uint32_t length = 0;  // of the payload, or page::kSnapshotOverflowLength

  std::uint32_t room() const { return page::payload_room_of(body.size()); }
  std::uint32_t space() const {
    return storage::hash::space_of(static_cast<std::uint32_t>(key.size()), room());
  }
};

// Records of a bin, and their length in a page.
struct HashBin {
  std::vector<HashRecord> records;
  std::uint64_t bytes = 0;

  void add(HashRecord record) {
    bytes += record.space();
    records.push_back(std::move(record));
  }
  static bool fits(std::uint64_t bytes, std::size_t records) {
    return bytes <= storage::hash::HashBinPage::kDataBytes &&
           records <= storage::hash::HashBinPage::kRecordsMax;
  }
};

// A child of an interior page, by its first digit. span 0: no page, or the digit belongs to the
// child of an earlier one.
struct HashChild {
  page::SnapshotPageId page;
  std::uint32_t span = 0;  // digits; a power of two

  bool operator==(const HashChild&) const = default;
};
using HashChildren = std::array<HashChild, storage::hash::HashInteriorPage::kPointers>;

// A prefix of `bits` bits of a hash. It stands for the range of hashes that begin with it.
struct HashPrefix {
  std::uint64_t value = 0;  // the other bits are zero
  unsigned bits = 0;

  PositionRange range() const {
    const std::uint64_t rest = bits == 0 ? ~std::uint64_t{0} : (~std::uint64_t{0} >> bits);
    return {value, value | rest};
  }
  // Returns the prefix of digits [digit, digit + span) of an interior page with this prefix.
  HashPrefix below(std::uint32_t digit, std::uint32_t span) const;
};

// Returns kCorruption of the page `id`. `what`: what is wrong with it.
Status corrupt_page(const Composition& composition, page::SnapshotPageId id, const char* what);

// Reads a page of the storage. kCorruption: it is neither an interior nor a bin page.
Status read_hash_page(const Composition& composition, page::SnapshotPageId id, page::PageBytes* to);
// Returns the children of the interior page at `page`, checked (H1); null pointers are left out.
Result<HashChildren> children_of(const Composition& composition, const HashPrefix& prefix,
                                 page::SnapshotPageId id, page::PageBytes* page);

// Writes an interior page.
Result<page::SnapshotPageId> write_interior(const Composition& composition,
                                            const HashPrefix& prefix, const HashChildren& children);
// Writes a bin, as a chain of pages if one has no room for all records. Returns the first page.
// REQUIRES: G50, at least one record.
Result<page::SnapshotPageId> write_bin(const Composition& composition, const HashPrefix& prefix,
                                       const HashBin& bin);

}  // namespace foedus::gleaner
