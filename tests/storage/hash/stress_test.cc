// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/txn/commit.h"
#include "tests/storage/storages.h"

namespace foedus::storage::hash::stress_test {
namespace {

constexpr std::uint32_t kThreads = 4;

// Returns a payload that carries its key, so that half a payload or a wrong one is noticed.
std::string payload_of(std::uint64_t key, std::uint64_t stamp, std::size_t bytes) {
  std::string payload(bytes, '\0');
  const std::uint64_t words[2] = {key, stamp};
  for (std::size_t i = 0; i + 16 <= bytes; i += 16) std::memcpy(&payload[i], words, 16);
  return payload;
}
bool is_whole(std::uint64_t key, const std::string& payload) {
  if (payload.size() < 16) return false;
  std::uint64_t stamp;
  std::memcpy(&stamp, &payload[8], sizeof(stamp));
  return payload == payload_of(key, stamp, payload.size());
}

class HashStressTest : public ::testing::Test {
 protected:
  HashStressTest() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kHash;
    meta.fan_out_bits = 1;
    control_ = all_.make(meta);
  }
  void TearDown() override { verify_trie(all_.pool(), control_); }

  // Runs body(ctx, random) as a transaction until it commits. Returns how often it conflicted.
  template <typename Body>
  int transact(std::uint32_t session, Body&& body) {
    for (int conflicts = 0;; ++conflicts) {
      all_.session(session).begin();
      Status status = body(all_.ctx(session));
      if (status.is_ok()) {
        status = all_.session(session).commit();
      } else {
        // An error that depends on reads which no longer hold is a conflict, as in transact().
        Status reads = txn::verify(&all_.ctx(session));
        if (!reads.is_ok()) status = std::move(reads);
        all_.session(session).rollback();
      }
      if (status.is_ok()) return conflicts;
      EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
      if (status.code() != ErrorCode::kConflict) return conflicts;
    }
  }
  template <typename Work>
  void run_threads(Work&& work) {
    std::vector<std::thread> threads;
    std::atomic<std::uint32_t> running{kThreads};
    for (std::uint32_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        work(i);
        running.fetch_sub(1);
      });
    }
    while (running.load() != 0) {
      all_.pass_epochs();
      std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
  }

  Storages all_{{.sessions = kThreads, .pool_bytes = 128u << 20, .log_bytes = 4u << 20}};
  occ::StorageControl* control_ = nullptr;
};

// Goal: no insert is lost, whatever bins spread at the same time. Method: every thread inserts keys
// of its own, several in a transaction, and reads back earlier ones of all threads.
TEST_F(HashStressTest, inserts_of_all_threads_are_there) {
  constexpr std::uint64_t kKeys = 15'000;
  std::atomic<std::uint64_t> done[kThreads] = {};
  run_threads([&](std::uint32_t me) {
    base::Random random(me + 1);
    for (std::uint64_t i = 0; i < kKeys; i += 5) {
      transact(me, [&](occ::TxnContext& ctx) -> Status {
        for (std::uint64_t k = i; k < i + 5; ++k) {
          const std::string key = std::to_string(me) + "." + std::to_string(k);
          FOEDUS_CHECK(write_whole(ctx, control_, WriteMode::kInsert, key, key));
        }
        return {};
      });
      done[me].store(i + 5);
      const auto other = static_cast<std::uint32_t>(random.below(kThreads));
      const std::uint64_t there = done[other].load();
      if (there == 0) continue;
      const std::string key = std::to_string(other) + "." + std::to_string(random.below(there));
      transact(me, [&](occ::TxnContext& ctx) -> Status {
        WholeRead read =
            read_whole([&](occ::ReadRange* range) { return get(ctx, control_, key, range); });
        EXPECT_NE(read.status.code(), ErrorCode::kNotFound) << key;
        if (read.status.is_ok()) {
          EXPECT_EQ(read.payload, key);
        }
        return read.status;
      });
    }
  });
  EXPECT_EQ(verify_trie(all_.pool(), control_).records, kKeys * kThreads);
}

