// ctest-labels: crash
// Files whose pages were moved are removed while transactions read: at each step transactions read
// cold pages, some of them since before, and write. One thread and a simulated device.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "tests/engine/glean/tree_life.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::reclaim_steps_test {
namespace {

using testing::AtSyncPoint;
using testing::FailingDevice;
using testing::kTreeRows;
using testing::must;
using Life = testing::TreeLife;

constexpr std::uint64_t kHalf = kTreeRows / 2;

std::set<std::string> files_of(const FailingDevice& device) {
  std::set<std::string> files;
  for (const std::string& name : device.names()) {
    if (name.starts_with("snapshot-")) files.insert(name);
  }
  return files;
}
std::uint64_t file_count(const FailingDevice& device) { return files_of(device).size(); }

class ReclaimStepsTest : public testing::SupersededTest {
 protected:
  // Returns a transaction of a session of its own that has read the first half of the rows.
  static Txn begin_reading(Life* life, const TxnOptions& options, const testing::TreeRows& rows) {
    Txn txn = must(engine::begin_txn(must(life->engine->take_session()), options));
    life->expect_in(txn, rows, 0, kHalf);
    return txn;
  }
  void write_one(Life* life, std::uint64_t row, char letter) {
    Txn txn = must(engine::begin_txn(life->session, {}));
    life->expect_in(txn, rows_, row, row + 1);
    rows_[row] = std::string(1'000, letter);
    must(txn.put(life->tree, key(row), rows_[row]));
    must(txn.commit());
  }
};

// Goal: a serializable reader from before the step, and a reader of the snapshot of that time, go
// on at the step and after it; a write at the step is not lost. No file that the two may read is
// removed before they end.
TEST_F(ReclaimStepsTest, transactions_go_on_while_pages_move) {
  for (const char* const place : {"gleaning:recovered", "gleaning:moved"}) {
    SCOPED_TRACE(place);
    const auto rows = rows_;
    const auto device = prepared_.copy();
    Life life(device.get());
    const page::SnapshotNumber found = life.newest();
    {
      Txn before = begin_reading(&life, {}, rows_);
      Txn of_snapshot =
          begin_reading(&life, {.isolation = Isolation::kSnapshot, .newest_existing = true}, rows_);
      AtSyncPoint at(place, [&] {
        life.expect_in(before, rows, 0, kTreeRows);
        life.expect_in(of_snapshot, rows, kHalf, kHalf + 100);
        life.expect(rows_);
        write_one(&life, kTreeRows - 1, 'w');
        Txn newer = begin_reading(
            &life, {.isolation = Isolation::kSnapshot, .newest_existing = true}, rows);
        life.expect_in(newer, rows, kHalf, kTreeRows);
        must(newer.commit());
      });
      const std::uint64_t files = file_count(*device);
      life.runtime.run_for(kLongUs);
      ASSERT_EQ(at.runs(), 1u);
      EXPECT_GT(life.newest(), found);
      EXPECT_GT(file_count(*device), files) << "the moved pages are new, and nothing has gone";
      // The reader missed the write.
      EXPECT_EQ(before.commit().code(), ErrorCode::kConflict);
      life.runtime.run_for(kLongUs);
      EXPECT_GT(file_count(*device), 1u);
      life.expect_in(of_snapshot, rows, 0, kTreeRows);
      must(of_snapshot.commit());
    }
    life.runtime.run_for(kLongUs);
    ASSERT_NO_FATAL_FAILURE(expect_all(&life));
    rows_ = rows;
  }
}

// Goal: a reader from before that wrote nothing does not conflict, and commits at the step.
TEST_F(ReclaimStepsTest, a_transaction_from_before_commits_while_pages_move) {
  for (const char* const place : {"gleaning:recovered", "gleaning:moved"}) {
    SCOPED_TRACE(place);
    const auto device = prepared_.copy();
    Life life(device.get());
    Txn before = begin_reading(&life, {}, rows_);
    const auto rows = rows_;
    AtSyncPoint at(place, [&] {
      life.expect_in(before, rows_, kHalf, kTreeRows);
      must(before.put(life.tree, key(kTreeRows), std::string("new")));
      must(before.commit());
    });
    life.runtime.run_for(kLongUs);
    ASSERT_EQ(at.runs(), 1u);
    rows_[kTreeRows] = "new";
    ASSERT_NO_FATAL_FAILURE(expect_all(&life));
    rows_ = rows;
  }
}

// Goal: a reader of the earlier snapshot, and one that begins just before files are removed, go on
// after the removal. The files that the earlier manifest names stay for the first one.
TEST_F(ReclaimStepsTest, transactions_go_on_while_files_go) {
  Life life(&prepared_);
  Txn of_snapshot = begin_reading(&life,
                                  {.isolation = Isolation::kSnapshot,
                                   .as_of = life.engine->gleaning()->newest().get()->covered},
                                  rows_);
  const auto rows = rows_;
  std::optional<Txn> newer;
  std::optional<Txn> newer_of_snapshot;
  std::set<std::string> files;
  {
    AtSyncPoint at("gleaning:before_removal", [&] {
      files = files_of(prepared_);
      life.expect_in(of_snapshot, rows, kHalf, kHalf + 100);
      write_one(&life, 7, 'w');
      newer.emplace(begin_reading(&life, {}, rows_));
      newer_of_snapshot.emplace(must(engine::begin_txn(
          life.session, {.isolation = Isolation::kSnapshot, .newest_existing = true})));
      life.expect_in(*newer_of_snapshot, rows, 0, 100);
    });
    life.runtime.run_for(kLongUs);
    ASSERT_EQ(at.runs(), 1u);
  }
  life.expect_in(*newer, rows_, 0, kTreeRows);
  must(newer->commit());
  life.expect_in(*newer_of_snapshot, rows, 0, kTreeRows);
  must(newer_of_snapshot->commit());
  newer_of_snapshot.reset();
  life.expect_in(of_snapshot, rows, 0, kTreeRows);
  must(of_snapshot.commit());
  must(life.engine->gleaning()->scheduler().glean({}));
  life.runtime.run_for(kLongUs);
  const std::set<std::string> left = files_of(prepared_);
  EXPECT_FALSE(std::includes(left.begin(), left.end(), files.begin(), files.end()))
      << "some have gone";
  ASSERT_NO_FATAL_FAILURE(expect_all(&life));
}

// Goal: a transaction that reads a snapshot before recovery is over reads it to the end, although
// recovery moves pages and removes files; so does one that begins just after a move. Method: lives
// that end before the gleaner moves a page, until recovery has to.
TEST_F(ReclaimStepsTest, readers_of_an_early_open_go_on_while_recovery_moves_pages) {
  unsigned moves = 0;
  for (char letter = 'd'; letter < 'p' && !HasFatalFailure(); ++letter) {
    {
      Life life(&prepared_, 256u << 20, 60, OpenUntil::kSnapshotReadable);
      Txn before = begin_reading(
          &life, {.isolation = Isolation::kSnapshot, .newest_existing = true}, in_snapshot_);
      std::optional<Txn> newer;
      const AtSyncPoint at("recovery:moved", [&] {
        life.expect_in(before, in_snapshot_, kHalf, kHalf + 100);
        newer.emplace(begin_reading(
            &life, {.isolation = Isolation::kSnapshot, .newest_existing = true}, rows_));
      });
      must(life.engine->wait_recovered(base::Runtime::kForever));
      life.runtime.starve("foedus-gleaner");
      ASSERT_LE(at.runs(), 1u);
      moves += at.runs();
      life.expect_in(before, in_snapshot_, 0, kTreeRows);
      must(before.commit());
      if (newer.has_value()) {
        life.expect_in(*newer, rows_, 0, kTreeRows);
        must(newer->commit());
      }
      life.expect(rows_);
      in_snapshot_ = rows_;
      life.write(75 - 4 * static_cast<std::uint64_t>(letter - 'd'), letter, &rows_);
    }
    prepared_.crash_power(FailingDevice::kDropAll);
  }
  EXPECT_GT(moves, 0u);
}

}  // namespace
}  // namespace foedus::reclaim_steps_test
