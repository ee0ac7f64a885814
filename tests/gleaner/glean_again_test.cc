// G44: a composition that failed is repeated from the same sorted records.
// ctest-labels: crash

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "foedus-core/engine/closed_directory.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "gleaner/directory_glean.h"
#include "tests/testing/test_database.h"

namespace foedus::gleaner::glean_again_test {
namespace {

constexpr std::uint32_t kRows = 2000;

void write(const std::string& dir, std::uint32_t value) {
  Database db = Database::open(testing::small_options(dir)).value();
  const Masstree tree = db.open_masstree("tree").value();
  for (std::uint32_t i = 0; i < kRows; i += 50) {
    testing::must(db.transact([&](Txn& txn) -> Status {
      for (std::uint32_t row = i; row < i + 50; ++row) {
        FOEDUS_CHECK(txn.put(tree, key(row), row + value));
      }
      return {};
    }));
  }
  testing::must(db.close());
}

void expect_rows(const std::string& dir, std::uint32_t value) {
  Database db = Database::open(testing::small_options(dir)).value();
  const Masstree tree = db.open_masstree("tree").value();
  testing::must(db.transact([&](Txn& txn) -> Status {
    for (std::uint32_t row = 0; row < kRows; ++row) {
      FOEDUS_TRY(const auto found, txn.get_as<std::uint32_t>(tree, key(row)));
      EXPECT_EQ(found, row + value);
    }
    return {};
  }));
  testing::must(db.close());
}

// Goal: each try gets all records and counts all work, whatever the tries before have read.
// Method: a glean is given up where its manifest is about to be written, twice, and then is not.
TEST(GleanAgainTest, a_composition_that_was_given_up_can_be_repeated) {
  const testing::TestDirectory directory;
  write(directory.path(), 1);
  ASSERT_TRUE(glean_directory(directory.path(), {.socs = 2, .sink = {}}).is_ok());
  write(directory.path(), 2);
  {
    const auto closed = testing::must(engine::ClosedDirectory::open({directory.path()}, 2, {}));
    engine::GleanOrder order = closed->order();
    bool gives_up = false;
    order.is_given_up = [&gives_up] { return gives_up; };
    const page::SnapshotNumber number = order.number();
    const auto tail = testing::must(engine::sort_tail(std::move(order)));
    GleanReport report;
    gives_up = true;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(tail->compose(&report).code(), ErrorCode::kClosed);
      EXPECT_EQ(closed->newest_manifest()->covered,
                testing::must(engine::find_newest_manifest(closed->device()))->covered);
    }
    gives_up = false;
    const auto manifest = testing::must(tail->compose(&report));
    EXPECT_EQ(manifest.number, number);
    EXPECT_EQ(report.snapshot, static_cast<std::uint32_t>(number));
    EXPECT_EQ(report.records_composed, kRows);
    EXPECT_GE(report.records_read, kRows);
    EXPECT_GT(report.pages_written, 0u);
  }
  expect_rows(directory.path(), 2);
}

// Goal: a snapshot that builds on a lost one is not made (E27). Method: the manifest of the earlier
// snapshot goes between two tries.
TEST(GleanAgainTest, a_lost_manifest_is_noticed_when_a_composition_is_repeated) {
  const testing::TestDirectory directory;
  write(directory.path(), 1);
  ASSERT_TRUE(glean_directory(directory.path(), {.socs = 1, .sink = {}}).is_ok());
  write(directory.path(), 2);
  const auto closed = testing::must(engine::ClosedDirectory::open({directory.path()}, 1, {}));
  engine::GleanOrder order = closed->order();
  bool gives_up = false;
  order.is_given_up = [&gives_up] { return gives_up; };
  const auto tail = testing::must(engine::sort_tail(std::move(order)));
  GleanReport report;
  gives_up = true;
  EXPECT_EQ(tail->compose(&report).code(), ErrorCode::kClosed);
  gives_up = false;
  const snapshot::Manifest& lost = *closed->newest_manifest();
  testing::must(closed->device()->remove(snapshot::manifest_name(lost.number)));
  ASSERT_EQ(tail->compose(&report).code(), ErrorCode::kCorruption);
  testing::must(snapshot::write_manifest(closed->device(), lost));
  testing::must(tail->compose(&report));
  EXPECT_EQ(report.records_composed, kRows);
}

}  // namespace
}  // namespace foedus::gleaner::glean_again_test
