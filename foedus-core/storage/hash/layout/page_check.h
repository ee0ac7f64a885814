#pragma once
// Checks of one page of a hash storage in a snapshot (P17, H7).

#include <bit>

#include "foedus-core/page/page_check.h"
#include "foedus-core/storage/hash/layout/page.h"

namespace foedus::storage::hash {

page::BrokenRule broken_rule(const HashInteriorPage& page);
// Returns the rule that the page breaks. `newest`: no record may be of a later epoch.
page::BrokenRule broken_rule(const HashBinPage& page, Epoch newest);

// Returns whether this is the interior page that spreads by the bits after the first `bits`.
inline bool is_interior_of(const page::PageHeader& page, page::StorageId storage, unsigned bits) {
  return page.kind == page::PageKind::kHashInterior && page.storage_id == storage &&
         page.flags == bits;
}
// Returns whether this is the first page of the bin whose prefix is the first `bits` bits of
// `hash`.
inline bool is_bin_of(const page::PageHeader& page, page::StorageId storage, unsigned bits,
                      std::uint64_t hash) {
  const auto& bin = reinterpret_cast<const HashBinPage&>(page);
  return page.kind == page::PageKind::kHashBin && page.storage_id == storage &&
         page.flags == bits && bin.head == page.page_id && bin.covers(hash);
}
// Returns the length of the prefix of the page to which the pointer of `digit` leads, in bits.
// REQUIRES: owners[digit] is `digit`.
inline unsigned bits_below(const HashInteriorPage& page, std::uint32_t digit) {
  std::uint32_t end = digit;
  while (end < HashInteriorPage::kPointers && page.owner_of(end) == digit) ++end;
  return page.header.flags + kDigitBits - static_cast<unsigned>(std::countr_zero(end - digit));
}
// The words that all pages of a bin have in common.
struct BinIdentity {
  page::StorageId storage;
  std::uint64_t head;
  std::uint64_t prefix;
  unsigned bits;

  explicit BinIdentity(const HashBinPage& page)
      : storage(page.header.storage_id),
        head(page.head),
        prefix(page.prefix),
        bits(page.prefix_bits()) {}
  bool operator==(const BinIdentity&) const = default;
};
// Returns whether this is a page of that bin.
inline bool is_part_of(const page::PageHeader& page, const BinIdentity& bin) {
  return page.kind == page::PageKind::kHashBin &&
         BinIdentity(reinterpret_cast<const HashBinPage&>(page)) == bin;
}

}  // namespace foedus::storage::hash
