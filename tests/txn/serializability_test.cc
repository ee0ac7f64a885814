// ctest-labels: concurrency
// Interleavings that break serializability if a step of the commit protocol is missing. Method: two
// sessions of one thread, the second one run inside a sync point of the first.
#include <functional>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "tests/testing/test_database.h"
#include "tests/txn/two_sessions.h"

namespace foedus::serializability_test {
namespace {

using testing::must;
using testing::TestDatabase;

// Runs `action` once when the named sync point is reached; nested sync points do nothing.
class AtSyncPoint {
 public:
  AtSyncPoint(std::string place, std::function<void()> action) {
    place_ = std::move(place);
    action_ = std::move(action);
    base::set_sync_point_hook([](const char* reached) {
      if (place_ != reached || !action_) return;
      const std::function<void()> once = std::exchange(action_, nullptr);
      once();
    });
  }
  ~AtSyncPoint() {
    base::set_sync_point_hook(nullptr);
    EXPECT_FALSE(action_) << "never reached: " << place_;
    action_ = nullptr;
  }

 private:
  static inline std::string place_;
  static inline std::function<void()> action_;
};

class SerializabilityTest : public testing::TwoSessionsTest {
 protected:
  SerializabilityTest()
      : tree_(must(db_->open_masstree("tree"))),
        hash_(must(db_->open_hash("hash"))),
        array_(must(db_->open_array("array", 10, 8))),
        log_(must(db_->open_sequential("log"))) {}

  void put(const KeyedStorage& storage, std::string_view key, std::uint64_t value) {
    must(db_->transact([&](Txn& txn) { return txn.put(storage, key, value); }));
  }
  std::uint64_t get(const KeyedStorage& storage, std::string_view key) {
    return must(db_->transact([&](Txn& txn) { return txn.get_as<std::uint64_t>(storage, key); }));
  }
  static std::uint64_t count(Scan rows) {
    std::uint64_t counted = 0;
    for (auto row = rows.begin(); row != rows.end(); ++row) ++counted;
    EXPECT_FALSE(rows.failure().has_value());
    return counted;
  }

