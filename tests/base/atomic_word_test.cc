// ctest-labels: concurrency
#include "foedus-core/base/atomic_word.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace foedus::base::atomic_word_test {
namespace {

constexpr std::size_t kGuardBytes = 64;

std::vector<char> numbered_bytes(std::size_t bytes) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 131 + i / 251 + 1);
  return data;
}

// Copies between all alignments modulo 16 and checks each byte, also bytes around the target.
template <typename Copy>
void expect_copies(std::size_t bytes, const Copy& copy) {
  const std::vector<char> source = numbered_bytes(bytes + kGuardBytes);
  for (std::size_t from = 0; from < 16; ++from) {
    for (std::size_t to = 0; to < 16; ++to) {
      std::vector<char> target(bytes + 2 * kGuardBytes, '\x5a');
      copy(target.data() + kGuardBytes / 2 + to, source.data() + from, bytes);
      std::vector<char> wanted(bytes + 2 * kGuardBytes, '\x5a');
      std::copy_n(source.data() + from, bytes, wanted.data() + kGuardBytes / 2 + to);
      ASSERT_EQ(target, wanted) << bytes << " bytes from " << from << " to " << to;
    }
  }
}

TEST(RacyCopyTest, reads_exactly_the_bytes_asked_for_at_every_length_and_alignment) {
  for (std::size_t bytes = 0; bytes <= 200; ++bytes) expect_copies(bytes, racy_read);
  for (const std::size_t bytes : {255u, 1000u, 1024u, 4095u}) expect_copies(bytes, racy_read);
}

TEST(RacyCopyTest, writes_exactly_the_bytes_asked_for_at_every_length_and_alignment) {
  for (std::size_t bytes = 0; bytes <= 200; ++bytes) expect_copies(bytes, racy_write);
  for (const std::size_t bytes : {255u, 1000u, 1024u, 4095u}) expect_copies(bytes, racy_write);
}

// A sequence lock around racy copies: a reader that sees the same even number before and after saw
// one version of all bytes. The test also shows the sanitizer that the copies are no data race.
TEST(RacyCopyTest, under_a_sequence_check_nobody_sees_half_a_copy) {
  constexpr std::size_t kBytes = 200;
  constexpr std::uint64_t kRounds = 20'000;
  alignas(8) static char shared[kBytes];
  AtomicWord<std::uint64_t> sequence;
  std::thread writer([&] {
    char image[kBytes];
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      std::fill_n(image, kBytes, static_cast<char>(round));
      sequence.store_relaxed(2 * round - 1);
      fence_writer();
      racy_write(shared, image, kBytes);
      sequence.store_release(2 * round);
    }
  });
  std::uint64_t seen = 0;
  while (seen < 2 * kRounds) {
    char image[kBytes];
    const std::uint64_t before = sequence.load_acquire();
    racy_read(image, shared, kBytes);
    fence_reader();
    if (before % 2 != 0 || sequence.load_relaxed() != before) continue;
    seen = before;
    ASSERT_EQ(std::count(image, image + kBytes, static_cast<char>(seen / 2)),
              static_cast<std::ptrdiff_t>(kBytes));
  }
  writer.join();
}

TEST(AtomicWordTest, a_failed_exchange_tells_what_it_found) {
  AtomicWord<std::uint64_t> word(7);
  std::uint64_t expected = 6;
  EXPECT_FALSE(word.compare_exchange_acq_rel(expected, 9));
  EXPECT_EQ(expected, 7u);
  EXPECT_TRUE(word.compare_exchange_acq_rel(expected, 9));
  EXPECT_EQ(word.exchange_acq_rel(1), 9u);
  EXPECT_EQ(word.fetch_or_release(6), 1u);
  EXPECT_EQ(word.fetch_and_release(5), 7u);
  EXPECT_EQ(word.load_seq_cst(), 5u);
}

// With the fence, of two threads that each store their word and load the other's, at least one sees
// the other's store.
TEST(FenceSeqCstTest, of_two_that_store_and_then_look_one_sees_the_other) {
  constexpr int kRounds = 5'000;
  struct Round {
    AtomicWord<std::uint32_t> mine[2];
    std::uint32_t seen[2] = {0, 0};
  };
  std::vector<Round> rounds(kRounds);
  const auto side = [&](int self) {
    for (Round& round : rounds) {
      round.mine[self].store_relaxed(1);
      fence_seq_cst();
      round.seen[self] = round.mine[1 - self].load_relaxed();
    }
  };
  std::thread other(side, 1);
  side(0);
  other.join();
  for (const Round& round : rounds) ASSERT_NE(round.seen[0] + round.seen[1], 0u);
}

}  // namespace
}  // namespace foedus::base::atomic_word_test
