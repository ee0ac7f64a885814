// ctest-labels: crash
// Zeroes ahead of frames (L31): small syncs overwrite them, large syncs write none, and neither a
// crash nor a lack of space turns them into frames.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "foedus-core/log/segments/format.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_ahead_test {
namespace {

constexpr std::uint64_t kAheadMax = 128u << 10;

// Writes of a segment.
struct Writes {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t longest = 0;
  std::uint64_t first_times = 0;  // to parts that were not written before
  std::uint64_t beyond = 0;       // beyond the end of the file
  std::uint64_t unaligned = 0;
  std::vector<bool> written;      // by block

  void add(std::uint64_t offset, std::uint64_t size, std::uint64_t file_bytes) {
    ++count;
    bytes += size;
    longest = std::max(longest, size);
    const std::uint64_t end = (offset + size) / kBlockBytes;
    if (end > written.size()) written.resize(end);
    if (!written[offset / kBlockBytes]) ++first_times;
    if (offset + size > file_bytes) ++beyond;
    if (offset % kBlockBytes != 0 || size % kBlockBytes != 0) ++unaligned;
    std::fill(written.begin() + static_cast<std::ptrdiff_t>(offset / kBlockBytes),
              written.begin() + static_cast<std::ptrdiff_t>(end), true);
  }
};

void watch(FailingDevice* device, Writes* writes) {
  device->set_observer([device, writes](const ::foedus::testing::CallSeen& call) {
    if (call.kind != Call::kWrite || call.name != kFirst) return;
    writes->add(call.offset, call.bytes->size(), device->size_of(kFirst));
  });
}

// Makes `commits` commits of `bytes` bytes, and waits for the durability of each.
void commit_each(LogRun* run, TestSession* session, std::uint64_t commits, std::size_t bytes) {
  for (std::uint64_t i = 0; i < commits; ++i) {
    const auto epoch = session->commit(i, bytes);
    ASSERT_OK(epoch);
    ASSERT_OK(run->wait(*epoch));
  }
}

TEST(LogAheadTest, syncs_for_little_write_where_zeroes_were_written) {
  FailingDevice device;
  LogRun run(&device, 1, 4u << 20);
  ASSERT_OK(run.open_and_start());
  Writes writes;
  watch(&device, &writes);
  commit_each(&run, run.session(0), 331, 40);  // a block each
  // The first write has no zeroes, and each that has some is followed by as many frames as fit.
  EXPECT_EQ(writes.count, 331u);
  EXPECT_EQ(writes.first_times, 11u);
  EXPECT_EQ(writes.bytes, 331 * kBlockBytes + 10 * kAheadMax);
  EXPECT_EQ(writes.beyond, 0u);
}

TEST(LogAheadTest, frames_of_several_blocks_have_zeroes_behind_them) {
  FailingDevice device;
  LogRun run(&device, 1, 4u << 20);
  ASSERT_OK(run.open_and_start());
  Writes writes;
  watch(&device, &writes);
  commit_each(&run, run.session(0), 200, 6'000);  // three blocks, and one with the mark
  EXPECT_EQ(writes.count, 400u);
  EXPECT_LE(writes.first_times, 200u * 4 / 32 + 1);
  EXPECT_EQ(writes.beyond, 0u);
}

// The segments are shorter than the zeroes to write ahead; the length of one is no multiple of a
// block.
TEST(LogAheadTest, zeroes_end_with_the_file) {
  for (const std::uint64_t segment_bytes : {64u << 10, 100'000u, 1'050'000u}) {
    SCOPED_TRACE(segment_bytes);
    FailingDevice device;
    LogRun run(&device, 1, segment_bytes);
    ASSERT_OK(run.open_and_start());
    Writes writes;
    watch(&device, &writes);
    const std::uint64_t commits = std::min(segment_bytes / kBlockBytes - 2, std::uint64_t{250});
    commit_each(&run, run.session(0), commits, 40);
    EXPECT_GT(writes.longest, 8 * kBlockBytes);
    EXPECT_EQ(writes.beyond, 0u);
    EXPECT_EQ(writes.unaligned, 0u);
    EXPECT_EQ(device.size_of(kFirst) % kBlockBytes, 0u);
  }
}

TEST(LogAheadTest, syncs_for_much_write_no_zeroes) {
  FailingDevice device;
  LogRun run(&device, 1, 4u << 20);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0, 1u << 20);
  Writes writes;
  watch(&device, &writes);
  for (std::uint64_t i = 0; i < 10; ++i) {
    commit_each(&run, session, 1, 100'000);
    writes = Writes();
    commit_each(&run, session, 1, 40);  // after a large one
    EXPECT_EQ(writes.longest, kBlockBytes);
    commit_each(&run, session, 1, 100'000);  // large, after a small one
    EXPECT_LE(writes.bytes, 100'000 + 6 * kBlockBytes);
  }
}

// Method: the second commit's write, which has zeroes, or its sync, finds no space.
TEST(LogAheadTest, without_room_frames_are_written_alone) {
  for (const Call kind : {Call::kWrite, Call::kSync}) {
    SCOPED_TRACE(static_cast<int>(kind));
    FailingDevice device;
    LogRun run(&device, 1, 4u << 20);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    commit_each(&run, session, 1, 40);
    Writes writes;
    watch(&device, &writes);
    device.fail(kind, 0, ENOSPC);
    const auto epoch = session->commit(1, 40);
    ASSERT_OK(epoch);
    if (kind == Call::kWrite) {
      ASSERT_OK(run.wait(*epoch));  // a retry came at once
      EXPECT_EQ(writes.count, 2u);
    }
    while (!run.wait(*epoch).is_ok()) run.runtime.run_for(50'000);
    EXPECT_EQ(writes.longest, kBlockBytes + kAheadMax);
    const std::uint64_t bytes = writes.bytes;
    commit_each(&run, session, 50, 40);
    EXPECT_EQ(writes.bytes, bytes + 50 * kBlockBytes);
  }
}

// Makes 40 commits, for which the zeroes of one write are too few. If `lacks_room`, the first write
// with zeroes fails.
Committed run_small(FailingDevice* device, std::uint64_t skip, bool lacks_room) {
  LogRun run(device, 1, 4u << 20);
  EXPECT_TRUE(run.open_and_start().is_ok());
  TestSession* const session = run.session(0);
  if (lacks_room) device->fail(Call::kWrite, 1, ENOSPC);
  device->lose_power_after(skip);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const auto epoch = session->commit(i, 40);
    if (!epoch.is_ok() || !run.wait(*epoch).is_ok()) break;
  }
  return {run.history(1), run.log->durability().durable()};
}

TEST(LogAheadTest, power_fails_at_every_call_of_syncs_for_little) {
  for (const bool lacks_room : {false, true}) {
    for (const std::uint64_t seed : {FailingDevice::kDropAll, FailingDevice::kKeepAll,
                                     std::uint64_t{3}, std::uint64_t{4}}) {
      bool was_lost = true;
      for (std::uint64_t skip = 0; was_lost && !HasFailure(); ++skip) {
        SCOPED_TRACE("skip " + std::to_string(skip) + " seed " + std::to_string(seed));
        FailingDevice device;
        const Committed made = run_small(&device, skip, lacks_room);
        was_lost = device.has_lost_power();
        device.clear_faults();
        device.crash_power(seed);
        expect_kept(&device, made);
      }
    }
  }
}

}  // namespace
}  // namespace foedus::log::testing::log_ahead_test