  Masstree tree_;
  Hash hash_;
  Array array_;
  Sequential log_;
};

// Two transactions read the same value and write it: the second commit must not lose the first
// one's.
TEST_F(SerializabilityTest, lost_update_is_a_conflict) {
  put(tree_, "k", 1);
  Txn one = must(first_.begin());
  const auto seen = must(one.get_as<std::uint64_t>(tree_, "k"));
  commit_second([&](Txn& two) -> Status {
    FOEDUS_TRY(const auto value, two.get_as<std::uint64_t>(tree_, "k"));
    return two.put(tree_, "k", value + 10);
  });
  must(one.put(tree_, "k", seen + 1));
  expect_conflict(one.commit(), ConflictReason::kRecordChanged);
  EXPECT_EQ(get(tree_, "k"), 11u);
}

// Two transactions take a number from a counter and mark it as used. The second one has published
// the mark but not yet the counter, which the first one has read and will write, too. The first one
// must not return "in use" as an error, because it comes from an old counter.
TEST_F(SerializabilityTest, an_error_is_verified_against_a_commit_between_two_records) {
  constexpr std::uint64_t kMark = 3;
  constexpr std::uint64_t kCounter = 9;
  const auto take_number = [&](Txn& txn) -> Status {
    FOEDUS_TRY(const auto number, txn.get_as<std::uint64_t>(array_, kCounter));
    return txn.put(array_, kCounter, number + 1);
  };
  Txn one = must(first_.begin());
  must(take_number(one));
  std::uint64_t mark = 0;
  Status verified;
  {
    const AtSyncPoint published("commit:record_published", [&] {
      mark = must(one.get_as<std::uint64_t>(array_, kMark));
      verified = one.verify();
    });
    commit_second([&](Txn& two) -> Status {
      // The commit publishes records in the order of these writes.
      FOEDUS_CHECK(two.put(array_, kMark, std::uint64_t{1}));
      return take_number(two);
    });
  }
  EXPECT_EQ(mark, 1u);
  EXPECT_EQ(verified.code(), ErrorCode::kConflict) << verified.message();
  EXPECT_EQ(verified.conflict_reason(), ConflictReason::kRecordLocked);
  one.rollback();
}

// Two transactions read both records and clear one each: at most one may commit.
TEST_F(SerializabilityTest, write_skew_is_a_conflict) {
  put(tree_, "a", 1);
  put(tree_, "b", 1);
  Txn one = must(first_.begin());
  Txn two = must(second_.begin());
  for (Txn* txn : {&one, &two}) {
    must(txn->get_as<std::uint64_t>(tree_, "a"));
    must(txn->get_as<std::uint64_t>(tree_, "b"));
  }
  must(one.put(tree_, "a", std::uint64_t{0}));
  must(two.put(tree_, "b", std::uint64_t{0}));
  EXPECT_TRUE(two.commit().is_ok());
  expect_conflict(one.commit(), ConflictReason::kRecordChanged);
}

// Write skew with the first transaction stopped between its fence and verify: its record is marked
// being-written and not changed yet, so the second one notices only the mark.
TEST_F(SerializabilityTest, write_skew_between_lock_and_verify_is_a_conflict) {
  put(tree_, "a", 1);
  put(tree_, "b", 1);
  Txn one = must(first_.begin());
  Txn two = must(second_.begin());
  for (Txn* txn : {&one, &two}) {
    must(txn->get_as<std::uint64_t>(tree_, "a"));
    must(txn->get_as<std::uint64_t>(tree_, "b"));
  }
  must(one.put(tree_, "a", std::uint64_t{0}));
  must(two.put(tree_, "b", std::uint64_t{0}));
  {
    const AtSyncPoint stop("commit:serialized",
                           [&] { expect_conflict(two.commit(), ConflictReason::kRecordLocked); });
    EXPECT_TRUE(one.commit().is_ok());
  }
  EXPECT_EQ(get(tree_, "a") + get(tree_, "b"), 1u);
}

TEST_F(SerializabilityTest, phantom_in_a_range_is_a_conflict) {
  put(tree_, key(1u), 1);
  put(tree_, key(9u), 1);
  Txn one = must(first_.begin());
  EXPECT_EQ(count(one.scan(tree_, key(0u), key(100u))), 2u);
  commit_second([&](Txn& two) { return two.insert(tree_, key(5u), std::uint64_t{1}); });
  must(one.put(tree_, "result", std::uint64_t{2}));
  expect_conflict(one.commit(), ConflictReason::kPageGained);
}

TEST_F(SerializabilityTest, phantom_of_a_missed_key_is_a_conflict) {
  put(tree_, "x", 1);
  for (const KeyedStorage& storage : {KeyedStorage(tree_), KeyedStorage(hash_)}) {
    Txn one = must(first_.begin());
    EXPECT_FALSE(must(one.contains(storage, "missed")));
    commit_second([&](Txn& two) { return two.insert(storage, "missed", std::uint64_t{1}); });
    must(one.put(tree_, "result", std::uint64_t{0}));
    const Result<Ticket> ticket = one.commit();
    EXPECT_EQ(ticket.code(), ErrorCode::kConflict);
  }
}

TEST_F(SerializabilityTest, phantom_in_an_empty_tree_is_a_conflict) {
  Txn one = must(first_.begin());
  EXPECT_EQ(count(one.scan(tree_, "", "")), 0u);
  commit_second([&](Txn& two) { return two.insert(tree_, "first", std::uint64_t{1}); });
  must(one.append(log_, "saw nothing"));
  expect_conflict(one.commit(), ConflictReason::kPageGained);
}

// Two transactions miss the key and put it. The record is physically there after the first put, so
// the page's count does not tell of the second one.
TEST_F(SerializabilityTest, put_after_a_miss_is_a_conflict_if_another_one_came_first) {
  put(tree_, "x", 1);
  put(hash_, "x", 1);
  for (const KeyedStorage& storage : {KeyedStorage(tree_), KeyedStorage(hash_)}) {
    Txn one = must(first_.begin());
    EXPECT_FALSE(must(one.contains(storage, "missed")));
    must(one.put(storage, "missed", std::uint64_t{1}));
    commit_second([&](Txn& two) -> Status {
      EXPECT_FALSE(must(two.contains(storage, "missed")));
      return two.put(storage, "missed", std::uint64_t{2});
    });
    expect_conflict(one.commit(), ConflictReason::kRecordChanged);
    EXPECT_EQ(get(storage, "missed"), 2u);
  }
}

// A physical insert updates the transaction's own entry of the miss. Another transaction may commit
// to the new record before the first one reads it.
TEST_F(SerializabilityTest, put_after_a_miss_is_a_conflict_if_another_one_took_its_new_record) {
  put(tree_, "x", 1);
  put(hash_, "x", 1);
  const auto missed_then = [this](const KeyedStorage& storage, const std::string& place,
                                  bool inserts) {
    const std::string key = inserts ? "inserted" : "put";
    Txn one = must(first_.begin());
    EXPECT_FALSE(must(one.contains(storage, key)));
    const AtSyncPoint taken(place, [&] {
      commit_second([&](Txn& two) { return two.put(storage, key, std::uint64_t{2}); });
    });
    const Status status = inserts ? one.insert(storage, key, std::uint64_t{1})
                                  : one.put(storage, key, std::uint64_t{1});
    EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    EXPECT_EQ(status.conflict_reason(), ConflictReason::kRecordChanged);
    one.rollback();
    EXPECT_EQ(get(storage, key), 2u);
  };
  for (const bool inserts : {false, true}) {
    missed_then(tree_, "keyed:write_found", inserts);
    missed_then(hash_, "keyed:write_found", inserts);
  }
}

// The page that was scanned splits, and the new key goes to a page that the scan never saw.
TEST_F(SerializabilityTest, phantom_through_a_split_is_a_conflict) {
  for (std::uint32_t i = 0; i < 60; i += 2) put(tree_, key(i), i);
  Txn one = must(first_.begin());
  EXPECT_EQ(count(one.scan(tree_, key(0u), key(60u))), 30u);
  commit_second([&](Txn& two) -> Status {
    for (std::uint32_t i = 1000; i < 1200; ++i) {
      FOEDUS_CHECK(two.insert(tree_, key(i), std::uint64_t{i}));
    }
    return two.insert(tree_, key(31u), std::uint64_t{31});
  });
  must(one.put(hash_, "result", std::uint64_t{30}));
  expect_conflict(one.commit(), ConflictReason::kPageGained);
}

// A split alone changes nothing that was read: no conflict.
TEST_F(SerializabilityTest, split_alone_is_no_conflict) {
  for (std::uint32_t i = 0; i < 64; ++i) put(tree_, key(i), i);
  must(db_->transact([&](Txn& txn) { return txn.erase(tree_, key(63u)); }));
  Txn one = must(first_.begin());
  must(one.get_as<std::uint64_t>(tree_, key(1u)));
  must(one.put(tree_, key(2u), std::uint64_t{22}));
  // The page is full of keys: the next one splits it.
  commit_second([&](Txn& two) { return two.insert(tree_, key(1000u), std::uint64_t{1}); });
  const Result<Ticket> ticket = one.commit();
  EXPECT_TRUE(ticket.is_ok()) << ticket.status().message();
  EXPECT_EQ(get(tree_, key(2u)), 22u);
}

// A split of a record that was read and is written is no conflict: the mark on it is the
// transaction's own.
TEST_F(SerializabilityTest, split_of_what_was_read_and_written_is_no_conflict) {
  for (std::uint32_t i = 0; i < 64; ++i) put(tree_, key(i), i);
  Txn one = must(first_.begin());
  const auto before = must(one.get_as<std::uint64_t>(tree_, key(2u)));
  must(one.put(tree_, key(2u), before + 1));
  commit_second([&](Txn& two) { return two.insert(tree_, key(1000u), std::uint64_t{1}); });
  const Result<Ticket> ticket = one.commit();
  EXPECT_TRUE(ticket.is_ok()) << ticket.status().message();
  EXPECT_EQ(get(tree_, key(2u)), 3u);
}

// The key that was read becomes a layer because another one shares its slice.
TEST_F(SerializabilityTest, new_layer_alone_is_no_conflict) {
  put(tree_, "prefix__suffix-one", 1);
  Txn one = must(first_.begin());
  must(one.get_as<std::uint64_t>(tree_, "prefix__suffix-one"));
  must(one.put(hash_, "result", std::uint64_t{1}));
  commit_second(
      [&](Txn& two) { return two.insert(tree_, "prefix__suffix-two", std::uint64_t{2}); });
  const Result<Ticket> ticket = one.commit();
  EXPECT_TRUE(ticket.is_ok()) << ticket.status().message();
}

TEST_F(SerializabilityTest, phantom_through_a_new_layer_is_a_conflict) {
  put(tree_, "prefix__suffix-one", 1);
  Txn one = must(first_.begin());
  EXPECT_EQ(count(one.scan(tree_, "prefix", "prefiy")), 1u);
  must(one.put(hash_, "result", std::uint64_t{1}));
  commit_second(
      [&](Txn& two) { return two.insert(tree_, "prefix__suffix-two", std::uint64_t{2}); });
  expect_conflict(one.commit(), ConflictReason::kPageGained);
}

// A transaction's own inserts into a range that it scanned cause a split and a layer, and no
// conflict.
TEST_F(SerializabilityTest, own_inserts_are_no_phantoms) {
  for (std::uint32_t i = 0; i < 60; i += 2) put(tree_, key(i), i);
  put(tree_, "prefix__suffix-one", 1);
  Txn one = must(first_.begin());
  EXPECT_EQ(count(one.scan(tree_, "", "")), 31u);
  for (std::uint32_t i = 1; i < 600; i += 2) {
    must(one.insert(tree_, key(i), std::uint64_t{i}));
  }
  must(one.insert(tree_, "prefix__suffix-two", std::uint64_t{2}));
  EXPECT_EQ(count(one.scan(tree_, "", "")), 31u + 300 + 1);
  const Result<Ticket> ticket = one.commit();
  EXPECT_TRUE(ticket.is_ok()) << ticket.status().message();
}

TEST_F(SerializabilityTest, append_after_a_sequential_scan_is_a_conflict) {
  Txn one = must(first_.begin());
  EXPECT_EQ(count(one.scan(log_)), 0u);
  commit_second([&](Txn& two) { return two.append(log_, "entry"); });
  must(one.put(tree_, "result", std::uint64_t{0}));
  expect_conflict(one.commit(), ConflictReason::kPageGained);
}

TEST_F(SerializabilityTest, array_write_skew_between_lock_and_verify_is_a_conflict) {
  Txn one = must(first_.begin());
  Txn two = must(second_.begin());
  for (Txn* txn : {&one, &two}) {
    must(txn->get_as<std::uint64_t>(array_, 1));
    must(txn->get_as<std::uint64_t>(array_, 2));
  }
  must(one.put(array_, 1, std::uint64_t{1}));
  must(two.put(array_, 2, std::uint64_t{1}));
  const AtSyncPoint stop("commit:serialized",
                         [&] { expect_conflict(two.commit(), ConflictReason::kRecordLocked); });
  EXPECT_TRUE(one.commit().is_ok());
}

// Blind increments commute: neither conflicts.
TEST_F(SerializabilityTest, increments_of_one_record_do_not_conflict) {
  put(tree_, "counter", 100);
  Txn one = must(first_.begin());
  must(one.increment(tree_, "counter", 0, 1));
  commit_second([&](Txn& two) { return two.increment(tree_, "counter", 0, 10); });
  EXPECT_TRUE(one.commit().is_ok());
  EXPECT_EQ(get(tree_, "counter"), 111u);
}

// A blind write relies on the record being there.
TEST_F(SerializabilityTest, update_of_a_record_that_is_erased_meanwhile_is_a_conflict) {
  put(tree_, "k", 1);
  Txn one = must(first_.begin());
  must(one.increment(tree_, "k", 0, 1));
  commit_second([&](Txn& two) { return two.erase(tree_, "k"); });
  expect_conflict(one.commit(), ConflictReason::kRecordChanged);
}

// An error that depends on reads of two different times is not returned to the caller.
TEST_F(SerializabilityTest, error_from_inconsistent_reads_is_retried) {
  put(tree_, "pointer", 1);
  put(tree_, key(1), 1);
  int runs = 0;
  const Status status = db_->transact([&](Txn& txn) -> Status {
    ++runs;
    FOEDUS_TRY(const auto target, txn.get_as<std::uint64_t>(tree_, "pointer"));
    if (runs == 1) {
      commit_second([&](Txn& two) -> Status {
        FOEDUS_CHECK(two.put(tree_, "pointer", std::uint64_t{2}));
        FOEDUS_CHECK(two.erase(tree_, key(1)));
        return two.insert(tree_, key(2), std::uint64_t{1});
      });
    }
    return txn.get_as<std::uint64_t>(tree_, key(target)).status();
  });
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(runs, 2);
}

// The precondition of an insert or an update is verified like a read before an error of the user's
// function is returned.
TEST_F(SerializabilityTest, premises_of_writes_are_verified_before_an_error_leaves) {
  put(tree_, "old", 1);
  Txn one = must(first_.begin());
  must(one.insert(tree_, "new", "x"));
  must(one.put(tree_, "new", "y"));
  must(one.update(tree_, "old", "z"));
  EXPECT_TRUE(one.verify().is_ok());
  put(tree_, "new", 2);
  EXPECT_EQ(one.verify().code(), ErrorCode::kConflict);
  one.rollback();

  Txn two = must(first_.begin());
  must(two.update(tree_, "old", "z"));
  EXPECT_TRUE(two.verify().is_ok());
  Txn other = must(second_.begin());
  must(other.erase(tree_, "old"));
  EXPECT_TRUE(other.commit().is_ok());
  EXPECT_EQ(two.verify().code(), ErrorCode::kConflict);
  two.rollback();
}

TEST_F(SerializabilityTest, get_for_update_makes_others_conflict_or_wait) {
  put(tree_, "k", 1);
  Txn one = must(first_.begin());
  must(one.get_for_update_as<std::uint64_t>(tree_, "k"));
  must(one.put(tree_, "k", std::uint64_t{2}));
  EXPECT_TRUE(one.commit().is_ok());
  EXPECT_EQ(get(tree_, "k"), 2u);
}

// Two transactions lock two records in opposite orders: one conflicts once, and its retry takes
// both in one order.
TEST_F(SerializabilityTest, opposite_orders_of_get_for_update_end) {
  // Records of a page go down in address.
  put(tree_, "b", 1);
  put(tree_, "a", 1);
  Txn one = must(first_.begin());
  Txn two = must(second_.begin());
  must(one.get_for_update_as<std::uint64_t>(tree_, "b"));
  must(two.get_for_update_as<std::uint64_t>(tree_, "a"));
  // The transaction that goes down in address conflicts instead of waiting for the other one.
  ASSERT_EQ(one.get_for_update_as<std::uint64_t>(tree_, "a").code(), ErrorCode::kConflict);
  one.rollback();
  must(two.get_for_update_as<std::uint64_t>(tree_, "b"));
  EXPECT_TRUE(two.commit().is_ok());
  Txn again = must(first_.retry());
  must(again.get_for_update_as<std::uint64_t>(tree_, "b"));
  must(again.get_for_update_as<std::uint64_t>(tree_, "a"));
  must(again.put(tree_, "a", std::uint64_t{5}));
  EXPECT_TRUE(again.commit().is_ok());
  EXPECT_EQ(get(tree_, "a"), 5u);
}

// Many threads lock many of few records in random orders, and all of them finish.
TEST_F(SerializabilityTest, crossing_locks_of_many_threads_make_progress) {
  for (std::uint32_t i = 0; i < 20; ++i) put(tree_, key(i), 0);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      base::Random random(t + 1);
      for (int i = 0; i < 50; ++i) {
        const std::uint64_t seed = random.next();
        must(db_->transact([&](Txn& txn) -> Status {
          base::Random same(seed);
          for (int j = 0; j < 10; ++j) {
            const Key k = key(static_cast<std::uint32_t>(same.below(20)));
            FOEDUS_TRY(auto value, txn.get_for_update_as<std::uint64_t>(tree_, k));
            FOEDUS_CHECK(txn.put(tree_, k, value + 1));
          }
          return {};
        }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < 20; ++i) sum += get(tree_, key(i));
  EXPECT_EQ(sum, 8u * 50 * 10);
}

}  // namespace
}  // namespace foedus::serializability_test
