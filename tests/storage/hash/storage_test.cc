#include "foedus-core/storage/hash/storage.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "foedus-core/storage/hash/layout/function.h"
#include "tests/storage/hash/fixture.h"

namespace foedus::storage::hash::storage_test {
namespace {

// Goal: the hash is part of a format. Method: values that every implementation must give.
TEST(HashFunctionTest, values_are_stable) {
  EXPECT_EQ(hash_of(""), hash_of(std::string_view()));
  std::set<std::uint64_t> seen;
  std::string key;
  for (int length = 0; length <= 70; ++length) {
    EXPECT_TRUE(seen.insert(hash_of(key)).second) << length;
    key.push_back('\0');
  }
  std::uint64_t digest = 0;
  for (int i = 0; i < 1000; ++i)
    digest = digest * 31 + hash_of(std::string(i % 41, 'a') + std::to_string(i));
  EXPECT_EQ(digest, 0xcf59a67829a057f7u);
}

// Goal: the bits that the trie uses are evenly distributed for ascending keys. Method: chi-squared
// of 256 classes of the high byte, of integers in native byte order.
TEST(HashFunctionTest, high_bits_of_counters_are_even) {
  constexpr int kKeys = 1 << 18;
  for (const unsigned shift : {56u, 48u, 40u, 0u}) {
    std::uint32_t counts[256] = {};
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const std::string_view key(reinterpret_cast<const char*>(&i), sizeof(i));
      ++counts[(hash_of(key) >> shift) & 0xff];
    }
    double chi = 0;
    for (const std::uint32_t count : counts) {
      const double expected = kKeys / 256.0;
      chi += (count - expected) * (count - expected) / expected;
    }
    EXPECT_LT(chi, 350) << shift;  // 255 degrees of freedom: 350 is once in 30,000
  }
}

TEST_F(HashTest, bins_spread_and_stay_well_filled) {
  constexpr int kKeys = 20'000;
  for (int i = 0; i < kKeys; i += 100) {
    all_.session(0).begin();
    for (int k = i; k < i + 100; ++k) {
      EXPECT_TRUE(put(0, key_number(k), std::string(100, 'v')).is_ok());
    }
    ASSERT_TRUE(all_.session(0).commit().is_ok());
  }
  const Statistics now = statistics();
  EXPECT_EQ(now.records, static_cast<std::uint64_t>(kKeys));
  EXPECT_EQ(now.bins, now.bin_pages);
  // 26 of these records fit on a page; splitting in two fills pages by ln 2 on average.
  EXPECT_LT(now.bins, kKeys / 26 * 1.7);
  EXPECT_LT(now.interior_pages, now.bins / 8);
  EXPECT_EQ(control_->volatile_pages.load_relaxed(), now.interior_pages + now.bin_pages);
}

// Goal: the space of erased records is reused. Method: keys are inserted and erased, with few
// present at any time, over many epochs.
TEST_F(HashTest, room_of_erased_records_is_reused) {
  constexpr int kPresent = 200;
  std::uint64_t bins_max = 0;
  for (int i = 0; i < 20'000; ++i) {
    put_now(0, key_number(i), std::string(100, 'v'));
    if (i >= kPresent) erase_now(0, key_number(i - kPresent));
    if (i % 20 == 0) all_.pass_epochs();
    if (i % 1000 == 999) bins_max = std::max(bins_max, statistics().bins);
  }
  EXPECT_EQ(statistics().records, static_cast<std::uint64_t>(kPresent));
  EXPECT_LT(bins_max, 64u);
}

// Goal: a part that a transaction writes has to fit even if another part, which it wrote before,
// does. Method: another session makes the row shorter.
TEST_F(HashTest, each_part_has_to_fit_a_row_that_has_become_shorter) {
  put_now(0, "row", std::string(100, 'v'));
  all_.session(1).begin();
  for (const std::uint32_t offset : {0u, 90u}) {
    EXPECT_TRUE(
        write_part(all_.ctx(1), control_, log::LogRecordType::kWriteAt, "row", offset, "part")
            .is_ok());
  }
  put_now(0, "row", "shorter");
  EXPECT_EQ(all_.session(1).commit().conflict_reason(), ConflictReason::kRecordChanged);
  EXPECT_EQ(get_now("row"), "shorter");
}

TEST_F(HashTest, prefetch_changes_nothing) {
  const std::uint64_t pages = control_->volatile_pages.load_relaxed();
  all_.session(0).begin();
  for (int i = 0; i < 100; ++i) prefetch(all_.ctx(), control_, key_number(i));
  EXPECT_TRUE(all_.ctx().sets().pages().is_empty());
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(control_->volatile_pages.load_relaxed(), pages);
}

}  // namespace
}  // namespace foedus::storage::hash::storage_test
