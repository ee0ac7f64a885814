// A storage without dropped pages leads to no snapshot, so an install does not visit its pages.
// Once a page was dropped, an install visits the pages, however many are to be dropped.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "foedus-core/storage/sequential/sequential_storage.h"
#include "tests/storage/numbered_rows.h"

namespace foedus::storage::nothing_to_install_test {
namespace {

constexpr std::uint64_t kRows = 3'000;

class NothingToInstallTest : public NumberedRows {
 protected:
  NothingToInstallTest() : NumberedRows(kRows, 2) {}
};

INSTANTIATE_TEST_SUITE_P(All, NothingToInstallTest, keyed_kinds(), name_of_kind);

TEST_P(NothingToInstallTest, what_is_volatile_alone_is_not_looked_at) {
  for (std::uint64_t glean = 0; glean < 3; ++glean) {
    put(glean, kRows);
    all_.compose();
    const std::uint64_t reads = all_.pages().reads();
    const InstallCounts counts = all_.install(0);
    EXPECT_EQ(all_.pages().reads(), reads);
    EXPECT_EQ(counts.pages_kept, volatile_pages());
    EXPECT_EQ(counts.pages_dropped, 0u);
    EXPECT_FALSE(counts.may_need_earlier);
    all_.check_leads();
  }
  // All pages can be dropped afterwards.
  EXPECT_EQ(all_.install().pages_kept, 0u);
  all_.check_leads();
}

// Goal: O16. Method: all pages are dropped, some are made volatile again, and each page is written
// to another file. The first snapshot's files are removed when the second one was installed.
TEST_P(NothingToInstallTest, what_leads_to_a_snapshot_leads_to_the_next_one) {
  put(0, kRows);
  EXPECT_GT(all_.glean().pages_dropped, 0u);
  put(0, 10);
  EXPECT_GT(volatile_pages(), 0u);
  all_.compose_anew();
  EXPECT_FALSE(all_.install(0).may_need_earlier);
  all_.check_leads();
  all_.remove_old_files();
  put(0, kRows);
  all_.compose();
  EXPECT_FALSE(all_.install(0).may_need_earlier);
  all_.check_leads();
}

// An installation that is to drop no pages still drops those of a sequential storage.
TEST(NothingToInstallSequentialTest, pages_of_a_sequential_storage_go) {
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kSequential;
  Gleaned all(meta, compose_all, install);
  for (std::uint64_t i = 0; i < 10; ++i) {
    all.session(0).begin();
    for (int row = 0; row < 100; ++row) {
      const std::string payload(100, static_cast<char>('a' + i));
      ASSERT_TRUE(sequential::append(all.session(0).ctx(), all.control(), payload).is_ok());
    }
    ASSERT_TRUE(all.session(0).commit().is_ok());
  }
  all.compose();
  EXPECT_GT(all.install(0).pages_dropped, 0u);
}

}  // namespace
}  // namespace foedus::storage::nothing_to_install_test
