// ctest-labels: crash memory
// NvmPages in a file that grows into space that the device lends, without a loss of pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "tests/snapshot/kept_pages.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/test_database.h"

namespace foedus::snapshot::nvm_pages_growth_test {
namespace {

using page::PageBytes;
using testing::Call;
using testing::CallSeen;
using testing::FailingDevice;
using testing::must;

// A device that lends space to a file that grows.
class LendingDevice final : public FailingDevice {
 public:
  std::uint64_t lend_room(std::uint64_t most, bool moves) override {
    wants_room_ = wants_room_ || moves;
    const std::uint64_t lent = std::min(most, room);
    room -= lent;
    return lent;
  }
  void return_room(std::uint64_t bytes) override { room += bytes; }
  void keep_lent(std::uint64_t bytes) override { room -= bytes; }
  bool wants_room() const override { return wants_room_; }

  std::uint64_t room = 0;

 private:
  bool wants_room_ = false;
};

class NvmPagesGrowthTest : public KeptPagesTest {
 protected:
  static constexpr std::uint64_t kStep = NvmPages::kStepBytes;
  NvmPagesGrowthTest() {
    lending.room = kBytes - kStep;
    reopen();
  }
  void reopen() {
    pages.reset();
    pages = NvmPages::open(&lending, kStep, kBytes);
    must(pages->adopt(kName));
  }
  std::uint64_t lent() const { return kBytes - kStep - lending.room; }
  void add_twice(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i <= to; ++i) {
      for (int time = 0; time < 2; ++time) add(i);
    }
  }

