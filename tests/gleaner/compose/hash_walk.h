#pragma once
// HashWalk: reads a hash storage's snapshot by the rules of its readers, and reports pages that
// break one (H1, G50, G51). It uses no code of the composer.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "tests/gleaner/compose/memory_pages.h"

namespace foedus::gleaner {

struct Walked {
  std::string payload;
  std::uint64_t tid = 0;
  bool operator==(const Walked&) const = default;
};

class HashWalk {
 public:
  using HashBinPage = storage::hash::HashBinPage;
  using HashInteriorPage = storage::hash::HashInteriorPage;

  struct Seen {
    std::map<std::string, Walked> records;
    std::map<std::uint64_t, unsigned> bins;  // first page, bits of the prefix
    std::set<std::uint64_t> interiors;
    std::uint64_t chained = 0;
    unsigned bits_max = 0;
  };

  HashWalk(MemoryPages* pages, const storage_meta::StorageMeta& meta)
      : pages_(pages), meta_(meta) {}

  Seen all(page::SnapshotPageId root) {
    seen_ = {};
    interior(root, 0, 0);
    return seen_;
  }

  // Searches one key as a reader does.
  std::optional<Walked> find(page::SnapshotPageId root, std::string_view key) {
    const std::uint64_t hash = storage::hash::hash_of(key);
    page::SnapshotPageId id = root;
    page::PageBytes block;
    for (;;) {
      load(id, &block);
      if (block.header()->kind != page::PageKind::kHashInterior) break;
      auto* const page = block.as<HashInteriorPage>();
      id = page->pointers[page->owner_of(page->digit_of(hash))].load().snapshot_page;
      if (id.is_null()) return std::nullopt;
    }
    auto* const bin = block.as<HashBinPage>();
    EXPECT_TRUE(bin->covers(hash)) << hash;
    for (;;) {
      for (std::uint32_t place = 0; place < bin->load_count(); ++place) {
        if (tag_of(bin, place) != (hash & 0xffff)) continue;
        const storage::hash::HashSlot slot = bin->slot(place);
        page::RecordHeader* const record = bin->record(slot);
        if (std::string_view(storage::hash::key_of(record), slot.key_bytes()) == key) {
          return Walked{payload_at(record, slot), record->load_tid().word()};
        }
      }
      const page::SnapshotPageId next(bin->next_page.load_relaxed());
      if (next.is_null()) return std::nullopt;
      load(next, &block);
    }
  }

 private:
  void load(page::SnapshotPageId id, page::PageBytes* to) {
    const Status status = pages_->read(id, to->header());
    ASSERT_TRUE(status.is_ok()) << status.message();
    ASSERT_EQ(to->header()->page_id, id.word());
    ASSERT_EQ(to->header()->storage_id, meta_.id);
    ASSERT_EQ(to->header()->last_soc.load_relaxed(), 0u);
    ASSERT_EQ(to->header()->purged_tid, 0u);
  }

  static std::uint64_t tag_of(HashBinPage* bin, std::uint32_t place) {
    return bin->tags[place / 4].load_relaxed() >> (place % 4 * 16) & 0xffff;
  }

  std::uint32_t levels() const { return (meta_.fan_out_bits - 1) / 7 + 1; }
  std::uint32_t lowest_bits() const { return (meta_.fan_out_bits - 1) % 7 + 1; }

  void interior(page::SnapshotPageId id, std::uint64_t prefix, unsigned bits) {
    page::PageBytes block;
    ASSERT_NO_FATAL_FAILURE(load(id, &block));
    auto* const page = block.as<HashInteriorPage>();
    ASSERT_EQ(page->header.kind, page::PageKind::kHashInterior);
    ASSERT_EQ(page->header.flags, bits);
    const std::uint32_t depth = bits / 7;
    ASSERT_EQ(page->header.level, depth < levels() ? levels() - depth : 1u);
    ASSERT_LT(bits, storage::hash::kPrefixBitsMax);
    const std::uint32_t first_span = page->header.level > 1 ? 1 : 128u >> lowest_bits();
    seen_.interiors.insert(id.word());
    for (std::uint32_t digit = 0; digit < 128;) {
      ASSERT_EQ(page->owner_of(digit), digit);
      std::uint32_t span = 1;
      while (digit + span < 128 && page->owner_of(digit + span) == digit) {
        ASSERT_TRUE(page->pointers[digit + span].load().is_null());
        ++span;
      }
      ASSERT_TRUE(std::has_single_bit(span) && digit % span == 0 && span < 128) << digit;
      const page::DualPageIds ids = page->pointers[digit].load();
      ASSERT_TRUE(ids.volatile_page.is_null());
      const std::uint64_t below = prefix | std::uint64_t{digit} << (57 - bits);
      if (ids.snapshot_page.is_null()) {
        ASSERT_LE(span, first_span);
      } else {
        ASSERT_NO_FATAL_FAILURE(child(ids.snapshot_page, below, bits, span));
      }
      digit += span;
    }
  }