// Goal: increments, growing and shrinking payloads, chains, erasures and spreads of the same few
// bins leave every payload whole and every sum right. Method: each transaction moves an amount
// between two counters and rewrites, grows or erases other keys, whose payloads have a checksum.
TEST_F(HashStressTest, nothing_is_torn_or_lost) {
  constexpr std::uint64_t kCounters = 8;
  constexpr std::uint64_t kOthers = 150;
  constexpr int kTransactions = 6000;
  const auto counter = [](std::uint64_t i) { return "counter" + std::to_string(i); };
  transact(0, [&](occ::TxnContext& ctx) -> Status {
    for (std::uint64_t i = 0; i < kCounters; ++i) {
      FOEDUS_CHECK(write_whole(ctx, control_, WriteMode::kInsert, counter(i), std::string(8, 0)));
    }
    return {};
  });
  run_threads([&](std::uint32_t me) {
    base::Random random(me * 77 + 5);
    for (int t = 0; t < kTransactions; ++t) {
      const std::uint64_t from = random.below(kCounters);
      const std::uint64_t to = random.below(kCounters);
      const std::uint64_t other = random.below(kOthers);
      const std::uint64_t what = random.below(8);
      const std::size_t bytes = 16 * (1 + random.below(what == 0 ? 400 : 30));
      const std::uint64_t stamp = random.next();
      transact(me, [&](occ::TxnContext& ctx) -> Status {
        const std::string key = "other" + std::to_string(other);
        WholeRead read =
            read_whole([&](occ::ReadRange* range) { return get(ctx, control_, key, range); });
        if (read.status.code() == ErrorCode::kConflict) return read.status;
        if (read.status.is_ok()) {
          EXPECT_TRUE(is_whole(other, read.payload));
        }
        const bool there = read.status.is_ok();
        if (what == 1 && there) {
          FOEDUS_CHECK(erase(ctx, control_, key));
        } else if (what != 2) {
          FOEDUS_CHECK(
              write_whole(ctx, control_, WriteMode::kPut, key, payload_of(other, stamp, bytes)));
        }
        FOEDUS_CHECK(increment(ctx, control_, counter(from), 0, -7));
        return increment(ctx, control_, counter(to), 0, 7);
      });
    }
  });
  std::int64_t sum = 0;
  transact(0, [&](occ::TxnContext& ctx) -> Status {
    for (std::uint64_t i = 0; i < kCounters; ++i) {
      std::int64_t value = 0;
      occ::ReadRange range;
      range.out = reinterpret_cast<char*>(&value);
      range.out_bytes = sizeof(value);
      FOEDUS_CHECK(get(ctx, control_, counter(i), &range));
      sum += value;
    }
    return {};
  });
  EXPECT_EQ(sum, 0);
}

// Goal: no phantom. Method: a transaction inserts its token only after it missed those of all
// others in the same group. No group ever gets two tokens, while its bins spread.
TEST_F(HashStressTest, two_that_miss_each_others_key_do_not_both_commit) {
  constexpr int kGroups = 1500;
  std::atomic<int> winners[kGroups] = {};
  run_threads([&](std::uint32_t me) {
    for (int g = 0; g < kGroups; ++g) {
      const auto token = [g](std::uint32_t i) {
        return std::to_string(i) + "token" + std::to_string(g);
      };
      bool won = false;
      transact(me, [&](occ::TxnContext& ctx) -> Status {
        won = false;
        for (std::uint32_t i = 0; i < kThreads; ++i) {
          occ::ReadRange range;
          const Status status = get(ctx, control_, token(i), &range);
          if (status.is_ok()) return {};
          if (status.code() != ErrorCode::kNotFound) return status;
        }
        won = true;
        return write_whole(ctx, control_, WriteMode::kPut, token(me), std::string(120, 't'));
      });
      if (won) winners[g].fetch_add(1);
    }
  });
  for (int g = 0; g < kGroups; ++g) ASSERT_EQ(winners[g].load(), 1) << g;
}

// Goal: get_for_update excludes other writers, also through spreads. Method: transactions read and
// write back without increment(); no update may be lost and no holder may conflict on the record
// itself.
TEST_F(HashStressTest, held_locks_lose_no_update) {
  constexpr int kRounds = 1500;
  run_threads([&](std::uint32_t me) {
    for (int i = 0; i < kRounds; ++i) {
      transact(me, [&](occ::TxnContext& ctx) -> Status {
        std::uint64_t value = 0;
        occ::ReadRange range;
        range.out = reinterpret_cast<char*>(&value);
        range.out_bytes = sizeof(value);
        const Status status = get_for_update(ctx, control_, "shared", &range);
        if (!status.is_ok() && status.code() != ErrorCode::kNotFound) return status;
        ++value;
        const std::string_view bytes(reinterpret_cast<const char*>(&value), sizeof(value));
        FOEDUS_CHECK(write_whole(ctx, control_, WriteMode::kPut, "shared", bytes));
        const std::string filler = std::to_string(me) + "." + std::to_string(i);
        return write_whole(ctx, control_, WriteMode::kInsert, filler, std::string(100, 'f'));
      });
    }
  });
  std::uint64_t value = 0;
  transact(0, [&](occ::TxnContext& ctx) -> Status {
    occ::ReadRange range;
    range.out = reinterpret_cast<char*>(&value);
    range.out_bytes = sizeof(value);
    return get(ctx, control_, "shared", &range);
  });
  EXPECT_EQ(value, std::uint64_t{kThreads} * kRounds);
}

}  // namespace
}  // namespace foedus::storage::hash::stress_test
