// ctest-labels: concurrency crash memory
// NvmPages: a kept page is read unchanged, or not at all, whatever is written to its slot
// meanwhile, before a restart or after a power failure.
#include "foedus-core/snapshot/nvm_pages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/page/page_bytes.h"
#include "tests/snapshot/kept_pages.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/test_database.h"

namespace foedus::snapshot::nvm_pages_test {
namespace {

using page::PageBytes;
using testing::Call;
using testing::CallSeen;
using testing::FailingDevice;
using testing::must;

constexpr std::uint64_t kFirstSlot = page::kPageBytes;

class NvmPagesTest : public KeptPagesTest {
 protected:
  NvmPagesTest() { pages = open(); }

  std::unique_ptr<NvmPages> open(std::uint64_t name = kName) {
    auto opened = NvmPages::open(&disk, kBytes, kBytes);
    must(opened->adopt(name));
    return opened;
  }
  // Fills the sets, with enough pages that each has eight.
  void fill() {
    for (std::uint32_t i = 1; i <= 2'000; ++i) add(i);
  }

  FailingDevice disk;
};

TEST_F(NvmPagesTest, a_page_is_found_whole_and_by_lines) {
  EXPECT_EQ(read(5), NvmPages::Found::kNothing);
  add(5);
  EXPECT_EQ(read(5), NvmPages::Found::kPage);
  ASSERT_TRUE(pages->has_lines(id_of(5)));
  PageBytes lines = {};
  constexpr page::LineMask kWanted = 0b1011 | page::LineMask{1} << 63;
  ASSERT_TRUE(pages->read_lines(id_of(5), kWanted, lines.bytes));
  const PageBytes whole = page_bytes_of(5);
  for (const std::uint32_t line : {0u, 1u, 3u, 63u}) {
    EXPECT_EQ(std::memcmp(lines.bytes + 64 * line, whole.bytes + 64 * line, 64), 0) << line;
  }
  EXPECT_FALSE(pages->read_lines(id_of(6), kWanted, lines.bytes));
  EXPECT_EQ(pages->statistics().pages, 1u);
  EXPECT_EQ(pages->statistics().reads, 2u);
}

// A page gets a free slot at once, and another page's only when it comes a second time.
TEST_F(NvmPagesTest, a_scan_evicts_nothing) {
  fill();
  const std::uint64_t full = pages->statistics().pages;
  EXPECT_EQ(full, kSlots);
  const std::uint32_t before = count_found(1, 2'000);
  EXPECT_EQ(before, full);
  for (std::uint32_t i = 10'001; i <= 12'000; ++i) add(i);
  EXPECT_EQ(count_found(1, 2'000), before);
  EXPECT_EQ(count_found(10'001, 12'000), 0u);
}

TEST_F(NvmPagesTest, what_comes_again_takes_the_place_of_what_was_not_read) {
  fill();
  const std::uint32_t hot = count_found(1, 250);  // about half: where the hand comes first
  // Five at a time, so that no admission set forgets them.
  for (std::uint32_t i = 20'001; i <= 20'100; i += 5) {
    for (int time = 0; time < 2; ++time) {
      for (std::uint32_t k = i; k < i + 5; ++k) add(k);
    }
  }
  // In a set with many read pages the last page replaces the first.
  EXPECT_GE(count_found(20'001, 20'100), 85u);
  EXPECT_GE(count_found(1, 250), hot * 19 / 20);
  EXPECT_EQ(pages->statistics().pages, kSlots);
}

// K27, K28: the pages of a history are found by that history only.
TEST_F(NvmPagesTest, pages_are_found_again_by_the_same_history) {
  for (std::uint32_t i = 1; i <= 100; ++i) add(i);
  pages = open();
  EXPECT_EQ(pages->statistics().pages, 0u);
  EXPECT_EQ(disk.calls(Call::kCreate), 1u);
  PageBytes to = {};
  for (std::uint32_t i = 1; i <= 100; ++i) {
    EXPECT_FALSE(pages->has_lines(id_of(i)));
    ASSERT_EQ(pages->read(id_of(i), to.header()), NvmPages::Found::kUnverified) << i;
    EXPECT_TRUE(is_whole(to, i));
    pages->confirm(id_of(i), true);
    EXPECT_EQ(read(i), NvmPages::Found::kPage);
    EXPECT_TRUE(pages->has_lines(id_of(i)));
  }
  must(pages->adopt(kName + 1));
  EXPECT_EQ(count_found(1, 100), 100u);
  pages = open(kName);  // of the earlier history
  EXPECT_EQ(pages->read(id_of(1), to.header()), NvmPages::Found::kNothing);
  EXPECT_EQ(disk.calls(Call::kCreate), 2u);
}

// K27: the file has the name of a new history before it has pages of it.
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
  EXPECT_EQ(disk.size_of("nvm-0"), page::kPageBytes + 2 * kBytes);
  add(1);
  // A file with the name of another history is not used.
  disk.flip_bit("nvm-0", 16, 1);
  pages = NvmPages::open(&disk, 2 * kBytes, 2 * kBytes);
  must(pages->adopt(kName ^ 2));
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  PageBytes to = {};
  EXPECT_EQ(pages->read(id_of(1), to.header()), NvmPages::Found::kNothing);
}

// K26: a slot that a crash has torn is given up.
TEST_F(NvmPagesTest, a_slot_that_is_not_whole_is_given_up) {
  add(1);
  std::uint64_t slot = kFirstSlot;
  const std::vector<char> bytes = disk.bytes_of("nvm-0");
  while (std::memcmp(bytes.data() + slot, page_bytes_of(1).bytes, 8) != 0) slot += page::kPageBytes;
  disk.flip_bit("nvm-0", slot + 2'000, 3);
  pages = open();
  PageBytes to = {};
  EXPECT_FALSE(pages->read_lines(id_of(1), 1, to.bytes));
  ASSERT_EQ(pages->read(id_of(1), to.header()), NvmPages::Found::kUnverified);
  pages->confirm(id_of(1), false);
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  add(1);
  EXPECT_EQ(read(1), NvmPages::Found::kPage);
}

// K25: the device's writes are persistent when they return, as on persistent memory.
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
        for (int time = 0; time < 2; ++time) changed->add(id_of(i), page_bytes_of(i).header());
      }
    }
    copy->crash_power(FailingDevice::is_persistent_memory() ? FailingDevice::kDropAll
                                                            : FailingDevice::kKeepAll);
    auto again = NvmPages::open(copy.get(), kBytes, kBytes);
    must(again->adopt(kName));
    std::uint32_t torn = 0;
    PageBytes to = {};
    for (const std::uint32_t i : here) {
      if (again->read(id_of(i), to.header()) != NvmPages::Found::kUnverified) continue;
      if (!is_whole(to, i)) ++torn;
    }
    for (std::uint32_t i = 30'001; i <= 30'010; ++i) {
      if (again->read(id_of(i), to.header()) != NvmPages::Found::kUnverified) continue;
      // Sectors reach a disk in any order, words do not reach memory so.
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
  for (const std::uint64_t skip : {0, 1}) {
    disk.fail(Call::kWrite, skip, EIO);
    add(2);
    EXPECT_EQ(read(2), NvmPages::Found::kNothing) << skip;
  }
  add(2);
  EXPECT_EQ(read(2), NvmPages::Found::kPage);
  disk.fail(Call::kRead, 0, EIO);
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);
  EXPECT_EQ(read(1), NvmPages::Found::kPage);
  disk.fail(Call::kWrite, 0, EIO);
  EXPECT_EQ(pages->adopt(kName + 1).code(), ErrorCode::kIoError);
  EXPECT_EQ(read(1), NvmPages::Found::kNothing);  // K27: its history is not known
  must(pages->adopt(kName + 1));
  EXPECT_EQ(read(1), NvmPages::Found::kPage);
}

// Goal: a page that another one replaces is not found any more, even if the write of the other one
// fails half-way.
TEST_F(NvmPagesTest, a_slot_is_free_after_a_write_that_failed) {
  fill();
  const std::uint32_t before = count_found(1, 2'000);
  add(50'000);
  disk.fail(Call::kWrite, 1, EIO);
  add(50'000);
  EXPECT_EQ(count_found(1, 2'000), before - 1);
  EXPECT_EQ(read(50'000), NvmPages::Found::kNothing);
}

TEST_F(NvmPagesTest, a_file_that_no_history_has_adopted_is_closed_and_removed) {
  FailingDevice fresh;
  fresh.fail(Call::kSync, 0, EIO);
  const auto kept = NvmPages::open(&fresh, kBytes, kBytes);
  EXPECT_EQ(kept->adopt(kName).code(), ErrorCode::kIoError);
  EXPECT_FALSE(fresh.exists("nvm-0"));
  EXPECT_EQ(fresh.used_bytes(), 0u);
  // Any name can be that of a history.
  pages = NvmPages::open(&fresh, kBytes, kBytes);
  must(pages->adopt(0));
  add(1);
  EXPECT_EQ(read(1), NvmPages::Found::kPage);
}

// A nearly full device is not filled, and gets no further request.
TEST_F(NvmPagesTest, a_full_device_has_its_room_back) {
  FailingDevice small;
  small.set_capacity(kBytes / 2);
  const auto kept = NvmPages::open(&small, kBytes, kBytes);
  EXPECT_EQ(kept->adopt(kName).code(), ErrorCode::kOutOfSpace);
  EXPECT_FALSE(small.exists("nvm-0"));
  const std::uint64_t made = small.calls(Call::kCreate);
  must(kept->adopt(kName + 1));
  EXPECT_EQ(small.calls(Call::kCreate), made);
  kept->add(id_of(1), page_bytes_of(1).header());
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

// Goal: K24. Method: during the read of the slot another page is written to it.
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

// Threads add and read pages of few sets: each page that is found is whole.
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
      const PageBytes page = page_bytes_of(number);
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
}  // namespace foedus::snapshot::nvm_pages_test
