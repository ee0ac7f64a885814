// ctest-labels: concurrency
// Threads that write the same rows through a table, and one that drops and makes an index, leave
// rows and indexes that agree.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/engine/table/people.h"
#include "tests/testing/test_database.h"

namespace foedus::table_writers_test {
namespace {

using testing::from;
using testing::must;
using testing::People;
using testing::TestDatabase;

using WithoutClubs =
    Table<std::uint64_t, testing::Person, testing::ByCity, testing::ByPassport, testing::ByHeight>;

constexpr std::uint64_t kKeys = 200;

// Writes a random row, and erases another one, in one transaction.
Status write_some(Database& db, const People& people, base::Random* random) {
  const std::uint64_t key = random->below(kKeys);
  const std::uint64_t other = random->below(kKeys);
  const auto person =
      from(random->below(2) == 0 ? "Rome" : "Oslo", static_cast<std::int32_t>(random->below(50)),
           static_cast<std::uint32_t>(random->below(300)),
           {static_cast<std::uint8_t>(random->below(9)), 1, 2});
  return db.transact([&](Txn& txn) -> Status {
    Status put = people.put(txn, key, person);
    if (!put.is_ok() && put.code() != ErrorCode::kAlreadyExists) return put;
    Status erased = key == other ? Status() : people.erase(txn, other);
    if (!erased.is_ok() && erased.code() != ErrorCode::kNotFound) return erased;
    return {};
  });
}

TEST(TableWritersTest, concurrent_writers_leave_indexes_that_agree) {
  const std::uint64_t seed = testing::test_seed(7);
  TestDatabase db;
  const People people = must(People::open(*db, "people"));
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      base::Random random(seed + thread);
      for (int round = 0; round < 800; ++round) must(write_some(*db, people, &random));
    });
  }
  for (int round = 0; round < 5; ++round) {
    must(db->snapshot([&](Txn& txn) { return people.check(txn); }));
  }
  for (std::thread& thread : threads) thread.join();
  must(db->transact([&](Txn& txn) { return people.check(txn); }));
}

// Goal: an index that is added, filled and dropped again and again, beside writers of both
// definitions, is right each time. Method: a writer whose definition is out of date opens the table
// again.
TEST(TableWritersTest, an_index_comes_and_goes_beside_writers) {
  const std::uint64_t seed = testing::test_seed(7);
  TestDatabase db;
  must(People::open(*db, "people"));
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      base::Random random(seed + thread);
      std::optional<People> people;
      while (!is_over.load()) {
        if (!people.has_value()) {
          Result<People> opened = People::open(*db, "people", {.fills_indexes = thread == 0});
          if (opened.is_ok()) people = *opened;
          continue;
        }
        const Status written = write_some(*db, *people, &random);
        if (written.is_ok()) continue;
        EXPECT_EQ(written.code(), ErrorCode::kInvalidArgument) << written.message();
        people.reset();
      }
    });
  }
  for (int round = 0; round < 6; ++round) {
    const Result<People> with = People::open(*db, "people");
    if (with.is_ok()) must(db->snapshot([&](Txn& txn) { return with->check(txn); }));
    must(drop_index(*db, "people", "by_club"));
    (void)WithoutClubs::open(*db, "people").is_ok();  // unless a writer has added the index again
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  const People people = must(People::open(*db, "people"));
  must(db->transact([&](Txn& txn) { return people.check(txn); }));
}

}  // namespace
}  // namespace foedus::table_writers_test
