// Databases of ten times their page cache, which has the least number of frames. One transaction
// misses a hundred times as many pages as there are frames, and all of them are right.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/array/array_install.h"
#include "foedus-core/storage/array/array_storage.h"
#include "foedus-core/storage/hash/install/install.h"
#include "foedus-core/storage/hash/storage.h"
#include "tests/base/test_seed.h"
#include "tests/storage/gleaned.h"
#include "tests/storage/sequential/cold.h"

namespace foedus::storage::small_cache_test {
namespace {

constexpr std::uint32_t kFrames = 64;
constexpr std::uint32_t kPages = 10 * kFrames;
constexpr std::uint64_t kMisses = 100 * kFrames;

Gleaned::Memory small(base::Runtime* runtime) {
  return {
      .log_bytes = 32u << 20, .cache_bytes = snapshot::PageCache::kBytesMin, .runtime = runtime};
}

void expect_small(Gleaned* all) {
  EXPECT_EQ(all->all().cache()->frames_max(0), kFrames);
  EXPECT_LE(all->all().cache()->statistics().pages, kFrames);
}

// ---- arrays ----------------------------------------------------------------------------------

class SmallArray : public Gleaned {
 public:
  static constexpr std::uint32_t kPayloadBytes = 1000;
  static constexpr std::uint64_t kRecords = kPages * 3;  // 3 on a page

  explicit SmallArray(base::Runtime* runtime)
      : Gleaned(meta(), compose_all, array::install, 4, small(runtime)) {
    session(0).begin();
    for (std::uint64_t i = 0; i < kRecords; ++i) EXPECT_TRUE(put(0, i, value_of(i)).is_ok());
    EXPECT_TRUE(session(0).commit().is_ok());
    EXPECT_EQ(glean().pages_kept, 0u);
  }
  static std::uint64_t value_of(std::uint64_t i) { return i * 0x2545f4914f6cdd1du + 1; }

