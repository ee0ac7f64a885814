// ctest-program: own
// ctest-labels: memory
// The operations that the sets of a transaction promise to do without memory.
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "foedus-core/occ/access_sets.h"
#include "foedus-core/occ/txn_locks.h"
#include "tests/faults/memory_faults.h"

namespace foedus::occ::access_sets_memory_test {
namespace {

class WriteSetMemoryTest : public ::testing::Test {
 protected:
  WriteSetMemoryTest() { log_.type = log::LogRecordType::kIncrement; }
  void add(std::size_t record) {
    set_.add({.record = &records_[record], .log = &log_, .storage = nullptr});
  }
  void move(std::size_t from, std::size_t to) {
    set_.move(&records_[from], &records_[to], 0);
  }
  static void arm() { faults::arm(faults::Source::kHeap, 0, true); }

  log::LogRecord log_{};
  std::vector<page::RecordHeader> records_{2000};
  WriteSet set_;
};

// Goal: a search for a record takes no memory, though it indexes all of them. Method: moves fill
// the index before, so that it has less space than the writes need.
TEST_F(WriteSetMemoryTest, a_question_takes_none) {
  for (std::size_t writes = 30; writes < 700; ++writes) {
    for (std::size_t i = 0; i < 30; ++i) add(i);
    for (std::size_t i = 0; i < 20; ++i) move(i, 1000 + i);
    for (std::size_t i = 30; i < writes; ++i) add(i);
    arm();
    const bool is_found = set_.contains(&records_[writes - 1]);
    faults::disarm();
    ASSERT_TRUE(is_found) << writes;
    set_.clear();
  }
}

TEST_F(WriteSetMemoryTest, moves_that_are_reserved_take_none) {
  for (std::size_t writes = 1; writes < 600; writes += writes < 300 ? 1 : 40) {
    for (std::size_t i = 0; i < writes; ++i) add(i);
    set_.reserve_moves(writes);
    arm();
    for (std::size_t i = 0; i < writes; ++i) move(i, 1000 + i);
    faults::disarm();
    for (std::size_t i = 0; i < writes; ++i) ASSERT_TRUE(set_.contains(&records_[1000 + i]));
    set_.clear();
  }
}

TEST_F(WriteSetMemoryTest, a_move_that_lacks_memory_changes_nothing) {
  constexpr std::size_t kWrites = 600;
  for (std::size_t i = 0; i < kWrites; ++i) add(i);
  for (std::size_t i = 0; i < kWrites; ++i) {
    bool has_failed = false;
    arm();
    try {
      move(i, 1000 + i);
    } catch (const std::bad_alloc&) {
      has_failed = true;
    }
    faults::disarm();
    ASSERT_EQ(set_[static_cast<std::uint32_t>(i)].record, &records_[has_failed ? i : 1000 + i]);
    if (has_failed) move(i, 1000 + i);
  }
}

TEST_F(WriteSetMemoryTest, a_write_that_has_room_takes_none) {
  for (std::size_t i = 0; i < 1900; ++i) {
    if (!set_.has_room()) set_.reserve_one();
    arm();
    add(i);
    const bool is_found = i % 50 != 0 || set_.contains(&records_[i / 2]);
    faults::disarm();
    ASSERT_TRUE(is_found) << i;
  }
}

TEST(ReadSetMemoryTest, what_was_added_stays_through_growth_and_its_failures) {
  std::vector<page::RecordHeader> records(100'000);
  ReadSet set;
  const auto add = [&](std::size_t i) { set.add({&records[i], {}, nullptr}); };
  const auto agrees = [&](std::size_t count) {
    if (set.size() != count || set.is_empty() != (count == 0)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (set[i].record != &records[i]) return false;
    }
    return set.begin() + count == set.end();
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(agrees(0));
    for (std::size_t i = 0; i < 64; ++i) add(i);
    set.reserve(10);
    EXPECT_TRUE(agrees(64));
    set.truncate(50);
    EXPECT_TRUE(agrees(50));
    for (std::size_t i = 50; i < records.size(); ++i) {
      if (!set.has_room()) {
        faults::arm(faults::Source::kHeap, 0, true);
        EXPECT_THROW(add(i), std::bad_alloc);
        faults::disarm();
        ASSERT_EQ(set.size(), i);
      }
      add(i);
    }
    EXPECT_TRUE(agrees(records.size()));
    set.clear();
    EXPECT_LE(set.room() * sizeof(ReadEntry), kKeptBytesMax);
  }
}

// A lock that is taken and not remembered would never be released.
TEST(TxnLocksMemoryTest, a_lock_that_cannot_be_remembered_is_not_taken) {
  std::vector<page::RecordHeader> records(2000);
  TxnLocks locks(nullptr, 0);
  for (page::RecordHeader& record : records) {
    bool is_held = false;
    faults::arm(faults::Source::kHeap, 0, true);
    try {
      is_held = locks.hold(&record);
    } catch (const std::bad_alloc&) {
    }
    faults::disarm();
    ASSERT_EQ(record.lock.load_relaxed() != 0, is_held);
    ASSERT_TRUE(is_held || locks.hold(&record));
  }
  locks.release();
  locks.end();
}

}  // namespace
}  // namespace foedus::occ::access_sets_memory_test
