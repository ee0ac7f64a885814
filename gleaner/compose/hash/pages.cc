#include "gleaner/compose/hash/pages.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

namespace {

using page::PageKind;
using page::SnapshotPageId;
using storage::hash::HashBinPage;
using storage::hash::HashInteriorPage;
using storage::hash::HashSlot;
using storage::hash::kDigitBits;
using storage::hash::kDigits;
using storage::hash::kHashBits;

constexpr std::uint32_t kFanOutBitsMax = 21;  // as in create() of the storage

// The shape of an interior page that create() makes, or that a first touch makes below it: its
// level, and how many digits each null pointer owns.
struct FirstShape {
  std::uint8_t level;
  std::uint32_t span;
};

FirstShape first_shape_of(const storage_meta::StorageMeta& meta, unsigned bits_above) {
  const std::uint32_t bits = std::clamp<std::uint32_t>(meta.fan_out_bits, 1, kFanOutBitsMax);
  const std::uint32_t levels = (bits - 1) / kDigitBits + 1;
  const std::uint32_t depth = bits_above / kDigitBits;
  if (depth + 1 < levels) return {static_cast<std::uint8_t>(levels - depth), 1};
  return {1, kDigits >> ((bits - 1) % kDigitBits + 1)};
}

// Returns how many digits from `digit` on one null pointer owns. `end`: the next digit that has a
// page.
std::uint32_t null_span(std::uint32_t digit, std::uint32_t end, std::uint32_t span_max) {
  std::uint32_t span = span_max;
  while (digit % span != 0 || digit + span > end) span /= 2;
  return span;
}

void place_record(HashBinPage* page, const HashRecord& record) {
  const auto key_bytes = static_cast<std::uint32_t>(record.key.size());
  FOEDUS_INVARIANT(page->has_room(key_bytes, record.room()), page->data_end, key_bytes);
  FOEDUS_INVARIANT((record.tid.word() & page::Tid::kFlags) == 0, record.tid.word());
  const HashSlot slot(page->data_end, key_bytes, record.room(), record.length);
  // order: all relaxed, the page is not shared.
  const std::uint32_t place = page->record_count.load_relaxed();
  page::RecordHeader* const header = page->record(slot);
  header->tid.store_relaxed(record.tid.word());
  if (key_bytes != 0) {
    std::memcpy(reinterpret_cast<char*>(header + 1), record.key.data(), key_bytes);
  }
  if (!record.body.empty()) {
    std::memcpy(payload_of(header, slot), record.body.data(), record.body.size());
  }
  page->slot_word(place).store_relaxed(slot.word());
  auto& tags = page->tags[place / HashBinPage::kTagsPerWord];
  const std::uint32_t shift = place % HashBinPage::kTagsPerWord * HashBinPage::kTagBits;
  const std::uint64_t tag = record.hash & ((std::uint64_t{1} << HashBinPage::kTagBits) - 1);
  tags.store_relaxed(tags.load_relaxed() | tag << shift);
  page->data_end += storage::hash::record_bytes_of(key_bytes, record.room());
  page->record_count.store_relaxed(place + 1);
}

// Returns the end of the records that the next page of a bin takes, from number `begin` on.
std::size_t page_end(const HashBin& bin, std::size_t begin) {
  std::size_t end = begin;
  for (std::uint64_t bytes = 0; end < bin.records.size(); ++end) {
    bytes += bin.records[end].space();
    if (!HashBin::fits(bytes, end + 1 - begin)) break;
  }
  return end;
}

}  // namespace

HashPrefix HashPrefix::below(std::uint32_t digit, std::uint32_t span) const {
  FOEDUS_INVARIANT(bits + kDigitBits < kHashBits, bits);
  FOEDUS_INVARIANT(std::has_single_bit(span) && digit % span == 0, digit, span);
  const unsigned more = kDigitBits - static_cast<unsigned>(std::countr_zero(span));
  const std::uint64_t part = std::uint64_t{digit} << (kHashBits - kDigitBits - bits);
  return {value | part, bits + more};
}

Status corrupt_page(const Composition& composition, SnapshotPageId id, const char* what) {
  Status status = Status::error(ErrorCode::kCorruption,
                                "snapshot page " + std::to_string(id.word()) + ": " + what);
  return std::move(status.at_storage(composition.meta->name));
}