  Status put(std::uint32_t who, std::uint64_t index, std::uint64_t value) {
    return array::write_at(session(who).ctx(), control(), index, index % 900,
                           {reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  Result<std::uint64_t> get(std::uint32_t who, std::uint64_t index) {
    std::uint64_t value = 0;
    occ::ReadRange range;
    range.out = reinterpret_cast<char*>(&value);
    range.out_bytes = sizeof(value);
    range.offset = static_cast<std::uint32_t>(index % 900);
    FOEDUS_CHECK(array::get(session(who).ctx(), control(), index, &range));
    return value;
  }
  void expect(std::uint32_t who, std::uint64_t index) {
    const Result<std::uint64_t> value = get(who, index);
    ASSERT_TRUE(value.is_ok()) << value.status().message();
    ASSERT_EQ(*value, value_of(index));
  }
  std::uint64_t misses() { return all().cache()->statistics().misses; }

 private:
  static storage_meta::StorageMeta meta() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kArray;
    meta.records = kRecords;
    meta.payload_bytes = kPayloadBytes;
    return meta;
  }
};

TEST(SmallCacheTest, one_transaction_reads_a_hundred_caches_of_an_array) {
  testing::ManualRuntime runtime;
  SmallArray all(&runtime);
  base::Random random(testing::test_seed(1));
  const std::uint64_t before = all.misses();
  all.session(1).begin();
  while (all.misses() < before + kMisses) {
    all.expect(1, random.below(SmallArray::kRecords));
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_TRUE(all.session(1).commit().is_ok());
  EXPECT_EQ(all.control()->volatile_pages.load_relaxed(), 0u);
  expect_small(&all);
}

// Pages that an idle transaction has read do not make others wait, and it can go on later.
TEST(SmallCacheTest, an_idle_transaction_stops_nobody) {
  testing::ManualRuntime runtime;
  SmallArray all(&runtime);
  all.session(0).begin();
  for (std::uint64_t i = 0; i < 3 * kFrames; i += 3) all.expect(0, i);
  EXPECT_EQ(all.all().clock().slot(0).cache_pin.load_relaxed(), 0u);
  const std::uint64_t before = all.misses();
  base::Random random(testing::test_seed(2));
  const std::uint64_t begin_us = runtime.now_us();
  all.session(1).begin();
  while (all.misses() < before + kMisses) {
    all.expect(1, random.below(SmallArray::kRecords));
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_LT(runtime.now_us() - begin_us, 1'000'000u);
  EXPECT_TRUE(all.session(1).commit().is_ok());
  for (std::uint64_t i = 0; i < SmallArray::kRecords; i += 7) all.expect(0, i);
  EXPECT_TRUE(all.session(0).commit().is_ok());
}

// One transaction reads ten times the pages of the cache, then makes them volatile; the next glean
// drops them again.
TEST(SmallCacheTest, one_transaction_changes_an_array_of_ten_caches) {
  testing::ManualRuntime runtime;
  SmallArray all(&runtime);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    all.session(1).begin();
    for (std::uint64_t i = 0; i < SmallArray::kRecords; i += 2) {
      const Result<std::uint64_t> value = all.get(1, i);
      ASSERT_TRUE(value.is_ok()) << value.status().message();
      ASSERT_EQ(*value, SmallArray::value_of(i) + round - 1);
      ASSERT_TRUE(all.put(1, i, *value + 1).is_ok());
    }
    const Status status = all.session(1).commit();
    ASSERT_TRUE(status.is_ok()) << status.message();
    EXPECT_GE(all.control()->volatile_pages.load_relaxed(), kPages);
    EXPECT_EQ(all.glean().pages_kept, 0u);
    EXPECT_EQ(all.control()->volatile_pages.load_relaxed(), 0u);
  }
  all.session(1).begin();
  for (std::uint64_t i = 1; i < SmallArray::kRecords; i += 2) all.expect(1, i);
  EXPECT_TRUE(all.session(1).commit().is_ok());
  expect_small(&all);
}

// Threads share the 64 frames; none fails, and each page is right.
TEST(SmallCacheTest, two_threads_and_an_idle_transaction_make_progress) {
  const std::unique_ptr<base::Runtime> runtime = base::make_thread_runtime();
  SmallArray all(runtime.get());
  all.session(0).begin();
  for (std::uint64_t i = 0; i < 3 * kFrames; i += 3) all.expect(0, i);
  const std::uint64_t before = all.misses();
  const std::uint64_t seed = testing::test_seed(3);
  std::vector<std::thread> threads;
  for (std::uint32_t who = 1; who <= 2; ++who) {
    threads.emplace_back([&all, who, seed] {
      base::Random random(seed + who);
      all.session(who).begin();
      for (std::uint64_t i = 0; i < kMisses / 2; ++i) {
        all.expect(who, random.below(SmallArray::kRecords));
        if (::testing::Test::HasFatalFailure()) return;
      }
      EXPECT_TRUE(all.session(who).commit().is_ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(all.misses() - before, kMisses / 2);
  EXPECT_TRUE(all.session(0).commit().is_ok());
  expect_small(&all);
}

// ---- hash ------------------------------------------------------------------------------------

class SmallHash : public Gleaned {
 public:
  static constexpr std::uint64_t kRows = kPages * 3 / 2;
  static constexpr std::uint64_t kLong = 16;  // rows with payloads of several pages

  explicit SmallHash(base::Runtime* runtime)
      : Gleaned(meta(), compose_all, hash::install, 4, small(runtime)) {
    session(0).begin();
    for (std::uint64_t i = 0; i < kRows; ++i) EXPECT_TRUE(put(0, i, payload_of(i)).is_ok());
    const Status status = session(0).commit();
    EXPECT_TRUE(status.is_ok()) << status.message();
    EXPECT_EQ(glean().pages_kept, 0u);
    EXPECT_EQ(control()->volatile_pages.load_relaxed(), 0u);
  }

  static std::string payload_of(std::uint64_t i) {
    const std::size_t bytes = i % (kRows / kLong) == 0 ? 120 * page::kPageBytes : 1200 + i % 100;
    std::string payload(bytes, static_cast<char>('a' + i % 26));
    for (std::size_t at = 0; at + 8 <= bytes; at += 1000) std::memcpy(&payload[at], &i, 8);
    return payload;
  }
  static std::string key_of(std::uint64_t i) { return "key" + std::to_string(i); }

  Status put(std::uint32_t who, std::uint64_t i, std::string_view payload) {
    return hash::write_whole(session(who).ctx(), control(), storage::WriteMode::kPut, key_of(i),
                             payload);
  }
  void expect(std::uint32_t who, std::uint64_t i, std::string_view payload) {
    const WholeRead got = read_whole([&](occ::ReadRange* range) {
      return hash::get(session(who).ctx(), control(), key_of(i), range);
    });
    ASSERT_TRUE(got.status.is_ok()) << got.status.message();
    ASSERT_EQ(got.payload, payload);
  }

 private:
  static storage_meta::StorageMeta meta() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kHash;
    meta.fan_out_bits = 2;
    return meta;
  }
};

// The transaction also reads payloads of twice the cache, and absent keys.
TEST(SmallCacheTest, one_transaction_reads_a_hundred_caches_of_a_hash) {
  testing::ManualRuntime runtime;
  SmallHash all(&runtime);
  base::Random random(testing::test_seed(4));
  const std::uint64_t before = all.all().cache()->statistics().misses;
  all.session(1).begin();
  while (all.all().cache()->statistics().misses < before + kMisses) {
    const std::uint64_t i = random.below(SmallHash::kRows);
    all.expect(1, i, SmallHash::payload_of(i));
    occ::ReadRange range;
    EXPECT_EQ(
        hash::get(all.session(1).ctx(), all.control(), "no" + std::to_string(i), &range).code(),
        ErrorCode::kNotFound);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_TRUE(all.session(1).commit().is_ok());
  EXPECT_EQ(all.control()->volatile_pages.load_relaxed(), 0u);
  expect_small(&all);
}

TEST(SmallCacheTest, one_transaction_reads_and_changes_a_hash_of_ten_caches) {
  testing::ManualRuntime runtime;
  SmallHash all(&runtime);
  all.session(1).begin();
  for (std::uint64_t i = 0; i < SmallHash::kRows; ++i) {
    all.expect(1, i, SmallHash::payload_of(i));
    if (i % 3 != 0) continue;
    ASSERT_TRUE(all.put(1, i, "new" + std::to_string(i)).is_ok());
  }
  const Status status = all.session(1).commit();
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(all.glean().pages_kept, 0u);
  all.session(2).begin();
  for (std::uint64_t i = 0; i < SmallHash::kRows; ++i) {
    all.expect(2, i, i % 3 == 0 ? "new" + std::to_string(i) : SmallHash::payload_of(i));
  }
  EXPECT_TRUE(all.session(2).commit().is_ok());
  expect_small(&all);
}

// ---- sequential ------------------------------------------------------------------------------

// One transaction scans ten times the pages of the cache, which keeps a page or two from scan to
// scan; two cursors are open at the same time.
TEST(SmallCacheTest, one_transaction_scans_a_hundred_caches) {
  testing::ManualRuntime runtime;
  sequential::SequentialCold all(4, small(&runtime));
  std::vector<std::string> expected;
  all.session(0).begin();
  while (expected.size() < kPages * 3) {
    expected.push_back(std::to_string(expected.size()) + std::string(1200, '.'));
    ASSERT_TRUE(all.append(0, expected.back()).is_ok());
  }
  ASSERT_TRUE(all.session(0).commit().is_ok());
  EXPECT_EQ(all.glean().pages_kept, 0u);
  all.session(1).begin();
  while (all.all().cache()->statistics().misses < kMisses) ASSERT_EQ(all.scan(1), expected);
  sequential::Cursor ahead;
  sequential::Cursor behind;
  ASSERT_TRUE(ahead.open(all.session(1).ctx(), all.control()).is_ok());
  for (std::uint32_t i = 0; i < kPages; ++i) ASSERT_TRUE(ahead.next().is_ok());
  ASSERT_TRUE(behind.open(all.session(1).ctx(), all.control()).is_ok());
  for (std::uint32_t i = 0; i < kPages; ++i) {
    ASSERT_EQ(behind.payload(), expected[i]);
    ASSERT_EQ(ahead.payload(), expected[i + kPages]);
    ASSERT_TRUE(ahead.next().is_ok() && behind.next().is_ok());
  }
  ahead.close();
  behind.close();
  EXPECT_TRUE(all.session(1).commit().is_ok());
  expect_small(&all);
}

}  // namespace
}  // namespace foedus::storage::small_cache_test
