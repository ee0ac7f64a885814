// ctest-labels: concurrency
#include "foedus-core/numa/soc_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "foedus-core/base/atomic_word.h"

namespace foedus::numa::soc_memory_test {
namespace {

constexpr std::uint64_t kHuge = SocMemory::kHugePageBytes;
constexpr std::uint64_t kSmall = SocMemory::kSmallPageBytes;

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer leaves some pieces of the address space to a program, of random length.
constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 36;
#else
constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 40;
#endif

SocMemory reserved(std::uint64_t bytes, Facility huge_pages = Facility::kTry) {
  Result<SocMemory> memory = SocMemory::reserve(bytes, huge_pages);
  EXPECT_TRUE(memory.is_ok()) << memory.status().message();
  return std::move(memory).value();
}

// Asks the kernel: a write from an unreadable address fails.
bool is_readable(const char* address) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool readable = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

TEST(SocMemoryTest, a_reservation_is_aligned_and_rounded_up_to_huge_pages) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, kHuge, kHuge + 1, 64 * kHuge}) {
    const SocMemory memory = reserved(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.begin()) % kHuge, 0u);
    EXPECT_EQ(memory.bytes(), (bytes + kHuge - 1) / kHuge * kHuge);
  }
}

TEST(SocMemoryTest, a_large_reservation_costs_no_memory) {
  const SocMemory memory = reserved(kLargeBytes);
  EXPECT_NE(memory.begin(), nullptr);
}

TEST(SocMemoryTest, committed_memory_is_zero_and_keeps_what_is_written_when_more_is_committed) {
  SocMemory memory = reserved(4 * kHuge);
  ASSERT_TRUE(memory.commit(0, kSmall).is_ok());
  EXPECT_EQ(std::count(memory.begin(), memory.begin() + kSmall, 0),
            static_cast<std::ptrdiff_t>(kSmall));
  std::memset(memory.begin(), 0x77, kSmall);
  ASSERT_TRUE(memory.commit(kSmall, 2 * kHuge - kSmall).is_ok());
  EXPECT_EQ(memory.begin()[kSmall - 1], 0x77);
  EXPECT_EQ(memory.begin()[kSmall], 0);
  memory.begin()[2 * kHuge - 1] = 1;
}

TEST(SocMemoryTest, reserved_memory_that_is_not_committed_cannot_be_touched) {
  SocMemory memory = reserved(kHuge);
  ASSERT_TRUE(memory.commit(0, kSmall).is_ok());
  EXPECT_TRUE(is_readable(memory.begin()));
  EXPECT_FALSE(is_readable(memory.begin() + kSmall));
}

TEST(SocMemoryDeathTest, a_part_beyond_the_end_is_impossible) {
  SocMemory memory = reserved(kHuge);
  EXPECT_DEATH((void)memory.commit(kHuge - kSmall, 2 * kSmall), "offset \\+ bytes <= bytes_");
}

TEST(SocMemoryTest, more_addresses_than_there_are_is_out_of_memory) {
  for (const unsigned shift : {47u, 60u, 63u}) {
    const Result<SocMemory> memory = SocMemory::reserve(std::uint64_t{1} << shift, Facility::kTry);
    ASSERT_FALSE(memory.is_ok());
    EXPECT_EQ(memory.code(), ErrorCode::kOutOfMemory);
  }
  const Result<Topology> topology = Topology::make(1);
  const Result<SocMemory> ring =
      SocMemory::allocate_ring(*topology, 0, std::uint64_t{1} << 60, Facility::kTry);
  ASSERT_FALSE(ring.is_ok());
  EXPECT_EQ(ring.code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(ring.status().error_number(), ENOMEM);
}

TEST(SocMemoryTest, huge_pages_are_reported_only_if_asked_for_and_required_ones_fail_by_name) {
  EXPECT_FALSE(reserved(kHuge, Facility::kOff).has_huge_pages());
  // Other processes change the number of free huge pages, so a try counts only if that stayed.
  for (int i = 0; i < 100; ++i) {
    const bool there_were = reserved(kHuge, Facility::kTry).has_huge_pages();
    const Result<SocMemory> required = SocMemory::reserve(kHuge, Facility::kRequire);
    ASSERT_TRUE(required.is_ok() || required.code() == ErrorCode::kNotSupported);
    if (reserved(kHuge, Facility::kTry).has_huge_pages() != there_were) continue;
    if (required.is_ok() == there_were) return;
  }
  FAIL() << "required memory and memory that tries never agree";
}

TEST(SocMemoryTest, a_ring_is_committed_aligned_and_zero) {
  const Result<Topology> topology = Topology::make(4);
  for (std::uint32_t soc = 0; soc < 4; ++soc) {
    Result<SocMemory> ring =
        SocMemory::allocate_ring(*topology, soc, 64 * 1024 + 1, Facility::kTry);
    ASSERT_TRUE(ring.is_ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ring->begin()) % kSmall, 0u);
    EXPECT_EQ(ring->bytes(), 64 * 1024 + kSmall);
    EXPECT_EQ(ring->begin()[ring->bytes() - 1], 0);
    ring->begin()[ring->bytes() - 1] = 1;
  }
}

