// Scans of sequential storages in a snapshot.

#include <utility>
#include <vector>

#include "tests/storage/sequential/cold.h"

namespace foedus::storage::sequential::snapshot_read_test {
namespace {

class SequentialSnapshotReadTest : public SequentialColdTest {
 protected:
  static constexpr std::uint32_t kReader = 3;

  SequentialCold::Rows scan_at(page::SnapshotPageId root) {
    SequentialCold::Rows rows;
    Cursor cursor;
    Status status = cursor.open_in_snapshot(all_.session(kReader).ctx(), all_.control(), root);
    while (status.is_ok() && !cursor.at_end()) {
      rows.emplace_back(cursor.payload());
      status = cursor.next();
    }
    EXPECT_TRUE(status.is_ok()) << status.message();
    return rows;
  }
};

TEST_F(SequentialSnapshotReadTest, each_snapshot_is_the_state_at_its_epoch) {
  std::vector<std::pair<page::SnapshotPageId, SequentialCold::Rows>> snapshots{{{}, {}}};
  for (int round = 0; round < 4; ++round) {
    load(200);
    if (round % 2 == 0) {
      all_.glean();
    } else {
      all_.compose();
    }
    snapshots.emplace_back(all_.root(), expected_);
    load(20);
    all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
    for (const auto& [root, rows] : snapshots) EXPECT_EQ(scan_at(root), rows);
    EXPECT_TRUE(all_.session(kReader).ctx().sets().pointers().is_empty());
    EXPECT_TRUE(all_.session(kReader).ctx().sets().pages().is_empty());
    EXPECT_TRUE(all_.session(kReader).commit().is_ok());
  }
}

}  // namespace
}  // namespace foedus::storage::sequential::snapshot_read_test
