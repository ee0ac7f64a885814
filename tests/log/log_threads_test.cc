// ctest-labels: concurrency
// The log with real threads on real files: sessions commit, wait, attach and detach.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/device/posix/file_device.h"
#include "tests/log/log_harness.h"
#include "tests/testing/nap.h"

namespace foedus::log::testing::log_threads_test {
namespace {

struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "foedus-log-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

constexpr std::uint32_t kSocs = 2;
constexpr std::uint32_t kThreads = 4;
constexpr std::uint64_t kCommits = 400;

void work(Log* log, epoch::EpochClock* clock, std::uint32_t number, std::vector<Written>* history,
          std::atomic<std::uint64_t>* callbacks) {
  TestSession session(log, clock, number % kSocs, number, 64u << 10);
  for (std::uint64_t i = 0; i < kCommits; ++i) {
    const std::size_t bytes = i % 16 == 0 ? 12'000 : i % 200;
    const auto epoch = session.commit(number * kCommits + i, bytes);
    ASSERT_OK(epoch);
    if (i % 20 == 0) ASSERT_OK(log->durability().wait(*epoch, 60'000'000));
    log->durability().on_durable(*epoch, [callbacks](const Status& status) {
      if (status.is_ok()) callbacks->fetch_add(1);
    });
  }
  ASSERT_OK(session.detach());
  *history = session.history();
}

// Goal: a detached ring is never read again, so that its memory may be freed. Method: the logger is
// stopped after it has read the rings, or, with records of this ring, before the sync; a detach has
// to wait for the end of that step. A log that fails in a step ends the wait, too.
std::atomic<bool> holds_logger{false};
std::atomic<bool> logger_is_held{false};

std::string_view held_place;

void hold_logger(const char* place) {
  if (place != held_place) return;
  while (holds_logger.load()) logger_is_held.store(true);
}

class LogDetachTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LogDetachTest, waits_for_the_step_that_has_seen_the_ring) {
  held_place = GetParam();
  FailingDevice device;
  const auto runtime = base::make_thread_runtime();
  auto log = Log::open(&device, runtime.get(), {1, 256u << 10}, {});
  ASSERT_OK(log);
  epoch::EpochClock clock(runtime.get(), (*log)->first_new_epoch(), 16, 2'000);
  ASSERT_OK((*log)->start(&clock));
  TestSession session((*log).get(), &clock, 0, 0, 64u << 10);
  if (held_place == "logger:before_sync") ASSERT_OK(session.commit(1, 100));
  logger_is_held.store(false);
  holds_logger.store(true);
  base::set_sync_point_hook(hold_logger);
  runtime->start(&clock);  // the first epoch makes the logger step
  while (!logger_is_held.load()) foedus::testing::nap();
  std::atomic<bool> is_detached{false};
  std::thread detacher([&] {
    ASSERT_OK(session.detach());
    is_detached.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_detached.load());
  const bool fails = held_place == "logger:before_rings";
  if (fails) (*log)->durability().fail(Status::error(ErrorCode::kIoError, "failed"));
  holds_logger.store(false);
  detacher.join();
  EXPECT_TRUE(is_detached.load());
  EXPECT_EQ(session.ring().durable(), session.ring().committed());
  EXPECT_EQ((*log)->close().is_ok(), !fails);
  runtime->stop(&clock);
  base::set_sync_point_hook(nullptr);
}

INSTANTIATE_TEST_SUITE_P(Places, LogDetachTest,
                         ::testing::Values("logger:before_rings", "logger:before_write",
                                           "logger:before_sync"));

TEST(LogThreadsTest, many_sessions_commit_wait_and_leave_and_all_is_read_back) {
  const TemporaryFolder folder;
  History expected;
  for (std::uint64_t incarnation = 1; incarnation <= 2; ++incarnation) {
    const auto runtime = base::make_thread_runtime();
    auto device = device::FileDevice::open(folder.path + "/db", Facility::kTry);
    ASSERT_OK(device);
    auto log = Log::open(device->get(), runtime.get(), {kSocs, 256u << 10}, {});
    ASSERT_OK(log);
    epoch::EpochClock clock(runtime.get(), (*log)->first_new_epoch(), 16, 2'000);
    ASSERT_OK((*log)->start(&clock));
    runtime->start(&clock);
    std::vector<std::vector<Written>> histories(kThreads);
    std::atomic<std::uint64_t> callbacks{0};
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < kThreads; ++i) {
      threads.emplace_back(work, log->get(), &clock, i, &histories[i], &callbacks);
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_OK((*log)->close());
    runtime->stop(&clock);
    EXPECT_EQ(callbacks.load(), kThreads * kCommits);
    for (std::uint32_t i = 0; i < kThreads; ++i) expected[{incarnation, i}] = histories[i];
  }
  const auto runtime = base::make_thread_runtime();
  auto device = device::FileDevice::open(folder.path + "/db", Facility::kOff);
  ASSERT_OK(device);
  auto log = Log::open(device->get(), runtime.get(), {1, 1u << 20}, {});
  ASSERT_OK(log);
  EXPECT_TRUE((*log)->was_closed_cleanly());
  History found;
  ASSERT_OK(read_all(**log, &found));
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace foedus::log::testing::log_threads_test
