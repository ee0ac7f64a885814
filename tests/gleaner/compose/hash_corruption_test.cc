// Wrong pages of the earlier snapshot with right checksums. Goal: each is reported as kCorruption
// with the table's name, before it is used. Method: a copy of the root leads to a copy of one of
// its bins, or of an interior page, with one change.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "tests/gleaner/compose/hash_gleans.h"

namespace foedus::gleaner::hash_corruption_test {
namespace {

using storage::hash::HashBinPage;
using storage::hash::HashInteriorPage;
using storage::hash::HashSlot;

class HashCorruptionTest : public ::testing::Test {
 protected:
  HashCorruptionTest() {
    for (int i = 0; i < 200; ++i) gleans_.put(key_number(i), "payload");
    for (int i = 0; i < 200; ++i) gleans_.put(equal_hash_key(i), "payload");
    EXPECT_TRUE(gleans_.glean().is_ok());
    gleans_.end_counting();
    good_ = gleans_.root_;
    // The writes touch all pages, so each is read.
    for (int i = 0; i < 200; ++i) gleans_.put(key_number(i), "newer");
    for (int i = 0; i < 200; ++i) gleans_.put(equal_hash_key(i), "newer");
  }

  // Appends a changed copy of the page `id`.
  template <typename Page>
  page::SnapshotPageId changed(page::SnapshotPageId id, const std::function<void(Page*)>& change) {
    page::PageBytes block;
    std::memcpy(block.bytes, static_cast<const void*>(gleans_.pages_.at(id)), sizeof(block));
    change(block.as<Page>());
    const Result<page::SnapshotPageId> made = writer_.append(block.header());
    gleans_.pages_.finish();
    return made.value();
  }
  // Returns the digit of the interior page that leads to the equal hashes, or of the first bin of
  // the root.
  std::uint32_t digit_of(page::PageKind kind) {
    page::PageBytes block;
    std::memcpy(block.bytes, static_cast<const void*>(gleans_.pages_.at(good_)), sizeof(block));
    for (std::uint32_t digit = 0;; ++digit) {
      const page::DualPageIds ids = block.as<HashInteriorPage>()->pointers[digit].load();
      if (ids.is_null()) continue;
      if (gleans_.pages_.at(ids.snapshot_page)->kind == kind) return digit;
    }
  }
  template <typename Page>
  void expect_corruption(page::PageKind kind, const std::function<void(Page*)>& change) {
    const std::uint32_t digit = digit_of(kind);
    gleans_.root_ = changed<HashInteriorPage>(good_, [&](HashInteriorPage* root) {
      page::DualPagePointer& pointer = root->pointers[digit];
      pointer.store({{}, changed<Page>(pointer.load().snapshot_page, change)});
    });
    expect_corruption_now();
  }
  void expect_corruption_now() {
    const Status status = gleans_.glean();
    EXPECT_EQ(status.code(), ErrorCode::kCorruption);
    EXPECT_EQ(status.storage(), "orders");
    gleans_.snapshot_ += 1;
  }
  void expect_bad_bin(const std::function<void(HashBinPage*)>& change) {
    expect_corruption<HashBinPage>(page::PageKind::kHashBin, change);
  }
  void expect_bad_interior(const std::function<void(HashInteriorPage*)>& change) {
    expect_corruption<HashInteriorPage>(page::PageKind::kHashInterior, change);
  }
  static void set_slot(HashBinPage* page, HashSlot slot) {
    page->slot_word(0).store_relaxed(slot.word());
  }

