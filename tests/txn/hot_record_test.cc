// Many sessions use one record while one of them has no processor: the others go on, or wait
// without taking one. Threads are held at sync points; nothing depends on their speed.
// ctest-labels: concurrency
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "foedus-core/engine/sessions/session.h"
#include "foedus-core/occ/optimistic_read.h"
#include "tests/testing/engine_of.h"
#include "tests/testing/hold.h"
#include "tests/testing/test_database.h"

namespace foedus::hot_record_test {
namespace {

using testing::Hold;
using testing::must;

class HotRecordTest : public ::testing::TestWithParam<StorageKind> {
 protected:
  HotRecordTest() {
    switch (GetParam()) {
      case StorageKind::kArray:
        array_ = must(db_->open_array("counters", 2, sizeof(std::int64_t)));
        return;
      case StorageKind::kHash:
        keyed_ = must(db_->open_hash("counters"));
        break;
      default:
        keyed_ = must(db_->open_masstree("counters"));
    }
    must(db_->transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.put(keyed_, "0", std::int64_t{0}));
      return txn.put(keyed_, "1", std::int64_t{0});
    }));
  }

  static std::string key_of(std::uint64_t counter) { return std::to_string(counter); }
  Status increment(Txn& txn, std::uint64_t counter) {
    if (GetParam() == StorageKind::kArray) return txn.increment(array_, counter, 0, 1);
    return txn.increment(keyed_, key_of(counter), 0, 1);
  }
  // Increments a counter and returns the number of tries.
  unsigned increment(std::uint64_t counter) {
    unsigned tries = 0;
    must(db_->transact([&](Txn& txn) {
      ++tries;
      return increment(txn, counter);
    }));
    return tries;
  }
  Result<std::int64_t> read(Txn& txn, std::uint64_t counter) {
    if (GetParam() == StorageKind::kArray) return txn.get_as<std::int64_t>(array_, counter);
    return txn.get_as<std::int64_t>(keyed_, key_of(counter));
  }
  std::int64_t value_of(std::uint64_t counter) {
    return must(db_->transact([&](Txn& txn) { return read(txn, counter); }));
  }
  Status hold(Txn& txn, std::uint64_t counter) {
    std::int64_t value;
    const auto bytes = std::as_writable_bytes(std::span(&value, 1));
    if (GetParam() == StorageKind::kArray) return txn.get_for_update(array_, counter, bytes);
    return txn.get_for_update(keyed_, key_of(counter), bytes).status();
  }

  testing::TestDatabase db_;
  Array array_;
  KeyedStorage keyed_;
};

// Method: a session waits for a lock that another one holds by get_for_update(), and is stopped
// where it yields. The holder ends, and other sessions come.
TEST_P(HotRecordTest, a_session_that_waits_without_a_processor_stops_no_other) {
  Session session = must(db_->new_session());
  Txn txn = must(session.begin());
  must(hold(txn, 0));
  Hold waits("spin:yield");
  std::thread waiter([&] { increment(0); });
  waits.wait_until_held();
  must(txn.commit());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(increment(0), 1u);
  EXPECT_EQ(value_of(0), 100);
  waits.release();
  waiter.join();
  EXPECT_EQ(value_of(0), 101);
}

// Method: a writer is stopped in its commit with the record's lock. Another writer waits: it yields
// a few times, sleeps a few times, and parks. Transactions on other records go on.
TEST_P(HotRecordTest, a_writer_without_a_processor_is_waited_for_without_one) {
  constexpr unsigned kRestsMax = 16;
  auto others = std::make_unique<Session>(must(db_->new_session()));
  Txn other = must(others->begin());
  must(increment(other, 1));
  Hold locked("commit:locked");
  std::thread writer([&] { increment(0); });
  locked.wait_until_held();
  std::thread waiter([&] { increment(0); });
  locked.wait_for_parks(1);
  EXPECT_LE(locked.yields() + locked.sleeps(), kRestsMax);
  locked.release();
  must(other.commit());
  writer.join();
  waiter.join();
  EXPECT_EQ(value_of(0), 2);
  EXPECT_EQ(value_of(1), 1);
}

// Method: a writer is stopped while the record is marked being-written. A reader tries a bounded
// number of times, sleeps between most of them, and conflicts.
TEST_P(HotRecordTest, a_reader_beside_a_writer_without_a_processor_conflicts) {
  Session session = must(db_->new_session());
  Txn txn = must(session.begin());
  Hold serialized("commit:serialized");
  std::thread writer([&] { increment(0); });
  serialized.wait_until_held();
  EXPECT_EQ(read(txn, 0).status().conflict_reason(), ConflictReason::kRetryBound);
  EXPECT_GT(serialized.sleeps(), 0u);
  EXPECT_LE(serialized.yields() + serialized.sleeps(), occ::kReadTries);
  txn.rollback();
  serialized.release();
  writer.join();
  EXPECT_EQ(value_of(0), 1);
}

// Goal: a writer that waits for a forgotten get_for_update() gets an error without a retry, which
// would wait as long. Method: one thread; the bound is made short.
TEST_P(HotRecordTest, a_lock_that_is_not_given_back_is_told_to_the_writer) {
  Session session = must(db_->new_session());
  Txn txn = must(session.begin());
  must(hold(txn, 0));
  EXPECT_EQ(value_of(0), 0);  // transact() has a session now
  testing::engine_of(*db_).sessions().for_each(
      [](engine::EngineSession& own) { own.context().locks().set_wait_us(2'000); });
  unsigned tries = 0;
  const auto write = [&](Txn& writer) {
    ++tries;
    return increment(writer, 0);
  };
  const auto hold_too = [&](Txn& writer) {
    ++tries;
    return hold(writer, 0);
  };
  for (const Status& status : {db_->transact(write), db_->transact(hold_too)}) {
    EXPECT_EQ(status.conflict_reason(), ConflictReason::kRecordLocked);
    EXPECT_NE(status.message().find("waited 2 ms for the record's lock, which session"),
              std::string::npos)
        << status.message();
  }
  EXPECT_EQ(tries, 2u);
  txn.rollback();
  EXPECT_EQ(increment(0), 1u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, HotRecordTest,
                         ::testing::Values(StorageKind::kArray, StorageKind::kHash,
                                           StorageKind::kMasstree),
                         [](const auto& kind) {
                           switch (kind.param) {
                             case StorageKind::kArray:
                               return "array";
                             case StorageKind::kHash:
                               return "hash";
                             default:
                               return "masstree";
                           }
                         });

}  // namespace
}  // namespace foedus::hot_record_test