  LendingDevice lending;
};

// Pages that come for the first time get free slots.
TEST_F(NvmPagesGrowthTest, free_room_is_for_all_pages) {
  for (std::uint32_t i = 1; i <= 2'000; ++i) add(i);
  EXPECT_EQ(lending.room, 0u);
  EXPECT_FALSE(lending.wants_room());
  // In the end no slot has a page that cannot be found any more.
  for (std::uint32_t i = 2'001; i <= 6'000; ++i) add(i);
  EXPECT_EQ(count_found(1, 6'000), kSlots);
  EXPECT_LE(lending.used_bytes(), kBytes + page::kPageBytes);
}

TEST_F(NvmPagesGrowthTest, room_of_others_is_for_pages_that_come_again) {
  lending.room = 0;
  for (std::uint32_t i = 1; i <= 1'000; ++i) add(i);
  EXPECT_FALSE(lending.wants_room());
  EXPECT_EQ(count_found(1, 1'000), kStep / page::kPageBytes);
  add_twice(2'001, 2'100);
  EXPECT_TRUE(lending.wants_room());
  EXPECT_EQ(lending.used_bytes(), kStep + page::kPageBytes);
  lending.room = kStep;
  add_twice(3'001, 3'100);
  EXPECT_EQ(lending.room, 0u);
  EXPECT_EQ(lending.used_bytes(), 2 * kStep + page::kPageBytes);
}

TEST_F(NvmPagesGrowthTest, growth_loses_no_page) {
  lending.room = 0;
  for (std::uint32_t i = 1; i <= 1'000; ++i) add(i);
  std::vector<std::uint32_t> here;
  for (std::uint32_t i = 1; i <= 1'000; ++i) {
    if (read(i) == NvmPages::Found::kPage) here.push_back(i);
  }
  EXPECT_EQ(here.size(), kStep / page::kPageBytes);
  lending.room = kBytes - kStep;
  for (std::uint32_t i = 2'001; lending.room != 0; ++i) add(i);
  for (const std::uint32_t i : here) EXPECT_EQ(read(i), NvmPages::Found::kPage) << i;
}

// Each set gets its part of the growth, so new pages fill it, whatever their hash.
TEST_F(NvmPagesGrowthTest, every_set_gets_a_slot) {
  lending.room = 0;
  for (std::uint32_t i = 1; i <= 1'000; ++i) add(i);
  EXPECT_EQ(pages->statistics().pages, kStep / page::kPageBytes);
  lending.room = kStep;
  // The first page finds no slot, and lets the file grow.
  for (std::uint32_t i = 2'001; i <= 2'033; ++i) add(i);
  EXPECT_EQ(lending.room, 0u);
  EXPECT_GE(count_found(2'002, 2'033), 20u);
}

// The file grows by whole ways.
TEST_F(NvmPagesGrowthTest, a_part_of_a_way_is_returned) {
  constexpr std::uint64_t kMost = NvmPages::kWaysMost * 2 * kStep;
  constexpr std::uint64_t kWay = 2 * kStep;
  ASSERT_EQ(NvmPages::way_bytes(kMost), kWay);
  ASSERT_EQ(NvmPages::way_bytes(kMost - 1), kWay);
  ASSERT_EQ(NvmPages::way_bytes(kMost + NvmPages::kWaysMost), 3 * kStep);
  ASSERT_EQ(NvmPages::way_bytes(kStep), kStep);
  pages.reset();
  lending.room = kWay + kStep;
  pages = NvmPages::open(&lending, 4 * kWay, kMost);
  must(pages->adopt(kName));
  for (std::uint32_t i = 1; i <= 2'000; ++i) add(i);
  EXPECT_EQ(lending.room, kStep);
  EXPECT_EQ(lending.used_bytes(), 5 * kWay + page::kPageBytes);
}

TEST_F(NvmPagesGrowthTest, a_restart_finds_the_pages_and_the_room) {
  for (int round = 0; round < 4; ++round) add_twice(1, 150);
  const std::uint32_t found = count_found(1, 150);
  EXPECT_GT(found, 100u);
  const std::uint64_t before = lent();
  lending.room = kBytes - kStep;
  reopen();
  EXPECT_EQ(lent(), before);
  PageBytes to = {};
  std::uint32_t again = 0;
  std::uint32_t here = 0;
  for (std::uint32_t i = 1; i <= 150; ++i) {
    if (pages->read(id_of(i), to.header()) == NvmPages::Found::kNothing) continue;
    EXPECT_TRUE(is_whole(to, i));
    here = i;
    ++again;
  }
  EXPECT_EQ(again, found);
  // A larger capacity uses the same file; with a smaller one a file of too many slots is replaced.
  pages.reset();
  pages = NvmPages::open(&lending, kStep, 2 * kBytes);
  must(pages->adopt(kName));
  EXPECT_EQ(pages->read(id_of(here), to.header()), NvmPages::Found::kUnverified);
  pages.reset();
  pages = NvmPages::open(&lending, kStep, kBytes / 2);
  must(pages->adopt(kName));
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  pages = NvmPages::open(&lending, kStep, kBytes / 2);
  must(pages->adopt(kName + 1));
  EXPECT_EQ(lending.used_bytes(), kStep + page::kPageBytes);
}

// The place of a slot depends on the number of sets.
TEST_F(NvmPagesGrowthTest, a_file_of_other_sets_is_made_anew) {
  const auto reopen_with = [&](std::uint64_t way) {
    pages.reset();
    pages = NvmPages::open(&lending, 4 * way, NvmPages::kWaysMost * way);
    must(pages->adopt(kName));
  };
  reopen_with(2 * kStep);
  for (std::uint32_t i = 1; i <= 200; ++i) add(i);
  reopen_with(kStep);
  EXPECT_EQ(lending.used_bytes(), 4 * kStep + page::kPageBytes);
  for (std::uint32_t i = 1; i <= 200; ++i) EXPECT_FALSE(pages->has(id_of(i)));
}

TEST_F(NvmPagesGrowthTest, a_device_that_cannot_grow_keeps_what_there_is) {
  lending.set_capacity(3 * kStep);
  for (int round = 0; round < 4; ++round) add_twice(1, 250);
  EXPECT_EQ(lent(), kStep);
  EXPECT_GT(count_found(1, 250), 80u);
  lending.set_capacity(kBytes * 2);
  add_twice(1, 250);
  EXPECT_EQ(lent(), kStep);  // no further request
}

// K27: no page is found or kept without a known history. Here the history is lost while a page is
// kept.
TEST_F(NvmPagesGrowthTest, a_failed_adoption_is_no_reason_to_grow) {
  lending.room = 0;
  for (std::uint32_t i = 1; i <= 200; ++i) add(i);
  bool has_failed = false;
  lending.set_observer([&](const CallSeen& call) {
    if (call.kind != Call::kWrite || call.bytes->size() != page::kPageBytes || has_failed) return;
    has_failed = true;
    lending.room = kBytes;
    lending.fail(Call::kWrite, 0, EIO);
    EXPECT_EQ(pages->adopt(kName + 1).code(), ErrorCode::kIoError);
  });
  for (std::uint32_t i = 301; !has_failed; ++i) add_twice(i, i);
  lending.set_observer({});
  EXPECT_EQ(count_found(1, 400), 0u);
}

// K29: power fails at each call of growth; pages that are found afterwards are whole.
TEST_F(NvmPagesGrowthTest, a_power_failure_in_growth_leaves_whole_pages) {
  add_twice(1, 60);
  must(lending.sync_directory());
  for (std::uint64_t skip = 0; skip < 40; ++skip) {
    const auto copy = lending.copy();
    {
      const auto growing = NvmPages::open(copy.get(), kStep, kBytes);
      must(growing->adopt(kName));
      copy->lose_power_after(skip);
      for (std::uint32_t i = 100; i <= 150; ++i) {
        for (int time = 0; time < 2; ++time) growing->add(id_of(i), page_bytes_of(i).header());
      }
    }
    copy->crash_power(skip % 2 == 0 ? FailingDevice::kDropAll : FailingDevice::kKeepAll);
    const auto again = NvmPages::open(copy.get(), kStep, kBytes);
    must(again->adopt(kName));
    PageBytes to = {};
    std::uint32_t found = 0;
    for (std::uint32_t i = 1; i <= 150; ++i) {
      if (again->read(id_of(i), to.header()) == NvmPages::Found::kNothing) continue;
      if (is_whole(to, i)) ++found;
    }
    // Unsynced sectors of a disk may be lost.
    if (skip % 2 != 0 || FailingDevice::is_persistent_memory()) {
      EXPECT_GT(found, 20u) << "call " << skip;
    }
    again->add(id_of(200), page_bytes_of(200).header());
    again->add(id_of(200), page_bytes_of(200).header());
    EXPECT_EQ(again->read(id_of(200), to.header()), NvmPages::Found::kPage);
    EXPECT_TRUE(is_whole(to, 200));
  }
}

}  // namespace
}  // namespace foedus::snapshot::nvm_pages_growth_test
