// ctest-labels: concurrency
// Transactions of snapshot isolation beside writers, also in threads of their own, and gleans.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::snapshot_readers_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

// Accounts in three storages: transfers between two of them keep the sum.
class Bank {
 public:
  static constexpr std::uint64_t kAccounts = 200;
  static constexpr std::int64_t kEach = 1'000;

  explicit Bank(Database& db)
      : array_(must(db.open_array("array", kAccounts, 8))),
        hash_(must(db.open_hash("hash"))),
        tree_(must(db.open_masstree("tree"))) {
    must(db.transact([&](Txn& txn) -> Status {
      for (std::uint64_t i = 0; i < kAccounts; ++i) {
        FOEDUS_CHECK(txn.put(array_, i, kEach));
        FOEDUS_CHECK(txn.put(hash_, key(i), kEach));
        FOEDUS_CHECK(txn.put(tree_, key(i), kEach));
      }
      return {};
    }));
  }

  Status move(Txn& txn, std::uint64_t from, std::uint64_t to, std::int64_t amount) const {
    FOEDUS_CHECK(add(txn, from, -amount));
    return add(txn, to, amount);
  }

  Status expect_sums(Txn& txn, bool reverse) const {
    std::int64_t points = 0;
    for (std::uint64_t i = 0; i < kAccounts; ++i) {
      FOEDUS_TRY(const auto slot, txn.get_as<std::int64_t>(array_, i));
      FOEDUS_TRY(const auto hashed, txn.get_as<std::int64_t>(hash_, key(i)));
      FOEDUS_TRY(const auto sorted, txn.get_as<std::int64_t>(tree_, key(i)));
      EXPECT_EQ(slot, hashed) << i;
      EXPECT_EQ(slot, sorted) << i;
      points += slot;
    }
    EXPECT_EQ(points, static_cast<std::int64_t>(kAccounts) * kEach);
    std::int64_t scanned = 0;
    Scan scan = txn.scan(tree_, "", "", {.reverse = reverse});
    for (const Row& row : scan) {
      std::int64_t value;
      std::memcpy(&value, row.payload.data(), sizeof(value));
      scanned += value;
    }
    EXPECT_FALSE(scan.failure().has_value()) << scan.failure()->message();
    EXPECT_EQ(scanned, points);
    return {};
  }

 private:
  Status add(Txn& txn, std::uint64_t account, std::int64_t amount) const {
    FOEDUS_CHECK(txn.increment(array_, account, 0, amount));
    FOEDUS_CHECK(txn.increment(hash_, key(account), 0, amount));
    return txn.increment(tree_, key(account), 0, amount);
  }

  Array array_;
  Hash hash_;
  Masstree tree_;
};

// Goal: readers never conflict and see one moment, while writers and gleans are at work. Method: a
// writer transfers amounts; readers add up, and see each transfer whole or not at all.
TEST(SnapshotReadersTest, readers_never_conflict_with_writers) {
  Options options = small_options("");
  options.glean.log_bytes = 1u << 20;
  TestDatabase db(options);
  const Bank bank(*db);
  must(db->glean());
  std::atomic<bool> is_over{false};
  const auto write = [&](std::uint64_t seed) {
    base::Random random(seed);
    while (!is_over.load()) {
      const std::uint64_t from = random.below(Bank::kAccounts);
      const std::uint64_t to = random.below(Bank::kAccounts);
      const auto amount = static_cast<std::int64_t>(random.below(100));
      must(db->transact([&](Txn& txn) { return bank.move(txn, from, to, amount); }));
    }
  };
  std::atomic<std::uint64_t> reads{0};
  const auto read = [&] {
    Epoch newest;
    while (!is_over.load()) {
      const std::uint64_t turn = reads.fetch_add(1);
      Ticket ticket;  // a glean for each fourth of them
      must(db->snapshot([&](Txn& txn) { return bank.expect_sums(txn, turn % 2 == 0); },
                        {.newest_existing = turn % 4 != 0, .ticket = &ticket}));
      EXPECT_GE(ticket.epoch(), newest);
      newest = ticket.epoch();
    }
  };
  std::thread writer(write, testing::test_seed(31));
  std::thread reader_one(read);
  std::thread reader_two(read);
  while (db->stats().gleans < 6 || reads.load() < 200) testing::nap();
  is_over.store(true);
  writer.join();
  reader_one.join();
  reader_two.join();
}

// Goal: a transaction on a snapshot holds no record lock, even if it is the retry of one that did.
// Method: another transaction holds the lock of the second record, and so does not wait for that of
// the first (O1).
TEST(SnapshotReadersTest, a_retry_in_a_snapshot_locks_no_record) {
  Options options = small_options("");
  options.glean.interval_us = 0;  // when the test says so
  TestDatabase db(options);
  const Array array = must(db->open_array("array", 2, 8));
  const auto put = [&](std::uint64_t i) {
    must(db->transact([&](Txn& txn) { return txn.put(array, i, i); }));
  };
  put(0);
  put(1);
  must(db->glean());
  Session session = must(db->new_session());
  std::byte out[8];
  Txn first = must(session.begin());
  must(first.get_for_update(array, 0, out));
  must(first.get(array, 1, out));
  put(1);
  EXPECT_EQ(first.commit().code(), ErrorCode::kConflict);
  Txn retry = must(session.retry({.isolation = Isolation::kSnapshot, .newest_existing = true}));
  must(db->transact(
      [&](Txn& txn) -> Status {
        FOEDUS_CHECK(txn.get_for_update(array, 1, out));
        return txn.get_for_update(array, 0, out);
      },
      {.tries_max = 1}));
  must(retry.commit());
}

}  // namespace
}  // namespace foedus::snapshot_readers_test