TEST(SocMemoryTest, homes_on_emulated_socs_are_ignored_unless_required) {
  const Result<Topology> topology = Topology::make(kMaxSocs);
  SocMemory memory = reserved(kHuge);
  EXPECT_TRUE(memory.place(*topology, 3, 0, kHuge, Facility::kTry).is_ok());
  EXPECT_FALSE(memory.is_bound());
  EXPECT_EQ(memory.place(*topology, 3, 0, kHuge, Facility::kRequire).code(),
            ErrorCode::kNotSupported);
}

TEST(SocMemoryTest, homes_on_real_socs_are_accepted) {
  const Result<Topology> topology = Topology::make(0);
  if (topology->is_emulated()) GTEST_SKIP() << "memory policies do not work here";
  SocMemory memory = reserved(topology->socs() * kHuge);
  for (std::uint32_t soc = 0; soc < topology->socs(); ++soc) {
    const Status status = memory.place(*topology, soc, soc * kHuge, kHuge, Facility::kRequire);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  EXPECT_TRUE(memory.is_bound());
  ASSERT_TRUE(memory.commit(0, memory.bytes()).is_ok());
  memory.prefault(0, memory.bytes());
}

TEST(SocMemoryTest, moving_hands_the_range_over) {
  SocMemory first = reserved(kHuge);
  char* const begin = first.begin();
  SocMemory second(std::move(first));
  EXPECT_EQ(second.begin(), begin);
  EXPECT_EQ(first.begin(), nullptr);
  first = std::move(second);
  EXPECT_EQ(first.begin(), begin);
  ASSERT_TRUE(first.commit(0, kSmall).is_ok());
  *begin = 1;
}

// N6: the child of a fork has no mapping at the address.
TEST(SocMemoryTest, a_forked_child_does_not_inherit_the_memory) {
#if defined(FOEDUS_TSAN)
  GTEST_SKIP() << "the sanitizer maps memory of its own into the gap in the child";
#endif
  SocMemory memory = reserved(kHuge);
  ASSERT_TRUE(memory.commit(0, kSmall).is_ok());
  memory.begin()[0] = 42;
  const pid_t child = fork();
  if (child == 0) _exit(is_readable(memory.begin()) ? 1 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(memory.begin()[0], 42);
}

// One thread counts in every page while another backs the same pages again and again.
TEST(SocMemoryTest, prefaulting_changes_nothing_under_a_writer) {
  constexpr std::uint64_t kPages = 64;
  SocMemory memory = reserved(kHuge);
  ASSERT_TRUE(memory.commit(0, kPages * kSmall).is_ok());
  base::AtomicWord<std::uint32_t> done;
  std::thread warmer([&] {
    while (done.load_acquire() == 0) memory.prefault(0, kPages * kSmall);
  });
  constexpr std::uint64_t kRounds = 2'000;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::uint64_t page = 0; page < kPages; ++page) {
      std::uint64_t* const word = reinterpret_cast<std::uint64_t*>(memory.begin() + page * kSmall);
      ASSERT_EQ(*word, round);
      *word = round + 1;
    }
  }
  done.store_release(1);
  warmer.join();
}

}  // namespace
}  // namespace foedus::numa::soc_memory_test
