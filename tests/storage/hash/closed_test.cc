// Bins and pages that no other session may change, lead to or merge between two steps of a system
// transaction: each test lets another session act just there.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/trie.h"
#include "tests/storage/hash/cold_fixture.h"
#include "tests/storage/hash/fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::closed_test {
namespace {

using testing::AtSyncPoint;

constexpr std::uint32_t kKeyBytes = 10;
constexpr std::uint32_t kPayloadBytes = 60;

std::string row_of(const std::string& key) { return std::string(kPayloadBytes, key.back()); }

// Keys whose hashes begin with given bits, one after another. All have one length; keys of
// different letters differ.
class KeysOf {
 public:
  KeysOf(std::uint64_t begins_with, unsigned bits, char letter = 'a')
      : begins_with_(begins_with), bits_(bits), letter_(letter) {}
  std::string next() {
    for (;;) {
      const std::string key = letter_ + std::to_string(100'000'000 + number_++);
      if (hash_of(key) >> (kHashBits - bits_) == begins_with_) return key;
    }
  }
  std::vector<std::string> next(unsigned count) {
    std::vector<std::string> keys;
    while (keys.size() < count) keys.push_back(next());
    return keys;
  }

 private:
  const std::uint64_t begins_with_;
  const unsigned bits_;
  const char letter_;
  unsigned number_ = 0;
};

bool is_full(const HashBinPage* bin) {
  return !bin->has_room(kKeyBytes, payload_room_of(kPayloadBytes));
}

// Work of another session in a thread, which begins while the test holds the lock of a bin that the
// work needs. The test goes on when the thread waits for it or is done.
class Meanwhile {
 public:
  ~Meanwhile() { join(); }
  template <typename Work>
  void begin(const HashBinPage* bin, Work work) {
    const std::uint64_t holder = bin->header.lock.load_acquire();
    thread_ = std::thread([this, work = std::move(work)] {
      work();
      is_done_ = true;
    });
    while (!is_done_ && (holder == 0 || bin->header.lock.load_acquire() == holder)) {
      std::this_thread::yield();
    }
    EXPECT_FALSE(is_done_) << "the bin was open";
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> is_done_ = false;
  std::thread thread_;
};

// Bins 0 to 3 of two bits each.
class HashClosedTest : public HashTest {
 protected:
  HashBinPage* bin_of(const std::string& key) {
    return peek_bin(all_.pool(), control_, hash_of(key));
  }
  void put_rows(std::uint32_t session, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) put_now(session, key, row_of(key));
  }
  void put_one_more(KeysOf* keys) {
    const std::string key = keys->next();
    rows_.push_back(key);
    put_now(0, key, row_of(key));
  }
  // Fills the bin until the next row does not fit.
  void fill(KeysOf* keys) {
    do {
      put_one_more(keys);
    } while (!is_full(bin_of(rows_.back())));
  }
  // Fills the bin with erased rows that no transaction can have read.
  void fill_with_dead(KeysOf* keys) {
    std::string key;
    do {
      key = keys->next();
      put_now(0, key, row_of(key));
      erase_now(0, key);
    } while (!is_full(bin_of(key)));
    all_.pass_epochs();
  }
  // Makes a full bin 0 of erased rows, and a bin 1 of some rows: the next row in bin 0 merges them.
  void prepare_merge(KeysOf* keys) {
    rows_ = KeysOf(1, 2).next(10);
    put_rows(0, rows_);
    fill_with_dead(keys);
  }
  // Puts more rows than one bin holds, by session 1 in a thread.
  void put_meanwhile(KeysOf* keys) {
    const std::vector<std::string> more = keys->next(100);
    rows_.insert(rows_.end(), more.begin(), more.end());
    meanwhile_.begin(bin_of(more[0]), [this, more] { put_rows(1, more); });
  }
  void check_rows() {
    for (const std::string& key : rows_) ASSERT_EQ(get_now(key), row_of(key)) << key;
  }

