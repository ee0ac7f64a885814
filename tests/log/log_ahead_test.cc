// ctest-labels: crash
// Zeroes ahead of frames (L31): syncs for little write over them, none is written where syncs are
// for much, and neither a crash nor a lack of room makes anything of them.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "foedus-core/log/log_file.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing {
namespace {

constexpr std::uint64_t kAheadMax = 128u << 10;

// Writes of a segment.
struct Writes {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t longest = 0;
  std::uint64_t first_times = 0;  // that began where nothing had been written
  std::uint64_t beyond = 0;       // the end of the file
  std::vector<bool> written;      // by block

  void add(std::uint64_t offset, std::uint64_t size, std::uint64_t file_bytes) {
    ++count;
    bytes += size;
    longest = std::max(longest, size);
    const std::uint64_t end = (offset + size) / kBlockBytes;
    if (end > written.size()) written.resize(end);
    if (!written[offset / kBlockBytes]) ++first_times;
    if (offset + size > file_bytes) ++beyond;
    std::fill(written.begin() + static_cast<std::ptrdiff_t>(offset / kBlockBytes),
              written.begin() + static_cast<std::ptrdiff_t>(end), true);
  }
};

void watch(FailingDevice* device, Writes* writes) {
  device->set_observer([device, writes](const ::foedus::testing::CallSeen& call) {
    if (call.kind != Call::kWrite || call.name != kFirst) return;
    writes->add(call.offset, call.bytes->size(), device->bytes_of(kFirst).size());
  });
}

// Commits of so many bytes, each waited for.
void commit_each(LogRun* run, TestSession* session, std::uint64_t commits, std::size_t bytes) {
  for (std::uint64_t i = 0; i < commits; ++i) {
    const auto epoch = session->commit(i, bytes);
    ASSERT_OK(epoch);
    ASSERT_OK(run->wait(*epoch));
  }
}

TEST(LogAhead, syncs_for_little_write_where_zeroes_were_written) {
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{6'000}}) {
    SCOPED_TRACE(bytes);
    FailingDevice device;
    LogRun run(&device, 1, 4u << 20);
    ASSERT_OK(run.open_and_start());
    Writes writes;
    watch(&device, &writes);
    commit_each(&run, run.session(0), 200, bytes);
    // A frame of records, and one with the mark.
    const std::uint64_t blocks = 200 * ((bytes + 3 * kBlockBytes) / kBlockBytes);
    const std::uint64_t periods = blocks * kBlockBytes / kAheadMax + 1;
    EXPECT_GE(writes.count, 200u);
    EXPECT_LE(writes.first_times, periods + 1);
    EXPECT_LE(writes.bytes, blocks * kBlockBytes + periods * kAheadMax);
    EXPECT_EQ(writes.beyond, 0u);
  }
}

TEST(LogAhead, zeroes_end_with_the_file) {
  FailingDevice device;
  LogRun run(&device, 1, 64u << 10);  // a segment that is shorter than what is written ahead
  ASSERT_OK(run.open_and_start());
  Writes writes;
  watch(&device, &writes);
  commit_each(&run, run.session(0), 10, 40);
  EXPECT_GT(writes.longest, 8 * kBlockBytes);
  EXPECT_EQ(writes.beyond, 0u);
}

TEST(LogAhead, syncs_for_much_write_no_zeroes) {
  FailingDevice device;
  LogRun run(&device, 1, 4u << 20);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0, 1u << 20);
  commit_each(&run, session, 1, 100'000);
  Writes writes;
  watch(&device, &writes);
  commit_each(&run, session, 20, 100'000);
  EXPECT_LE(writes.bytes, 20u * (100'000 + 5 * kBlockBytes));
}

// Method: the write that has zeroes finds no room. What it may have left is cleared, and it is made
// again without.
TEST(LogAhead, a_frame_that_finds_no_room_is_written_without_zeroes) {
  FailingDevice device;
  LogRun run(&device, 1, 4u << 20);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  commit_each(&run, session, 1, 40);
  Writes writes;
  watch(&device, &writes);
  device.fail(Call::kWrite, 0, ENOSPC);
  const auto epoch = session->commit(1, 40);
  ASSERT_OK(epoch);
  while (!run.wait(*epoch).is_ok()) run.runtime.run_for(50'000);
  EXPECT_EQ(writes.longest, kBlockBytes + kAheadMax);
  EXPECT_EQ(writes.count, 3u);
  commit_each(&run, session, 20, 40);
  EXPECT_EQ(writes.count, 23u);
  EXPECT_EQ(writes.bytes, kAheadMax + 23 * kBlockBytes);
}

// More commits than one time's zeroes are for.
Committed run_small(FailingDevice* device, std::uint64_t skip) {
  LogRun run(device, 1, 4u << 20);
  EXPECT_TRUE(run.open_and_start().is_ok());
  TestSession* const session = run.session(0);
  device->lose_power_after(skip);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const auto epoch = session->commit(i, 40);
    if (!epoch.is_ok() || !run.wait(*epoch).is_ok()) break;
  }
  return {run.history(1), run.log->durability().durable()};
}

TEST(LogAhead, power_fails_at_every_call_of_syncs_for_little) {
  for (const std::uint64_t seed : {FailingDevice::kDropAll, FailingDevice::kKeepAll,
                                   std::uint64_t{3}, std::uint64_t{4}}) {
    bool was_lost = true;
    for (std::uint64_t skip = 0; was_lost && !HasFailure(); ++skip) {
      SCOPED_TRACE("skip " + std::to_string(skip) + " seed " + std::to_string(seed));
      FailingDevice device;
      const Committed made = run_small(&device, skip);
      was_lost = device.has_lost_power();
      device.crash_power(seed);
      expect_kept(&device, made);
    }
  }
}

}  // namespace
}  // namespace foedus::log::testing
