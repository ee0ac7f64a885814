// ctest-labels: crash
// What recovery leaves to the open database: files of which half is superseded give their room back
// once open() has returned, not before (engine/glean/recovery.cc). One thread and a simulated
// device.
#include <algorithm>
#include <string>
#include <string_view>

#include "foedus-core/base/system/sync_point.h"
#include "tests/engine/glean/tree_life.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::reclaim_after_open_test {
namespace {

using engine::Engine;
using testing::AtSyncPoint;
using testing::Call;
using testing::FailingDevice;
using testing::ManualRuntime;
using testing::must;

using Life = testing::TreeLife;
using Rows = testing::TreeRows;

std::uint64_t snapshot_bytes(const FailingDevice& device) {
  std::uint64_t bytes = 0;
  for (const std::string& name : device.names()) {
    if (name.starts_with("snapshot-")) bytes += device.size_of(name);
  }
  return bytes;
}

class ReclaimAfterOpenTest : public testing::SupersededTest {
 protected:
  int errors_ = 0;
};

TEST_F(ReclaimAfterOpenTest, pages_are_moved_once_the_database_is_open) {
  Life life(&prepared_);
  const page::SnapshotNumber found = life.newest();
  const std::uint64_t bytes_before = snapshot_bytes(prepared_);
  Rows more = rows_;
  life.write(5, 'd', &more);
  life.runtime.run_for(kLongUs);
  EXPECT_GT(life.newest(), found);
  EXPECT_LT(snapshot_bytes(prepared_), bytes_before / 5 * 4);
  life.expect(more);
}

// Goal: a database that is never open for long does not grow. Method: lives in which the gleaner
// does nothing after recovery. Each rewrites about half of the rows, and a bit less than the one
// before, so that a part of each file stays live. One life has an error of the device.
TEST_F(ReclaimAfterOpenTest, recovery_moves_what_no_life_before_had_the_time_for) {
  const std::uint64_t bytes_before = snapshot_bytes(prepared_);
  std::uint64_t bytes_max = 0;
  for (char letter = 'd'; letter < 'p'; ++letter) {
    const auto device = prepared_.copy();
    Options options = testing::small_options("/failing");
    ManualRuntime runtime;
    device->fail(Call::kRename, 1, EIO);  // after the rename of the glean
    const auto opened = Engine::open(options, {.runtime = &runtime, .device = device.get()});
    errors_ += opened.is_ok() ? 0 : 1;
    {
      Life life(&prepared_);
      life.runtime.starve("foedus-gleaner");
      life.write(75 - 4 * static_cast<std::uint64_t>(letter - 'd'), letter, &rows_);
      bytes_max = std::max(bytes_max, snapshot_bytes(prepared_));
    }
    prepared_.crash_power(FailingDevice::kDropAll);
  }
  EXPECT_LT(bytes_max, 2 * bytes_before);
  EXPECT_GT(errors_, 0);
  Life life(&prepared_);
  ASSERT_NO_FATAL_FAILURE(expect_all(&life));
}

// Goal: a glean that moves pages installs twice, and its figures are of the first time. Method:
// more is written than may be volatile, while some rows are in use; gleans begin by themselves, and
// each leaves some rows in the files of the one before.
TEST_F(ReclaimAfterOpenTest, what_a_glean_spared_is_told_also_if_it_moved_pages) {
  static bool has_moved;
  Life life(&prepared_, 64u << 20, 1);
  base::set_sync_point_hook(
      [](const char* at) { has_moved |= std::string_view(at) == "gleaning:moved"; });
  std::uint64_t moves = 0;
  std::uint64_t spared = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    const Stats before = life.engine->stats();
    has_moved = false;
    life.write(60 - round % 8 * 5, static_cast<char>('d' + round % 20), &rows_);
    const Rows used(rows_.begin(), std::next(rows_.begin(), 60));
    for (int i = 0; i < 20; ++i) life.expect(used);
    life.runtime.run_for(kLongUs);
    const Stats after = life.engine->stats();
    if (!has_moved || after.gleans != before.gleans + 1) continue;
    ++moves;
    spared += after.volatile_pages_spared - before.volatile_pages_spared;
  }
  base::set_sync_point_hook(nullptr);
  EXPECT_GT(moves, 0u);
  EXPECT_GT(spared, 0u);
}

