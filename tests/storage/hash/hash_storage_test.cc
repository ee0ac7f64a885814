#include "foedus-core/storage/hash/hash_storage.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "foedus-core/base/clock.h"
#include "foedus-core/occ/overflow.h"
#include "foedus-core/storage/hash/hash_function.h"
#include "tests/storage/hash/hash_fixture.h"

namespace foedus::storage::hash {
namespace {

constexpr std::size_t kInline = occ::kInlinePayloadBytesMax;

// Goal: the hash is part of a format. Method: values that any other implementation must give.
TEST(HashFunctionTest, ValuesAreStable) {
  EXPECT_EQ(hash_of(""), hash_of(std::string_view()));
  std::set<std::uint64_t> seen;
  std::string key;
  for (int length = 0; length <= 70; ++length) {
    EXPECT_TRUE(seen.insert(hash_of(key)).second) << length;
    key.push_back('\0');
  }
  std::uint64_t digest = 0;
  for (int i = 0; i < 1000; ++i) digest = digest * 31 + hash_of(std::string(i % 41, 'a') +
                                                                std::to_string(i));
  EXPECT_EQ(digest, 0xcf59a67829a057f7u);
}

// Goal: the bits that the trie spreads by are even for keys that count up. Method: chi-squared of
// 256 classes of the high byte, of integers in native byte order.
TEST(HashFunctionTest, HighBitsOfCountersAreEven) {
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

TEST_F(HashTest, WhatWasPutIsThereAfterCommit) {
  all_.session(0).begin();
  EXPECT_EQ(get(0, "a"), std::nullopt);
  EXPECT_TRUE(put(0, "a", "one").is_ok());
  EXPECT_TRUE(put(0, "", "empty key").is_ok());
  EXPECT_TRUE(put(0, std::string(kMaxKeyBytes, 'k'), std::string(kInline, 'p')).is_ok());
  EXPECT_EQ(get(0, "a"), "one");
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_now("a"), "one");
  EXPECT_EQ(get_now(""), "empty key");
  EXPECT_EQ(get_now(std::string(kMaxKeyBytes, 'k')), std::string(kInline, 'p'));
}

TEST_F(HashTest, KeysAndPayloadsOverTheirLimitAreRefused) {
  all_.session(0).begin();
  EXPECT_EQ(put(0, std::string(kMaxKeyBytes + 1, 'k'), "").code(), ErrorCode::kTooLarge);
  EXPECT_EQ(put(0, "k", std::string(kMaxPayloadBytes + 1, 'p')).code(), ErrorCode::kTooLarge);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
}

TEST_F(HashTest, RolledBackWritesAreGone) {
  put_now(0, "a", "old");
  all_.session(0).begin();
  EXPECT_TRUE(put(0, "a", "new").is_ok());
  EXPECT_TRUE(put(0, "b", std::string(10'000, 'x')).is_ok());
  all_.session(0).rollback();
  EXPECT_EQ(get_now("a"), "old");
  EXPECT_EQ(get_now("b"), std::nullopt);
  EXPECT_EQ(statistics().overflow_pages, 0u);
}

TEST_F(HashTest, ModesSayWhatTheyMiss) {
  all_.session(0).begin();
  EXPECT_EQ(put(0, "a", "x", WriteMode::kUpdate).code(), ErrorCode::kNotFound);
  EXPECT_EQ(erase(all_.ctx(), control_, "a").code(), ErrorCode::kNotFound);
  EXPECT_TRUE(put(0, "a", "1", WriteMode::kInsert).is_ok());
  EXPECT_EQ(put(0, "a", "2", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(put(0, "a", "3", WriteMode::kUpdate).is_ok());
  EXPECT_TRUE(erase(all_.ctx(), control_, "a").is_ok());
  EXPECT_EQ(put(0, "a", "4", WriteMode::kUpdate).code(), ErrorCode::kNotFound);
  EXPECT_EQ(write_at(all_.ctx(), control_, "a", 0, "4").code(), ErrorCode::kNotFound);
  EXPECT_TRUE(put(0, "a", "5", WriteMode::kInsert).is_ok());
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_now("a"), "5");
  all_.session(0).begin();
  EXPECT_EQ(put(0, "a", "6", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
}

TEST_F(HashTest, PartialWritesAndIncrementsSeeOwnWrites) {
  put_now(0, "a", std::string(32, '.'));
  all_.session(0).begin();
  EXPECT_TRUE(write_at(all_.ctx(), control_, "a", 8, std::string(8, '\0')).is_ok());
  EXPECT_TRUE(increment(all_.ctx(), control_, "a", 8, 300).is_ok());
  EXPECT_TRUE(increment(all_.ctx(), control_, "a", 8, -44).is_ok());
  EXPECT_EQ(write_at(all_.ctx(), control_, "a", 30, "abc").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(increment(all_.ctx(), control_, "a", 25, 1).code(), ErrorCode::kInvalidArgument);
  std::string expected(32, '.');
  expected.replace(8, 8, std::string("\0\1\0\0\0\0\0\0", 8));
  EXPECT_EQ(get(0, "a"), expected);
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_now("a"), expected);
}

// Goal: O7 to O9. Method: payloads of all sizes around the limit, each replaced by each.
TEST_F(HashTest, PayloadsChangeBetweenInlineAndChains) {
  const std::size_t sizes[] = {0, 7, kInline, kInline + 1, 4016, 4017, 100'000};
  for (const std::size_t from : sizes) {
    for (const std::size_t to : sizes) {
      put_now(0, "a", std::string(from, 'f'));
      EXPECT_EQ(get_now("a"), std::string(from, 'f'));
      put_now(0, "a", std::string(to, 't'));
      EXPECT_EQ(get_now("a"), std::string(to, 't'));
    }
  }
  EXPECT_EQ(statistics().overflow_pages, page::OverflowPage::pages_of(100'000));
  erase_now(0, "a");
  EXPECT_EQ(statistics().overflow_pages, 0u);
}

TEST_F(HashTest, PartialWritesToChainsAreApplied) {
  std::string expected(20'000, 'x');
  put_now(0, "a", expected);
  all_.session(0).begin();
  EXPECT_TRUE(write_at(all_.ctx(), control_, "a", 12'345, "hello").is_ok());
  EXPECT_TRUE(write_at(all_.ctx(), control_, "a", 0, std::string(8, '\0')).is_ok());
  EXPECT_TRUE(increment(all_.ctx(), control_, "a", 0, 65).is_ok());
  EXPECT_EQ(write_at(all_.ctx(), control_, "a", 19'999, "no").code(),
            ErrorCode::kInvalidArgument);
  expected.replace(12'345, 5, "hello");
  expected.replace(0, 8, std::string("A\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(get(0, "a"), expected);
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_now("a"), expected);
  EXPECT_EQ(statistics().overflow_pages, page::OverflowPage::pages_of(20'000));
}

// Goal: a partial write that was prepared for an inline payload is not applied to a chain, nor
// beyond a payload that became short. Method: another session's put between call and commit.
TEST_F(HashTest, PartialWritesConflictWhenThePayloadChangedShape) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{9'000}}) {
    put_now(0, "a", std::string(64, 'x'));
    all_.session(1).begin();
    EXPECT_TRUE(write_at(all_.ctx(1), control_, "a", 60, "abcd").is_ok());
    put_now(0, "a", std::string(size, 'y'));
    EXPECT_EQ(all_.session(1).commit().code(), ErrorCode::kConflict);
    EXPECT_EQ(get_now("a"), std::string(size, 'y'));
  }
}

// Goal: reads, absence, erasures and growth agree with a map. Method: random operations in
// transactions of random length, some rolled back.
TEST_F(HashTest, AgreesWithAMap) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
  base::Random random(seed);
  std::map<std::string, std::string> committed;
  for (int t = 0; t < 3000; ++t) {
    std::map<std::string, std::string> model = committed;
    all_.session(0).begin();
    for (std::uint64_t n = random.below(8); n-- != 0;) {
      const std::string key = key_number(random.below(1500)) + std::string(random.below(20), 'k');
      const bool present = model.contains(key);
      const std::string payload(random.below(100) == 0 ? random.below(6000) : random.below(200),
                                static_cast<char>('a' + random.below(26)));
      switch (random.below(6)) {
        case 0:
        case 1: {
          ASSERT_TRUE(put(0, key, payload).is_ok());
          model[key] = payload;
          break;
        }
        case 2: {
          const Status status = erase(all_.ctx(), control_, key);
          ASSERT_EQ(status.is_ok(), present) << status.message();
          model.erase(key);
          break;
        }
        case 3: {
          const Status status = put(0, key, payload, WriteMode::kInsert);
          ASSERT_EQ(status.code(), present ? ErrorCode::kAlreadyExists : ErrorCode::kOk);
          model.try_emplace(key, payload);
          break;
        }
        default: {
          const std::optional<std::string> found = get(0, key);
          ASSERT_EQ(found.has_value(), present) << key;
          if (present) {
            ASSERT_EQ(*found, model[key]) << key;
          }
        }
      }
    }
    if (random.below(5) == 0) {
      all_.session(0).rollback();
    } else {
      const Status status = all_.session(0).commit();
      ASSERT_TRUE(status.is_ok()) << status.message();
      committed = model;
    }
    if (t % 50 == 0) all_.pass_epochs();
  }
  const Statistics now = statistics();
  EXPECT_EQ(now.records, committed.size());
  for (const auto& [key, payload] : committed) ASSERT_EQ(get_now(key), payload) << key;
}

TEST_F(HashTest, BinsSpreadAndStayWellFilled) {
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

// Goal: the room of erased records comes back. Method: keys that come and go, with few present at
// any time, over many epochs.
TEST_F(HashTest, RoomOfErasedRecordsIsReused) {
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

// Goal: P7. Method: erase a key, let its bin be rebuilt without it, insert it again: the TID is
// above that of the erasure although the clock's epoch has not moved on since.
TEST_F(HashTest, APurgedKeyStartsAboveItsErasure) {
  put_now(0, "victim", "v");
  erase_now(0, "victim");
  const page::Tid erased = all_.ctx().last_tid();
  all_.pass_epochs();
  for (int i = 0; statistics().deleted_records != 0; ++i) {
    ASSERT_LT(i, 1000);
    put_now(0, key_number(i), std::string(300, 'v'));
  }
  put_now(1, "victim", "again");
  EXPECT_GT(all_.ctx(1).last_tid().version(), erased.version());
}

TEST_F(HashTest, PrefetchChangesNothing) {
  const std::uint64_t pages = control_->volatile_pages.load_relaxed();
  all_.session(0).begin();
  for (int i = 0; i < 100; ++i) prefetch(all_.ctx(), control_, key_number(i));
  EXPECT_TRUE(all_.ctx().page_set().is_empty());
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(control_->volatile_pages.load_relaxed(), pages);
}

// ---- no pages -----------------------------------------------------------------------------------

class SmallHashTest : public HashTest {
 protected:
  SmallHashTest() : HashTest(StoragesOptions{.sessions = 2, .pool_bytes = 4u << 20}) {}
};

TEST_F(SmallHashTest, WithoutPagesWritesFailAndReadsGoOn) {
  int count = 0;
  for (Status status; status.is_ok();) {
    all_.session(0).begin();
    status = put(0, key_number(count), std::string(count % 3 == 0 ? 3000 : 700, 'v'));
    if (status.is_ok()) {
      ASSERT_TRUE(all_.session(0).commit().is_ok());
      ++count;
    } else {
      EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
      all_.session(0).rollback();
    }
  }
  EXPECT_GT(count, 500);
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(get_now(key_number(i)), std::string(i % 3 == 0 ? 3000 : 700, 'v'));
  }
  EXPECT_EQ(statistics().records, static_cast<std::uint64_t>(count));
}

}  // namespace
}  // namespace foedus::storage::hash
