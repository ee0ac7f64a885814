// ctest-labels: concurrency crash memory
// NvmPages: a page that was kept is read as it was, or not at all, whatever is written to its slot
// meanwhile, before a restart or after a power failure.
#include "foedus-core/snapshot/nvm_pages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "foedus-core/device/file_device.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/snapshot_format.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/test_database.h"

namespace foedus::snapshot {
namespace {

using page::PageBytes;
using page::SnapshotNumber;
using page::SnapshotPageId;
using testing::Call;
using testing::CallSeen;
using testing::FailingDevice;
using testing::must;

constexpr std::uint64_t kBytes = 2u << 20;
constexpr std::uint64_t kSets = kBytes / page::kPageBytes / NvmPages::kWays;
constexpr std::uint64_t kName = 77;
constexpr std::uint64_t kFirstSlot = page::kPageBytes;

SnapshotPageId id_of(std::uint32_t number) { return {SnapshotNumber{3}, 1, number}; }

PageBytes page_of(std::uint32_t number) {
  PageBytes page = {};
  std::memset(page.bytes, static_cast<int>('a' + number % 26), sizeof(page.bytes));
  page.header()->page_id = id_of(number).word();
  const std::uint32_t crc = checksum_of(page.bytes, page::kPageBytes);
  std::memcpy(page.bytes + kChecksumOffset, &crc, sizeof(crc));
  return page;
}

bool is_whole(const PageBytes& page, std::uint32_t number) {
  return std::memcmp(page.bytes, page_of(number).bytes, page::kPageBytes) == 0;
}

class NvmPagesTest : public ::testing::Test {
 protected:
  NvmPagesTest() : pages(open()) {}

