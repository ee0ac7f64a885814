#include "foedus-core/occ/access_sets.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/occ/txn_locks.h"

namespace foedus::occ::access_sets_test {
namespace {

std::uint64_t given_seed() {
  const char* const given = std::getenv("FOEDUS_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : base::system_seed();
}

// Goal: the index agrees with a map through growth, replacement and clearing.
TEST(AddressIndexTest, agrees_with_a_map) {
  const std::uint64_t seed = given_seed();
  SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
  base::Random random(seed);
  AddressIndex index;
  for (int round = 0; round < 50; ++round) {
    std::map<std::uint64_t, std::uint32_t> model;
    const std::uint64_t count = random.below(round % 10 == 0 ? 20'000 : 100);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t address = 0x7f00'0000'0000 + 16 * random.below(2 * count);
      const auto number = static_cast<std::uint32_t>(random.below(1000));
      index.set(reinterpret_cast<void*>(address), number);
      model[address] = number;
    }
    EXPECT_EQ(index.is_empty(), model.empty());
    for (std::uint64_t i = 0; i < 2 * count; ++i) {
      const std::uint64_t address = 0x7f00'0000'0000 + 16 * i;
      const auto known = model.find(address);
      ASSERT_EQ(index.find(reinterpret_cast<void*>(address)),
                known == model.end() ? WriteEntry::kNone : known->second);
    }
    index.clear();
    EXPECT_TRUE(index.is_empty());
    EXPECT_EQ(index.find(reinterpret_cast<void*>(0x7f00'0000'0000)), WriteEntry::kNone);
  }
}

class WriteSetTest : public ::testing::Test {
 protected:
  page::RecordHeader* record() {
    records_.push_back(std::make_unique<page::RecordHeader>());
    return records_.back().get();
  }
  void add(page::RecordHeader* record, log::LogRecordType type) {
    logs_.push_back(std::make_unique<log::LogRecord>());
    logs_.back()->type = type;
    set_.add({.record = record, .log = logs_.back().get(), .storage = nullptr});
  }
  // Returns the entries that a reader of own writes visits, in their order.
  std::vector<std::uint32_t> chain(const page::RecordHeader* record) {
    std::vector<std::uint32_t> orders;
    for (std::uint32_t i = set_.find(record).first; i != WriteEntry::kNone;
         i = set_[i].next_own) {
      orders.push_back(i);
    }
    return orders;
  }

  std::vector<std::unique_ptr<page::RecordHeader>> records_;
  std::vector<std::unique_ptr<log::LogRecord>> logs_;
  WriteSet set_;
};

using Orders = std::vector<std::uint32_t>;
using log::LogRecordType;

TEST_F(WriteSetTest, chains_begin_with_the_newest_whole_write) {
  page::RecordHeader* const a = record();
  page::RecordHeader* const b = record();
  EXPECT_FALSE(set_.contains(a));
  add(a, LogRecordType::kIncrement);  // 0
  add(b, LogRecordType::kWriteAt);    // 1
  add(a, LogRecordType::kWriteAt);    // 2
  EXPECT_EQ(chain(a), (Orders{0, 2}));
  add(a, LogRecordType::kPut);        // 3
  add(a, LogRecordType::kIncrement);  // 4
  EXPECT_EQ(chain(a), (Orders{3, 4}));
  add(a, LogRecordType::kErase);      // 5
  EXPECT_EQ(chain(a), (Orders{5}));
  EXPECT_EQ(chain(b), (Orders{1}));
  EXPECT_EQ(set_.find(a).newest, 5u);
  set_.clear();
  EXPECT_TRUE(set_.is_empty());
  EXPECT_FALSE(set_.contains(a));
}

// Goal: entries of a moved record are found by its new address and by the old one.
TEST_F(WriteSetTest, moved_records_keep_their_chain) {
  page::RecordHeader* const from = record();
  page::RecordHeader* const to = record();
  page::RecordHeader* const further = record();
  add(from, LogRecordType::kPut);
  add(record(), LogRecordType::kPut);
  add(from, LogRecordType::kIncrement);
  set_.move(from, to, 7);
  set_.move(to, further, 9);
  for (const page::RecordHeader* address : {from, to, further}) {
    EXPECT_EQ(chain(address), (Orders{0, 2}));
  }
  EXPECT_EQ(set_[0].record, further);
  EXPECT_EQ(set_[2].place, 9u);
  add(further, LogRecordType::kWriteAt);
  EXPECT_EQ(chain(from), (Orders{0, 2, 3}));
}

// Entries that a later whole-row put hides from readers move, too.
TEST_F(WriteSetTest, every_write_of_a_moved_record_moves) {
  page::RecordHeader* const from = record();
  page::RecordHeader* const to = record();
  add(from, LogRecordType::kIncrement);
  add(from, LogRecordType::kPut);
  add(from, LogRecordType::kWriteAt);
  set_.move(from, to, 7);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(set_[i].record, to) << i;
    EXPECT_EQ(set_[i].place, 7u) << i;
  }
}

// Goal: a record has the writes that a model has of it, at any time. Method: few writes and many,
// records with one write each, with several, records that move, and writes that are cut off.
TEST_F(WriteSetTest, agrees_with_a_model) {
  constexpr std::uint64_t kWritten = 6'000;  // of the records, which move to the other ones
  const std::uint64_t seed = given_seed();
  SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
  base::Random random(seed);
  std::vector<page::RecordHeader> records(2 * kWritten);
  for (int round = 0; round < 80; ++round) {
    const std::uint64_t count = random.below(round % 10 == 0 ? 2'000 : 150);
    const std::uint64_t range = 1 + random.below(round % 2 == 0 ? count + 1 : kWritten);
    const std::uint64_t asks = round % 4 == 0 ? 0 : 1 + random.below(5);  // one in this many
    const std::uint64_t moves = round % 3 == 0 ? 0 : 1 + random.below(20);
    const std::uint64_t cuts = round % 5 < 2 ? 0 : 1 + random.below(30);
    std::vector<Orders> chains;
    std::map<const page::RecordHeader*, std::size_t> chain_of;  // by each of its places so far
    std::map<std::uint64_t, page::RecordHeader*> place_of;      // the present place of a record
    const auto expected = [&](const page::RecordHeader* record) {
      const auto known = chain_of.find(record);
      return known == chain_of.end() ? Orders() : chains[known->second];
    };
    std::uint64_t moved = kWritten;
    for (std::uint64_t step = 0; step < count; ++step) {
      if (cuts != 0 && random.below(cuts) == 0) {
        const auto kept = static_cast<std::uint32_t>(random.below(set_.size() + 1));
        set_.reserve_cut();
        set_.cut(kept);
        for (Orders& orders : chains) {
          while (!orders.empty() && orders.back() >= kept) orders.pop_back();
        }
        std::erase_if(chain_of, [&](const auto& known) { return chains[known.second].empty(); });
      }
      const auto i = static_cast<std::uint32_t>(set_.size());
      page::RecordHeader*& place = place_of[random.below(range)];
      if (place == nullptr) place = &records[random.below(kWritten)];
      if (!chain_of.contains(place)) {
        chain_of[place] = chains.size();
        chains.emplace_back();
      }
      add(place, LogRecordType::kIncrement);
      chains[chain_of[place]].push_back(i);
      // Once a record had two entries, the set may say so for ever.
      if (cuts == 0) {
        ASSERT_EQ(set_.has_one_for_each(), chains.size() == i + 1);
      }
      if (moves != 0 && random.below(moves) == 0) {
        page::RecordHeader* const to = &records[moved++];
        set_.move(place, to, 1);
        chain_of[to] = chain_of[place];
        for (auto& [number, other] : place_of) {
          if (&other != &place && other == place) other = to;
        }
        place = to;
      }
      if (asks == 0 || random.below(asks) != 0) continue;
      const page::RecordHeader* const other =
          &records[random.below(2) == 0 ? random.below(kWritten) : kWritten + random.below(30)];
      ASSERT_EQ(chain(other), expected(other));
      ASSERT_EQ(set_.contains(other), chain_of.contains(other));
    }
    for (const page::RecordHeader& record : records) ASSERT_EQ(chain(&record), expected(&record));
    set_.clear();
    logs_.clear();
    ASSERT_FALSE(set_.contains(&records[0]));
    ASSERT_TRUE(set_.has_one_for_each());
  }
}

// A reader of own writes begins with the newest put or erase that is left.
TEST_F(WriteSetTest, a_cut_leaves_the_chain_as_it_was_before) {
  page::RecordHeader* const a = record();
  add(a, LogRecordType::kIncrement);  // 0
  add(a, LogRecordType::kPut);        // 1
  add(a, LogRecordType::kIncrement);  // 2
  add(a, LogRecordType::kErase);      // 3
  add(a, LogRecordType::kPut);        // 4
  set_.reserve_cut();
  set_.cut(3);
  EXPECT_EQ(chain(a), (Orders{1, 2}));
  EXPECT_EQ(set_.find(a).newest, 2u);
  add(a, LogRecordType::kErase);  // 3
  EXPECT_EQ(chain(a), (Orders{3}));
  EXPECT_EQ(set_.find(a).oldest, 0u);
}

// Entries that were cut off keep their numbers in the index, so the set needs room for more.
TEST_F(WriteSetTest, there_is_room_for_new_entries_after_each_cut) {
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 70; ++i) add(record(), LogRecordType::kPut);
    add(set_[0].record, LogRecordType::kPut);  // so all of them are indexed
    set_.reserve_cut();
    set_.cut(0);
  }
  EXPECT_TRUE(set_.is_empty());
  set_.clear();
  EXPECT_EQ(set_.state(), WriteSet::State());
}

TEST_F(WriteSetTest, a_state_says_which_entries_are_left_of_it) {
  const auto cut = [&](std::uint32_t count) {
    set_.reserve_cut();
    set_.cut(count);
  };
  for (int i = 0; i < 5; ++i) add(record(), LogRecordType::kPut);
  const WriteSet::State before = set_.state();
  EXPECT_EQ(set_.kept_since(before), 5u);
  cut(3);
  add(record(), LogRecordType::kPut);
  add(record(), LogRecordType::kPut);
  EXPECT_NE(set_.state(), before);
  EXPECT_EQ(set_.kept_since(before), 3u);
  const WriteSet::State between = set_.state();
  cut(4);
  EXPECT_EQ(set_.kept_since(before), 3u);
  EXPECT_EQ(set_.kept_since(between), 4u);
  set_.clear();
  EXPECT_EQ(set_.state(), WriteSet::State());
}

// All sessions lock in the order of addresses, and apply a record's writes in the order of calls.
TEST_F(WriteSetTest, entries_are_sorted_by_address_and_then_by_call) {
  page::RecordHeader records[3];
  for (const std::size_t i : {2u, 0u, 1u, 2u, 0u, 2u}) add(&records[i], LogRecordType::kIncrement);
  set_.sort();
  std::vector<std::pair<const page::RecordHeader*, std::uint32_t>> sorted;
  for (const WriteSet::Sorted& one : set_.sorted()) {
    EXPECT_EQ(one.record, one.entry->record);
    sorted.emplace_back(one.record, one.entry - set_.entries().data());
  }
  const decltype(sorted) expected = {{&records[0], 1}, {&records[0], 4}, {&records[1], 2},
                                     {&records[2], 0}, {&records[2], 3}, {&records[2], 5}};
  EXPECT_EQ(sorted, expected);
}

TEST(PageSetTest, own_changes_are_followed_only_from_what_was_true) {
  const auto page = std::make_unique<page::PageHeader>();
  const auto twin = std::make_unique<page::PageHeader>();
  PageSet set;
  const auto keys = [](std::uint32_t count) { return page::PageVersion(count, 0); };
  set.advance_page_version(page.get(), keys(1), keys(2));  // not in the set: no effect
  set.add(page.get(), keys(3), nullptr);
  set.add(page.get(), keys(8), nullptr);  // the first version counts
  EXPECT_EQ(set.entries().size(), 1u);
  set.advance_page_version(page.get(), keys(3), keys(4));
  EXPECT_EQ(set.find(page.get())->observed, keys(4));
  set.advance_page_version(page.get(), keys(5), keys(6));  // another session's came first
  EXPECT_EQ(set.find(page.get())->observed, keys(4));
  set.repoint(set.find(page.get()), twin.get(), keys(2));
  EXPECT_EQ(set.find(twin.get())->page, twin.get());
  set.clear();
  EXPECT_EQ(set.find(twin.get()), nullptr);
}

// Goal: held locks are found by their places, also after moves, and a wait for them cannot
// deadlock.
TEST(HeldLocksTest, agrees_with_a_map) {
  const std::uint64_t seed = given_seed();
  SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
  base::Random random(seed);
  std::vector<page::RecordHeader> records(10'000);
  std::vector<LockWaiter> waiters(records.size());
  HeldLocks held;
  for (int round = 0; round < 30; ++round) {
    std::map<page::RecordHeader*, LockWaiter*> model;
    page::RecordHeader* highest = nullptr;  // that was ever held
    const std::uint64_t range = round % 3 == 0 ? records.size() : 30;
    for (std::uint64_t i = 0; i < range; ++i) {
      page::RecordHeader* const record = &records[random.below(range)];
      LockWaiter* const waiter = &waiters[i];
      ASSERT_EQ(held.contains(record), model.contains(record));
      if (model.contains(record)) continue;
      if (!model.empty() && random.below(4) == 0) {
        const auto from = model.size() > 1 ? std::next(model.begin()) : model.begin();
        ASSERT_EQ(held.move(from->first, record, waiter), from->second);
        model.erase(from);
      } else {
        held.add(record, waiter);
      }
      model[record] = waiter;
      highest = std::max(highest, record);
      page::RecordHeader* const other = &records[random.below(range)];
      ASSERT_EQ(held.are_below(other), highest < other);
    }
    std::map<page::RecordHeader*, LockWaiter*> found;
    for (const HeldLock& lock : held.entries()) found[lock.record] = lock.waiter;
    ASSERT_EQ(found, model);
    ASSERT_EQ(held.size(), model.size());
    held.clear();
    EXPECT_TRUE(held.is_empty());
    EXPECT_FALSE(held.contains(&records[0]));
    EXPECT_TRUE(held.are_below(&records[0]));
  }
}

TEST(WaiterPoolTest, waiters_stay_where_they_are) {
  WaiterPool pool(nullptr, 4);
  std::vector<LockWaiter*> first;
  for (int i = 0; i < 1000; ++i) first.push_back(pool.take());
  pool.clear();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pool.take(), first[i]);
}

// The test covers the last one of a block and the first one of the next.
TEST(WaiterPoolTest, waiters_say_whose_they_are) {
  WaiterPool pool(nullptr, 4);
  WaiterPool of_no_session;
  for (int i = 0; i < 600; ++i) {
    LockWaiter* const waiter = pool.take();
    waiter->met = waiter->mark;
    EXPECT_EQ(waiter->met_session(), 4);
    EXPECT_EQ(of_no_session.take()->mark, lock_bits::kHeld);
  }
}

}  // namespace
}  // namespace foedus::occ::access_sets_test
