// ctest-labels: crash
// The slots of the savepoint under crashes that tear them, one after the other.
#include "foedus-core/log/savepoint.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "tests/log/log_harness.h"

namespace foedus::log::testing {
namespace {

constexpr std::size_t kSlotBytesOfSavepoint = 4096;
const std::string kName{kSavepointName};

// The `loggers` of its incarnation have a segment each.
Savepoint next_of(const Savepoint& last, std::uint32_t loggers) {
  Savepoint next = last;
  ++next.incarnation;
  next.logger_count = loggers;
  for (std::uint32_t soc = 0; soc < loggers; ++soc) next.loggers[soc].newest = 1;
  return next;
}

// Written, and torn by a crash.
void write_and_crash(FailingDevice* device, Savepoint savepoint, std::uint64_t seed) {
  device->fail(Call::kSync, 0, EIO, true);
  ASSERT_EQ(write_savepoint(device, &savepoint).error_number(), EIO);
  device->crash_power(seed);
}

// Goal: L29. Method: of the second savepoint some sectors reached the device; a start goes on by
// the first one, and power fails while it writes a third, of which some sectors do.
TEST(SavepointSlots, what_a_crash_has_torn_is_not_made_whole_by_the_next_one) {
  constexpr std::uint64_t kSeeds = 32;
  int torn_twice = 0;
  for (std::uint64_t first = 2; first < 2 + kSeeds; ++first) {
    FailingDevice device;
    Savepoint empty = empty_savepoint();
    ASSERT_OK(create_savepoint(&device, &empty));
    write_and_crash(&device, next_of(empty, 4), first);
    const auto found = read_savepoint(&device);
    ASSERT_OK(found.status());
    if (found->sequence != empty.sequence) continue;  // it is all there
    for (std::uint64_t second = 2; second < 2 + kSeeds; ++second) {
      const auto next_device = device.copy();
      ASSERT_OK(rewrite_savepoint(next_device.get(), *found));
      write_and_crash(next_device.get(), next_of(*found, 1), second);
      const auto last = read_savepoint(next_device.get());
      ASSERT_OK(last.status());
      ASSERT_NE(last->logger_count, 4u) << "seeds " << first << " " << second;
      torn_twice += last->logger_count == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(torn_twice, FailingDevice::is_persistent_memory() ? -1 : 100);
}

// Goal: the same where the first start could not sync the slot that it cleared, and the next one
// sees zeroes there that the device never got (V2).
TEST(SavepointSlots, what_was_cleared_without_a_sync_is_cleared_again) {
  constexpr std::uint64_t kSeeds = 32;
  for (std::uint64_t first = 2; first < 2 + kSeeds; ++first) {
    FailingDevice device;
    Savepoint empty = empty_savepoint();
    ASSERT_OK(create_savepoint(&device, &empty));
    write_and_crash(&device, next_of(empty, 4), first);
    const auto found = read_savepoint(&device);
    ASSERT_OK(found.status());
    if (found->sequence != empty.sequence) continue;  // it is all there
    device.fail(Call::kSync, 0, EIO);
    ASSERT_EQ(rewrite_savepoint(&device, *found).error_number(), EIO);
    device.crash_process();
    for (std::uint64_t second = 2; second < 2 + kSeeds; ++second) {
      const auto next_device = device.copy();
      ASSERT_OK(rewrite_savepoint(next_device.get(), *found));
      write_and_crash(next_device.get(), next_of(*found, 1), second);
      const auto last = read_savepoint(next_device.get());
      ASSERT_OK(last.status());
      ASSERT_NE(last->logger_count, 4u) << "seeds " << first << " " << second;
    }
  }
}

// Goal: the slot that is written next stays if it is whole, with the oldest savepoint, and goes if
// it is not.
TEST(SavepointSlots, an_oldest_one_that_is_whole_stays_and_one_that_is_not_goes) {
  FailingDevice device;
  Savepoint savepoint = empty_savepoint();
  ASSERT_OK(create_savepoint(&device, &savepoint));
  while (savepoint.sequence < kSavepointSlots) ASSERT_OK(write_savepoint(&device, &savepoint));
  std::vector<char> bytes = device.bytes_of(kName);
  ASSERT_OK(rewrite_savepoint(&device, savepoint));
  EXPECT_EQ(device.bytes_of(kName), bytes);
  device.overwrite(kName, kSlotBytesOfSavepoint + 512, "torn");
  ASSERT_OK(rewrite_savepoint(&device, savepoint));
  std::fill_n(bytes.begin() + kSlotBytesOfSavepoint, kSlotBytesOfSavepoint, '\0');
  EXPECT_EQ(device.bytes_of(kName), bytes);
  device.crash_power(FailingDevice::kDropAll);
  EXPECT_EQ(device.bytes_of(kName), bytes);
}

// Goal: one that a device has cut behind its second slot, which has the first savepoint, serves,
// and has the place of the next.
TEST(SavepointSlots, a_slot_that_is_not_there_is_made) {
  FailingDevice device;
  Savepoint savepoint = empty_savepoint();
  ASSERT_OK(create_savepoint(&device, &savepoint));
  ASSERT_OK(write_savepoint(&device, &savepoint));
  std::vector<char> bytes = device.bytes_of(kName);
  bytes.resize(3 * kSlotBytesOfSavepoint);
  std::fill(bytes.begin() + 2 * kSlotBytesOfSavepoint, bytes.end(), '\0');
  for (const std::size_t kept : {2 * kSlotBytesOfSavepoint, 2 * kSlotBytesOfSavepoint + 100}) {
    device.set_size(kName, kept);
    const auto found = read_savepoint(&device);
    ASSERT_OK(found.status());
    EXPECT_EQ(found->sequence, 1u);
    ASSERT_OK(rewrite_savepoint(&device, *found));
    EXPECT_EQ(device.bytes_of(kName), bytes);
  }
}

// Goal: no more than one slot is torn at a time, for a start clears one (L29). Method: the first
// attempt fails, of the write or of its sync; the second one goes to the same place.
TEST(SavepointSlots, a_second_attempt_goes_to_the_slot_of_the_first) {
  for (const Call kind : {Call::kWrite, Call::kSync}) {
    FailingDevice device;
    Savepoint savepoint = empty_savepoint();
    ASSERT_OK(create_savepoint(&device, &savepoint));
    std::vector<std::uint64_t> written;
    device.set_observer([&](const foedus::testing::CallSeen& call) {
      if (call.kind == Call::kWrite) written.push_back(call.offset / kSlotBytesOfSavepoint);
    });
    device.fail(kind, 0, EIO);
    ASSERT_OK(write_savepoint(&device, &savepoint));
    ASSERT_OK(write_savepoint(&device, &savepoint));
    device.set_observer({});
    EXPECT_EQ(written, (std::vector<std::uint64_t>{2, 2, 3}));
  }
}

// Goal: no slot is written before all others were, so that no memory wears before the rest.
TEST(SavepointSlots, all_of_them_are_written_in_turn) {
  FailingDevice device;
  Savepoint savepoint = empty_savepoint();
  ASSERT_OK(create_savepoint(&device, &savepoint));
  std::vector<int> writes(kSavepointSlots);
  device.set_observer([&](const foedus::testing::CallSeen& call) {
    if (call.kind == Call::kWrite) ++writes.at(call.offset / kSlotBytesOfSavepoint);
  });
  for (std::size_t i = 0; i < 2 * kSavepointSlots; ++i) {
    savepoint.incarnation = i + 1;
    ASSERT_OK(write_savepoint(&device, &savepoint));
    ASSERT_EQ(read_savepoint(&device)->incarnation, i + 1);
  }
  device.set_observer({});
  EXPECT_EQ(writes, std::vector<int>(kSavepointSlots, 2));
}

}  // namespace
}  // namespace foedus::log::testing
