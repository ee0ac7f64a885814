#pragma once
// Pages of hash storages in snapshots: making them, and looking at those of the snapshot before.
// They are the volatile ones to the byte (storage/hash/hash_page.h): next_page, head and the ids of
// chains are SnapshotPageIds, pointers have no volatile half, no record is deleted or moved.
//
//   G50  Records of a bin lie in the order of hash and key, over all pages of its chain.
//   G51  A null pointer is an empty bin, of all digits that it owns. Where nothing else asks for
//        less it owns what a first touch makes one bin (or, at a higher level, one page) of.

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
#include "foedus-core/storage/hash/hash_page.h"
#include "foedus/status.h"
#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

// A record as a page is to have it.
struct HashRecord {
  std::uint64_t hash = 0;
  page::Tid tid;
  std::string key;
  std::string body;          // the payload, or the id of the chain that it is
  std::uint32_t length = 0;  // of the payload, or page::kSnapshotOverflowLength

  std::uint32_t room() const { return page::payload_room_of(body.size()); }
  std::uint32_t space() const {
    return storage::hash::space_of(static_cast<std::uint32_t>(key.size()), room());
  }
};

// Some records, and whether they are one page.
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

// What an interior page leads to, by first digit. span 0: another digit's, or nothing.
struct HashChild {
  page::SnapshotPageId page;
  std::uint32_t span = 0;  // digits; a power of two

  bool operator==(const HashChild&) const = default;
};
using HashChildren = std::array<HashChild, storage::hash::HashInteriorPage::kPointers>;

// The prefix of `bits` bits of all hashes in a range, and the range of a prefix.
struct HashPrefix {
  std::uint64_t value = 0;  // the other bits are zero
  unsigned bits = 0;

  PositionRange range() const {
    const std::uint64_t rest = bits == 0 ? ~std::uint64_t{0} : (~std::uint64_t{0} >> bits);
    return {value, value | rest};
  }
  // Of digits [digit, digit + span) of an interior page with this prefix.
  HashPrefix below(std::uint32_t digit, std::uint32_t span) const;
};

// kCorruption of the page `id`: what is wrong with it.
Status corrupt_page(const Composition& composition, page::SnapshotPageId id, const char* what);

// Reads a page of the storage that is an interior or a bin page.
Status read_hash_page(const Composition& composition, page::SnapshotPageId id, page::PageBytes* to);
// What the interior page at `page` leads to, checked (H1); null pointers are left out.
Result<HashChildren> children_of(const Composition& composition, const HashPrefix& prefix,
                                 page::SnapshotPageId id, page::PageBytes* page);

// Writes an interior page.
Result<page::SnapshotPageId> write_interior(const Composition& composition,
                                            const HashPrefix& prefix, const HashChildren& children);
// Writes a bin; pages are chained if there are more records than one has room for. REQUIRES: G50,
// at least one record.
Result<page::SnapshotPageId> write_bin(const Composition& composition, const HashPrefix& prefix,
                                       const HashBin& bin);

}  // namespace foedus::gleaner
