// Failures of the simulated device: a failed sync and a failed write leave random sectors, which
// the seed alone decides.
#include "tests/testing/failing_device.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace foedus::testing::failing_device_test {
namespace {

constexpr std::size_t kSector = 512;
constexpr std::size_t kSectors = 16;

// A file of sectors of 'o', synced.
std::unique_ptr<device::File> make_old(FailingDevice* device) {
  auto file = std::move(device->open("f", device::Access::kCreate)).value();
  const std::string old(kSectors * kSector, 'o');
  EXPECT_TRUE(file->write_at(0, old.data(), old.size()).is_ok());
  EXPECT_TRUE(file->sync().is_ok());
  EXPECT_TRUE(device->sync_directory().is_ok());
  return file;
}

Status write_all(device::File* file, char what) {
  const std::string bytes(kSectors * kSector, what);
  return file->write_at(0, bytes.data(), bytes.size());
}

// Returns the first byte of each sector; all other bytes of the sector must equal it.
std::string sectors_of(const FailingDevice& device) {
  const std::vector<char> bytes = device.bytes_of("f");
  std::string firsts;
  for (std::size_t at = 0; at < bytes.size(); at += kSector) {
    firsts += bytes[at];
    for (std::size_t i = 1; i < kSector; ++i) EXPECT_EQ(bytes[at + i], bytes[at]);
  }
  return firsts;
}

std::string after_failed_sync(std::uint64_t seed) {
  FailingDevice device;
  const auto file = make_old(&device);
  EXPECT_TRUE(write_all(file.get(), 'n').is_ok());
  device.fail(Call::kSync, 0, EIO);
  EXPECT_FALSE(file->sync().is_ok());
  EXPECT_EQ(sectors_of(device), std::string(kSectors, 'n'));  // reads see the new bytes
  EXPECT_TRUE(file->sync().is_ok());                          // it does not concern them
  device.crash_power(seed);
  return sectors_of(device);
}

// V2. Goal: sectors that a failed sync gave up survive in part, even if a later sync succeeds.
TEST(FailingDeviceTest, each_sector_that_a_failed_sync_gave_up_survives_by_chance) {
  EXPECT_EQ(after_failed_sync(FailingDevice::kDropAll), std::string(kSectors, 'o'));
  EXPECT_EQ(after_failed_sync(FailingDevice::kKeepAll), std::string(kSectors, 'n'));
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string left = after_failed_sync(seed);
    EXPECT_EQ(left, after_failed_sync(seed));
    EXPECT_NE(left.find('o'), std::string::npos);
    EXPECT_NE(left.find('n'), std::string::npos);
    seen.insert(left);
  }
  EXPECT_GT(seen.size(), 15u);
}

TEST(FailingDeviceTest, what_was_written_and_synced_since_is_never_older) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FailingDevice device;
    const auto file = make_old(&device);
    ASSERT_TRUE(write_all(file.get(), 'n').is_ok());
    device.fail(Call::kSync, 0, EIO);
    ASSERT_FALSE(file->sync().is_ok());
    // The write covers some whole sectors and half of the next one; the file is then cut within
    // another.
    const std::string some(2 * kSector + kSector / 2, 's');
    ASSERT_TRUE(file->write_at(0, some.data(), some.size()).is_ok());
    ASSERT_TRUE(file->truncate(5 * kSector + 7).is_ok());
    ASSERT_TRUE(file->sync().is_ok());
    device.crash_power(seed);
    const std::vector<char> left = device.bytes_of("f");
    ASSERT_EQ(left.size(), 5 * kSector + 7);
    EXPECT_EQ(std::string(left.data(), some.size()), some);
    EXPECT_TRUE(left[some.size()] == 'n' || left[some.size()] == 'o');
  }
}

TEST(FailingDeviceTest, reads_may_see_what_a_failed_sync_has_left) {
  std::set<std::string> seen;
  for (const std::uint64_t seed : {FailingDevice::kDropAll, std::uint64_t{1}, std::uint64_t{2}}) {
    FailingDevice device;
    device.reread_after_failed_sync(seed);
    const auto file = make_old(&device);
    ASSERT_TRUE(write_all(file.get(), 'n').is_ok());
    device.fail(Call::kSync, 0, EIO);
    ASSERT_FALSE(file->sync().is_ok());
    const std::string left = sectors_of(device);
    EXPECT_EQ(left == std::string(kSectors, 'o'), seed == FailingDevice::kDropAll);
    ASSERT_TRUE(file->sync().is_ok());
    device.crash_power(3);
    EXPECT_EQ(sectors_of(device), left);
    seen.insert(left);
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(FailingDeviceTest, a_write_that_fails_has_written_any_number_of_its_first_sectors) {
  std::set<std::size_t> parts;
  for (int writes = 0; writes < 120; ++writes) {
    FailingDevice device;
    const auto file = make_old(&device);
    for (int i = 0; i < writes; ++i) ASSERT_TRUE(write_all(file.get(), 'o').is_ok());
    device.fail(Call::kWrite, 0, EIO);
    ASSERT_FALSE(write_all(file.get(), 'n').is_ok());
    const std::string left = sectors_of(device);
    const std::size_t part = left.find('o') == std::string::npos ? kSectors : left.find('o');
    EXPECT_EQ(left.find('n', part), std::string::npos);
    parts.insert(part);
  }
  EXPECT_GT(parts.size(), kSectors / 2);
  EXPECT_TRUE(parts.contains(0));
  EXPECT_TRUE(parts.contains(kSectors));
}

TEST(FailingDeviceTest, a_removed_file_has_room_as_long_as_it_is_open) {
  FailingDevice device;
  auto file = make_old(&device);
  auto again = *device.open("f", device::Access::kRead);
  const std::uint64_t used = device.used_bytes();
  ASSERT_GT(used, 0u);
  ASSERT_TRUE(device.remove("f").is_ok());
  file.reset();
  EXPECT_EQ(device.used_bytes(), used);
  again.reset();
  EXPECT_EQ(device.used_bytes(), 0u);
}

TEST(FailingDeviceTest, a_linked_name_is_durable_once_its_directory_is_synced) {
  FailingDevice device;
  const auto file = make_old(&device);
  FailingDevice other;
  ASSERT_TRUE(device.link("f", &other).is_ok());
  EXPECT_EQ(other.calls(Call::kLink), 1u);
  EXPECT_EQ(sectors_of(other), sectors_of(device));
  EXPECT_EQ(device.link("f", &other).code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(device.link("g", &other).code(), ErrorCode::kNotFound);
  other.crash_power(FailingDevice::kDropAll);
  EXPECT_FALSE(other.exists("f"));
  ASSERT_TRUE(device.link("f", &other).is_ok());
  ASSERT_TRUE(other.sync_directory().is_ok());
  ASSERT_TRUE(device.remove("f").is_ok());
  other.crash_power(FailingDevice::kDropAll);
  EXPECT_EQ(sectors_of(other), std::string(kSectors, 'o'));
}

}  // namespace
}  // namespace foedus::testing::failing_device_test