  HashGleans gleans_;
  page::SnapshotPageId good_;
  MemoryWriter writer_{&gleans_.pages_, 1'000'000};
};

TEST_F(HashCorruptionTest, nothing_is_found_where_nothing_is_wrong) {
  gleans_.root_ = changed<HashInteriorPage>(good_, [](HashInteriorPage*) {});
  EXPECT_TRUE(gleans_.glean().is_ok());
  gleans_.verify();
}

TEST_F(HashCorruptionTest, pages_that_are_not_what_their_parent_leads_to) {
  expect_bad_bin([](HashBinPage* page) { page->header.kind = page::PageKind::kMasstreeBorder; });
  expect_bad_bin([](HashBinPage* page) { page->header.storage_id = page::StorageId{8}; });
  expect_bad_bin([](HashBinPage* page) { page->header.flags += 1; });
  expect_bad_bin([](HashBinPage* page) { page->prefix ^= std::uint64_t{1} << 63; });
  expect_bad_interior([](HashInteriorPage* page) { page->header.flags = 14; });
  expect_bad_interior([](HashInteriorPage* page) { page->header.kind = page::PageKind::kHashBin; });
  expect_bad_bin([](HashBinPage* page) { page->header.kind = page::PageKind::kHashInterior; });
}

TEST_F(HashCorruptionTest, interior_pages_with_digits_or_pointers_that_cannot_be) {
  expect_bad_interior([](HashInteriorPage* page) { page->set_owners(5, 3); });
  expect_bad_interior([](HashInteriorPage* page) { page->set_owners(1, 2); });
  expect_bad_interior([](HashInteriorPage* page) { page->set_owners(0, 128); });
  expect_bad_interior([](HashInteriorPage* page) { page->owners[127].store_relaxed(200); });
  expect_bad_interior([](HashInteriorPage* page) {
    page->pointers[0].store({page::VolatilePageId(0, 5), {}});
  });
}

TEST_F(HashCorruptionTest, roots_that_are_no_roots) {
  gleans_.root_ = changed<HashInteriorPage>(
      good_, [](HashInteriorPage* page) { page->header.flags = 7; });
  expect_corruption_now();
  const std::uint32_t digit = digit_of(page::PageKind::kHashBin);
  page::PageBytes block;
  std::memcpy(block.bytes, static_cast<const void*>(gleans_.pages_.at(good_)), sizeof(block));
  gleans_.root_ = block.as<HashInteriorPage>()->pointers[digit].load().snapshot_page;
  expect_corruption_now();
}

TEST_F(HashCorruptionTest, records_beyond_their_bounds) {
  expect_bad_bin([](HashBinPage* page) { page->record_count.store_relaxed(97); });
  expect_bad_bin([](HashBinPage* page) { page->data_end = 5'000; });
  expect_bad_bin([](HashBinPage* page) { set_slot(page, {4'090, 4, 8, 7}); });
  expect_bad_bin([](HashBinPage* page) { set_slot(page, {320, 2'000, 8, 7}); });
  expect_bad_bin([](HashBinPage* page) { set_slot(page, {320, 4, 4'000, 7}); });
  expect_bad_bin([](HashBinPage* page) { set_slot(page, {312, 4, 8, 7}); });
  expect_bad_bin([](HashBinPage* page) { set_slot(page, {324, 4, 8, 7}); });
  expect_bad_bin([](HashBinPage* page) { set_slot(page, page->slot(0).with_length(9)); });
  expect_bad_bin([](HashBinPage* page) {
    set_slot(page, page->slot(0).with_length(page::kOverflowLength));
  });
}

TEST_F(HashCorruptionTest, records_that_do_not_belong_there) {
  expect_bad_bin([](HashBinPage* page) { set_slot(page, page->slot(1)); });
  expect_bad_bin([](HashBinPage* page) {
    page->record(page->slot(0))->tid.store_relaxed(page::Tid::kDeleted);
  });
  expect_bad_bin([](HashBinPage* page) {
    const HashSlot first = page->slot(0);
    set_slot(page, page->slot(1));
    page->slot_word(1).store_relaxed(first.word());
  });
  expect_bad_bin([](HashBinPage* page) { page->next_page.store_relaxed(page->header.page_id); });
}

TEST_F(HashCorruptionTest, a_wrong_checksum_anywhere_on_the_way) {
  gleans_.pages_.corrupt(good_, 2'000);
  EXPECT_EQ(gleans_.glean().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace foedus::gleaner::hash_corruption_test
