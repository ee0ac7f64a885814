// ctest-labels: crash memory
// StagingBuffer: whatever call power fails at, an acknowledged page is not lost, torn or replaced
// by an older version; damage is found.
#include "foedus-core/device/staging/buffer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "foedus-core/base/crc32c.h"
#include "tests/testing/staged_pages.h"

namespace foedus::device::staging_recovery_test {
namespace {

using testing::Call;
using testing::FailingDevice;
using testing::file_name;
using testing::must;
using testing::one_partition;
using testing::page_of;
using testing::small;
using testing::SpreadDisk;
using testing::Staged;
using testing::Versions;

using StagingRecoveryTest = testing::StagedFilesTest;

// ---- power failures ----------------------------------------------------------------------------

template <typename Act, typename Check>
std::uint64_t at_each_call(const SpreadDisk& disk, Act act, Check check) {
  return testing::at_each_call(disk, [](SpreadDisk* copy) { return copy; }, act, check);
}

// V27 to V30: the first calls make the areas.
TEST_F(StagingRecoveryTest, a_power_failure_at_any_call_loses_nothing_that_was_acknowledged) {
  for (const StagingSpread spread : {StagingSpread::kEven, StagingSpread::kSingle}) {
    Versions acknowledged;
    Versions tried;
    const auto act = [&](SpreadDisk* left) {
      Staged staged(left, small(spread));
      acknowledged.clear();
      tried.clear();
      if (!staged.open().is_ok()) return;
      static_cast<void>(staged.write_some(16, 11));
      acknowledged = staged.acknowledged();
      tried = staged.tried();
    };
    const auto check = [&](SpreadDisk* left) {
      Staged again(left, small(spread));
      must(again.open());
      EXPECT_EQ(Staged::difference_of(left, acknowledged, tried), "");
      EXPECT_EQ(again.write_some(6, 12), 6u);
      must(again->flush());
      EXPECT_EQ(again.difference(), "");
    };
    EXPECT_GT(at_each_call(disk, act, check), 60u);
  }
}

// There are many crashes, because a crash can leave a new file in many states.
TEST_F(StagingRecoveryTest, a_power_failure_while_areas_are_made_leaves_what_can_be_opened) {
  for (std::uint64_t how = 3; how < 60; ++how) {
    for (std::uint64_t calls = 0; calls < 12 && !HasFailure(); ++calls) {
      SCOPED_TRACE("call " + std::to_string(calls) + ", crash " + std::to_string(how));
      const auto copy = disk.copy();
      copy->lose_power_after(calls);
      static_cast<void>(Staged(copy.get(), small()).open().is_ok());
      copy->crash_power(how);
      Staged again(copy.get(), small());
      must(again.open());
    }
  }
}

// V28. Method: the first use of a bucket leaves whole slots, whose versions are old by the next
// life. That one writes to the first slot of the bucket only.
TEST_F(StagingRecoveryTest, sequence_numbers_go_on_after_a_restart) {
  Staged first(&disk, one_partition(2));
  must(first.open());
  must(first.write(1, 0, 4));
  must(first.write(1, 0, 4));
  must(first->flush());
  first.close();
  Staged second(&disk, one_partition(2));
  must(second.open());
  must(second.write(2, 0));
  second.close();
  Staged third(&disk, one_partition(2));
  must(third.open());
  EXPECT_EQ(first.difference(), "");
  EXPECT_EQ(second.difference(), "");
}

// Recovery does not write a bucket a second time, over later pages.
TEST_F(StagingRecoveryTest, recovery_ends_the_buckets_that_it_has_written) {
  Staged first(&disk, one_partition(2));
  must(first.open());
  must(first.write(1, 0, 4));
  must(first->flush());
  must(first.write(1, 0));  // to the second bucket
  first.close();
  Staged second(&disk, one_partition(2));
  must(second.open());
  EXPECT_EQ(first.difference(), "");
  must(second.write(1, 0, 4));  // to the first one
  must(second->flush());
  second.close();
  recover(one_partition(2));
  EXPECT_EQ(second.difference(), "");
}

// Goal: a use of a bucket after a crash does not include slots of an earlier use. Method: two lives
// of few writes that end with crashes, so that both use the same slots.
TEST_F(StagingRecoveryTest, slots_of_an_earlier_life_do_not_count) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    Staged first(&disk, small(), seed);
    must(first.open());
    EXPECT_EQ(first.write_some(20, seed), 20u);
    must(first->flush());
    EXPECT_EQ(first.difference(), "");
    const auto act = [&](SpreadDisk* left) {
      Staged second(left, small(), seed);
      if (second.open().is_ok()) static_cast<void>(second.write(1, 0).is_ok());
    };
    const auto check = [&](SpreadDisk* left) {
      Staged third(left, small());
      must(third.open());
      for (const auto& [name, version] : first.acknowledged()) {
        if (name == std::pair<std::uint64_t, std::uint64_t>(1, 0)) continue;
        const std::string bytes = Staged::in_file(left, name.first, name.second);
        EXPECT_EQ(bytes, page_of(name.first, name.second, version));
      }
    };
    EXPECT_GE(at_each_call(disk, act, check), 3u);
    first.close();
  }
}

