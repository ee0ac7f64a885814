// ctest-timeout: 600
// A database into which more rows are put in random order than memory holds. They go to the tree's
// delta (foedus-core/storage/masstree/operations/delta.h), and every call finds all of them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/engine/glean/delta_rows.h"

namespace foedus::delta_test {
namespace {

using testing::delta_options;
using testing::DeltaRows;
using testing::must;

constexpr std::uint64_t kMostRows = 400'000;  // before there is a delta
constexpr std::uint64_t kBehind = 20'000;     // rows that are put afterwards

// Goal: rows that are put at random beyond memory are right, and cost far less than a page each.
// Method: from the delta's first put on, snapshots write fewer than two thirds of a page for each
// row. Without a delta each row makes a page volatile, and so each page is written. A glean writes
// some 5,700 pages, and the number of gleans depends on the machine.
TEST(DeltaTest, rows_put_at_random_beyond_memory_are_there_and_cost_few_pages) {
  DeltaRows life;
  const std::uint64_t begin = life.put_until_delta(0, kMostRows);
  const Stats before = life.db()->stats();
  const std::uint64_t end = begin + 4 * kBehind;
  life.put(begin, end, 2);
  const Stats after = life.db()->stats();
  EXPECT_GT(life.delta_pages(), 0u);
  const std::uint64_t pages = after.snapshot_pages_written - before.snapshot_pages_written;
  std::printf("%llu rows before, %llu behind: %llu gleans, %llu pages written\n",
              static_cast<unsigned long long>(begin), static_cast<unsigned long long>(end - begin),
              static_cast<unsigned long long>(after.gleans - before.gleans),
              static_cast<unsigned long long>(pages));
  EXPECT_LT(pages, (end - begin) / 3 * 2);
  life.check();
  life.reopen();
  life.check();
}

// Goal: rows of both trees can be changed in every way. Method: some rows of each thousand are
// updated, in part or as a whole, incremented, erased, put again, inserted or made large. Some are
// changed right after a put, in one transaction and in several; before and after gleans, and after
// the database was opened again.
class DeltaChanges {
 public:
  explicit DeltaChanges(std::uint64_t seed) : random_(seed) {}

  void change(DeltaRows* life, std::uint64_t rows, int transactions) {
    for (int i = 0; i < transactions; ++i) {
      std::map<std::string, std::optional<std::string>> changed;
      const base::Random random = random_;
      must(life->db()->transact([&](Txn& txn) -> Status {
        random_ = random;  // of a try
        changed.clear();
        for (int j = 0; j < 5; ++j) FOEDUS_CHECK(one(txn, life, random_.below(rows), &changed));
        return {};
      }));
      for (const auto& [name, row] : changed) {
        if (row.has_value()) {
          life->rows()[name] = *row;
        } else {
          life->rows().erase(name);
        }
      }
    }
  }

 private:
  using Changed = std::map<std::string, std::optional<std::string>>;

