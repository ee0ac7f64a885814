// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/array/array_storage.h"
#include "tests/storage/storages.h"

namespace foedus::storage::array::stress_test {
namespace {

constexpr std::uint32_t kThreads = 4;

// Goal: a page that several sessions touch first is made once, no payload is torn and no amount is
// lost. Method: each transaction rewrites a record whose words are all equal, and moves an amount
// between two others. The array is so large that most pages are touched for the first time.
TEST(ArrayStressTest, nothing_is_torn_or_lost) {
  Storages all({.sessions = kThreads, .socs = 2, .pool_bytes = 128u << 20});
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kArray;
  meta.records = 1'000'000;
  meta.payload_bytes = 1000;
  occ::StorageControl* const words = all.make(meta);
  meta.records = 20'000;
  meta.payload_bytes = 8;
  occ::StorageControl* const amounts = all.make(meta);

  const auto work = [&](std::uint32_t me) {
    base::Random random(me + 1);
    for (int t = 0; t < 3000; ++t) {
      const std::uint64_t near = random.below(20) + 10'000 * static_cast<std::uint64_t>(t / 30);
      const std::uint64_t from = random.below(20'000);
      const std::uint64_t to = random.below(20'000);
      for (bool committed = false; !committed;) {
        all.session(me).begin();
        occ::TxnContext& ctx = all.ctx(me);
        std::vector<std::uint64_t> payload(125);
        occ::ReadRange range;
        range.out = reinterpret_cast<char*>(payload.data());
        range.out_bytes = 1000;
        Status status = get(ctx, words, near, &range);
        if (status.is_ok()) {
          for (const std::uint64_t word : payload) EXPECT_EQ(word, payload[0]);
          for (std::uint64_t& word : payload) word += me + 1;
          status =
              write_at(ctx, words, near, 0, {reinterpret_cast<const char*>(payload.data()), 1000});
        }
        if (status.is_ok()) status = increment(ctx, amounts, from, 0, -3);
        if (status.is_ok()) status = increment(ctx, amounts, to, 0, 3);
        if (status.is_ok()) {
          status = all.session(me).commit();
        } else {
          all.session(me).rollback();
        }
        committed = status.is_ok();
        ASSERT_TRUE(committed || status.code() == ErrorCode::kConflict) << status.message();
      }
    }
  };
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> running{kThreads};
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      work(i);
      running.fetch_sub(1);
    });
  }
  while (running.load() != 0) {
    all.pass_epochs();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();

  std::int64_t sum = 0;
  all.session(0).begin({.isolation = Isolation::kDirtyRead});
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    std::int64_t value = 0;
    occ::ReadRange range;
    range.out = reinterpret_cast<char*>(&value);
    range.out_bytes = sizeof(value);
    ASSERT_TRUE(get(all.ctx(), amounts, i, &range).is_ok());
    sum += value;
  }
  all.session(0).rollback();
  EXPECT_EQ(sum, 0);
}

}  // namespace
}  // namespace foedus::storage::array::stress_test
