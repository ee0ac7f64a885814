// ctest-labels: concurrency
// A log whose rows are applied on first touch, while the gleaner is stopped before it makes pages
// of them: every operation finds the rows of the log.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <string_view>
#include <thread>

#include "tests/engine/sessions/unapplied_life.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/nap.h"

namespace foedus::unapplied_test {
namespace {

using testing::Hold;
using testing::must;
using testing::TestDatabase;
using testing::UnappliedLife;

// Makes a snapshot and a log after it, and opens the database, which has not made pages of that
// log.
void begin(UnappliedLife* life, bool with_snapshot = true) {
  life->write(300);
  if (with_snapshot) life->glean();
  life->write(300);
  life->reopen();
}

class UnappliedTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  // Begins a life, half of which have a snapshot, and stops the gleaner.
  void begin_held() {
    begin(&life_, GetParam() % 2 == 0);
    gleaner_.wait_until_held();
  }

  UnappliedLife life_{GetParam()};
  Hold gleaner_{"gleaning:before_tail"};
};

TEST_P(UnappliedTest, rows_are_what_the_log_says) {
  begin_held();
  EXPECT_TRUE(life_.has_unapplied());
  life_.check_rows();
}

TEST_P(UnappliedTest, every_operation_finds_them) {
  begin_held();
  life_.write(500);
  EXPECT_TRUE(life_.has_unapplied());
  life_.check_rows();
  life_.check_scans();
}

TEST_P(UnappliedTest, scans_find_them) {
  begin_held();
  life_.check_scan_of_hash();
  life_.check_scans();
  EXPECT_TRUE(life_.has_unapplied());
  life_.check_rows();
}

// Goal: untouched rows are in pages when the tail is over, even if accesses to other rows have made
// their pages volatile. Method: some rows are touched while the gleaner is stopped.
TEST_P(UnappliedTest, rows_stay_when_the_tail_is_over) {
  begin_held();
  life_.write(GetParam() * 20);
  gleaner_.release();
  life_.wait_over();
  life_.check_scan_of_hash();
  life_.check_rows();
  life_.check_scans();
  life_.write(100);
  life_.glean();
  life_.check_rows();
  life_.write(100);
  life_.reopen();
  life_.check_scans();
  life_.check_rows();
}

// Goal: no commit is lost if the database is closed, or crashes, before there is a snapshot of the
// tail: the log still has the tail and all later commits.
TEST_P(UnappliedTest, a_tail_that_was_not_gleaned_is_found_again) {
  gleaner_.release();
  begin(&life_, GetParam() % 2 == 0);
  for (int i = 0; i < 3; ++i) {
    life_.write(100);
    life_.reopen();
  }
  life_.check_rows();
  life_.check_scans();
}

INSTANTIATE_TEST_SUITE_P(Seeds, UnappliedTest, ::testing::Range(1u, 7u));

// Goal: a row is applied once, and later writes to it stay. Method: threads add to the same rows
// while the gleaner makes pages of the tail.
TEST(UnappliedRowsTest, a_row_is_applied_once) {
  constexpr unsigned kRows = 2000;
  constexpr unsigned kThreads = 3;
  TestDatabase db(testing::unapplied_options());
  const auto put_all = [&](const Masstree& tree, std::int64_t value) {
    for (unsigned from = 0; from < kRows; from += 100) {
      must(db->transact([&](Txn& txn) -> Status {
        for (unsigned i = from; i < from + 100; ++i) FOEDUS_CHECK(txn.put(tree, key(i), value));
        return {};
      }));
    }
  };
  put_all(must(db->open_masstree("tree")), 0);
  must(db->glean());
  put_all(must(db->open_masstree("tree")), 1000);
  db.reopen();
  const Masstree tree = must(db->open_masstree("tree"));
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned i = 0; i < kRows; ++i) {
        const unsigned row = (i * 7 + thread * 100) % kRows;
        must(db->transact([&](Txn& txn) -> Status {
          FOEDUS_TRY(const auto value, txn.get_as<std::int64_t>(tree, key(row)));
          return txn.put(tree, key(row), value + 1);
        }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  must(db->transact([&](Txn& txn) -> Status {
    unsigned wrong = 0;
    for (unsigned i = 0; i < kRows; ++i) {
      FOEDUS_TRY(const auto value, txn.get_as<std::int64_t>(tree, key(i)));
      if (value != 1000 + kThreads) ++wrong;
    }
    EXPECT_EQ(wrong, 0u);
    return {};
  }));
}

// Goal: a scan of a sequential storage waits for the records of the tail. A scan in a snapshot that
// was made before the tail does not.
TEST(UnappliedRowsTest, a_scan_of_a_sequential_storage_waits) {
  TestDatabase db(testing::unapplied_options());
  const auto append = [&](std::string_view payload) {
    const Sequential log = must(db->open_sequential("log"));
    must(db->transact([&](Txn& txn) { return txn.append(log, payload); }));
  };
  append("one");
  must(db->glean());
  append("two");
  Hold gleaner("gleaning:before_tail");
  db.reopen();
  gleaner.wait_until_held();
  append("three");
  Session session = must(db->new_session());
  Txn early = must(session.begin({.isolation = Isolation::kSnapshot, .newest_existing = true}));
  Scan of_snapshot = early.scan(must(db->open_sequential("log")));
  std::string found;
  for (const Row& row : of_snapshot) found += std::string(row.payload) + " ";
  EXPECT_FALSE(of_snapshot.failure().has_value()) << of_snapshot.failure()->message();
  EXPECT_EQ(found, "one ");
  must(early.commit());
  std::atomic<bool> is_over = false;
  std::thread reader([&] {
    const Sequential log = must(db->open_sequential("log"));
    must(db->transact([&](Txn& txn) -> Status {
      found.clear();
      Scan scan = txn.scan(log);
      for (const Row& row : scan) found += std::string(row.payload) + " ";
      return scan.failure().value_or(Status());
    }));
    is_over = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_over);
  gleaner.release();
  reader.join();
  EXPECT_EQ(found, "one two three ");
}

// Goal: a snapshot transaction that asks for all commits waits for those of the tail.
TEST(UnappliedRowsTest, a_snapshot_has_the_tail) {
  TestDatabase db(testing::unapplied_options());
  const auto tree = [&] { return must(db->open_masstree("tree")); };
  must(db->transact([&](Txn& txn) { return txn.put(tree(), key(1u), 1u); }));
  must(db->glean());
  must(db->transact([&](Txn& txn) { return txn.put(tree(), key(1u), 2u); }));
  db.reopen();
  const Masstree found = tree();
  const auto value = [&](Txn& txn) { return txn.get_as<unsigned>(found, key(1u)); };
  EXPECT_EQ(must(db->snapshot(value)), 2u);
}

// Goal: E40, each snapshot has the tail. Method: a snapshot is requested while the gleaner is
// stopped.
TEST(UnappliedRowsTest, a_glean_comes_behind_the_tail) {
  UnappliedLife life(1);
  Hold gleaner("gleaning:before_tail");
  begin(&life);
  gleaner.wait_until_held();
  life.write(50);
  std::thread asks([&] { life.glean(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gleaner.release();
  asks.join();
  life.reopen();
  life.check_rows();
}

// Goal: E40, if the snapshot of the tail fails, no other one is made before it, which would lose
// the tail; nor does close() wait for one. Method: the gleaner has no memory for the tail's
// snapshot.
TEST(UnappliedRowsTest, no_snapshot_goes_before_a_tail_that_has_none) {
  const testing::TestDirectory directory;
  Options options = testing::unapplied_options();
  options.dir = directory.path();
  const auto put = [](Database& db, std::uint64_t i, unsigned value) {
    const Masstree tree = must(db.open_masstree("tree"));
    must(db.transact([&](Txn& txn) { return txn.put(tree, key(i), value); }));
  };
  {
    Database db = must(Database::open(options));
    put(db, 1, 1);
    must(db.glean());
    put(db, 1, 2);
  }
  static std::atomic<unsigned> failures;
  failures = 0;
  base::set_sync_point_hook([](const char* at) {
    if (std::string_view(at) != "gleaning:before_tail") return;
    ++failures;
    throw std::bad_alloc();
  });
  options.glean.close_us = 1'000'000;
  {
    Database db = must(Database::open(options));
    while (failures == 0) testing::nap();
    put(db, 2, 3);
    EXPECT_EQ(db.glean().code(), ErrorCode::kOutOfMemory);
    put(db, 3, 4);
    must(db.close());
  }
  base::set_sync_point_hook(nullptr);
  Database db = must(Database::open(options));
  const Masstree tree = must(db.open_masstree("tree"));
  for (unsigned i = 1; i <= 3; ++i) {
    EXPECT_EQ(must(db.transact([&](Txn& txn) { return txn.get_as<unsigned>(tree, key(i)); })),
              i + 1);
  }
}

// Goal: close() does not wait for a last snapshot while the tail has none, which would have to come
// first. Method: the gleaner fails at the tail's snapshot when close() has begun.
TEST(UnappliedRowsTest, close_makes_no_last_snapshot_behind_a_tail) {
  const testing::TestDirectory directory;
  Options options = testing::unapplied_options();
  options.dir = directory.path();
  const auto put = [](Database& db, unsigned value) {
    const Masstree tree = must(db.open_masstree("tree"));
    must(db.transact([&](Txn& txn) { return txn.put(tree, key(value), value); }));
  };
  {
    Database db = must(Database::open(options));
    put(db, 1);
  }
  static std::atomic<bool> is_held;
  static std::atomic<bool> is_released;
  is_held = is_released = false;
  base::set_sync_point_hook([](const char* at) {
    if (std::string_view(at) != "gleaning:before_tail") return;
    is_held = true;
    while (!is_released) testing::nap();
    throw std::bad_alloc();
  });
  options.glean.close_us = 1'000'000;
  {
    Database db = must(Database::open(options));
    while (!is_held) testing::nap();
    put(db, 2);
    while (db.stats().log_bytes_behind == 0) testing::nap();
    std::thread closer([&] { must(db.close()); });
    while (db.new_session().code() != ErrorCode::kClosed) testing::nap();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_released = true;
    closer.join();
  }
  base::set_sync_point_hook(nullptr);
  Database db = must(Database::open(options));
  const Masstree tree = must(db.open_masstree("tree"));
  for (unsigned i = 1; i <= 2; ++i) {
    EXPECT_EQ(must(db.transact([&](Txn& txn) { return txn.get_as<unsigned>(tree, key(i)); })), i);
  }
}

// Stops a thread that is applying a row until the gleaner reaches the place `until`. Another thread
// that writes the row has to wait until it is applied, and its write stays.
void check_late_touch(std::string_view until) {
  TestDatabase db(testing::unapplied_options());
  const auto tree = [&] { return must(db->open_masstree("tree")); };
  const auto put = [&](unsigned value) {
    must(db->transact([&](Txn& txn) { return txn.put(tree(), key(1u), value); }));
  };
  put(1);
  must(db->glean());
  put(2);
  Hold toucher("unapplied:claimed", until);
  db.reopen();
  const auto get = [&] {
    return must(db->transact([&](Txn& txn) { return txn.get_as<unsigned>(tree(), key(1u)); }));
  };
  std::thread reads([&] { EXPECT_GE(get(), 2u); });
  toucher.wait_until_held();
  // Time for the gleaner to go on too early, and for the other thread to write too early.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::atomic<bool> is_released = false;
  std::thread writes([&] {
    put(3);
    EXPECT_TRUE(is_released);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  is_released = true;
  toucher.release();
  reads.join();
  writes.join();
  EXPECT_EQ(get(), 3u);
  db.reopen();
  EXPECT_EQ(get(), 3u);
}

// Goal: E42, a late touch undoes no write. Method: a thread is stopped when it has claimed a row,
// and the tail comes to its end.
TEST(UnappliedRowsTest, a_late_touch_undoes_nothing) { check_late_touch("gleaning:before_tail"); }

// Goal: E42 holds also if the row is claimed after end() has passed all rows, and has left this one
// alone because no page of it is in memory.
TEST(UnappliedRowsTest, the_tail_is_not_over_while_a_row_is_claimed) {
  check_late_touch("unapplied:ending");
}

// Goal: E38, get_many() of an array applies the rows that it reads. Method: the gleaner is stopped
// before it makes pages of the tail. The read of the first row makes the page of the earlier
// snapshot volatile, and all other rows are found there.
TEST(UnappliedRowsTest, get_many_of_an_array_applies_its_rows) {
  TestDatabase db(testing::unapplied_options());
  constexpr std::uint64_t kRows = 100;
  const auto open = [&] { return must(db->open_array("array", kRows, 8)); };
  const auto put_all = [&](std::int64_t value) {
    const Array array = open();
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint64_t i = 0; i < kRows; ++i) FOEDUS_CHECK(txn.put(array, i, value));
      return {};
    }));
  };
  put_all(1);
  must(db->glean());
  put_all(2);
  Hold gleaner("gleaning:before_tail");
  db.reopen();
  gleaner.wait_until_held();
  const Array array = open();
  std::vector<std::int64_t> values(kRows);
  must(db->transact([&](Txn& txn) -> Status {
    FOEDUS_TRY(values[0], txn.get_as<std::int64_t>(array, 0));
    std::vector<ArrayReadRequest> requests;
    for (std::uint64_t i = 0; i < kRows; ++i) {
      requests.push_back({i, 0, std::as_writable_bytes(std::span(&values[i], 1))});
    }
    return txn.get_many(array, requests);
  }));
  EXPECT_EQ(values, std::vector<std::int64_t>(kRows, 2));
}

// Goal: E43, a row is not applied to the tail's own snapshot. Method: the gleaner is stopped when
// it has checked all rows; then a row is touched that it left alone, because no page of it was
// volatile.
TEST(UnappliedRowsTest, a_row_is_not_applied_to_itself) {
  TestDatabase db(testing::unapplied_options());
  constexpr std::uint64_t kRows = 5000;
  const auto open = [&] { return must(db->open_array("array", kRows, 8)); };
  const auto add = [&](std::int64_t value) {
    const Array array = open();
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint64_t i = 0; i < kRows; i += 100) {
        FOEDUS_CHECK(txn.increment(array, i, 0, value));
      }
      return {};
    }));
  };
  add(1);
  must(db->glean());
  add(2);
  Hold gleaner("unapplied:ending");
  db.reopen();
  gleaner.wait_until_held();
  const Array array = open();
  std::int64_t wrong = 0;
  must(db->transact([&](Txn& txn) -> Status {
    wrong = 0;
    for (std::uint64_t i = 0; i < kRows; i += 100) {
      FOEDUS_TRY(const auto value, txn.get_as<std::int64_t>(array, i));
      wrong += value == 3 ? 0 : 1;
    }
    return {};
  }));
  EXPECT_EQ(wrong, 0);
}

// Goal: a tail that is too large for memory, even with pages that the pool lends to the gleaner,
// has its snapshot before open() returns.
TEST(UnappliedRowsTest, a_tail_that_has_to_be_spilled_does_not_wait) {
  Options options = testing::unapplied_options();
  options.glean.memory_bytes = 16u << 20;
  TestDatabase db(options);
  constexpr unsigned kRows = 16'000;
  const std::string payload(1000, 'p');
  const auto put_all = [&](unsigned value) {
    const Masstree tree = must(db->open_masstree("tree"));
    for (unsigned from = 0; from < kRows; from += 100) {
      must(db->transact([&](Txn& txn) -> Status {
        for (unsigned i = from; i < from + 100; ++i) {
          FOEDUS_CHECK(txn.put(tree, key(i), payload + std::to_string(value + i)));
        }
        return {};
      }));
    }
  };
  put_all(0);
  must(db->glean());
  for (unsigned value = 4; value != 0; --value) put_all(value);
  db.reopen();
  const Masstree tree = must(db->open_masstree("tree"));
  EXPECT_FALSE(internal::StorageAccess::control_of(tree)->has_unapplied());
  unsigned wrong = 0;
  for (unsigned i = 0; i < kRows; ++i) {
    const std::string found = must(db->transact([&](Txn& txn) { return txn.get(tree, key(i)); }));
    wrong += found == payload + std::to_string(1 + i) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0u);
}

// Goal: E39, a transaction with locked records of a page succeeds even if a row of the tail does
// not fit into that page. Method: all rows between those of the snapshot are unapplied;
// transactions that have locked their neighbours read them.
TEST(UnappliedRowsTest, locks_of_its_page_are_given_up_for_a_row) {
  TestDatabase db(testing::unapplied_options());
  constexpr unsigned kRows = 1000;
  const std::string payload(100, 'p');
  const auto put_all = [&](unsigned from) {
    const Masstree tree = must(db->open_masstree("tree"));
    must(db->transact([&](Txn& txn) -> Status {
      for (unsigned i = from; i < kRows; i += 10) {
        for (unsigned k = i; k < i + (from == 0 ? 1 : 9); ++k) {
          FOEDUS_CHECK(txn.put(tree, key(k), payload));
        }
      }
      return {};
    }));
  };
  put_all(0);
  must(db->glean());
  put_all(1);
  Hold gleaner("gleaning:before_tail");
  db.reopen();
  gleaner.wait_until_held();
  const Masstree tree = must(db->open_masstree("tree"));
  for (unsigned from = 0; from < kRows; from += 100) {
    must(db->transact([&](Txn& txn) -> Status {
      std::string found(payload.size(), ' ');
      const auto bytes = std::as_writable_bytes(std::span<char>(found));
      for (unsigned i = from; i < from + 100; i += 10) {
        FOEDUS_CHECK(txn.get_for_update(tree, key(i), bytes).status());
        FOEDUS_CHECK(txn.put(tree, key(i + 5), payload));
      }
      return {};
    }));
  }
}

// Goal: a storage may be dropped while its rows wait.
TEST(UnappliedRowsTest, a_storage_is_dropped_while_rows_wait) {
  UnappliedLife life(3);
  Hold gleaner("gleaning:before_tail");
  begin(&life);
  gleaner.wait_until_held();
  life.write(10);
  must(life.db().drop_storage("hash"));
  gleaner.release();
  life.glean();
  EXPECT_EQ(life.db().storages().size(), 2u);
  life.check_scans();
}

}  // namespace
}  // namespace foedus::unapplied_test