  void child(page::SnapshotPageId id, std::uint64_t prefix, unsigned bits, std::uint32_t span) {
    const unsigned more = 7 - static_cast<unsigned>(std::countr_zero(span));
    if (pages_->at(id)->kind == page::PageKind::kHashBin) return bin(id, prefix, bits + more);
    ASSERT_EQ(span, 1u);
    interior(id, prefix, bits + 7);
  }

  void bin(page::SnapshotPageId id, std::uint64_t prefix, unsigned bits) {
    const std::size_t before = seen_.records.size();
    ASSERT_TRUE(seen_.bins.emplace(id.word(), bits).second) << "two pointers to one bin";
    seen_.bits_max = std::max(seen_.bits_max, bits);
    page::PageBytes block;
    auto* const page = block.as<HashBinPage>();
    page::PageVersion version;
    std::pair<std::uint64_t, std::string> last;
    for (page::SnapshotPageId at = id; !at.is_null();) {
      ASSERT_NO_FATAL_FAILURE(load(at, &block));
      ASSERT_EQ(page->header.kind, page::PageKind::kHashBin);
      ASSERT_EQ(page->header.level, 0);
      ASSERT_EQ(page->header.flags, bits);
      ASSERT_EQ(page->prefix, prefix);
      ASSERT_EQ(page->head, id.word());
      ASSERT_EQ(page->header.load_version().word(), page->header.birth_version);
      if (at == id) version = page->header.load_version();
      ASSERT_GT(page->load_count(), 0u);
      if (at != id) ++seen_.chained;
      ASSERT_NO_FATAL_FAILURE(records(page, &last));
      at = page::SnapshotPageId(page->next_page.load_relaxed());
      ASSERT_TRUE(at.is_null() || bits == storage::hash::kPrefixBitsMax) << bits;
    }
    ASSERT_EQ(version.word(), seen_.records.size() - before);
  }

  void records(HashBinPage* page, std::pair<std::uint64_t, std::string>* last) {
    std::uint32_t end = HashBinPage::kDataOffset;
    for (std::uint32_t place = 0; place < page->load_count(); ++place) {
      const storage::hash::HashSlot slot = page->slot(place);
      page::RecordHeader* const record = page->record(slot);
      const std::string key(storage::hash::key_of(record), slot.key_bytes());
      const std::uint64_t hash = storage::hash::hash_of(key);
      ASSERT_EQ(slot.offset(), end);
      ASSERT_TRUE(page->covers(hash));
      ASSERT_EQ(tag_of(page, place), hash & 0xffff);
      ASSERT_EQ(record->lock.load_relaxed(), 0u);
      ASSERT_EQ(record->load_tid().word() & page::Tid::kFlags, 0u);
      ASSERT_LT(*last, std::pair(hash, key));
      *last = {hash, key};
      const Walked walked{payload_at(record, slot), record->load_tid().word()};
      ASSERT_EQ(slot.room(), page::payload_room_of(walked.payload.size()));
      ASSERT_TRUE(seen_.records.emplace(key, walked).second) << "two records of one key";
      end += storage::hash::record_bytes_of(slot.key_bytes(), slot.room());
    }
    ASSERT_EQ(end, page->data_end);
    ASSERT_LE(end + page->load_count() * 8, page::kPageBytes);
  }

  std::string payload_at(page::RecordHeader* record, storage::hash::HashSlot slot) {
    const char* const body = storage::hash::payload_of(record, slot);
    if (slot.length() != page::kSnapshotOverflowLength) return {body, slot.length()};
    std::uint64_t word;
    std::memcpy(&word, body, sizeof(word));
    std::string payload;
    std::uint32_t bytes = 0;
    while (word != 0) {
      const auto* const page = pages_->as<page::OverflowPage>(page::SnapshotPageId(word));
      EXPECT_NE(page, nullptr) << word;
      if (page == nullptr) break;
      EXPECT_EQ(page->header.kind, page::PageKind::kOverflow);
      payload.append(page->data, page->bytes_here);
      bytes = page->payload_bytes;
      word = page->next_page;
    }
    EXPECT_EQ(payload.size(), bytes);
    EXPECT_TRUE(page::is_overflow(bytes));
    return payload;
  }

  MemoryPages* pages_;
  const storage_meta::StorageMeta meta_;
  Seen seen_;
};

}  // namespace foedus::gleaner
