// ctest-labels: memory
// ctest-timeout: 300
// Crashes at every call that changes the device, several in succession: a commit that was announced
// as durable is there, whole and once; records that one recovery cut off never come back.
#include <string_view>
#include <utility>

#include "foedus-core/base/system/sync_point.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_crash_test {
namespace {

constexpr std::uint64_t kRunValues = 1'000'000;  // record values of run r begin at r times this

enum class Crash { kPower, kProcess };

// A directory through several runs and crashes, and a model of its contents.
class World {
 public:
  FailingDevice device;

  // Makes one run, which may end anywhere. `skip` is the number of changing calls before the device
  // stops; ~0: never.
  void run(std::uint32_t socs, std::uint64_t seed, std::uint64_t skip, bool close) {
    ++run_count_;
    LogRun run(&device, socs, 64u << 10, seed);
    const Status opened = run.open();
    ASSERT_TRUE(opened.is_ok()) << opened.message();  // opening changes nothing: no crash in it
    check_found(*run.log);
    if (::testing::Test::HasFatalFailure()) return;
    if (skip != ~std::uint64_t{0}) device.lose_power_after(skip);
    if (!run.log->make_cut_durable().is_ok()) return;
    frozen_ = found_;
    open_runs_.clear();
    if (!run.start().is_ok()) return;
    commit_some(&run, seed);
    if (close) [[maybe_unused]] const Status closed = run.close();
    announced_ = run.log->durability().durable();
    for (const auto& [key, list] : run.history(run_count_)) open_runs_[key] = list;
  }

  void crash(Crash kind, std::uint64_t seed) {
    if (kind == Crash::kPower) {
      device.crash_power(seed);
    } else {
      device.crash_process();
    }
  }

  void check() {
    LogRun run(&device);
    const Status opened = run.open();
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    check_found(*run.log);
  }

