// Installations of snapshots whose pages have other fences, levels and files than the tree's pages
// of earlier ones: no row is lost, and the result says whether a pointer may still lead to earlier
// snapshots (O16, M38).

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/storage/masstree/install/fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::masstree::shapes_test {
namespace {

using testing::AtSyncPoint;

const std::string kLarge(9'000, 'l');

class InstallShapesTest : public MasstreeInstallTest {
 protected:
  static constexpr unsigned kHot = 1'500;

  // Makes a tree that is cold except for the path to one row, and composes a snapshot whose pages
  // begin with other rows, because earlier rows were erased. Every 20th row is large.
  void load_shifted() {
    for (unsigned i = 0; i < 3'000; ++i) put(key_of(i), i % 20 == 9 ? kLarge : payload_of(i));
    all_.glean();
    for (unsigned i = 0; i < 300; i += 2) erase(key_of(i));
    all_.glean();
    ASSERT_EQ(volatile_pages(), 0u);
    put(key_of(kHot), "hot");
    all_.compose_anew();
    put(key_of(kHot), "hotter");
  }
  void expect_old_files_may_go() {
    EXPECT_FALSE(all_.install().may_need_earlier);
    all_.check_leads();
    all_.remove_old_files();
    check();
  }
  void expect_all_goes() {
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
    check();
  }
  page::SessionPages& installer_pages() { return all_.session(4).pages(); }
};

TEST_F(InstallShapesTest, before_the_first_snapshot_nothing_is_installed) {
  load(0, 200);
  const std::uint64_t before = volatile_pages();
  const InstallCounts counts = all_.install();
  EXPECT_EQ(counts.pages_dropped, 0u);
  EXPECT_FALSE(counts.may_need_earlier);
  EXPECT_EQ(volatile_pages(), before);
  check();
}

TEST_F(InstallShapesTest, cold_pages_are_found_in_the_file_that_they_moved_to) {
  load_shifted();
  expect_old_files_may_go();
  EXPECT_LE(volatile_pages(), 10u);
  expect_all_goes();
}

// Goal: a page of an earlier snapshot is recognized even if no page of the new one begins after its
// first row. Method: pages of 34 rows; the page before it is hot, and the new snapshot's last page
// begins in that one.
TEST_F(InstallShapesTest, an_old_page_behind_the_last_fence_of_the_snapshot_is_made_volatile) {
  for (unsigned i = 0; i < 140; ++i) put(key_of(i), std::string(80, 'p'));
  all_.glean();
  for (unsigned i = 0; i < 20; ++i) erase(key_of(i));
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  put(key_of(110), "hot");
  all_.compose_anew();
  put(key_of(110), "hotter");
  {
    const AtSyncPoint copied(
        "masstree:install_copied", [] {}, true);
    expect_old_files_may_go();
    EXPECT_GT(copied.runs(), 0u);
  }
  expect_all_goes();
}

// ---- pages that are copied

TEST_F(InstallShapesTest, without_pages_old_pages_stay_cold_and_are_reported) {
  load_shifted();
  std::vector<page::PageHeader*> pages;
  while (page::PageHeader* const page = installer_pages().allocate()) pages.push_back(page);
  EXPECT_TRUE(all_.install().may_need_earlier);
  check();
  for (page::PageHeader* const page : pages) installer_pages().release(page);
  expect_old_files_may_go();
}

// The session makes only one of the two pages beside the hot one volatile.
TEST_F(InstallShapesTest, an_old_page_that_a_session_makes_volatile_first_is_reported) {
  load_shifted();
  {
    const AtSyncPoint hook("masstree:install_copying", [&] {
      for (unsigned i = kHot - 150; i < kHot; i += 5) {
        if (rows_.contains(key_of(i))) put(key_of(i), "written", 1);
      }
    });
    EXPECT_TRUE(all_.install().may_need_earlier);
    EXPECT_EQ(hook.runs(), 1u);
  }
  check();
  expect_old_files_may_go();
}

TEST_F(InstallShapesTest, old_pages_that_cannot_be_read_are_made_up_for) {
  for (const ErrorCode code : {ErrorCode::kIoError, ErrorCode::kCorruption}) {
    load_shifted();
    EXPECT_GT(all_.install_with_errors(code), 3u);
    all_.check_leads();
    check();
    expect_all_goes();
  }
}

// ---- names of payloads

class InstallNamesTest : public InstallShapesTest {
 protected:
  // Makes two large rows in a hot page, and a snapshot that has them in a new file.
  void load_named() {
    load(0, 10);
    put(first_, kLarge);
    put(second_, kLarge);
    all_.glean();
    put(key_of(0), "hot");
    all_.compose_anew();
    put(key_of(0), "hotter");
  }

  const std::string first_ = key_of(100);
  const std::string second_ = key_of(101);
};

// The next installation has to visit that record only.
TEST_F(InstallNamesTest, a_record_in_use_keeps_its_name_and_is_reported) {
  load_named();
  begin(2);
  char out[8];
  occ::ReadRange range{out, sizeof(out), 0, 0};
  ASSERT_TRUE(get_for_update(all_.session(2).ctx(), all_.control(), second_, &range).is_ok());
  EXPECT_TRUE(all_.install().may_need_earlier);
  all_.session(2).rollback();
  check();
  expect_old_files_may_go();
}

// Goal: an id that a record takes along into a new layer is reported. Method: the record becomes a
// layer while the installer visits the layers of its page; it is made when a later layer is
// visited.
TEST_F(InstallNamesTest, a_record_that_becomes_a_layer_behind_the_look_is_reported) {
  const std::string large = key_of(20) + "large";
  put(large, kLarge);
  for (unsigned i = 0; i < 10; ++i) put(key_of(30) + key_of(i), payload_of(i));
  load_named();
  {
    const AtSyncPoint founding("masstree:install_cold", [&] { put(large + "r", "beside it", 1); });
    EXPECT_TRUE(all_.install().may_need_earlier);
    EXPECT_EQ(founding.runs(), 1u);
  }
  check();
  EXPECT_FALSE(all_.glean().may_need_earlier);  // with the layer
  all_.check_leads();
  all_.remove_old_files();
  check();
}

// A record without a payload in a snapshot needs no report.
TEST_F(InstallNamesTest, a_record_that_becomes_a_layer_without_a_name_holds_nothing_up) {
  put(key_of(20) + "small", "small");
  for (unsigned i = 0; i < 10; ++i) put(key_of(30) + key_of(i), payload_of(i));
  load_named();
  const AtSyncPoint founding("masstree:install_cold",
                             [&] { put(key_of(20) + "smaller", "beside it", 1); });
  expect_old_files_may_go();
  EXPECT_EQ(founding.runs(), 1u);
}

// Goal: a page of the snapshot that lost a row, or a layer, does not lose rows that an earlier one
// still has. Method: the read of a border page changes its slices.
TEST_F(InstallNamesTest, what_a_damaged_page_of_the_snapshot_has_not_stays_where_it_was) {
  put(key_of(50) + "a layer", "one");
  put(key_of(50) + "b layer", "two");
  load_named();
  all_.pages().forge = [](page::PageHeader* page) {
    auto* const border = reinterpret_cast<BorderPage*>(page);
    ASSERT_TRUE(border->is_border());
    for (unsigned i = 0; i < border->header.load_version().keys(); ++i) {
      border->group(i).slices[i % BorderPage::Group::kKeys] += 1;
    }
  };
  all_.pages().forge_read_after(0);
  EXPECT_TRUE(all_.install().may_need_earlier);
  check();
  for (std::uint32_t i = 1; i < 3; ++i) all_.all().cache()->forget(page::SnapshotNumber{i});
  all_.pages().read_well();
  expect_old_files_may_go();
}

}  // namespace
}  // namespace foedus::storage::masstree::shapes_test
