// ctest-labels: crash
// The newest manifest is lost while the database is open, at each place of a glean in turn. Its
// files are in no other manifest, and stay until it is written again (E27). One thread and a
// simulated device.
#include <functional>
#include <string>

#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tests/engine/glean/tree_life.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::lost_manifest_test {
namespace {

using testing::AtSyncPoint;
using testing::Call;
using testing::CallSeen;
using testing::FailingDevice;
using testing::must;
using Life = testing::TreeLife;

class LostManifestTest : public testing::SupersededTest {
 protected:
  static std::string newest_name(Life* life) { return snapshot::manifest_name(life->newest()); }
  // Runs `action` once, before the first call for which `is_it` returns true.
  void at_call(std::function<bool(const CallSeen&)> is_it, std::function<void()> action) {
    calls_seen_ = 0;
    prepared_.set_observer([this, is_it, action](const CallSeen& call) {
      if (calls_seen_ != 0 || !is_it(call)) return;
      ++calls_seen_;
      action();
    });
  }
  // Loses the manifest when files of the next snapshot are made, after orphaned files have been
  // removed.
  void lose_when_files_are_made(Life* life) {
    at_call(
        [](const CallSeen& call) {
          return call.kind == Call::kCreate && call.name.starts_with("snapshot-");
        },
        [this, life] { prepared_.drop_file(newest_name(life)); });
  }
  // Checks that no row is missing, now and in the next life.
  void expect_all_in_two_lives(std::unique_ptr<Life> life) {
    prepared_.set_observer(nullptr);
    ASSERT_NO_FATAL_FAILURE(expect_all(life.get()));
    life.reset();
    prepared_.crash_power(FailingDevice::kDropAll);
    Life next(&prepared_);
    ASSERT_NO_FATAL_FAILURE(expect_all(&next));
  }

  unsigned calls_seen_ = 0;
};

TEST_F(LostManifestTest, before_a_glean_removes_leftovers_costs_that_glean_alone) {
  auto life = std::make_unique<Life>(&prepared_);
  life->runtime.run_for(kLongUs);
  life->write(30, 'd', &rows_);
  {
    const AtSyncPoint at("gleaning:covered", [&] { prepared_.drop_file(newest_name(life.get())); });
    EXPECT_EQ(life->engine->gleaning()->scheduler().glean({}).code(), ErrorCode::kCorruption);
    ASSERT_EQ(at.runs(), 1u);
  }
  expect_all_in_two_lives(std::move(life));
}

TEST_F(LostManifestTest, during_a_glean_that_fails_leaves_its_files) {
  auto life = std::make_unique<Life>(&prepared_);
  life->runtime.run_for(kLongUs);
  life->write(30, 'd', &rows_);
  lose_when_files_are_made(life.get());
  prepared_.fail(Call::kRename, 0, EIO);
  EXPECT_EQ(life->engine->gleaning()->scheduler().glean({}).code(), ErrorCode::kIoError);
  ASSERT_EQ(calls_seen_, 1u);
  expect_all_in_two_lives(std::move(life));
}

TEST_F(LostManifestTest, while_pages_are_moved_leaves_its_files_if_that_fails) {
  auto life = std::make_unique<Life>(&prepared_);
  const page::SnapshotNumber found = life->newest();
  lose_when_files_are_made(life.get());
  prepared_.fail(Call::kRename, 0, EIO);
  life->runtime.run_for(kLongUs);
  ASSERT_EQ(calls_seen_, 1u);
  EXPECT_EQ(life->newest(), found);
  expect_all_in_two_lives(std::move(life));
}

TEST_F(LostManifestTest, before_pages_are_moved_stops_nothing) {
  auto life = std::make_unique<Life>(&prepared_);
  const auto found = static_cast<std::uint32_t>(life->newest());
  {
    const AtSyncPoint at("gleaning:recovered",
                         [&] { prepared_.drop_file(newest_name(life.get())); });
    life->runtime.run_for(kLongUs);
    ASSERT_EQ(at.runs(), 1u);
  }
  // One number is for the rewritten manifest, one for the new pages.
  EXPECT_EQ(life->newest(), page::SnapshotNumber{found + 2});
  EXPECT_FALSE(life->engine->gleaning()->newest().has_failed());
  expect_all_in_two_lives(std::move(life));
}

// Goal: the damaged manifest of a failed glean, which was never used, does not hinder a later
// glean. Method: the last sync of the directory fails.
TEST_F(LostManifestTest, of_a_glean_that_failed_is_made_up_for_by_the_one_before) {
  auto life = std::make_unique<Life>(&prepared_);
  life->runtime.run_for(kLongUs);
  const auto before = static_cast<std::uint32_t>(life->newest());
  const std::string next = snapshot::manifest_name(page::SnapshotNumber{before + 1});
  life->write(30, 'd', &rows_);
  at_call(
      [&](const CallSeen& call) {
        return call.kind == Call::kSyncDirectory && prepared_.exists(next);
      },
      [this] { prepared_.fail(Call::kSyncDirectory, 0, EIO); });
  EXPECT_EQ(life->engine->gleaning()->scheduler().glean({}).code(), ErrorCode::kIoError);
  ASSERT_EQ(calls_seen_, 1u);
  ASSERT_TRUE(prepared_.exists(next));
  prepared_.set_size(next, 40);
  must(life->engine->gleaning()->scheduler().glean({}));
  EXPECT_GT(life->newest(), page::SnapshotNumber{before + 2});
  expect_all_in_two_lives(std::move(life));
}

// Goal: a failure between two gleans, in a step that removes files, does not affect the next glean.
// Method: files wait for a reader; the manifest is lost before they are removed, and is written
// again, but the directory cannot be synced after its name.
TEST_F(LostManifestTest, before_files_go_costs_no_glean) {
  auto life = std::make_unique<Life>(&prepared_);
  life->runtime.run_for(kLongUs);
  Txn reader = must(engine::begin_txn(must(life->engine->take_session()), {}));
  must(reader.get(life->tree, key(0)));
  life->write(100, 'd', &rows_);
  must(life->engine->gleaning()->scheduler().glean({}));
  const auto newest = static_cast<std::uint32_t>(life->newest());
  const std::string next = snapshot::manifest_name(page::SnapshotNumber{newest + 1});
  prepared_.drop_file(newest_name(life.get()));
  at_call(
      [&](const CallSeen& call) {
        return call.kind == Call::kSyncDirectory && prepared_.exists(next);
      },
      [this] { prepared_.fail(Call::kSyncDirectory, 0, EIO); });
  reader.rollback();
  life->runtime.run_for(10 * kLongUs);
  ASSERT_EQ(calls_seen_, 1u);
  EXPECT_EQ(life->newest(), page::SnapshotNumber{newest});
  life->write(20, 'e', &rows_);
  must(life->engine->gleaning()->scheduler().glean({}));
  expect_all_in_two_lives(std::move(life));
}

}  // namespace
}  // namespace foedus::lost_manifest_test