 private:
  void commit_some(LogRun* run, std::uint64_t seed) {
    base::Random random(seed * 77 + 1);
    for (std::uint32_t i = 0; i < 4; ++i) run->session(i % 2, 32u << 10);
    for (std::uint64_t i = 0; i < 24; ++i) {
      TestSession& session = *run->sessions[random.below(run->sessions.size())];
      const std::size_t bytes = random.below(4) == 0 ? 4'000 + random.below(8'000) : 24;
      const auto epoch = session.commit(run_count_ * kRunValues + i * 10, bytes);
      if (!epoch.is_ok()) return;
      const std::uint64_t choice = random.below(6);
      if (choice == 0) {
        if (!run->wait(*epoch).is_ok()) return;
      } else if (choice < 4) {
        run->runtime.run_for(random.below(12'000));
      }
    }
  }

  void check_found(const Log& log) {
    History by_incarnation;
    const Status read = read_all(log, &by_incarnation);
    ASSERT_TRUE(read.is_ok()) << read.message();
    found_.clear();
    for (const auto& [key, list] : by_incarnation) {
      for (const Written& written : list) {
        found_[{written.value / kRunValues, key.second}].push_back(written);
      }
    }
    const Epoch cut = log.durable_epoch_found();
    // Epochs without a record are announced without a mark, and may be above the cut.
    ASSERT_EQ(cut_at(open_runs_, std::max(cut, announced_)), cut_at(open_runs_, cut))
        << "cut at " << cut.number() << ", announced " << announced_.number();
    History expected = frozen_;
    for (const auto& [key, list] : cut_at(open_runs_, cut)) expected[key] = list;
    ASSERT_EQ(found_.size(), expected.size());
    for (const auto& [key, list] : expected) {
      ASSERT_EQ(found_[key], list) << "run " << key.first << " session " << key.second;
    }
    ASSERT_GT(log.first_new_epoch(), cut);
  }

  std::uint64_t run_count_ = 0;
  History found_;
  History frozen_;     // must be found for ever
  History open_runs_;  // committed since then; found up to the cut
  Epoch announced_;
};

std::string describe(std::uint64_t first, std::uint64_t second, std::uint64_t seed) {
  return "first crash at call " + std::to_string(first) + ", second at call " +
         std::to_string(second) + ", seed " + std::to_string(seed);
}

// Goal: a power failure at any place of a run, its start or its close breaks no promise. Method:
// power fails at call 0, 1, 2, ... until a run gets through.
TEST(LogCrashTest, power_fails_at_every_call_of_the_first_run) {
  for (const std::uint64_t seed :
       {FailingDevice::kDropAll, FailingDevice::kKeepAll, std::uint64_t{11}, std::uint64_t{12}}) {
    for (std::uint64_t skip = 0;; ++skip) {
      SCOPED_TRACE(describe(skip, 0, seed));
      World world;
      world.run(2, 5 + seed % 7, skip, true);
      const bool was_lost = world.device.has_lost_power();
      world.crash(Crash::kPower, seed);
      world.check();
      if (HasFatalFailure() || !was_lost) break;
      ASSERT_LT(skip, 10'000u);
    }
  }
}

// Goal: a second crash never brings back records that the first one cut off, and loses no commit
// that the second run announced. Method: a first run ends in the middle, by power or by process,
// the second one at every call. The third one is read, commits, and is read again.
void crash_twice(Crash first_kind, std::uint64_t first_skip, std::uint64_t seed) {
  for (std::uint64_t skip = 0;; ++skip) {
    SCOPED_TRACE(describe(first_skip, skip, seed));
    World world;
    world.run(2, 5 + seed % 7, first_skip, true);
    world.crash(first_kind, seed);
    world.run(2, 6 + seed % 5, skip, true);
    const bool was_lost = world.device.has_lost_power();
    world.crash(Crash::kPower, seed + 1);
    world.run(3, 7, ~std::uint64_t{0}, false);
    world.crash(Crash::kPower, seed + 2);
    world.check();
    if (::testing::Test::HasFatalFailure() || !was_lost) break;
    ASSERT_LT(skip, 10'000u);
  }
}

TEST(LogCrashTest, a_second_power_failure_at_every_call_brings_nothing_back) {
  for (std::uint64_t first = 3; first < 70 && !HasFatalFailure(); first += 5) {
    crash_twice(Crash::kPower, first, first);
  }
}

TEST(LogCrashTest, a_power_failure_at_every_call_after_the_process_died_brings_nothing_back) {
  for (std::uint64_t first = 0; first < 70 && !HasFatalFailure(); ++first) {
    crash_twice(Crash::kProcess, first, first * 2 + 1);
  }
}

// Goal: no segment has a name on the device before the savepoint has, even if the process died
// after its first savepoint, whose name was not synced. Method: the process dies at each of its
// first calls; power fails at each call of the next start, with random surviving names.
TEST(LogCrashTest, a_savepoint_that_was_found_has_its_name_before_any_segment) {
  for (std::uint64_t first = 0; first < 8; ++first) {
    for (std::uint64_t skip = 0; skip < 16; ++skip) {
      for (std::uint64_t seed = 1; seed <= 16 && !HasFatalFailure(); ++seed) {
        SCOPED_TRACE(describe(first, skip, seed));
        World world;
        world.run(2, 5, first, false);
        world.crash(Crash::kProcess, seed);
        world.run(2, 6, skip, false);
        world.crash(Crash::kPower, seed);
        world.check();
      }
    }
  }
}

TEST(LogCrashTest, many_crashes_in_a_row_at_random_calls) {
  for (std::uint64_t seed = 1; seed <= 150 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed * 1'000'003);
    World world;
    for (int i = 0; i < 8 && !HasFatalFailure(); ++i) {
      world.run(2 + static_cast<std::uint32_t>(random.below(2)), random.below(1'000),
                random.below(120), random.below(2) == 0);
      world.crash(random.below(3) == 0 ? Crash::kProcess : Crash::kPower,
                  random.below(5) == 0 ? FailingDevice::kDropAll : 1 + random.below(1'000));
    }
    if (!HasFatalFailure()) world.check();
  }
}

// Goal: new epochs begin above epochs that only cut-off records had. Method: one logger syncs a
// record that the other one never marks.
TEST(LogCrashTest, new_epochs_begin_above_those_that_were_cut_off) {
  FailingDevice device;
  Epoch lost;
  {
    LogRun run(&device, 2);
    ASSERT_OK(run.open_and_start());
    run.runtime.run_for(30'000);
    const auto epoch = run.session(0)->commit(1, 10);
    ASSERT_OK(epoch);
    lost = *epoch;
    auto* const logger = dynamic_cast<base::Task*>(run.log->space(0));
    run.clock->request_advance(*epoch);
    for (int i = 0; i < 20; ++i) {
      run.runtime.step(run.clock.get());
      run.runtime.step(logger);
    }
    EXPECT_EQ(run.sessions[0]->ring().durable(), run.sessions[0]->ring().committed());
    EXPECT_FALSE(run.log->durability().is_durable(*epoch));
    device.crash_power(FailingDevice::kKeepAll);
  }
  for (int i = 0; i < 2; ++i) {  // found in the frames, then in the seal
    LogRun run(&device, 2);
    ASSERT_OK(run.open());
    EXPECT_LT(run.log->durable_epoch_found(), lost);
    EXPECT_GT(run.log->first_new_epoch(), lost);
    History found;
    ASSERT_OK(read_all(*run.log, &found));
    EXPECT_TRUE(found.empty());
    ASSERT_OK(run.log->make_cut_durable());
    device.crash_power(FailingDevice::kDropAll);
  }
}

TEST(LogCrashTest, new_epochs_begin_above_those_behind_a_hole_in_the_tail) {
  FailingDevice device;
  Epoch lost;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    run.runtime.run_for(30'000);
    ASSERT_OK(run.session(0)->commit(1, 6'000));  // a frame of its own
    const auto epoch = run.session(0)->commit(2, 10);
    ASSERT_OK(epoch);
    lost = *epoch;
    device.lose_power_after(2);  // both are written, none is synced
    run.runtime.run_for(30'000);
    device.crash_power(FailingDevice::kKeepAll);
  }
  device.overwrite("log-0-00000001", 8192 + 1'024, std::string(512, '\0'));
  LogRun run(&device);
  ASSERT_OK(run.open());
  EXPECT_LT(run.log->durable_epoch_found(), lost);
  EXPECT_GT(run.log->first_new_epoch(), lost);
}

// Goal: L22, a mark covers all commits of its epoch. Method: after the logger has read the clock
// and before it reads the rings, a session commits and the clock publishes that epoch.
LogRun* hooked_run = nullptr;
Epoch hooked_epoch;

void commit_and_publish(const char* place) {
  if (std::string_view(place) != "logger:before_rings" || hooked_run == nullptr) return;
  LogRun& run = *std::exchange(hooked_run, nullptr);
  const auto epoch = run.sessions[0]->commit(2, 10);
  ASSERT_OK(epoch);
  hooked_epoch = *epoch;
  run.clock->request_advance(*epoch);
  while (run.clock->published() < *epoch) run.runtime.step(run.clock.get());
}

TEST(LogCrashTest, a_commit_between_two_looks_of_the_logger_is_behind_no_mark) {
  for (int delay = 0; delay < 40; ++delay) {
    FailingDevice device;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      run.runtime.run_for(30'000);
      ASSERT_OK(run.session(0)->commit(1, 10));
      for (int i = 0; i < delay; ++i) run.runtime.step_one();
      hooked_run = &run;
      hooked_epoch = Epoch();
      base::set_sync_point_hook(commit_and_publish);
      auto* const logger = dynamic_cast<base::Task*>(run.log->space(0));
      run.runtime.step(logger);
      base::set_sync_point_hook(nullptr);
      hooked_run = nullptr;
      ASSERT_TRUE(hooked_epoch.is_valid());
      if (!run.log->durability().is_durable(hooked_epoch)) hooked_epoch = Epoch();
      device.crash_power(FailingDevice::kDropAll);
    }
    LogRun run(&device);
    ASSERT_OK(run.open());
    History found;
    ASSERT_OK(read_all(*run.log, &found));
    if (hooked_epoch.is_valid()) {
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found.begin()->second.back().value, 2u) << delay;
    }
  }
}

// Goal: a crash in a removal of segments leaves a log that opens and has all uncovered commits.
// Method: power fails at every call of a removal.
TEST(LogCrashTest, power_fails_at_every_call_while_segments_are_removed) {
  for (const std::uint64_t seed :
       {FailingDevice::kDropAll, FailingDevice::kKeepAll, std::uint64_t{3}, std::uint64_t{4}}) {
    bool was_lost = true;
    for (std::uint64_t skip = 0; was_lost; ++skip) {
      SCOPED_TRACE(describe(skip, 0, seed));
      FailingDevice device;
      std::vector<Written> all;
      Epoch covered;
      {
        LogRun run(&device, 2, 64u << 10);
        ASSERT_OK(run.open_and_start());
        TestSession* const session = run.session(0);
        for (std::uint64_t i = 0; i < 100; ++i) {
          const auto epoch = session->commit(i, 3'000);
          ASSERT_OK(epoch);
          if (i == 60) covered = *epoch;
          if (i % 25 == 0) run.log->roll_segments();
          run.runtime.run_for(3'000);
        }
        ASSERT_OK(run.wait(run.clock->current()));
        run.runtime.run_for(50'000);
        all = session->history();
        device.lose_power_after(skip);
        const Status removed = run.log->remove_segments_up_to(covered);
        was_lost = device.has_lost_power();
        ASSERT_EQ(removed.is_ok(), !was_lost);
      }
      device.crash_power(seed);
      LogRun run(&device, 1);
      ASSERT_OK(run.open());
      History found;
      ASSERT_OK(read_all(*run.log, &found));
      const std::vector<Written>& left = found[{1, 0}];
      ASSERT_LE(left.size(), all.size());
      ASSERT_TRUE(std::equal(left.rbegin(), left.rend(), all.rbegin()));
      ASSERT_LE(left.front().epoch, covered.number() + 1);
      ASSERT_OK(run.start());
      EXPECT_EQ(device.names().size(), run.log->found_segment_count() + 2);  // no orphaned files
    }
  }
}

// Goal: the durable epoch is on the device before a callback runs. Method: each callback reads the
// state that a power failure would leave.
TEST(LogCrashTest, a_callback_comes_after_the_commit_is_on_the_device) {
  FailingDevice device;
  LogRun run(&device, 2, 64u << 10, 3);
  ASSERT_OK(run.open_and_start());
  for (std::uint32_t i = 0; i < 4; ++i) run.session(i % 2, 32u << 10);
  std::uint64_t called = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto epoch = run.sessions[i % 4]->commit(i, i % 7 == 0 ? 9'000 : 100);
    ASSERT_OK(epoch);
    run.log->durability().on_durable(*epoch, [&, i, epoch = *epoch](const Status& status) {
      EXPECT_TRUE(status.is_ok());
      ++called;
      const auto left = device.synced_copy();
      LogRun after(left.get());
      const Status opened = after.open();
      ASSERT_TRUE(opened.is_ok()) << opened.message();
      History found;
      ASSERT_OK(read_all(*after.log, &found));
      bool is_there = false;
      for (const auto& [key, list] : found) {
        for (const Written& written : list) is_there |= written.value == i;
      }
      EXPECT_TRUE(is_there) << "value " << i << " epoch " << epoch.number();
    });
    if (i % 3 == 0) run.runtime.run_for(4'000);
  }
  run.runtime.run_for(100'000);
  EXPECT_EQ(called, 100u);
}

}  // namespace
}  // namespace foedus::log::testing::log_crash_test