TEST_F(StagingRecoveryTest, a_power_failure_at_any_call_of_recovery_is_recovered_from) {
  Staged staged(&disk, small());
  must(staged.open());
  EXPECT_EQ(staged.write_some(16, 21), 16u);
  const auto act = [](SpreadDisk* left) {
    Staged again(left, small());
    static_cast<void>(again.open().is_ok());
  };
  const auto check = [&](SpreadDisk* left) {
    Staged again(left, small());
    must(again.open());
    EXPECT_EQ(Staged::difference_of(left, staged.acknowledged(), staged.tried()), "");
  };
  EXPECT_GT(at_each_call(disk, act, check), 8u);
}

// Goal: V29 for a process that has ended: its writes to files are visible and not durable. Method:
// it ends at each call, the next one recovers and goes on, and then power fails.
TEST_F(StagingRecoveryTest, an_end_of_the_process_and_a_power_failure_lose_nothing) {
  for (const std::uint64_t how : testing::kCrashes) {
    bool has_ended = false;
    for (std::uint64_t calls = 0; !has_ended && !HasFailure(); calls += 3) {
      SCOPED_TRACE("call " + std::to_string(calls) + ", crash " + std::to_string(how));
      const auto copy = disk.copy();
      Staged staged(copy.get(), small());
      copy->lose_power_after(calls);
      if (staged.open().is_ok()) static_cast<void>(staged.write_some(12, 31));
      has_ended = !copy->has_lost_power();
      copy->lose_power_after(~std::uint64_t{0});
      for (const auto& place : copy->disks()) place->crash_process();
      Staged again(copy.get(), small());
      must(again.open());
      copy->crash_power(how);
      EXPECT_EQ(Staged::difference_of(copy.get(), staged.acknowledged(), staged.tried()), "");
    }
  }
}

// ---- recovery ----------------------------------------------------------------------------------

TEST_F(StagingRecoveryTest, pages_of_a_file_that_is_gone_are_dropped) {
  {
    Staged staged(&disk, small());
    must(staged.open());
    must(staged.write(1, 2));
    must(staged.write(2, 2));
  }
  must(disk.b().remove(file_name(1)));
  Staged again(&disk, small());
  must(again.open());
  EXPECT_FALSE(disk.b().exists(file_name(1)));
  EXPECT_EQ(Staged::in_file(&disk, 2, 2), page_of(2, 2, 2));
}

// An error of resolve() does not mean that the file was removed.
TEST_F(StagingRecoveryTest, a_file_that_cannot_be_opened_stops_recovery) {
  {
    Staged staged(&disk, small());
    must(staged.open());
    must(staged.write(1, 2));
  }
  disk.b().fail(Call::kOpen, 0, EIO);
  Staged refused(&disk, small());
  EXPECT_EQ(refused.open().code(), ErrorCode::kIoError);
  recover();
  EXPECT_EQ(Staged::in_file(&disk, 1, 2), page_of(1, 2, 1));
}

// Versions of a page are in two partitions of the old shape.
TEST_F(StagingRecoveryTest, another_shape_and_spread_find_what_is_staged) {
  Staged staged(&disk, small(StagingSpread::kEven));
  must(staged.open());
  EXPECT_EQ(staged.write_some(12, 51), 12u);
  staged.close();
  StagingOptions other{.partitions = 1, .buckets = 3, .slots = 8, .flushers = 3};
  Staged again(&disk, other);
  must(again.open());
  EXPECT_EQ(staged.difference(), "");
  EXPECT_TRUE(disk.a().exists("staging-0"));
  EXPECT_FALSE(disk.a().exists("staging-1"));
  EXPECT_EQ(again.write_some(20, 52), 20u);
  must(again->flush());
  EXPECT_EQ(again.difference(), "");
}

// Offsets of an area with one bucket of four slots, as FORMAT.md has them.
constexpr std::uint64_t kWordAt = kBlockBytes;
constexpr std::uint64_t kKeysAt = kWordAt + kSectorBytes;
constexpr std::uint64_t kSlotsAt = 2 * kBlockBytes;

TEST_F(StagingRecoveryTest, a_damaged_slot_does_not_count_and_the_others_do) {
  for (const std::uint64_t offset : {kSlotsAt + kBlockBytes + 100, kKeysAt + 32 + 8,
                                     kKeysAt + 32 + 17, kKeysAt + 32 + 25, kKeysAt + 32}) {
    SCOPED_TRACE(offset);
    SpreadDisk fresh;
    make_files(&fresh);
    {
      Staged staged(&fresh, one_partition(1));
      must(staged.open());
      must(staged.write(1, 0, 3));
    }
    fresh.a().flip_bit("staging-0", offset, 2);
    Staged again(&fresh, one_partition(1));
    must(again.open());
    EXPECT_EQ(Staged::in_file(&fresh, 1, 0), page_of(1, 0, 1));
    EXPECT_EQ(Staged::in_file(&fresh, 1, 1), std::string(kBlockBytes, '\0'));
    EXPECT_EQ(Staged::in_file(&fresh, 1, 2), page_of(1, 2, 1));
  }
}

