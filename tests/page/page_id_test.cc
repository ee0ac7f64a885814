// The bits of ids, TIDs, page versions and page headers, some of which are persistent.
#include "foedus-core/page/page_id.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/tid.h"

namespace foedus::page::page_id_test {
namespace {

TEST(VolatilePageIdTest, holds_soc_above_number) {
  constexpr VolatilePageId id(0xab, 0x123456789);
  EXPECT_EQ(id.word(), 0xab00000123456789u);
  EXPECT_EQ(id.soc(), 0xabu);
  EXPECT_EQ(id.number(), 0x123456789u);
  EXPECT_FALSE(id.is_null());
  EXPECT_TRUE(VolatilePageId().is_null());
  EXPECT_EQ(VolatilePageId(id.word()), id);
}

TEST(SnapshotPageIdTest, has_bits_for_snapshot_soc_and_page) {
  EXPECT_EQ(SnapshotPageId::kSnapshotBits + SnapshotPageId::kSocBits + SnapshotPageId::kPageBits,
            64u);
  EXPECT_TRUE(SnapshotPageId().is_null());
  EXPECT_EQ(SnapshotPageId(77).word(), 77u);
  constexpr SnapshotPageId id(SnapshotNumber{SnapshotPageId::kSnapshotMax},
                              SnapshotPageId::kSocMax, SnapshotPageId::kPageMax - 1);
  EXPECT_EQ(id.snapshot(), SnapshotNumber{SnapshotPageId::kSnapshotMax});
  EXPECT_EQ(id.soc(), SnapshotPageId::kSocMax);
  EXPECT_EQ(id.plus(1).page(), SnapshotPageId::kPageMax);
  EXPECT_EQ(SnapshotPageId(SnapshotNumber{3}, 2, 5).word(), (3ull << 36) | (2ull << 28) | 5);
}

TEST(TidTest, holds_epoch_ordinal_and_flags_in_this_order) {
  constexpr Tid tid(Epoch(5), 3);
  EXPECT_EQ(tid.word(), (std::uint64_t{5} << 28) | (3u << 4));
  EXPECT_EQ(tid.epoch(), Epoch(5));
  EXPECT_EQ(tid.ordinal(), 3u);
  EXPECT_EQ(tid.version(), (std::uint64_t{5} << 24) | 3);
}

TEST(TidTest, keeps_the_largest_epoch_and_ordinal) {
  constexpr Tid tid(Epoch(Epoch::kMax), Tid::kOrdinalMax);
  EXPECT_EQ(tid.epoch().number(), Epoch::kMax);
  EXPECT_EQ(tid.ordinal(), Tid::kOrdinalMax);
  EXPECT_EQ(tid.word(), ~std::uint64_t{0} - Tid::kFlags);
}

TEST(TidTest, flags_are_independent_of_each_other_and_of_the_version) {
  constexpr Tid plain(Epoch(9), 1);
  const std::uint64_t flags[] = {Tid::kBeingWritten, Tid::kDeleted, Tid::kMoved, Tid::kNextLayer};
  for (const std::uint64_t flag : flags) {
    const Tid marked = plain.with(flag);
    EXPECT_EQ(marked.version(), plain.version());
    EXPECT_EQ(marked.is_being_written(), flag == Tid::kBeingWritten);
    EXPECT_EQ(marked.is_deleted(), flag == Tid::kDeleted);
    EXPECT_EQ(marked.is_moved(), flag == Tid::kMoved);
    EXPECT_EQ(marked.is_next_layer(), flag == Tid::kNextLayer);
    EXPECT_EQ(marked.without(flag), plain);
    EXPECT_EQ(plain.with(Tid::kFlags).without(flag), plain.with(Tid::kFlags & ~flag));
  }
}

TEST(TidTest, versions_order_by_epoch_and_then_ordinal) {
  EXPECT_LT(Tid(Epoch(1), Tid::kOrdinalMax).version(), Tid(Epoch(2), 0).version());
  EXPECT_LT(Tid(Epoch(2), 0).with(Tid::kFlags).version(), Tid(Epoch(2), 1).version());
}

TEST(RecordHeaderTest, is_a_lock_word_and_then_a_tid) {
  EXPECT_EQ(sizeof(RecordHeader), 16u);
  EXPECT_EQ(offsetof(RecordHeader, lock), 0u);
  EXPECT_EQ(offsetof(RecordHeader, tid), 8u);
}

TEST(PageVersionTest, counts_keys_and_layers_and_keeps_flags_apart) {
  constexpr PageVersion version = PageVersion(3, 2).plus_key().plus_layer();
  EXPECT_EQ(version.keys(), 4u);
  EXPECT_EQ(version.layers(), 3u);
  const PageVersion moved = version.with(PageVersion::kMoved);
  EXPECT_TRUE(moved.is_moved());
  EXPECT_FALSE(moved.is_retired());
  EXPECT_FALSE(moved.is_dropped());
  EXPECT_NE(moved, version);
  EXPECT_EQ(moved.counts(), version);
  const PageVersion all = moved.with(PageVersion::kRetired).with(PageVersion::kDropped);
  EXPECT_TRUE(all.is_moved());
  EXPECT_TRUE(all.is_retired());
  EXPECT_TRUE(all.is_dropped());
  EXPECT_EQ(all.keys(), 4u);
  EXPECT_EQ(all.layers(), 3u);
}

TEST(PageVersionTest, counts_hold_more_than_a_page_does) {
  const PageVersion version(0xffff, 0xffff);
  EXPECT_EQ(version.keys(), 0xffffu);
  EXPECT_EQ(version.layers(), 0xffffu);
  EXPECT_EQ(version.counts(), version);
}

// Snapshot pages are written with this header.
TEST(PageHeaderTest, has_the_fields_of_the_format_at_their_offsets) {
  EXPECT_EQ(sizeof(PageHeader), 64u);
  EXPECT_EQ(offsetof(PageHeader, page_id), 0u);
  EXPECT_EQ(offsetof(PageHeader, storage_id), 8u);
  EXPECT_EQ(offsetof(PageHeader, crc32c), 12u);
  EXPECT_EQ(offsetof(PageHeader, kind), 16u);
  EXPECT_EQ(offsetof(PageHeader, level), 17u);
  EXPECT_EQ(offsetof(PageHeader, layer), 18u);
  EXPECT_EQ(offsetof(PageHeader, flags), 19u);
  EXPECT_EQ(offsetof(PageHeader, last_soc), 20u);
  EXPECT_EQ(offsetof(PageHeader, is_used), 22u);
  EXPECT_EQ(offsetof(PageHeader, lock), 24u);
  EXPECT_EQ(offsetof(PageHeader, version), 32u);
  EXPECT_EQ(offsetof(PageHeader, birth_version), 40u);
  EXPECT_EQ(offsetof(PageHeader, purged_tid), 48u);
  EXPECT_EQ(offsetof(PageHeader, kind_word), 56u);
}

TEST(PageHeaderTest, initialize_leaves_nothing_of_the_pages_past) {
  alignas(kPageBytes) static unsigned char bytes[kPageBytes];
  std::memset(bytes, 0xee, sizeof(bytes));
  PageHeader* const page = PageHeader::of(bytes);
  page->initialize(VolatilePageId(1, 5), StorageId{7}, PageKind::kHashBin, 2);
  EXPECT_EQ(page->volatile_id(), VolatilePageId(1, 5));
  EXPECT_EQ(page->storage_id, StorageId{7});
  EXPECT_EQ(page->kind, PageKind::kHashBin);
  EXPECT_EQ(page->level, 2);
  EXPECT_EQ(page->load_version(), PageVersion());
  EXPECT_EQ(page->lock.load_relaxed(), 0u);
  EXPECT_EQ(page->purged_tid, 0u);
  EXPECT_EQ(page->kind_word, 0u);
}

TEST(PageHeaderTest, of_finds_the_page_of_every_address_in_it) {
  alignas(kPageBytes) static unsigned char bytes[2 * kPageBytes];
  EXPECT_EQ(PageHeader::of(bytes + 1), reinterpret_cast<PageHeader*>(bytes));
  EXPECT_EQ(PageHeader::of(bytes + kPageBytes - 1), reinterpret_cast<PageHeader*>(bytes));
  EXPECT_EQ(PageHeader::of(bytes + kPageBytes), reinterpret_cast<PageHeader*>(bytes + kPageBytes));
}

}  // namespace
}  // namespace foedus::page::page_id_test