  std::vector<std::string> rows_;  // all that are there
  Meanwhile meanwhile_;
};

struct Step {
  const char* place;
  std::uint64_t successor;  // the last bit of its prefix
};
class HashSpreadStepTest : public HashClosedTest, public ::testing::WithParamInterface<Step> {};

// Goal: once the old bin is marked moved, sessions reach a successor, but none replaces it before
// the pointer to it is in place: a replacement needs that pointer (H2). Method: a full bin is
// spread; at a step of it another session puts more rows than the successor holds.
TEST_P(HashSpreadStepTest, nobody_replaces_a_successor_that_is_not_in_place) {
  KeysOf keys(0, 2);
  KeysOf of_successor(GetParam().successor, 3, 'b');
  fill(&keys);
  const AtSyncPoint at(GetParam().place, [&] { put_meanwhile(&of_successor); });
  put_one_more(&keys);
  meanwhile_.join();
  EXPECT_EQ(at.runs(), 1u);
  EXPECT_GE(statistics().bins, 3u);
  check_rows();
}

INSTANTIATE_TEST_SUITE_P(Steps, HashSpreadStepTest,
                         ::testing::Values(Step{"hash:moved", 0}, Step{"hash:moved", 1},
                                           Step{"hash:before_swap", 0}));

class HashMergeClosedTest : public HashClosedTest,
                            public ::testing::WithParamInterface<const char*> {};

// Goal: a session that reaches a merged bin by the first marked bin adds no row before the second
// one is marked and the merged bin is in place (H6).
TEST_P(HashMergeClosedTest, nobody_adds_to_a_merged_bin_that_is_not_in_place) {
  KeysOf keys(0, 2);
  prepare_merge(&keys);
  const AtSyncPoint at(GetParam(), [&] { put_meanwhile(&keys); });
  put_one_more(&keys);
  meanwhile_.join();
  EXPECT_EQ(at.runs(), 1u);
  check_rows();
}

INSTANTIATE_TEST_SUITE_P(Steps, HashMergeClosedTest,
                         ::testing::Values("hash:half_moved", "hash:moved"));

// Goal: a merge checks the buddy again under its lock, so rows that have moved from it since are
// not lost. Method: another session spreads the buddy in between.
TEST_F(HashClosedTest, a_buddy_that_spreads_before_it_is_locked_is_not_merged) {
  KeysOf keys(0, 2);
  KeysOf of_buddy(1, 2, 'b');
  prepare_merge(&keys);
  HashBinPage* const buddy = bin_of(rows_[0]);
  const AtSyncPoint at("hash:buddy_found", [&] {
    const std::vector<std::string> more = of_buddy.next(100);
    rows_.insert(rows_.end(), more.begin(), more.end());
    put_rows(1, more);
    ASSERT_TRUE(buddy->header.load_version().is_moved());
  });
  put_one_more(&keys);
  EXPECT_EQ(at.runs(), 1u);
  check_rows();
}

// Goal: a reader that has loaded the owners before a spread and the pointer after it does not take
// the bin of that pointer for the key's, and misses no row. Method: the owners are those from
// before the spread while the reader loads them.
TEST_F(HashClosedTest, a_bin_that_old_owners_lead_to_is_not_believed) {
  KeysOf keys(0, 2);
  KeysOf of_second(1, 3, 'b');
  fill(&keys);
  rows_.push_back(of_second.next());
  put_rows(0, {rows_.back()});
  const std::string row = rows_.back();
  auto* const root =
      reinterpret_cast<HashInteriorPage*>(all_.pool().resolve(control_->root.load_volatile()));
  constexpr std::uint32_t kSpan = HashInteriorPage::kPointers / 8;
  ASSERT_EQ(root->owner_of(kSpan), kSpan);
  root->set_owners(0, 2 * kSpan);
  all_.session(1).begin();
  const WholeRead read = read_whole(
      [&](occ::ReadRange* range) { return hash::get(all_.ctx(1), control_, row, range); });
  EXPECT_EQ(read.status.code(), ErrorCode::kConflict) << read.payload;
  all_.session(1).rollback();
  root->set_owners(kSpan, kSpan);
  check_rows();
}

class HashColdClosedTest : public HashColdTest {
 protected:
  HashBinPage* bin_of(const std::string& key) {
    return peek_bin(all_.all().pool(), all_.control(), hash_of(key));
  }
  void put_row(const std::string& key, const std::string& payload) {
    put_alone(0, key, payload);
    rows_[key] = payload;
  }
  // Puts rows of which five fill a bin, in memory and in a snapshot.
  std::vector<std::string> put_fifths(KeysOf* keys, unsigned count) {
    const std::vector<std::string> some = keys->next(count);
    for (const std::string& key : some) put_row(key, std::string(700, 'f'));
    return some;
  }
  // Erases rows, and lets epochs pass until no transaction can have read them.
  void erase_rows(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      erase_alone(0, key);
      rows_.erase(key);
    }
    all_.all().pass_epochs();
  }
  void check_rows() {
    for (const auto& [key, payload] : rows_) ASSERT_EQ(get_alone(3, key), payload) << key;
  }
  void expect_all_goes() {
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
    check_rows();
  }
  // Returns how many pointers of the root to volatile bins have a snapshot half, and checks that it
  // is of the same range (P3).
  unsigned count_pasts() {
    page::PagePool& pool = all_.all().pool();
    auto* const root =
        reinterpret_cast<HashInteriorPage*>(pool.resolve(all_.control()->root.load_volatile()));
    unsigned pasts = 0;
    for (const page::DualPagePointer& pointer : root->pointers) {
      const page::DualPageIds ids = pointer.load();
      if (ids.volatile_page.is_null() || ids.snapshot_page.is_null()) continue;
      const auto* const bin = reinterpret_cast<HashBinPage*>(pool.resolve(ids.volatile_page));
      const auto* const past = all_.pages().as<HashBinPage>(ids.snapshot_page);
      EXPECT_EQ(past->prefix, bin->prefix);
      EXPECT_EQ(past->prefix_bits(), bin->prefix_bits()) << bin->prefix;
      ++pasts;
    }
    return pasts;
  }