// Returns the error of open() after damage to the only area. The error has the name of the area.
Status refusal(const SpreadDisk& disk, const std::function<void(FailingDevice*)>& damage) {
  const auto copy = disk.copy();
  damage(&copy->a());
  Staged again(copy.get(), one_partition(1));
  Status opened = again.open();
  EXPECT_FALSE(opened.is_ok());
  EXPECT_NE(opened.message().find("staging-0"), std::string::npos) << opened.message();
  return opened;
}

TEST_F(StagingRecoveryTest, a_damaged_area_is_refused_with_its_name) {
  {
    Staged staged(&disk, one_partition(1));
    must(staged.open());
    must(staged.write(1, 0, 3));
  }
  const auto flip = [&](std::uint64_t offset, unsigned bit) {
    return refusal(disk, [=](FailingDevice* device) { device->flip_bit("staging-0", offset, bit); })
        .code();
  };
  EXPECT_EQ(flip(0, 3), ErrorCode::kCorruption);
  EXPECT_EQ(flip(8, 1), ErrorCode::kWrongVersion);
  EXPECT_EQ(flip(13, 1), ErrorCode::kCorruption);
  EXPECT_EQ(flip(16, 2), ErrorCode::kCorruption);
  EXPECT_EQ(flip(kWordAt, 0), ErrorCode::kCorruption);  // "in use" becomes "empty"
  EXPECT_EQ(flip(kWordAt, 1), ErrorCode::kCorruption);
  EXPECT_EQ(flip(kWordAt + 7, 4), ErrorCode::kCorruption);
  const auto cut = [](FailingDevice* device) { device->set_size("staging-0", kSlotsAt); };
  EXPECT_EQ(refusal(disk, cut).code(), ErrorCode::kCorruption);
}

// An area whose buckets are empty may be cut without the loss of a page, and is refused all the
// same.
TEST_F(StagingRecoveryTest, an_area_that_is_too_short_for_its_buckets_is_refused) {
  ASSERT_TRUE(Staged(&disk, one_partition(2)).open().is_ok());
  const std::uint64_t whole = disk.a().size_of("staging-0");
  for (const std::uint64_t bytes :
       {whole - 1, whole - kBlockBytes, kBlockBytes, kWordAt - 1, std::uint64_t{24}}) {
    const Status refused =
        refusal(disk, [=](FailingDevice* device) { device->set_size("staging-0", bytes); });
    EXPECT_EQ(refused.code(), ErrorCode::kCorruption);
    const std::string why =
        "it has " + std::to_string(bytes) + " bytes, too few for 2 buckets of 4 slots";
    EXPECT_NE(refused.message().find(why), std::string::npos) << refused.message();
  }
}

// Returns a header with the right checksum, as FORMAT.md has it.
std::string header_of(std::uint64_t magic, std::uint32_t buckets, std::uint32_t slots) {
  std::uint64_t words[3] = {magic, 1, std::uint64_t{slots} << 32 | buckets};
  words[1] |= std::uint64_t{base::crc32c(words, sizeof(words))} << 32;
  return std::string(reinterpret_cast<const char*>(words), sizeof(words));
}

TEST_F(StagingRecoveryTest, a_forged_header_is_refused) {
  constexpr std::uint64_t kMagic = 0x4749415453444546;
  ASSERT_TRUE(Staged(&disk, one_partition(2)).open().is_ok());
  const auto forge = [&](const std::string& header) {
    const Status refused =
        refusal(disk, [&](FailingDevice* device) { device->overwrite("staging-0", 0, header); });
    EXPECT_EQ(refused.code(), ErrorCode::kCorruption);
    return refused.message();
  };
  const auto bytes = disk.a().bytes_of("staging-0");
  EXPECT_EQ(std::string(bytes.data(), 24), header_of(kMagic, 2, 4));
  EXPECT_NE(forge(header_of(kMagic + 1, 2, 4)).find("it does not begin like an area"),
            std::string::npos);
  // These buckets have 2^64 bytes together, which no word tells from none.
  EXPECT_NE(forge(header_of(kMagic, 1u << 20, 4'261'672'975))
                .find("too few for 1048576 buckets of 4261672975 slots"),
            std::string::npos);
  EXPECT_NE(forge(header_of(kMagic, ~0u, ~0u)).find("too few for"), std::string::npos);
}

}  // namespace
}  // namespace foedus::device::staging_recovery_test
