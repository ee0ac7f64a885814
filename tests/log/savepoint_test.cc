// ctest-labels: crash
// The slots of the savepoint under crashes that tear them, one after another.
#include "foedus-core/log/savepoint.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "tests/log/log_harness.h"

namespace foedus::log::testing::savepoint_test {
namespace {

constexpr std::size_t kSlotBytesOfSavepoint = 4096;
const std::string kName{kSavepointName};

// Returns the next savepoint, whose `loggers` have a segment each.
Savepoint next_of(const Savepoint& last, std::uint32_t loggers) {
  Savepoint next = last;
  ++next.incarnation;
  next.logger_count = loggers;
  for (std::uint32_t soc = 0; soc < loggers; ++soc) next.loggers[soc].newest = 1;
  return next;
}

// Writes a savepoint, which a crash tears.
void write_and_crash(FailingDevice* device, Savepoint savepoint, std::uint64_t seed) {
  device->fail(Call::kSync, 0, EIO, true);
  ASSERT_EQ(write_savepoint(device, &savepoint).error_number(), EIO);
  device->crash_power(seed);
}

constexpr std::uint64_t kSeedsBegin = 2;
constexpr std::uint64_t kSeedsEnd = 34;
constexpr std::uint32_t kLoggersTorn = 4;

// Makes a device with a first savepoint, which is returned, and the next one, torn by a crash.
// Returns nullopt if that one is whole.
std::optional<Savepoint> make_torn(FailingDevice* device, std::uint64_t seed) {
  Savepoint first = empty_savepoint();
  EXPECT_TRUE(create_savepoint(device, &first).is_ok());
  write_and_crash(device, next_of(first, kLoggersTorn), seed);
  const auto found = read_savepoint(device);
  EXPECT_TRUE(found.is_ok()) << found.status().message();
  if (!found.is_ok() || found->sequence != first.sequence) return std::nullopt;
  return *found;
}

// Starts on a copy of the device, tears the next savepoint there, and returns the valid one.
Savepoint start_and_tear(const FailingDevice& device, const Savepoint& found, std::uint64_t seed) {
  const auto next_device = device.copy();
  EXPECT_TRUE(rewrite_savepoint(next_device.get(), found).is_ok());
  write_and_crash(next_device.get(), next_of(found, 1), seed);
  const auto last = read_savepoint(next_device.get());
  EXPECT_TRUE(last.is_ok()) << last.status().message();
  return last.is_ok() ? *last : found;
}

// Goal: L29. Method: some sectors of the second savepoint reached the device. A start uses the
// first one, and power fails while it writes a third, of which some sectors reach the device.
TEST(SavepointSlotsTest, what_a_crash_has_torn_is_not_made_whole_by_the_next_one) {
  int torn_twice = 0;
  for (std::uint64_t first = kSeedsBegin; first < kSeedsEnd; ++first) {
    FailingDevice device;
    const auto found = make_torn(&device, first);
    if (!found.has_value()) continue;
    for (std::uint64_t second = kSeedsBegin; second < kSeedsEnd; ++second) {
      const Savepoint last = start_and_tear(device, *found, second);
      ASSERT_NE(last.logger_count, kLoggersTorn) << "seeds " << first << " " << second;
      torn_twice += last.logger_count == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(torn_twice, FailingDevice::is_persistent_memory() ? -1 : 100);
}

// Goal: L29 after a start that could not sync the slot that it had cleared. The next start sees
// zeroes there that the device never got (V2).
TEST(SavepointSlotsTest, what_was_cleared_without_a_sync_is_cleared_again) {
  for (std::uint64_t first = kSeedsBegin; first < kSeedsEnd; ++first) {
    FailingDevice device;
    const auto found = make_torn(&device, first);
    if (!found.has_value()) continue;
    device.fail(Call::kSync, 0, EIO);
    ASSERT_EQ(rewrite_savepoint(&device, *found).error_number(), EIO);
    device.crash_process();
    for (std::uint64_t second = kSeedsBegin; second < kSeedsEnd; ++second) {
      const Savepoint last = start_and_tear(device, *found, second);
      ASSERT_NE(last.logger_count, kLoggersTorn) << "seeds " << first << " " << second;
    }
  }
}

// Goal: the slot that is written next is kept if it is whole, with the oldest savepoint, and
// cleared if it is not.
TEST(SavepointSlotsTest, an_oldest_one_that_is_whole_stays_and_one_that_is_not_goes) {
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

// Goal: a savepoint file that was cut after its second slot, which has the first savepoint, can be
// used, and gets the slot for the next one. Method: of the second savepoint, nothing, a part, or
// all but the zeroes at its end is left.
TEST(SavepointSlotsTest, a_slot_that_is_not_there_is_made) {
  FailingDevice device;
  Savepoint savepoint = empty_savepoint();
  ASSERT_OK(create_savepoint(&device, &savepoint));
  ASSERT_OK(write_savepoint(&device, &savepoint));
  std::vector<char> bytes = device.bytes_of(kName);
  bytes.resize(3 * kSlotBytesOfSavepoint);
  std::fill(bytes.begin() + 2 * kSlotBytesOfSavepoint, bytes.end(), '\0');
  for (const std::size_t kept : {std::size_t{0}, std::size_t{100}, sizeof(Savepoint)}) {
    const auto cut = device.copy();
    cut->set_size(kName, 2 * kSlotBytesOfSavepoint + kept);
    const auto found = read_savepoint(cut.get());
    ASSERT_OK(found.status());
    EXPECT_EQ(found->sequence, 1u);
    ASSERT_OK(rewrite_savepoint(cut.get(), *found));
    EXPECT_EQ(cut->bytes_of(kName), bytes) << kept;
  }
}

// Goal: a slot that no run has written is not used, though it checks out. Method: the number of the
// first savepoint is 1; here it is 0.
TEST(SavepointSlotsTest, a_slot_with_number_0_is_refused) {
  FailingDevice device;
  Savepoint savepoint = empty_savepoint();
  savepoint.sequence = ~std::uint64_t{0};
  ASSERT_OK(create_savepoint(&device, &savepoint));
  EXPECT_EQ(savepoint.sequence, 0u);
  EXPECT_EQ(read_savepoint(&device).code(), ErrorCode::kCorruption);
}

// Goal: no more than one slot is torn at a time, because a start clears one (L29). Method: the
// first attempt fails, of the write or of its sync; the second one goes to the same place.
TEST(SavepointSlotsTest, a_second_attempt_goes_to_the_slot_of_the_first) {
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

// Goal: no slot is written again before all others were, so that all wear evenly.
TEST(SavepointSlotsTest, all_of_them_are_written_in_turn) {
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
}  // namespace foedus::log::testing::savepoint_test
