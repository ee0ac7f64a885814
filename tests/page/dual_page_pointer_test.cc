// ctest-labels: concurrency
#include "foedus-core/page/dual_page_pointer.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace foedus::page::dual_page_pointer_test {
namespace {

constexpr DualPageIds ids(std::uint64_t volatile_word, std::uint64_t snapshot_word) {
  return {VolatilePageId(volatile_word), SnapshotPageId(snapshot_word)};
}

TEST(DualPagePointerTest, is_null_at_first_and_keeps_what_is_stored) {
  DualPagePointer pointer;
  EXPECT_TRUE(pointer.load().is_null());
  pointer.store(ids(3, 4));
  EXPECT_EQ(pointer.load(), ids(3, 4));
  EXPECT_EQ(pointer.load_volatile(), VolatilePageId(3));
  EXPECT_FALSE(pointer.load().is_null());
}

// P18: only the cache sees a hint; to all other code it is a null volatile half, and a store
// removes it.
TEST(DualPagePointerTest, a_hint_is_no_volatile_page) {
  DualPagePointer pointer;
  pointer.store(ids(0, 4));
  EXPECT_EQ(pointer.hint(), 0u);
  for (const std::uint32_t frame : {1u, 77u, (1u << 28) - 1}) {
    pointer.set_hint(frame);
    EXPECT_EQ(pointer.hint(), frame);
    EXPECT_EQ(pointer.load(), ids(0, 4));
    EXPECT_FALSE(pointer.is_cold());
    EXPECT_FALSE(pointer.compare_exchange(ids(0, 4), ids(1, 4))) << "it has not been cleared";
  }
  pointer.clear_hint();
  EXPECT_TRUE(pointer.is_cold());
  EXPECT_TRUE(pointer.compare_exchange(ids(0, 4), ids(1, 4)));
  EXPECT_EQ(pointer.hint(), 0u);
  pointer.clear_hint();
  EXPECT_EQ(pointer.load(), ids(1, 4)) << "a volatile page is no hint";
}

// All four states of figure 2 are exchanged with the right expected value, and with either half
// wrong.
TEST(DualPagePointerTest, an_exchange_succeeds_only_if_both_halves_are_as_expected) {
  for (const DualPageIds now : {ids(0, 0), ids(1, 0), ids(0, 2), ids(1, 2)}) {
    DualPagePointer pointer;
    pointer.store(now);
    const DualPageIds wrong_volatile{VolatilePageId(9), now.snapshot_page};
    const DualPageIds wrong_snapshot{now.volatile_page, SnapshotPageId(9)};
    EXPECT_FALSE(pointer.compare_exchange(wrong_volatile, ids(5, 6)));
    EXPECT_FALSE(pointer.compare_exchange(wrong_snapshot, ids(5, 6)));
    EXPECT_EQ(pointer.load(), now);
    EXPECT_TRUE(pointer.compare_exchange(now, ids(5, 6)));
    EXPECT_EQ(pointer.load(), ids(5, 6));
  }
}

// Hard part 7: between build and swap a whole glean and drop happens. The volatile half is null
// again, but the builder's copy is of an old snapshot page.
TEST(DualPagePointerTest, a_stale_builder_fails_after_install_glean_and_drop) {
  DualPagePointer pointer;
  pointer.store(ids(0, 2));
  const DualPageIds seen_by_builder = pointer.load();
  ASSERT_TRUE(pointer.compare_exchange(ids(0, 2), ids(7, 2)));  // another session installs
  ASSERT_TRUE(pointer.compare_exchange(ids(7, 2), ids(7, 3)));  // a newer snapshot page
  ASSERT_TRUE(pointer.compare_exchange(ids(7, 3), ids(0, 3)));  // dropped
  EXPECT_FALSE(pointer.compare_exchange(seen_by_builder, ids(8, 2)));
  EXPECT_EQ(pointer.load(), ids(0, 3));
}

TEST(DualPagePointerTest, uses_all_bits_of_both_halves_but_the_hints) {
  DualPagePointer pointer;
  constexpr std::uint64_t kAllButTheHints = ~(std::uint64_t{1} << 55);
  const DualPageIds high = ids(kAllButTheHints, std::uint64_t{1} << 63);
  ASSERT_TRUE(pointer.compare_exchange(ids(0, 0), high));
  EXPECT_EQ(pointer.load(), high);
}

// Threads count both halves up together. If an exchange compared or wrote one half only, an update
// would be lost or the halves would differ.
TEST(DualPagePointerTest, exchanges_of_many_threads_lose_nothing) {
  constexpr std::uint64_t kPerThread = 20'000;
  DualPagePointer pointer;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t done = 0; done < kPerThread;) {
        const DualPageIds now = pointer.load();
        const DualPageIds next =
            ids(now.volatile_page.word() + 1, now.snapshot_page.word() + 1);
        if (pointer.compare_exchange(now, next)) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pointer.load(), ids(3 * kPerThread, 3 * kPerThread));
}

}  // namespace
}  // namespace foedus::page::dual_page_pointer_test