  KeysOf keys_[4] = {{0, 2}, {1, 2}, {2, 2}, {3, 2}};  // of four bins
  std::map<std::string, std::string> rows_;
  Meanwhile meanwhile_;
};

// Goal: P3. The pointer to a bin that has spread leads to no snapshot page, because the old one has
// rows of both successors. The pointer to a rebuilt bin keeps its snapshot page, because snapshot
// halves never go back (page/dual_page_pointer.h, load()). Method: a snapshot has the equals of
// four bins; one of them spreads, and another is rebuilt without its erased rows.
TEST_F(HashColdClosedTest, a_pointer_leads_to_no_past_of_another_range) {
  std::vector<std::string> of_second;
  for (KeysOf& keys : keys_) {
    const std::vector<std::string> some = put_fifths(&keys, 5);
    if (&keys == &keys_[1]) of_second = some;
  }
  all_.compose();
  all_.install(0);
  EXPECT_EQ(count_pasts(), 4u);
  put_fifths(&keys_[0], 1);
  EXPECT_EQ(count_pasts(), 3u);
  const HashBinPage* const before = bin_of(of_second[0]);
  erase_rows(of_second);
  put_fifths(&keys_[1], 1);
  ASSERT_TRUE(before->header.load_version().is_moved());
  EXPECT_EQ(count_pasts(), 3u);
  check_rows();
  expect_all_goes();
}

// Goal: a buddy that was dropped after it was found is not merged: its rows are in the snapshot
// alone. Method: in between, a thread installs a snapshot that has the buddy unchanged, and then
// waits at the bin that is rebuilt.
TEST_F(HashColdClosedTest, a_buddy_that_is_dropped_before_it_is_locked_is_not_merged) {
  const HashBinPage* const buddy = bin_of(put_fifths(&keys_[0], 3)[0]);
  const std::vector<std::string> erased = put_fifths(&keys_[1], 5);
  const HashBinPage* const bin = bin_of(erased[0]);
  all_.compose();
  erase_rows(erased);
  const AtSyncPoint at("hash:buddy_found", [&] {
    meanwhile_.begin(bin, [this] { all_.install(); });
    ASSERT_TRUE(buddy->header.load_version().is_dropped());
  });
  put_fifths(&keys_[1], 1);
  meanwhile_.join();
  EXPECT_EQ(at.runs(), 1u);
  check_rows();
  expect_all_goes();
}

// Goal: a commit to a child of a page that is being dropped is not lost. Method: all pages below
// the root are cold and were counted when another session makes a child volatile and commits to it.
TEST_F(HashColdClosedTest, a_page_with_a_child_that_came_before_it_was_locked_is_not_dropped) {
  for (KeysOf& keys : keys_) put_fifths(&keys, 5);
  all_.compose();
  {
    const AtSyncPoint at("hash:drop_collected", [&] {
      ASSERT_EQ(volatile_pages(), 1u);
      put_row(rows_.begin()->first, "new");
    });
    all_.install();
    EXPECT_EQ(at.runs(), 1u);
  }
  check_rows();
  expect_all_goes();
}

}  // namespace
}  // namespace foedus::storage::hash::closed_test