// E50. Goal: gleans and moves write no page while removed files still take space. Method: more
// snapshots are kept than there is space for, so that both remove some before; at each new file the
// test checks for space without a name.
TEST_F(ReclaimAfterOpenTest, pages_are_written_when_removed_files_have_given_their_room_back) {
  Life life(&prepared_, 256u << 20, 60, OpenUntil::kRecovered, 12);
  std::uint64_t files = 0;
  prepared_.set_observer([&](const testing::CallSeen& call) {
    if (call.kind != Call::kCreate || !call.name.starts_with("snapshot-")) return;
    std::uint64_t named = 0;
    for (const std::string& name : prepared_.names()) named += prepared_.size_of(name);
    EXPECT_EQ(prepared_.used_bytes(), named) << call.name;
    ++files;
  });
  AtSyncPoint at(
      "gleaning:moved", [] {}, true);
  for (std::uint64_t round = 0; round < 60; ++round) {
    life.write(100 - round * 7 % 40, static_cast<char>('d' + round % 20), &rows_);
    must(life.engine->gleaning()->scheduler().glean({}));
  }
  EXPECT_GT(files, 60u);
  EXPECT_GT(at.runs(), 5u);
  prepared_.set_observer({});
}

// Goal: a long transaction keeps files of old snapshots until its end, and not until a later glean.
// Method: it begins before a glean and ends after it; no glean follows.
TEST_F(ReclaimAfterOpenTest, files_go_when_the_last_transaction_that_may_read_them_is_over) {
  Life life(&prepared_);
  life.runtime.run_for(kLongUs);
  engine::EngineSession* const other = must(life.engine->take_session());
  Txn reader = must(engine::begin_txn(other, {}));
  must(reader.get(life.tree, key(0)));
  life.write(100, 'd', &rows_);
  const GleanReport report = must(life.engine->gleaning()->scheduler().glean({}));
  const std::uint64_t bytes = snapshot_bytes(prepared_);
  const std::uint64_t bytes_needed = report.pages_total * page::kPageBytes;
  EXPECT_GT(bytes, bytes_needed / 2 * 3) << "what the reader may see is there";
  life.runtime.run_for(10 * kLongUs);
  EXPECT_EQ(snapshot_bytes(prepared_), bytes);
  reader.rollback();
  life.runtime.run_for(10 * kLongUs);
  EXPECT_LT(snapshot_bytes(prepared_), bytes_needed / 2 * 3);
  EXPECT_EQ(life.engine->stats().gleans, 1u);
  life.expect(rows_);
}

TEST_F(ReclaimAfterOpenTest, a_power_failure_at_any_call_loses_nothing) {
  std::uint64_t point = 0;
  for (bool reached_end = false; !reached_end; ++point) {
    SCOPED_TRACE("call " + std::to_string(point));
    const auto device = prepared_.copy();
    {
      Life life(device.get());
      device->lose_power_after(point);
      life.runtime.run_for(kLongUs);
      reached_end = !device->has_lost_power();
    }
    device->crash_power(point % 3 == 0   ? FailingDevice::kDropAll
                        : point % 3 == 1 ? FailingDevice::kKeepAll
                                         : point);
    Life life(device.get());
    ASSERT_NO_FATAL_FAILURE(expect_all(&life));
  }
  EXPECT_GT(point, 10u);
  std::printf("%llu power failures\n", static_cast<unsigned long long>(point));
}

// Goal: after an error at any call a later glean can start from the state of the device.
TEST_F(ReclaimAfterOpenTest, an_error_of_any_call_leaves_a_database_that_works) {
  std::uint64_t errors = 0;
  for (const Call kind : {Call::kOpen, Call::kCreate, Call::kRead, Call::kWrite, Call::kSync,
                          Call::kList, Call::kRemove, Call::kRename, Call::kSyncDirectory}) {
    const std::uint64_t step = kind == Call::kRead ? 97 : 1;
    for (std::uint64_t skip = 0;; skip += step) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", call " +
                   std::to_string(skip));
      const auto device = prepared_.copy();
      Life life(device.get());
      const std::uint64_t before = device->calls(kind);
      device->fail(kind, skip, EIO);
      life.runtime.run_for(kLongUs);
      const bool reached_end = device->calls(kind) <= before + skip;
      device->clear_faults();
      ASSERT_NO_FATAL_FAILURE(expect_all(&life));
      if (reached_end) break;
      ++errors;
    }
  }
  EXPECT_GT(errors, 15u);
  std::printf("%llu errors\n", static_cast<unsigned long long>(errors));
}

}  // namespace
}  // namespace foedus::reclaim_after_open_test