  Status one(Txn& txn, DeltaRows* life, std::uint64_t number, Changed* changed) {
    const std::string name = DeltaRows::name_of(number);
    const auto own = changed->find(name);
    const auto committed = life->rows().find(name);
    std::optional<std::string> row;
    if (own != changed->end()) {
      row = own->second;
    } else if (committed != life->rows().end()) {
      row = committed->second;
    }
    const std::size_t bytes = random_.below(20) == 0 ? 5'000 : 16 + random_.below(200);
    const std::string whole = DeltaRows::row_of(number, random_.below(1'000), bytes);
    const std::int64_t added = static_cast<std::int64_t>(random_.below(100)) - 50;
    Status status;
    switch (random_.below(7)) {
      case 0:
        status = expected(txn.update(life->tree(), name, whole), row.has_value());
        if (row.has_value()) row = whole;
        break;
      case 1:
        status = expected(txn.erase(life->tree(), name), row.has_value());
        row.reset();
        break;
      case 2:
        status = expected(txn.insert(life->tree(), name, whole), !row.has_value());
        if (!row.has_value()) row = whole;
        break;
      case 3:
        status = expected(txn.increment(life->tree(), name, 0, added), row.has_value());
        if (row.has_value()) add(&*row, added);
        break;
      case 4: {
        const Result<std::string> found = txn.get(life->tree(), name);
        status = expected(found.status(), row.has_value());
        if (found.is_ok() && row.has_value()) {
          EXPECT_TRUE(*found == *row) << name;
        }
        break;
      }
      default:
        status = txn.put(life->tree(), name, whole);
        row = whole;
    }
    (*changed)[name] = row;
    return status;
  }
  // A status that tells whether the row was there is no failure.
  static Status expected(const Status& status, bool is_ok) {
    const bool is_answer = status.is_ok() || status.code() == ErrorCode::kNotFound ||
                           status.code() == ErrorCode::kAlreadyExists;
    if (!is_answer) return status;
    EXPECT_EQ(status.is_ok(), is_ok) << status.message();
    return {};
  }
  static void add(std::string* row, std::int64_t added) {
    std::uint64_t value;
    std::memcpy(&value, row->data(), sizeof(value));
    value += static_cast<std::uint64_t>(added);
    std::memcpy(row->data(), &value, sizeof(value));
  }

  base::Random random_;
};

TEST(DeltaTest, rows_of_both_trees_can_be_changed_in_every_way) {
  DeltaRows life;
  const std::uint64_t begin = life.put_until_delta(0, kMostRows);
  const std::uint64_t rows = begin + kBehind;
  life.put(begin, rows, 2);
  DeltaChanges changes(1);
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    changes.change(&life, rows + 10'000, 1'000);
    if (round == 1) must(life.db()->glean());
    // A few rows are changed many times, so that some are in the delta and some in the main tree.
    for (int i = 0; i < 5; ++i) {
      changes.change(&life, 50, 100);
      life.put(begin + round * 5'000 + i * 1'000, begin + round * 5'000 + i * 1'000 + 1'000, 3);
    }
    life.check();
    if (::testing::Test::HasFailure()) return;
  }
  life.reopen();
  life.check();
  EXPECT_FALSE(life.has_delta());
  changes.change(&life, rows, 500);
  life.check();
}

// Goal: a transaction that is open for long delays the delta's first put (M47), and its reads hold
// or make it conflict. Method: transactions begin, read, and stay open while some rows are put:
// before there is a delta, while one is made, and when it takes puts. The rows that every second
// one has read are put again meanwhile.
TEST(DeltaTest, transactions_that_are_open_for_long_see_one_state_or_conflict) {
  constexpr std::uint64_t kRowsBeside = 200;  // meanwhile no page can be reused
  constexpr std::uint64_t kRowsBetween = 1'800;
  DeltaRows life;
  life.put(0, 20'000, 1);
  std::uint64_t next = 20'000;
  int rounds_with_delta = 0;
  for (std::uint64_t round = 0; rounds_with_delta < 20 && next < kMostRows; ++round) {
    if (life.has_delta()) ++rounds_with_delta;
    const std::uint64_t seen = 100 * round;
    const std::string absent = DeltaRows::name_of(10'000'000 + round);
    life.wait_for_room();
    Session session = must(life.db()->new_session());
    Txn txn = must(session.begin());
    const std::string before = must(txn.get(life.tree(), DeltaRows::name_of(seen)));
    EXPECT_EQ(txn.get(life.tree(), absent).code(), ErrorCode::kNotFound);
    life.put(next, next + kRowsBeside, 1);
    next += kRowsBeside;
    if (round % 4 == 1) life.put(seen, seen + 1, 9);
    if (round % 4 == 3) life.put(10'000'000 + round, 10'000'001 + round, 9);
    const Result<std::string> after = txn.get(life.tree(), DeltaRows::name_of(seen));
    if (after.is_ok() && round % 4 != 1) {
      EXPECT_TRUE(*after == before);
    }
    const Status status = txn.commit().status();
    if (round % 2 == 1) {
      EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    }
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
    life.put(next, next + kRowsBetween, 1);
    next += kRowsBetween;
  }
  EXPECT_EQ(rounds_with_delta, 20);
  life.check();
}

// Goal: a delta that got no put for some time ends, and a new one is made when it is needed.
TEST(DeltaTest, a_delta_that_is_empty_for_long_is_not_looked_into_any_more) {
  DeltaRows life;
  std::uint64_t next = life.put_until_delta(0, kMostRows);
  life.put(next, next + kBehind, 2);
  next += kBehind;
  while (life.is_looked_into()) {
    life.glean_again();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  life.check();
  next = life.put_until_delta(next, kMostRows);
  // A glean that has just ended may have emptied the delta.
  const std::uint64_t end = next + kBehind;
  for (; next < end && life.delta_pages() <= 1; next += 100) life.put(next, next + 100, 3);
  EXPECT_GT(life.delta_pages(), 1u);
  life.check();
  life.reopen();
  life.check();
}

// Goal: a row that comes to the delta when that is about to end is not lost. Method: the row is put
// before the end, and committed when the delta takes no others.
TEST(DeltaTest, a_delta_that_has_a_row_in_the_end_does_not_end) {
  DeltaRows life;
  const std::uint64_t next = life.put_until_delta(0, kMostRows);
  life.glean_again();
  Session session = must(life.db()->new_session());
  Txn txn = must(session.begin());
  const std::string name = DeltaRows::name_of(next);
  must(txn.put(life.tree(), name, DeltaRows::row_of(next, 1)));
  while (life.has_delta()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  must(txn.commit());
  life.rows()[name] = DeltaRows::row_of(next, 1);
  while (!life.has_delta() && life.is_looked_into()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(life.has_delta());
  life.check();
}

// Goal: a storage with a delta can be dropped, its name used again, and its pages come back.
TEST(DeltaTest, a_storage_with_a_delta_can_be_dropped_and_made_again) {
  DeltaRows life;
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t begin = life.put_until_delta(0, kMostRows);
    life.put(begin, begin + kBehind, 2);
    must(life.db()->drop_storage("rows"));
    life.rows().clear();
    life.open_tree();
    EXPECT_FALSE(life.has_delta());
    life.check();
    life.put(0, 3'000, 7);
    life.check();
  }
  life.reopen();
  life.check();
}

// Goal: a row whose commit is durable is there after the database was opened again, whichever
// thread put it. Method: each thread puts rows of its own at random places beyond memory, some of
// them again, and erases some.
TEST(DeltaTest, durable_rows_of_several_threads_are_there_after_an_open) {
  constexpr std::uint64_t kThreads = 3;
  DeltaRows life;
  const std::uint64_t begin = life.put_until_delta(0, kMostRows);
  std::vector<std::map<std::string, std::optional<std::string>>> changed(kThreads);
  std::vector<std::thread> threads;
  for (std::uint64_t who = 0; who < kThreads; ++who) {
    threads.emplace_back([&, who] {
      base::Random random(who + 1);
      for (std::uint64_t i = 0; i < kBehind / 100 && !::testing::Test::HasFailure(); ++i) {
        std::map<std::string, std::optional<std::string>> mine;
        const base::Random start = random;
        must(life.db()->transact([&](Txn& txn) -> Status {
          random = start;
          mine.clear();
          for (int j = 0; j < 100; ++j) {
            const std::uint64_t number = random.below(begin + kBehind) / kThreads * kThreads + who;
            const std::string name = DeltaRows::name_of(number);
            const std::string row = DeltaRows::row_of(number, i + 10);
            FOEDUS_CHECK(txn.put(life.tree(), name, row));
            mine[name] = row;
            if (random.below(10) != 0) continue;
            FOEDUS_CHECK(txn.erase(life.tree(), name));
            mine[name].reset();
          }
          return {};
        }));
        for (auto& [name, row] : mine) changed[who][name] = std::move(row);
      }
      must(life.db()->wait_durable());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : changed) {
    for (const auto& [name, row] : mine) {
      if (row.has_value()) {
        life.rows()[name] = *row;
      } else {
        life.rows().erase(name);
      }
    }
  }
  life.check();
  life.reopen();
  life.check();
}

}  // namespace
}  // namespace foedus::delta_test
