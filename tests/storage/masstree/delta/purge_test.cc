// Rows leave a delta when a snapshot has them (M50), and its pages are freed with them (M51), or
// with the storage.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::purge_test {
namespace {

class DeltaPurgeTest : public MasstreeDeltaTest {
 protected:
  unsigned rows_in_delta(unsigned step = 1) {
    unsigned count = 0;
    for (unsigned i = 0; i < kRows; i += step) count += is_in_delta(key_of(i)) ? 1 : 0;
    return count;
  }
  void put_some(unsigned step, const std::string& payload) {
    for (unsigned i = 0; i < kRows; i += step) put_row(key_of(i), payload + std::to_string(i));
  }
};

TEST_F(DeltaPurgeTest, rows_of_a_snapshot_leave_the_delta) {
  load_and_open();
  put_some(3, "put ");
  const std::uint64_t before = delta_pages();
  EXPECT_GT(before, 5u);
  const InstallCounts counts = all_.glean();
  EXPECT_EQ(counts.pages_kept, 0u);
  EXPECT_EQ(rows_in_delta(), 0u);
  EXPECT_EQ(delta_pages(), 1u);
  EXPECT_EQ(volatile_pages(), 0u);
  check_rows();
}

// Goal: rows stay in the delta if the snapshot does not have them, or has an older version. Method:
// puts between the snapshot and its installation.
TEST_F(DeltaPurgeTest, rows_that_are_newer_than_the_snapshot_stay) {
  load_and_open();
  put_some(4, "covered ");
  all_.compose();
  put_some(8, "newer ");
  put_row(key_between(3), "new");
  all_.install();
  EXPECT_EQ(rows_in_delta(8), kRows / 8);
  EXPECT_EQ(rows_in_delta(), kRows / 8);
  EXPECT_TRUE(is_in_delta(key_between(3)));
  check_rows();
  expect_all_goes();
}

// Goal: rows whose page of the main tree is volatile stay until that is dropped, because it has
// older versions.
TEST_F(DeltaPurgeTest, rows_of_volatile_pages_stay_as_long_as_those) {
  load_and_open();
  heat(key_of(100));
  put_row(key_of(101), "beside it");
  put_row(key_of(1'500), "elsewhere");
  ASSERT_FALSE(is_cold_in_main(key_of(101)));
  all_.compose();
  begin(0);
  ASSERT_TRUE(write_part(0, key_of(100), "HOT").is_ok());
  expect_commit(0);
  rows_[key_of(100)].replace(0, 3, "HOT");
  all_.install();
  EXPECT_TRUE(is_in_delta(key_of(101)));
  EXPECT_FALSE(is_in_delta(key_of(1'500)));
  check_rows();
  all_.glean();
  EXPECT_FALSE(is_in_delta(key_of(101)));
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaPurgeTest, a_locked_row_stays) {
  load_and_open();
  put_some(10, "put ");
  begin(1);
  ASSERT_EQ(lock(1, key_of(50)).payload, "put 50");
  all_.glean();
  EXPECT_TRUE(is_in_delta(key_of(50)));
  EXPECT_EQ(rows_in_delta(), 1u);
  ASSERT_TRUE(put(1, key_of(50), "by the holder").is_ok());
  expect_commit(1);
  rows_[key_of(50)] = "by the holder";
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaPurgeTest, rows_with_chains_are_right_at_each_step) {
  load_and_open();
  put_some(100, "small ");
  for (unsigned i = 0; i < kRows; i += 200) put_row(key_of(i), kChain + std::to_string(i));
  for (int round = 0; round < 3; ++round) {
    all_.glean();
    check_rows();
    put_row(key_of(0), kChain + "round " + std::to_string(round));
    put_row(key_of(200), "small");
  }
  for (unsigned i = 0; i < kRows; i += 400) erase_row(key_of(i));
  check_rows();
  expect_all_goes();
}

// Goal: layers are freed when all rows have left. Method: layers of several depths, and one row
// that keeps them until it leaves.
TEST_F(DeltaPurgeTest, layers_go_with_the_last_row) {
  load_and_open();
  for (unsigned i = 0; i < 200; ++i) {
    put_row(key_of(i) + "a layer", "one");
    put_row(key_of(i) + "a layerand more", "two");
    put_row(key_of(i) + "a layerand more of it", "three");
  }
  EXPECT_GT(delta()->layers.load_relaxed(), 200u);
  all_.compose();
  put_row(key_of(7) + "a layerand more", "newer");
  all_.install();
  EXPECT_GT(delta_pages(), 200u);
  check_rows();
  expect_all_goes();
  EXPECT_EQ(delta()->layers.load_relaxed(), 0u);
}

// Goal: an erased row does not come back, and delays no freeing. Method: rows of the delta are
// erased before the snapshot, between it and the installation, and after it.
TEST_F(DeltaPurgeTest, erased_rows_do_not_come_back) {
  load_and_open();
  put_some(5, "put ");
  for (unsigned i = 0; i < 100; ++i) put_row(key_between(i * 15), "new");
  for (unsigned i = 0; i < 600; i += 5) erase_row(key_of(i));
  for (unsigned i = 0; i < 30; ++i) erase_row(key_between(i * 15));
  all_.compose();
  for (unsigned i = 600; i < 1'200; i += 5) erase_row(key_of(i));
  for (unsigned i = 30; i < 60; ++i) erase_row(key_between(i * 15));
  all_.install();
  check_rows();
  for (unsigned i = 1'200; i < 1'800; i += 5) erase_row(key_of(i));
  for (unsigned i = 60; i < 90; ++i) erase_row(key_between(i * 15));
  check_rows();
  expect_all_goes();
}

// Goal: while pages of the main tree may be of an earlier snapshot, no row leaves the delta that
// those pages do not have. Method: the new snapshot has other pages than those the tree leads to,
// and the installer has no page for a copy (M38).
TEST_F(DeltaPurgeTest, rows_of_pages_of_earlier_snapshots_stay) {
  load_and_open();
  for (unsigned i = 0; i < 300; i += 2) erase_row(key_of(i));
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  heat(key_of(1'501));
  put_some(6, "put ");
  for (unsigned i = 0; i < kRows; i += 50) put_row(key_of(i) + "-long-one", "layer");
  for (unsigned i = 0; i < kRows; i += 50) put_row(key_of(i) + "-long-two", "layer");
  all_.compose_anew();
  heat(key_of(1'501));
  page::SessionPages& pages = all_.session(4).pages();
  std::vector<page::PageHeader*> taken;
  while (page::PageHeader* const page = pages.allocate()) taken.push_back(page);
  EXPECT_TRUE(all_.install().may_need_earlier);
  EXPECT_GT(rows_in_delta(), 0u) << "the test does not test what it is for";
  check_rows();
  for (page::PageHeader* const page : taken) pages.release(page);
  EXPECT_FALSE(all_.install().may_need_earlier);
  all_.check_leads();
  all_.remove_old_files();
  check_rows();
  expect_all_goes();
}

// Goal: failed reads of pages during an installation lose no row. Method: each read fails in turn.
TEST_F(DeltaPurgeTest, installations_that_cannot_read_lose_no_row) {
  for (const ErrorCode code : {ErrorCode::kIoError, ErrorCode::kCorruption}) {
    if (!control()->has_delta()) load_and_open();
    if (is_in_delta(key_of(1'503))) all_.glean();
    heat(key_of(1'503));
    put_some(11, "put ");
    for (unsigned i = 1; i < 300; i += 2) {
      if (rows_.contains(key_of(i))) erase_row(key_of(i));
    }
    all_.compose_anew();
    heat(key_of(1'500));  // newer than the snapshot: the tree is not exchanged as a whole
    EXPECT_GT(all_.install_with_errors(code), 0u);
    check_rows();
    expect_all_goes();
  }
}

// Goal: a delta is used again after it was emptied. Method: rounds of puts, in which rows are also
// read, changed in part and erased, with installations that drop all, some or no pages.
TEST_F(DeltaPurgeTest, a_delta_is_filled_and_emptied_again_and_again) {
  load_and_open();
  for (unsigned round = 0; round < 12; ++round) {
    for (unsigned i = round; i < kRows; i += 13) put_row(key_of(i), std::to_string(round));
    for (unsigned i = 5 * round; i < kRows; i += 101) put_row(key_of(i) + "-long", "x");
    for (unsigned i = round * 100; i < kRows; ++i) {
      const auto found = rows_.find(key_of(i));
      if (found == rows_.end() || found->second.size() < 3 || is_in_delta(key_of(i))) continue;
      heat(key_of(i));
      break;
    }
    all_.compose();
    for (unsigned i = round * 7; i < kRows; i += 170) {
      if (rows_.contains(key_of(i))) erase_row(key_of(i));
    }
    if (round % 4 == 3) {
      all_.spare_and_install();
    } else {
      all_.install(round % 4 == 0 ? 0 : round % 4 == 1 ? 10 : ~std::uint64_t{0});
    }
    check_rows();
  }
  expect_all_goes();
}

// Tests that drop their storage: afterwards its trees have no pages to check, and are not dropped
// again.
class DeltaDropTest : public MasstreeDeltaTest {
 protected:
  void TearDown() override {
    for (occ::StorageControl* const tree : {control(), delta()}) tree->root.store({});
  }
};

// Goal: a drop of the storage frees the pages of the delta, those of layers and of chains too.
TEST_F(DeltaDropTest, a_drop_gives_back_the_pages_of_both_trees) {
  load_and_open();
  heat(key_of(3));
  for (unsigned i = 0; i < kRows; i += 2) put_row(key_of(i), "put");
  for (unsigned i = 0; i < 50; ++i) {
    put_row(key_of(i) + "layer one", "one");
    put_row(key_of(i) + "layer two", "two");
    put_row(key_of(2 * i), kChain);
  }
  ASSERT_GT(delta_pages(), 200u);
  masstree::drop(&all_.all().pool(), &all_.session(1).pages(), control());
  EXPECT_TRUE(delta()->is_dropped()) << "a delta that was made after the storage was marked";
  control()->set_dropped();  // as the catalog does
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(delta_pages(), 0u);
}

}  // namespace
}  // namespace foedus::storage::masstree::purge_test