  std::unique_ptr<NvmPages> open(std::uint64_t name = kName) {
    auto opened = NvmPages::open(&disk, kBytes, kBytes);
    must(opened->adopt(name));
    return opened;
  }
  void add(std::uint32_t number) { pages->add(id_of(number), page_of(number).header()); }
  // Fills the sets: so many pages that each has eight.
  void fill() {
    for (std::uint32_t i = 1; i <= 2'000; ++i) add(i);
  }
  NvmPages::Found read(std::uint32_t number) {
    PageBytes to = {};
    const NvmPages::Found found = pages->read(id_of(number), to.header());
    if (found == NvmPages::Found::kPage) {
      EXPECT_TRUE(is_whole(to, number)) << number;
    }
    return found;
  }
  std::uint32_t count_found(std::uint32_t from, std::uint32_t to) {
    std::uint32_t count = 0;
    for (std::uint32_t i = from; i <= to; ++i) count += read(i) == NvmPages::Found::kPage ? 1 : 0;
    return count;
  }

  FailingDevice disk;
  std::unique_ptr<NvmPages> pages;
};

TEST_F(NvmPagesTest, a_page_is_found_whole_and_by_lines) {
  EXPECT_EQ(read(5), NvmPages::Found::kNothing);
  add(5);
  EXPECT_EQ(read(5), NvmPages::Found::kPage);
  ASSERT_TRUE(pages->has_lines(id_of(5)));
  PageBytes lines = {};
  constexpr page::LineMask kWanted = 0b1011 | page::LineMask{1} << 63;
  ASSERT_TRUE(pages->read_lines(id_of(5), kWanted, lines.bytes));
  const PageBytes whole = page_of(5);
  for (const std::uint32_t line : {0u, 1u, 3u, 63u}) {
    EXPECT_EQ(std::memcmp(lines.bytes + 64 * line, whole.bytes + 64 * line, 64), 0) << line;
  }
  EXPECT_FALSE(pages->read_lines(id_of(6), kWanted, lines.bytes));
  EXPECT_EQ(pages->statistics().pages, 1u);
  EXPECT_EQ(pages->statistics().reads, 2u);
}

// A free slot is taken at once; another page's by one that comes a second time.
TEST_F(NvmPagesTest, a_scan_evicts_nothing) {
  fill();
  const std::uint64_t full = pages->statistics().pages;
  EXPECT_EQ(full, kSets * NvmPages::kWays);
  const std::uint32_t before = count_found(1, 2'000);
  EXPECT_EQ(before, full);
  for (std::uint32_t i = 10'001; i <= 12'000; ++i) add(i);
  EXPECT_EQ(count_found(1, 2'000), before);
  EXPECT_EQ(count_found(10'001, 12'000), 0u);
}

TEST_F(NvmPagesTest, what_comes_again_takes_the_place_of_what_was_not_read) {
  fill();
  const std::uint32_t hot = count_found(251, 2'000);  // about half, where the hand comes first
  // Five at a time, so that the admission set of no set forgets them.
  for (std::uint32_t i = 20'001; i <= 20'100; i += 5) {
    for (int time = 0; time < 2; ++time) {
      for (std::uint32_t k = i; k < i + 5; ++k) add(k);
    }
  }
  // In a set with many that were read, the last to come takes the place of the first.
  EXPECT_GE(count_found(20'001, 20'100), 85u);
  EXPECT_GE(count_found(251, 2'000), hot * 19 / 20);
  EXPECT_EQ(pages->statistics().pages, kSets * NvmPages::kWays);
}

// K27, K28.
TEST_F(NvmPagesTest, pages_are_found_again_by_the_same_history) {
  for (std::uint32_t i = 1; i <= 100; ++i) add(i);
  pages = open();
  EXPECT_EQ(pages->statistics().pages, 0u);
  EXPECT_EQ(disk.calls(Call::kCreate), 1u);
  PageBytes to = {};
  for (std::uint32_t i = 1; i <= 100; ++i) {
    EXPECT_FALSE(pages->has_lines(id_of(i)));
    ASSERT_EQ(pages->read(id_of(i), to.header()), NvmPages::Found::kUnsure) << i;
    EXPECT_TRUE(is_whole(to, i));
    pages->settle(id_of(i), true);
    EXPECT_EQ(read(i), NvmPages::Found::kPage);
    EXPECT_TRUE(pages->has_lines(id_of(i)));
  }
  must(pages->adopt(kName + 1));
  EXPECT_EQ(count_found(1, 100), 100u);
  pages = open(kName);  // of the history before
  EXPECT_EQ(pages->read(id_of(1), to.header()), NvmPages::Found::kNothing);
  EXPECT_EQ(disk.calls(Call::kCreate), 2u);
}

// K27: no page of a new history is there under the name of the one before.
TEST_F(NvmPagesTest, a_history_has_its_name_before_its_pages) {
  must(pages->adopt(kName + 1));
  add(9);
  PageBytes to = {};
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto copy = disk.copy();
    copy->crash_power(seed);
    auto before = NvmPages::open(copy.get(), kBytes, kBytes);
    must(before->adopt(kName));
    EXPECT_EQ(before->read(id_of(9), to.header()), NvmPages::Found::kNothing) << seed;
  }
}

TEST_F(NvmPagesTest, a_file_of_another_size_or_a_damaged_one_is_made_anew) {
  add(1);
  pages = NvmPages::open(&disk, 2 * kBytes, 2 * kBytes);
  must(pages->adopt(kName));
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  EXPECT_EQ(disk.bytes_of("nvm-0").size(), page::kPageBytes + 2 * kBytes);
  add(1);
  // It says that it is of another history, and is not believed.
  disk.flip_bit("nvm-0", 16, 1);
  pages = NvmPages::open(&disk, 2 * kBytes, 2 * kBytes);
  must(pages->adopt(kName ^ 2));
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  PageBytes to = {};
  EXPECT_EQ(pages->read(id_of(1), to.header()), NvmPages::Found::kNothing);
}

// Room of the device for a file that grows.
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

class GrowingNvmPagesTest : public NvmPagesTest {
 protected:
  static constexpr std::uint64_t kStep = NvmPages::kStepBytes;
  GrowingNvmPagesTest() {
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

// Pages that come for the first time get room that is free.
TEST_F(GrowingNvmPagesTest, free_room_is_for_all_pages) {
  for (std::uint32_t i = 1; i <= 2'000; ++i) add(i);
  EXPECT_EQ(lending.room, 0u);
  EXPECT_FALSE(lending.wants_room());
  // In the end no slot has a page that is not found any more.
  for (std::uint32_t i = 2'001; i <= 6'000; ++i) add(i);
  EXPECT_EQ(count_found(1, 6'000), kSets * NvmPages::kWays);
  EXPECT_LE(lending.used_bytes(), kBytes + page::kPageBytes);
}

TEST_F(GrowingNvmPagesTest, room_of_others_is_for_pages_that_come_again) {
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

// One growth by less than twice as many sets loses nothing.
TEST_F(GrowingNvmPagesTest, pages_of_a_split_set_are_found) {
  lending.room = 0;
  for (std::uint32_t i = 1; i <= 100; ++i) add(i);
  std::vector<std::uint32_t> here;
  for (std::uint32_t i = 1; i <= 100; ++i) {
    if (read(i) == NvmPages::Found::kPage) here.push_back(i);
  }
  lending.room = kStep;
  for (std::uint32_t i = 2'001; lending.room != 0; ++i) add(i);
  for (const std::uint32_t i : here) EXPECT_EQ(read(i), NvmPages::Found::kPage) << i;
}

TEST_F(GrowingNvmPagesTest, a_restart_finds_the_pages_and_the_room) {
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
  // A larger one is that file, and a smaller one takes its place if it has too many slots.
  pages.reset();
  pages = NvmPages::open(&lending, kStep, 2 * kBytes);
  must(pages->adopt(kName));
  EXPECT_EQ(pages->read(id_of(here), to.header()), NvmPages::Found::kUnsure);
  pages.reset();
  pages = NvmPages::open(&lending, kStep, kBytes / 2);
  must(pages->adopt(kName));
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  pages = NvmPages::open(&lending, kStep, kBytes / 2);
  must(pages->adopt(kName + 1));
  EXPECT_EQ(lending.used_bytes(), kStep + page::kPageBytes);
}

TEST_F(GrowingNvmPagesTest, a_device_that_cannot_grow_keeps_what_there_is) {
  lending.set_capacity(3 * kStep);
  for (int round = 0; round < 4; ++round) add_twice(1, 250);
  EXPECT_EQ(lent(), kStep);
  EXPECT_GT(count_found(1, 250), 80u);
  lending.set_capacity(kBytes * 2);
  add_twice(1, 250);
  EXPECT_EQ(lent(), kStep);  // it was not asked again
}

// K29: whichever call of growth power fails at, what is found afterwards is whole.
TEST_F(GrowingNvmPagesTest, a_power_failure_in_growth_leaves_whole_pages) {
  add_twice(1, 60);
  must(lending.sync_directory());
  for (std::uint64_t skip = 0; skip < 40; ++skip) {
    const auto copy = lending.copy();
    {
      const auto growing = NvmPages::open(copy.get(), kStep, kBytes);
      must(growing->adopt(kName));
      copy->lose_power_after(skip);
      for (std::uint32_t i = 100; i <= 150; ++i) {
        for (int time = 0; time < 2; ++time) growing->add(id_of(i), page_of(i).header());
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
    // Sectors of a disk that were not synced may be gone.
    if (skip % 2 != 0 || FailingDevice::is_persistent_memory()) {
      EXPECT_GT(found, 20u) << "call " << skip;
    }
    again->add(id_of(200), page_of(200).header());
    again->add(id_of(200), page_of(200).header());
    EXPECT_EQ(again->read(id_of(200), to.header()), NvmPages::Found::kPage);
    EXPECT_TRUE(is_whole(to, 200));
  }
}

// K26: a crash has torn the slot.
TEST_F(NvmPagesTest, a_slot_that_is_not_whole_is_given_up) {
  add(1);
  std::uint64_t slot = kFirstSlot;
  const std::vector<char> bytes = disk.bytes_of("nvm-0");
  while (std::memcmp(bytes.data() + slot, page_of(1).bytes, 8) != 0) slot += page::kPageBytes;
  disk.flip_bit("nvm-0", slot + 2'000, 3);
  pages = open();
  PageBytes to = {};
  EXPECT_FALSE(pages->read_lines(id_of(1), 1, to.bytes));
  ASSERT_EQ(pages->read(id_of(1), to.header()), NvmPages::Found::kUnsure);
  pages->settle(id_of(1), false);
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  add(1);
  EXPECT_EQ(read(1), NvmPages::Found::kPage);
}

// K25: on a device whose writes are persistent when they return, as persistent memory is.
TEST_F(NvmPagesTest, a_power_failure_in_a_write_leaves_a_free_slot_or_a_page) {
  fill();
  std::vector<std::uint32_t> here;
  for (std::uint32_t i = 1; i <= 2'000; ++i) {
    if (read(i) == NvmPages::Found::kPage) here.push_back(i);
  }
  for (std::uint64_t skip = 0; skip < 8; ++skip) {
    const auto copy = disk.copy();
    {
      auto changed = NvmPages::open(copy.get(), kBytes, kBytes);
      must(changed->adopt(kName));
      copy->lose_power_after(skip);
      for (std::uint32_t i = 30'001; i <= 30'010; ++i) {
        for (int time = 0; time < 2; ++time) changed->add(id_of(i), page_of(i).header());
      }
    }
    copy->crash_power(FailingDevice::is_persistent_memory() ? FailingDevice::kDropAll
                                                            : FailingDevice::kKeepAll);
    auto again = NvmPages::open(copy.get(), kBytes, kBytes);
    must(again->adopt(kName));
    std::uint32_t torn = 0;
    PageBytes to = {};
    for (const std::uint32_t i : here) {
      if (again->read(id_of(i), to.header()) != NvmPages::Found::kUnsure) continue;
      if (!is_whole(to, i)) ++torn;
    }
    for (std::uint32_t i = 30'001; i <= 30'010; ++i) {
      if (again->read(id_of(i), to.header()) != NvmPages::Found::kUnsure) continue;
      // Sectors of a disk come in any order, words of memory do not.
      if (!is_whole(to, i) && FailingDevice::is_persistent_memory()) ++torn;
    }
    EXPECT_EQ(torn, 0u) << "write " << skip;
  }
}

TEST_F(NvmPagesTest, a_slot_has_no_id_while_it_is_written) {
  fill();
  std::uint32_t written = 0;
  disk.set_observer([&](const CallSeen& call) {
    if (call.kind != Call::kWrite || call.bytes->size() != page::kPageBytes) return;
    std::uint64_t id = 1;
    std::memcpy(&id, disk.bytes_of("nvm-0").data() + call.offset, sizeof(id));
    EXPECT_EQ(id, 0u);
    ++written;
  });
  for (int time = 0; time < 2; ++time) add(50'000);
  EXPECT_EQ(written, 1u);
  disk.set_observer({});
}

TEST_F(NvmPagesTest, an_error_of_the_device_keeps_nothing_and_fails_nobody) {
  add(1);
  disk.fail(Call::kWrite, 1, EIO);
  add(2);
  EXPECT_EQ(read(2), NvmPages::Found::kNothing);
  add(2);
  EXPECT_EQ(read(2), NvmPages::Found::kPage);
  disk.fail(Call::kRead, 0, EIO);
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  EXPECT_EQ(read(1), NvmPages::Found::kPage);
  disk.fail(Call::kWrite, 0, EIO);
  EXPECT_EQ(pages->adopt(kName + 1).code(), ErrorCode::kIoError);
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);  // K27: whose history it is, is not known
  must(pages->adopt(kName + 1));
  EXPECT_EQ(read(1), NvmPages::Found::kPage);
}

// A device that is nearly full is not filled, and not asked again.
TEST_F(NvmPagesTest, a_full_device_has_its_room_back) {
  FailingDevice small;
  small.set_capacity(kBytes / 2);
  const auto kept = NvmPages::open(&small, kBytes, kBytes);
  EXPECT_EQ(kept->adopt(kName).code(), ErrorCode::kOutOfSpace);
  EXPECT_FALSE(small.exists("nvm-0"));
  const std::uint64_t made = small.calls(Call::kCreate);
  must(kept->adopt(kName + 1));
  EXPECT_EQ(small.calls(Call::kCreate), made);
  kept->add(id_of(1), page_of(1).header());
  EXPECT_FALSE(kept->has(id_of(1)));
}

TEST_F(NvmPagesTest, a_file_that_cannot_be_read_is_made_anew) {
  add(1);
  for (const Call call : {Call::kOpen, Call::kRead, Call::kSize}) {
    disk.fail(call, 0, EIO);
    pages = open();
    EXPECT_EQ(read(1), NvmPages::Found::kNothing);
    add(1);
    EXPECT_EQ(read(1), NvmPages::Found::kPage);
  }
}

// Goal: K24. Method: in the call that reads the slot, another page comes to it.
TEST_F(NvmPagesTest, a_slot_that_changes_while_it_is_read_is_nothing) {
  fill();
  std::uint32_t victim = 1;
  while (read(victim) != NvmPages::Found::kPage) ++victim;
  std::uint32_t next = 40'000;
  bool is_inside = false;
  disk.set_observer([&](const CallSeen& call) {
    if (call.kind != Call::kRead || is_inside) return;
    is_inside = true;
    while (pages->has(id_of(victim))) {
      ++next;
      for (int time = 0; time < 2; ++time) add(next);
    }
  });
  PageBytes to = {};
  EXPECT_EQ(pages->read(id_of(victim), to.header()), NvmPages::Found::kNothing);
  EXPECT_TRUE(is_inside);
  victim = next;
  is_inside = false;
  EXPECT_FALSE(pages->read_lines(id_of(victim), 0b110, to.bytes));
  EXPECT_TRUE(is_inside);
  disk.set_observer({});
}

// Threads add and read pages of few sets: each that is found is whole.
TEST(NvmPagesThreadsTest, what_is_found_is_whole) {
  const testing::TestDirectory directory;
  const auto device = must(device::FileDevice::open(directory.path() + "/db", Facility::kOff));
  const auto pages = NvmPages::open(device.get(), NvmPages::kStepBytes, kBytes);
  must(pages->adopt(kName));
  std::atomic<std::uint64_t> found{0};
  const auto work = [&](std::uint64_t seed) {
    base::Random random(seed);
    PageBytes to = {};
    for (int i = 0; i < 40'000; ++i) {
      const auto number = static_cast<std::uint32_t>(1 + random.below(800));
      const PageBytes page = page_of(number);
      if (pages->read(id_of(number), to.header()) != NvmPages::Found::kNothing) {
        EXPECT_TRUE(is_whole(to, number));
        ++found;
      } else {
        pages->add(id_of(number), page.header());
      }
      if (!pages->read_lines(id_of(number), 0b10010, to.bytes)) continue;
      EXPECT_EQ(std::memcmp(to.bytes + 64, page.bytes + 64, 64), 0);
      EXPECT_EQ(std::memcmp(to.bytes + 256, page.bytes + 256, 64), 0);
    }
  };
  std::thread other([&] { work(1); });
  work(2);
  other.join();
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace foedus::snapshot
