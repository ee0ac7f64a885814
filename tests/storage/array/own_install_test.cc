// Transactions that make pages of an array volatile, or whose pages are dropped.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/storage/array/array_install.h"
#include "foedus-core/storage/array/array_storage.h"
#include "foedus-core/storage/masstree/storage.h"
#include "tests/storage/array/gleaned_array.h"
#include "tests/storage/gleaned.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::array::own_install_test {
namespace {

class ArrayOwnInstallTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRecords = 60'000;  // two levels of interior pages
  static constexpr std::uint64_t kFar = 50'000;  // below another child of the root

  std::string get(std::uint32_t session, std::uint64_t index) {
    std::string value(8, '?');
    occ::ReadRange range{value.data(), static_cast<std::uint32_t>(value.size()), 0, 0};
    const Status status = array::get(all_.session(session).ctx(), all_.control(), index, &range);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return value;
  }
  void put(std::uint32_t session, std::uint64_t index, std::string_view value) {
    const Status status = write_at(all_.session(session).ctx(), all_.control(), index, 0, value);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  void expect_commit(std::uint32_t session) {
    const Status status = all_.session(session).commit();
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  void put_alone(std::uint32_t session, std::uint64_t index, std::string_view value) {
    all_.session(session).begin();
    put(session, index, value);
    expect_commit(session);
  }

  std::string get_alone(std::uint32_t session, std::uint64_t index) {
    all_.session(session).begin();
    std::string value = get(session, index);
    expect_commit(session);
    return value;
  }

  Gleaned all_{testing::array_meta(kRecords), compose_all, install};
};

// Goal: a transaction commits that has read below the root and makes pages where there are none,
// although many pointers of the root have the same ids.
TEST_F(ArrayOwnInstallTest, pages_that_it_makes_are_no_conflict) {
  put_alone(0, kFar, "far away");
  all_.glean();
  all_.session(1).begin();
  EXPECT_EQ(get(1, kFar), "far away");
  put(1, 7, "its own.");
  EXPECT_EQ(get(1, 7), "its own.");
  expect_commit(1);
}

// Goal: a copy that another session made first is used, and the own one is freed, as the rig checks
// at the end.
TEST_F(ArrayOwnInstallTest, a_copy_that_another_session_made_first_is_used) {
  put_alone(0, 7, "original");
  all_.glean();
  all_.session(1).begin();
  const testing::AtSyncPoint made("array:before_install", [&] { put_alone(2, 8, "another."); });
  put(1, 7, "its own.");
  EXPECT_EQ(made.runs(), 1u);
  EXPECT_EQ(get(1, 8), "another.");
  expect_commit(1);
}

TEST_F(ArrayOwnInstallTest, a_page_of_another_storage_is_not_made_volatile) {
  put_alone(0, 7, "original");
  all_.glean();
  all_.session(1).begin();
  all_.pages().forge_read_after(0);
  const Status status = write_at(all_.session(1).ctx(), all_.control(), 7, 0, "its own.");
  EXPECT_EQ(status.code(), ErrorCode::kCorruption) << status.message();
  all_.pages().read_well();
  all_.session(1).rollback();
}

// Goal: own writes are looked for in the array alone when pages of it were dropped. Method: another
// session has moved the record of an own write to a Master-Tree.
TEST_F(ArrayOwnInstallTest, own_writes_elsewhere_stay_as_they_are) {
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kMasstree;
  occ::StorageControl* const tree = all_.all().make(meta);
  const auto put_in_tree = [&](std::uint32_t session, std::string_view key) {
    const Status status = masstree::write_whole(all_.session(session).ctx(), tree,
                                                WriteMode::kPut, key, std::string(300, 'x'));
    EXPECT_TRUE(status.is_ok()) << status.message();
  };
  put_alone(0, 7, "original");
  all_.session(1).begin();
  put_in_tree(1, "row");
  const page::RecordHeader* const record = all_.session(1).ctx().sets().writes()[0].record;
  all_.session(2).begin();
  for (unsigned i = 0; i < 40; ++i) put_in_tree(2, "row" + std::to_string(i));
  all_.session(2).rollback();
  ASSERT_TRUE(record->load_tid().is_moved());
  put(1, 7, "its own.");
  all_.glean();
  ASSERT_EQ(all_.control()->volatile_pages.load_relaxed(), 0u);
  EXPECT_EQ(get(1, 7), "its own.");
  expect_commit(1);
  EXPECT_EQ(get_alone(2, 7), "its own.");
}

}  // namespace
}  // namespace foedus::storage::array::own_install_test
