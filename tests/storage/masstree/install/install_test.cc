// Volatile pages that remain after an installation of a Master-Tree, at rest and with some hot
// pages.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/storage/masstree/install/fixture.h"

namespace foedus::storage::masstree::install_test {
namespace {

TEST_F(MasstreeInstallTest, at_rest_nothing_volatile_is_left) {
  load(0, 100'000);
  const InstallCounts counts = glean_and_check();
  EXPECT_EQ(counts.pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
}

// Goal: an install spares a page in use once, with few other pages. Method: enough reads of one key
// for a mark (P8).
TEST_F(MasstreeInstallTest, a_page_in_use_is_spared_once) {
  load(0, 20'000);
  all_.compose();
  all_.forget_uses();
  const std::uint64_t before = volatile_pages();
  const auto look = [&] {
    begin(1);
    char out[100];
    occ::ReadRange range{.out = out, .out_bytes = sizeof(out)};
    EXPECT_TRUE(get(all_.session(1).ctx(), all_.control(), key_of(7'000), &range).is_ok());
    EXPECT_EQ(std::string(out, range.payload_bytes), payload_of(7'000));
    EXPECT_TRUE(commit(1).is_ok());
  };
  for (int i = 0; i < 40; ++i) look();
  EXPECT_EQ(all_.spare_and_install().pages_spared, 1u);
  EXPECT_GE(volatile_pages(), 2u);
  EXPECT_LT(volatile_pages(), before / 4);
  check();
  all_.forget_uses();
  EXPECT_EQ(all_.spare_and_install().pages_spared, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  check();
}

TEST_F(MasstreeInstallTest, an_empty_storage_is_cold_after_a_glean) {
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

TEST_F(MasstreeInstallTest, layers_at_rest_go) {
  // There are layers of two keys, deep layers of long common prefixes, and one with many pages.
  for (unsigned i = 0; i < 2'000; ++i) put("pair" + key_of(i / 2) + "." + key_of(i), payload_of(i));
  const std::string prefix(100, 'p');
  for (unsigned i = 0; i < 3'000; ++i) put(prefix + key_of(i * 17 % 3'000), payload_of(i));
  for (unsigned i = 0; i < 60; ++i) put(std::string(i, 'q'), payload_of(i));
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

TEST_F(MasstreeInstallTest, layers_that_the_snapshot_has_as_records_go_with_their_pages) {
  for (unsigned i = 0; i < 1'000; ++i) put("pair" + key_of(i / 2) + "." + key_of(i), payload_of(i));
  for (unsigned i = 0; i < 1'000; i += 2) erase("pair" + key_of(i / 2) + "." + key_of(i));
  // Other layers get empty.
  for (unsigned i = 1; i < 100; i += 2) erase("pair" + key_of(i / 2) + "." + key_of(i));
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// A layer has more erased rows than may be locked at once (kRootRecordsMax). They are erased in one
// transaction, so that no page is joined before.
TEST_F(MasstreeInstallTest, a_large_layer_of_erased_rows_goes) {
  const std::string prefix(8, 'p');
  constexpr unsigned kRows = 50'000;
  for (unsigned i = 0; i < kRows; ++i) put(prefix + key_of(i * 7'919u % kRows), payload_of(i));
  all_.all().pass_epochs();  // otherwise each write checks all earlier ones (M9)
  begin(1);
  for (const auto& [key, payload] : rows_) {
    ASSERT_TRUE(masstree::erase(all_.session(1).ctx(), all_.control(), key).is_ok());
  }
  ASSERT_TRUE(commit(1).is_ok());
  rows_.clear();
  all_.compose();
  const std::uint64_t before = volatile_pages();
  std::vector<page::PageHeader*> pages;  // without free pages there is no merge
  page::SessionPages& installer_pages = all_.session(4).pages();
  while (page::PageHeader* const page = installer_pages.allocate()) pages.push_back(page);
  all_.install();
  EXPECT_EQ(volatile_pages(), before);
  for (page::PageHeader* const page : pages) installer_pages.release(page);
  all_.install();
  EXPECT_EQ(volatile_pages(), 0u);
  check();
}

TEST_F(MasstreeInstallTest, chains_of_payloads_go_with_their_records) {
  for (unsigned i = 0; i < 300; ++i) put(key_of(i), std::string(1'000 + i * 37, 'v'));
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

TEST_F(MasstreeInstallTest, erased_rows_leave_no_pages) {
  load(0, 20'000);
  for (unsigned i = 0; i < 20'000; ++i) erase(key_of(i));
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// Goal: a hot page keeps few others, whatever fences volatile pages have. Method: one row is
// changed in an epoch that the snapshot does not cover.
TEST_F(MasstreeInstallTest, one_hot_page_keeps_few_others) {
  load(0, 100'000);
  const std::uint64_t before = volatile_pages();
  all_.compose();
  put(key_of(50'003), "hot");
  const InstallCounts counts = all_.install();
  check();
  std::printf("%llu of %llu pages left\n", static_cast<unsigned long long>(volatile_pages()),
              static_cast<unsigned long long>(before));
  EXPECT_LE(volatile_pages(), before / 20);
  EXPECT_LE(volatile_pages(), 20u);
  EXPECT_EQ(counts.pages_kept, volatile_pages());
  EXPECT_EQ(counts.pages_dropped, before - volatile_pages());
}

TEST_F(MasstreeInstallTest, hot_pages_all_over_keep_few_others) {
  load(0, 60'000);
  const std::uint64_t before = volatile_pages();
  all_.compose();
  for (unsigned i = 500; i < 60'000; i += 1'000) put(key_of(i), "hot");
  all_.install();
  check();
  std::printf("%llu of %llu pages left\n", static_cast<unsigned long long>(volatile_pages()),
              static_cast<unsigned long long>(before));
  EXPECT_LE(volatile_pages(), before / 6);  // 60 hot ones, at most two rests each, those above
}

// Rows, erasures and layers that are newer than the snapshot stay.
TEST_F(MasstreeInstallTest, newer_records_erasures_and_layers_stay) {
  load(0, 5'000);
  for (unsigned i = 0; i < 100; ++i) put("pair" + key_of(i) + ".long", payload_of(i));
  all_.compose();
  put(key_of(100), "changed");
  erase(key_of(1'000));
  put(key_of(2'000) + "longer key of a slice that is there", "inserted");
  put("pair" + key_of(7) + ".lang", "a new layer");
  erase("pair" + key_of(9) + ".long");
  all_.install();
  check();
  EXPECT_GT(volatile_pages(), 0u);
  EXPECT_LE(volatile_pages(), 40u);
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// A reorganization that purges a record must not forget an erasure that the snapshot does not have.
TEST_F(MasstreeInstallTest, a_purge_that_is_not_covered_keeps_its_page) {
  load(0, 30);
  all_.compose();
  for (unsigned i = 0; i < 30; ++i) erase(key_of(i));
  begin(1);  // grows a record: the page is made anew, without the erased ones
  ASSERT_TRUE(write(1, key_of(4), std::string(1'200, 'x')).is_ok());
  ASSERT_TRUE(write(1, key_of(5), std::string(1'200, 'x')).is_ok());
  ASSERT_TRUE(write(1, key_of(6), std::string(1'200, 'x')).is_ok());
  all_.session(1).rollback();
  all_.install();
  check();
  EXPECT_GT(volatile_pages(), 0u);
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// A locked record keeps its page, and no other.
TEST_F(MasstreeInstallTest, a_held_record_keeps_its_page) {
  load(0, 10'000);
  all_.compose();
  begin(1);
  char bytes[256];
  occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
  ASSERT_TRUE(get_for_update(all_.session(1).ctx(), all_.control(), key_of(5'000), &range).is_ok());
  all_.install();
  EXPECT_GT(volatile_pages(), 0u);
  EXPECT_LE(volatile_pages(), 10u);
  ASSERT_TRUE(commit(1).is_ok());
  check();
  all_.install();
  EXPECT_EQ(volatile_pages(), 0u);
  check();
}

// Hot pages become quiet one after another; pages that earlier exchanges left are dropped, too.
TEST_F(MasstreeInstallTest, what_was_left_goes_with_the_next_snapshot) {
  load(0, 30'000);
  for (unsigned round = 0; round < 10; ++round) {
    all_.compose();
    // Writes go to pages that are still volatile.
    for (unsigned i = 0; i < 30'000; i += 3'000) {
      if (i / 3'000 >= round) put(key_of(i + 11), "round " + std::to_string(round));
    }
    all_.install();
    check();
  }
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// Method: the tree also has layers, and payloads with new ids.
TEST_F(MasstreeInstallTest, an_install_that_cannot_read_is_made_up_for) {
  load(0, 1'500);
  for (std::uint64_t i = 0; i < 100; ++i) put("a longer key " + key_of(i), payload_of(i));
  for (std::uint64_t i = 0; i < 8; ++i) put("large" + key_of(i), std::string(9'000, 'l'));
  all_.let_names_change();
  for (const ErrorCode code : {ErrorCode::kIoError, ErrorCode::kCorruption}) {
    all_.glean();
    const auto write_some = [&](char letter) {
      for (std::uint64_t i = 0; i < 1'500; i += 150) put(key_of(i), std::string(30, letter));
      for (std::uint64_t i = 0; i < 100; i += 30) {
        put("a longer key " + key_of(i), std::string(30, letter));
      }
      put("large" + key_of(3), std::string(9'000, letter));
    };
    write_some('b');
    all_.compose();
    write_some('c');
    EXPECT_GT(all_.install_with_errors(code), 1u);
    all_.check_leads();
    check();
  }
}

}  // namespace
}  // namespace foedus::storage::masstree::install_test
