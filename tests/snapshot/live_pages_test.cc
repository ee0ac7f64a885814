// Counts of live pages: gains and losses of a storage, and impossible sums.
#include "foedus-core/snapshot/files/live_pages.h"

#include "foedus-core/snapshot/files/format.h"
#include "tests/snapshot/snapshot_rig.h"

namespace foedus::snapshot::live_pages_test {
namespace {

const SnapshotPageId kPage(SnapshotNumber{3}, 1, 7);

using Counts = std::vector<LivePages>;

class LivePagesTest : public ::testing::Test {
 protected:
  LivePagesTest() {
    for (std::size_t i = 0; i < 2; ++i) {
      pages_.at(i)->initialize(page::VolatilePageId(1), StorageId{7},
                               i == 0 ? page::PageKind::kHashBin : page::PageKind::kOverflow, 0);
    }
  }
  const page::PageHeader& bin() { return *pages_.at(0); }
  const page::PageHeader& below_records() { return *pages_.at(1); }
  void expect_refused(Counts counts) {
    const Status status = accounting_.apply_to(&counts);
    EXPECT_EQ(status.code(), ErrorCode::kCorruption);
    EXPECT_NE(status.message().find("snapshot-00000003-1"), std::string::npos)
        << status.message();
  }

  PageAccounting accounting_;

 private:
  Pages pages_{2};
};

TEST_F(LivePagesTest, a_file_without_live_pages_leaves_the_counts) {
  accounting_.supersede(kPage, bin(), 2);
  accounting_.append(SnapshotPageId(SnapshotNumber{4}, 0, 1), below_records());
  Counts counts = {{SnapshotNumber{3}, 1, 2, 0}};
  ASSERT_OK(accounting_.apply_to(&counts));
  EXPECT_EQ(counts, (Counts{{SnapshotNumber{4}, 0, 1, 1}}));
}

// Each case follows from a manifest with a wrong count.
TEST_F(LivePagesTest, more_pages_superseded_than_there_were_is_corruption) {
  accounting_.supersede(kPage, bin(), 3);
  expect_refused({{SnapshotNumber{3}, 1, 2, 0}});
}

TEST_F(LivePagesTest, more_pages_below_records_superseded_than_there_were_is_corruption) {
  accounting_.supersede(kPage, below_records());
  expect_refused({{SnapshotNumber{3}, 1, 5, 0}});
}

TEST_F(LivePagesTest, more_pages_below_records_than_pages_are_corruption) {
  accounting_.supersede(kPage, bin(), 2);
  expect_refused({{SnapshotNumber{3}, 1, 3, 2}});
}

TEST_F(LivePagesTest, more_pages_than_a_file_can_have_are_corruption) {
  accounting_.append(kPage, bin());
  expect_refused({{SnapshotNumber{3}, 1, static_cast<std::uint32_t>(kFilePagesMax) - 1, 0}});
}

}  // namespace
}  // namespace foedus::snapshot::live_pages_test