Status read_hash_page(const Composition& composition, SnapshotPageId id, page::PageBytes* to) {
  FOEDUS_CHECK(composition.previous->read(id, to->header()));
  const page::PageHeader& header = *to->header();
  if (header.kind != PageKind::kHashInterior && header.kind != PageKind::kHashBin) {
    return corrupt_page(composition, id, "not of a hash storage");
  }
  if (header.storage_id != composition.meta->id) {
    return corrupt_page(composition, id, "of another storage");
  }
  return {};
}

Result<HashChildren> children_of(const Composition& composition, const HashPrefix& prefix,
                                 SnapshotPageId id, page::PageBytes* page) {
  auto* const interior = page->as<HashInteriorPage>();
  if (interior->header.kind != PageKind::kHashInterior || interior->header.flags != prefix.bits) {
    return corrupt_page(composition, id, "not the interior page that its parent leads to");
  }
  HashChildren children;
  for (std::uint32_t digit = 0; digit < kDigits;) {
    std::uint32_t span = 0;
    while (digit + span < kDigits && interior->owner_of(digit + span) == digit) ++span;
    if (!std::has_single_bit(span) || digit % span != 0 || span == kDigits) {
      return corrupt_page(composition, id, "a group of digits that no bin can have");
    }
    const page::DualPageIds ids = interior->pointers[digit].load();
    if (!ids.volatile_page.is_null()) {
      return corrupt_page(composition, id, "a pointer to a volatile page");
    }
    if (!ids.snapshot_page.is_null()) children[digit] = {ids.snapshot_page, span};
    digit += span;
  }
  return children;
}

Result<SnapshotPageId> write_interior(const Composition& composition, const HashPrefix& prefix,
                                      const HashChildren& children) {
  FOEDUS_INVARIANT(prefix.bits % kDigitBits == 0, prefix.bits);
  const FirstShape shape = first_shape_of(*composition.meta, prefix.bits);
  const auto block = std::make_unique<page::PageBytes>();
  block->initialize(composition.meta->id, PageKind::kHashInterior, shape.level);
  auto* const page = block->as<HashInteriorPage>();
  page->header.flags = static_cast<std::uint8_t>(prefix.bits);
  std::uint32_t digit = 0;
  while (digit < kDigits) {
    std::uint32_t span = children[digit].span;
    if (span == 0) {
      std::uint32_t end = digit;
      while (end < kDigits && children[end].span == 0) ++end;
      span = null_span(digit, end, shape.span);
    }
    page->set_owners(digit, span);
    page->pointers[digit].store({page::VolatilePageId(), children[digit].page});
    digit += span;
  }
  FOEDUS_INVARIANT(digit == kDigits, digit, prefix.value);
  return composition.append(&page->header);
}

Result<SnapshotPageId> write_bin(const Composition& composition, const HashPrefix& prefix,
                                 const HashBin& bin) {
  FOEDUS_INVARIANT(!bin.records.empty(), prefix.value);
  FOEDUS_INVARIANT(prefix.bits >= 1 && prefix.bits <= storage::hash::kPrefixBitsMax, prefix.bits);
  snapshot::PageWriter& writer = *composition.writer;
  const SnapshotPageId head = writer.next_id();
  const page::PageVersion version(bin.records.size() & 0xffff, 0);
  const auto block = std::make_unique<page::PageBytes>();
  for (std::size_t begin = 0; begin < bin.records.size();) {
    const std::size_t end = page_end(bin, begin);
    FOEDUS_INVARIANT(end > begin, begin, bin.records[begin].space());
    block->initialize(composition.meta->id, PageKind::kHashBin, 0);
    auto* const page = block->as<HashBinPage>();
    page->header.flags = static_cast<std::uint8_t>(prefix.bits);
    page->prefix = prefix.value;
    page->head = head.word();
    page->data_end = HashBinPage::kDataOffset;
    if (begin == 0) {
      page->header.store_version(version);
      page->header.birth_version = version.word();
    }
    for (; begin < end; ++begin) place_record(page, bin.records[begin]);
    // Nothing else is appended before the chain is complete, so the next page has the next id.
    if (end < bin.records.size()) {
      page->next_page.store_relaxed(writer.next_id().plus(1).word());  // order: not shared yet
    }
    FOEDUS_TRY([[maybe_unused]] const SnapshotPageId id, composition.append(&page->header));
  }
  return head;
}

}  // namespace foedus::gleaner
