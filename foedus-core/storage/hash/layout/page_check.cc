#include "foedus-core/storage/hash/layout/page_check.h"

#include <bit>
#include <cstring>

#include "foedus-core/storage/hash/layout/function.h"
#include "foedus/options.h"

namespace foedus::storage::hash {

namespace {

using page::BrokenRule;
using page::SnapshotPageId;

constexpr std::uint32_t kSlotBytes = sizeof(HashSlot);

BrokenRule broken_identity(const HashBinPage& page) {
  const page::PageHeader& header = page.header;
  const SnapshotPageId own(header.page_id);
  const SnapshotPageId head(page.head);
  const unsigned bits = page.prefix_bits();
  if (header.level != 0 || header.layer != 0) return "records above the lowest level";
  if (bits == 0 || bits > kPrefixBitsMax) return "a prefix of an impossible length";
  if ((page.prefix << bits) != 0) return "a prefix that is longer than it says";
  const bool is_in_chain = head.snapshot() == own.snapshot() && head.soc() == own.soc() &&
                           head.page() != 0 && head.page() <= own.page();
  if (!is_in_chain) return "its bin begins elsewhere";
  // order: all relaxed, a page is checked by its only reader, before others can have it.
  if (!page::may_go_on_at(header, SnapshotPageId(page.next_page.load_relaxed()))) {
    return "its bin goes on elsewhere";
  }
  const bool has_successors =
      page.successors[0].load_relaxed() != 0 || page.successors[1].load_relaxed() != 0;
  if (has_successors) return "it has successors";
  return nullptr;
}

// Returns whether the head of a bin of one page counts its records. A longer bin is counted by the
// reader of all of it.
bool is_counted(const HashBinPage& page) {
  const std::uint32_t keys = page.header.load_version().keys();
  if (page.head != page.header.page_id) return page.header.load_version() == page::PageVersion();
  return page.header.load_version().layers() == 0 &&
         // order: relaxed, a page is checked by its only reader.
         (page.next_page.load_relaxed() != 0 || keys == page.load_count());
}

BrokenRule broken_record(const HashBinPage& page, std::uint32_t place, HashSlot slot, Epoch newest,
                         std::uint64_t* hash_before) {
  const char* const at = reinterpret_cast<const char*>(&page) + slot.offset();
  const auto& record = *reinterpret_cast<const page::RecordHeader*>(at);
  if (!page::is_quiet(record, 0, newest)) return "a record with an impossible lock or TID";
  const std::uint64_t hash = hash_of(std::string_view(key_of(&record), slot.key_bytes()));
  if (!page.covers(hash)) return "a record of another bin";
  if (hash < *hash_before) return "records that are not in order";
  *hash_before = hash;
  // order: relaxed, a page is checked by its only reader.
  const std::uint64_t tags = page.tags[place / HashBinPage::kTagsPerWord].load_relaxed();
  const unsigned shift = place % HashBinPage::kTagsPerWord * HashBinPage::kTagBits;
  if (((tags >> shift) & 0xffff) != (hash & 0xffff)) return "a record with a wrong tag";
  if (!slot.is_chain()) return nullptr;
  std::uint64_t chain;
  std::memcpy(&chain, key_of(&record) + ((slot.key_bytes() + 7) & ~7u), sizeof(chain));
  return page::may_lead_to(page.header, SnapshotPageId(chain)) ? nullptr
                                                               : "a payload that is nowhere";
}

}  // namespace

BrokenRule broken_rule(const HashInteriorPage& page) {
  const page::PageHeader& header = page.header;
  if (header.level == 0 || header.layer != 0) return "it says that it holds records";
  // order: relaxed, a page is checked by its only reader.
  if (header.version.load_relaxed() != 0) return "it counts keys, and has none";
  const bool can_spread = header.flags % kDigitBits == 0 && header.flags < kPrefixBitsMax;
  if (!can_spread) return "it spreads by bits that there are not";
  for (std::uint32_t digit = 0; digit < kDigits;) {
    std::uint32_t span = 0;
    while (digit + span < kDigits && page.owner_of(digit + span) == digit) ++span;
    if (!std::has_single_bit(span) || digit % span != 0 || span == kDigits) {
      return "its owners are no prefixes of bins";
    }
    if (!page::may_hold(header, page.pointers[digit])) return "a pointer that leads nowhere";
    for (std::uint32_t i = 1; i < span; ++i) {
      const page::DualPagePointer& owned = page.pointers[digit + i];
      if (!owned.is_cold() || !owned.load().is_null()) return "a pointer that another one owns";
    }
    digit += span;
  }
  return nullptr;
}

BrokenRule broken_rule(const HashBinPage& page, Epoch newest) {
  if (const BrokenRule rule = broken_identity(page); rule != nullptr) return rule;
  const std::uint32_t count = page.load_count();
  if (count == 0 || count > HashBinPage::kRecordsMax) return "an impossible number of records";
  if (!is_counted(page)) return "it counts other records than it has";
  const auto slots_begin = static_cast<std::uint32_t>(page::kPageBytes) - count * kSlotBytes;
  std::uint32_t end = HashBinPage::kDataOffset;
  std::uint64_t hash = 0;
  for (std::uint32_t place = 0; place < count; ++place) {
    const HashSlot slot = const_cast<HashBinPage&>(page).slot(place);
    const bool is_payload = slot.length() == page::kSnapshotOverflowLength ||
                            (slot.length() <= slot.room() && !page::is_overflow(slot.length()));
    const bool fits = slot.offset() == end && slot.key_bytes() <= kMaxKeyBytes &&
                      slot.room() % 8 == 0 && slot.room() >= page::kPayloadRoomBytesMin &&
                      is_payload;
    if (!fits) return "a record of an impossible place or length";
    end += record_bytes_of(slot.key_bytes(), slot.room());
    if (end > slots_begin) return "a record that ends behind its room";
    const BrokenRule rule = broken_record(page, place, slot, newest, &hash);
    if (rule != nullptr) return rule;
  }
  return end == page.data_end ? nullptr : "its records do not end where it says";
}

}  // namespace foedus::storage::hash
