// G44: a composition that failed is repeated from the same sorted records.
// ctest-labels: concurrency crash

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

// A glean of a closed directory. The log is sorted; each composition is given up where its manifest
// is about to be written, until gives_up is false.
struct GivenUpGlean {
  GivenUpGlean(const std::string& dir, std::uint32_t socs)
      : closed(testing::must(engine::ClosedDirectory::open({dir}, socs, {}))) {
    engine::GleanOrder order = closed->order();
    order.is_given_up = [this] { return gives_up; };
    number = order.number();
    tail = testing::must(engine::sort_tail(std::move(order)));
    gives_up = true;
  }

  bool gives_up = false;
  const std::unique_ptr<engine::ClosedDirectory> closed;
  page::SnapshotNumber number{};
  std::unique_ptr<engine::SortedTail> tail;
  GleanReport report;
};

// Goal: each try gets all records and counts all work, whatever the tries before have read.
// Method: a glean is given up where its manifest is about to be written, twice, and then is not.
TEST(GleanAgainTest, a_composition_that_was_given_up_can_be_repeated) {
  const testing::TestDirectory directory;
  write(directory.path(), 1);
  ASSERT_TRUE(glean_directory(directory.path(), {.socs = 2, .sink = {}}).is_ok());
  write(directory.path(), 2);
  {
    GivenUpGlean glean(directory.path(), 2);
    const GleanReport& report = glean.report;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(glean.tail->compose(&glean.report).code(), ErrorCode::kClosed);
      EXPECT_EQ(glean.closed->newest_manifest()->covered,
                testing::must(engine::find_newest_manifest(glean.closed->device()))->covered);
    }
    glean.gives_up = false;
    const auto manifest = testing::must(glean.tail->compose(&glean.report));
    EXPECT_EQ(manifest.number, glean.number);
    EXPECT_EQ(report.snapshot, static_cast<std::uint32_t>(glean.number));
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
  GivenUpGlean glean(directory.path(), 1);
  EXPECT_EQ(glean.tail->compose(&glean.report).code(), ErrorCode::kClosed);
  glean.gives_up = false;
  device::Device* const device = glean.closed->device();
  const snapshot::Manifest& lost = *glean.closed->newest_manifest();
  testing::must(device->remove(snapshot::manifest_name(lost.number)));
  ASSERT_EQ(glean.tail->compose(&glean.report).code(), ErrorCode::kCorruption);
  testing::must(snapshot::write_manifest(device, lost));
  testing::must(glean.tail->compose(&glean.report));
  EXPECT_EQ(glean.report.records_composed, kRows);
}

}  // namespace
}  // namespace foedus::gleaner::glean_again_test
