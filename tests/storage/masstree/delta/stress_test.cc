// Threads over a Master-Tree whose rows go to its delta and leave it meanwhile.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/delta/tree_fixture.h"

namespace foedus::storage::masstree::stress_test {
namespace {

// Only commits wait for a compose, which takes the log; installs run beside all calls.
class DeltaStressTest : public DeltaTreeTest {
 protected:
  static constexpr unsigned kThreads = 3;
  static constexpr unsigned kGroup = 8;  // accounts whose sum is constant
  static constexpr unsigned kGroups = 400;
  static constexpr int kAmount = 100;
  static constexpr unsigned kTransactions = 6'000;
  static constexpr std::size_t kNumberBytes = sizeof(std::int64_t);

  // Returns a key of one of three shapes: one slice; two slices, so that a group may become a
  // layer; a layer of several groups.
  static std::string account(unsigned group, std::uint64_t i) {
    char text[64];
    const auto digit = static_cast<int>(i);
    switch (group % 3) {
      case 0:
        std::snprintf(text, sizeof(text), "a%06u%d", group, digit);
        break;
      case 1:
        std::snprintf(text, sizeof(text), "b%07u.account.%d", group, digit);
        break;
      default:
        std::snprintf(text, sizeof(text), "c%05u..groups.%08u%d", group / 30, group, digit);
    }
    return text;
  }
  // Returns a number, followed by equal bytes.
  static std::string row_of(std::int64_t amount, std::size_t bytes, char letter) {
    std::string row(kNumberBytes + bytes, letter);
    std::memcpy(row.data(), &amount, kNumberBytes);
    return row;
  }
  static std::int64_t amount_of(std::string_view row) {
    std::int64_t amount = 0;
    EXPECT_GT(row.size(), kNumberBytes);
    std::memcpy(&amount, row.data(), kNumberBytes);
    const std::string_view rest = row.substr(kNumberBytes);
    EXPECT_EQ(rest.find_first_not_of(rest.front()), std::string_view::npos);
    return amount;
  }
  // Reads an account; without a row its amount is 0.
  Status read_amount(unsigned who, const std::string& key, std::int64_t* amount) {
    const WholeRead got = read(who, key);
    *amount = 0;
    if (got.status.code() == ErrorCode::kNotFound) return {};
    if (got.status.is_ok()) *amount = amount_of(got.payload);
    return got.status;
  }
  std::string random_row(std::int64_t amount, base::Random* random) {
    const std::uint64_t bytes = random->below(40) == 0 ? 3'000 : 1 + random->below(150);
    return row_of(amount, bytes, static_cast<char>('a' + random->below(26)));
  }
  Status write_amount(unsigned who, const std::string& key, std::int64_t before, std::int64_t after,
                      base::Random* random) {
    if (after == 0 && before != 0) return erase(who, key);
    if (after == 0) return {};
    switch (random->below(4)) {
      case 0:
        if (before == 0) return put(who, key, random_row(after, random), WriteMode::kInsert);
        return put(who, key, random_row(after, random), WriteMode::kUpdate);
      case 1:
        if (before == 0) break;
        return increment(ctx(who), control(), key, 0, after - before);
      default:
        break;
    }
    return put(who, key, random_row(after, random));
  }
  // Sets *is_seen to whether the transaction saw its own write, which one that cannot commit may
  // fail to do.
  Status move(unsigned who, unsigned group, base::Random* random, bool* is_seen) {
    const std::uint64_t i = random->below(kGroup);
    const std::string from = account(group, i);
    const std::string to = account(group, (i + 1 + random->below(kGroup - 1)) % kGroup);
    std::int64_t have = 0;
    std::int64_t other = 0;
    FOEDUS_CHECK(read_amount(who, from, &have));
    FOEDUS_CHECK(read_amount(who, to, &other));
    if (random->below(8) == 0) std::this_thread::yield();  // for installs between
    const std::int64_t part = random->below(3) == 0 ? have : have / 2;
    if (part == 0) return {};
    FOEDUS_CHECK(write_amount(who, from, have, have - part, random));
    FOEDUS_CHECK(write_amount(who, to, other, other + part, random));
    if (random->below(8) == 0) std::this_thread::yield();
    std::int64_t now = 0;
    FOEDUS_CHECK(read_amount(who, from, &now));
    *is_seen = now == have - part;
    return {};
  }
  Status sum_up(unsigned who, unsigned group, std::int64_t* sum) {
    for (unsigned i = 0; i < kGroup; ++i) {
      std::int64_t amount = 0;
      FOEDUS_CHECK(read_amount(who, account(group, i), &amount));
      *sum += amount;
    }
    return {};
  }
  Status scan_up(unsigned who, unsigned group, bool reverse, std::int64_t* sum) {
    MergedCursor cursor;
    cursor.open(ctx(who), control(), account(group, 0), account(group, kGroup), reverse);
    std::string last;
    for (;;) {
      FOEDUS_CHECK(cursor.next());
      if (cursor.at_end()) return {};
      const std::string key(cursor.key());
      if (!last.empty()) {
        EXPECT_EQ(key < last, reverse) << key << ' ' << last;
      }
      last = key;
      *sum += amount_of(cursor.payload());
    }
  }
  // Returns whether a call may fail so: a key that a doomed transaction has read may be erased
  // since.
  static bool is_expected(const Status& status) {
    return status.is_ok() || status.code() == ErrorCode::kConflict ||
           status.code() == ErrorCode::kNotFound || status.code() == ErrorCode::kAlreadyExists ||
           status.code() == ErrorCode::kInvalidArgument || status.code() == ErrorCode::kOutOfMemory;
  }
  // Commits, or rolls back after an error. Returns whether the transaction committed.
  bool end(unsigned who, Status status) {
    if (status.is_ok()) {
      const std::shared_lock<std::shared_mutex> lock(compose_);
      status = commit(who);
    } else {
      all_.session(who).rollback();
    }
    EXPECT_TRUE(is_expected(status)) << status.message();
    ++(status.is_ok() ? commits_ : failures_);
    return status.is_ok();
  }
  void transact(unsigned who, unsigned group, base::Random* random) {
    const std::uint64_t kind = random->below(8);
    std::int64_t sum = 0;
    bool is_seen = true;
    begin(who);
    Status status = kind < 5   ? move(who, group, random, &is_seen)
                    : kind < 6 ? sum_up(who, group, &sum)
                               : scan_up(who, group, kind == 7, &sum);
    if (!end(who, std::move(status))) return;
    EXPECT_TRUE(is_seen) << group;
    if (kind >= 5) {
      EXPECT_EQ(sum, kAmount * static_cast<int>(kGroup)) << group << ' ' << kind;
    }
  }
  void work(unsigned who, std::uint64_t seed) {
    base::Random random(seed);
    for (unsigned i = 0; i < kTransactions && !HasFailure(); ++i) {
      while (gleaner_waits_) std::this_thread::yield();
      // Most groups are far apart, so that few pages are in use; some meet.
      const std::uint64_t groups = random.below(3) == 0 ? 5 : kGroups;
      transact(who, static_cast<unsigned>(random.below(groups)), &random);
    }
  }
  void check_sums() {
    for (unsigned group = 0; group < kGroups; ++group) {
      std::int64_t sum = 0;
      std::int64_t scanned = 0;
      if (group % 50 == 0) all_.all().pass_epochs();
      begin(0);
      ASSERT_TRUE(sum_up(0, group, &sum).is_ok());
      ASSERT_TRUE(scan_up(0, group, group % 2 == 0, &scanned).is_ok());
      ASSERT_TRUE(commit(0).is_ok());
      ASSERT_EQ(sum, kAmount * static_cast<int>(kGroup)) << group;
      ASSERT_EQ(scanned, sum) << group;
    }
  }

  // Moves the delta through the states of M53, as the gleaner does, but after a few snapshots each:
  // it takes puts; takes none; is not searched, once it is empty; is searched again; and takes
  // puts. `is_new` says that an installation has begun to use it again.
  void take_turns(bool is_new) {
    const auto announce = [this](Turn turn) {
      base::fence_seq_cst();  // order: the flag before the clock
      turn_ = turn;
      since_ = all_.all().clock().current();
      turn_gleans_ = 0;
    };
    ++turn_gleans_;
    if (is_new) return announce(Turn::kBegins);
    const bool is_known = all_.all().clock().reclaimable() >= since_;
    switch (turn_) {
      case Turn::kTakes:
        if (turn_gleans_ < 3) return;
        control()->clear_delta_takes_puts();
        return announce(Turn::kEnds);
      case Turn::kEnds: {
        if (!is_known) return;
        all_.session(kThreads).begin();  // pinned
        const bool is_empty = delta::is_empty(all_.all().pool(), *control());
        all_.session(kThreads).rollback();
        if (is_empty) {
          control()->clear_has_delta();
          ++ends_;
          return announce(Turn::kIsNone);
        }
        if (turn_gleans_ < 5) return;
        control()->set_delta_takes_puts();
        return announce(Turn::kTakes);
      }
      case Turn::kIsNone:
        control()->set_has_delta();
        return announce(Turn::kBegins);
      case Turn::kBegins:
        if (!is_known) return;
        control()->set_delta_takes_puts();
        return announce(Turn::kTakes);
    }
  }

  // Gleans while threads do `work`.
  template <typename Work>
  void glean_beside(Work&& work) {
    std::vector<std::thread> threads;
    for (unsigned who = 0; who < kThreads; ++who) {
      threads.emplace_back([this, who, &work] {
        work(who);
        ++finished_;
      });
    }
    unsigned gleans = 0;
    std::uint64_t delta_pages_max = 0;
    for (; finished_ < kThreads && !HasFailure(); ++gleans) {
      {
        gleaner_waits_ = true;  // the lock prefers readers
        const std::unique_lock<std::shared_mutex> lock(compose_);
        gleaner_waits_ = false;
        all_.compose();
      }
      delta_pages_max = std::max(delta_pages_max, delta_pages());
      // The install drops all pages, a part of them, or none.
      const InstallCounts counts = all_.install(gleans % 4 == 3   ? 0
                                                : gleans % 4 == 2 ? 30
                                                                  : ~std::uint64_t{0});
      take_turns(counts.has_new_delta);
      // A snapshot's pages are new to the cache, whose frames are free two epochs later.
      all_.all().pass_epochs();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::thread& thread : threads) thread.join();
    all_.check_leads(false);
    std::printf("%u gleans, %u commits, %u failures, up to %llu pages of the delta, %u ends\n",
                gleans, commits_.load(), failures_.load(),
                static_cast<unsigned long long>(delta_pages_max), ends_);
  }
  void expect_all_in_snapshot() {
    for (int i = 0; i < 3; ++i) all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
    EXPECT_LE(delta_pages(), 1u);
  }

  enum class Turn { kTakes, kEnds, kIsNone, kBegins };
  Turn turn_ = Turn::kTakes;  // of the delta
  Epoch since_;
  unsigned turn_gleans_ = 0;  // since then
  unsigned ends_ = 0;
  std::shared_mutex compose_;
  std::atomic<unsigned> commits_ = 0;
  std::atomic<unsigned> failures_ = 0;
  std::atomic<unsigned> finished_ = 0;
  std::atomic<bool> gleaner_waits_ = false;
};

// Goal: no update is lost, none is seen in part, no scan misses or repeats a row, and no own write
// is missed while rows come to the delta and leave it. Method: threads move amounts between
// accounts, of which empty ones have no row; a transaction that reads or scans a whole group must
// find its sum.
TEST_F(DeltaStressTest, sums_stay_while_rows_come_to_the_delta_and_leave_it) {
  const std::uint64_t seed = testing::test_seed(1);
  for (unsigned group = 0; group < kGroups; ++group) {
    for (unsigned i = 0; i < kGroup; ++i) {
      put_alone(0, account(group, i), row_of(kAmount, 90, 'z'));
    }
  }
  open_delta();
  glean_beside([this, seed](unsigned who) { work(who, seed * kThreads + who); });
  EXPECT_GT(commits_.load(), kTransactions / 10);
  ASSERT_NO_FATAL_FAILURE(check_sums());
  expect_all_in_snapshot();
  ASSERT_NO_FATAL_FAILURE(check_sums());
}

// Goal: of two transactions that read each other's rows one conflicts (M46), whether a row is in
// the delta, in the main tree, or in none of them. Method: either row of a pair may be given up,
// but not both. Each transaction reads both and gives one up, or puts it back. Write skew would
// give up both.
class DeltaSkewTest : public DeltaStressTest {
 protected:
  static constexpr unsigned kPairs = 40;

  static std::string side(unsigned pair, unsigned i) { return account(pair * 10, i); }
  // Reads whether the row is given up: it says so, or is absent.
  Status look(unsigned who, const std::string& key, bool by_scan, bool* is_up) {
    *is_up = true;
    if (!by_scan) {
      std::int64_t amount = 0;
      FOEDUS_CHECK(read_amount(who, key, &amount));
      *is_up = amount == 0;
      return {};
    }
    MergedCursor cursor;
    cursor.open(ctx(who), control(), key, key + '\x01', false);
    FOEDUS_CHECK(cursor.next());
    if (!cursor.at_end()) *is_up = amount_of(cursor.payload()) == 0;
    return {};
  }
  // Gives a row up: writes so, or erases it.
  Status give_up(unsigned who, const std::string& key, base::Random* random) {
    switch (random->below(4)) {
      case 0: {
        const Status status = erase(who, key);
        return status.code() == ErrorCode::kNotFound ? put(who, key, row_of(0, 20, 'n')) : status;
      }
      case 1:
        return put(who, key, row_of(0, 20, 'u'), WriteMode::kUpdate);
      default:
        return put(who, key, row_of(0, 20, 'p'));
    }
  }
  Status decide(unsigned who, unsigned pair, base::Random* random) {
    const auto mine = static_cast<unsigned>(random->below(2));
    const bool by_scan = random->below(3) == 0;
    bool is_up[2] = {};
    for (unsigned i = 0; i < 2; ++i) {
      FOEDUS_CHECK(look(who, side(pair, i), by_scan, &is_up[i]));
    }
    if (random->below(2) == 0) std::this_thread::yield();
    if (is_up[mine]) return put(who, side(pair, mine), row_of(1, 20, 'b'));
    if (is_up[1 - mine]) return {};
    return give_up(who, side(pair, mine), random);
  }
  // Checks that at most one row of a pair is given up when both are read together.
  Status check_pair(unsigned who, unsigned pair, bool* is_broken) {
    bool is_up[2] = {};
    for (unsigned i = 0; i < 2; ++i) FOEDUS_CHECK(look(who, side(pair, i), i == 0, &is_up[i]));
    *is_broken = is_up[0] && is_up[1];
    return {};
  }
  void skew(unsigned who, std::uint64_t seed) {
    base::Random random(seed);
    for (unsigned i = 0; i < kTransactions && !HasFailure(); ++i) {
      while (gleaner_waits_) std::this_thread::yield();
      const auto pair = static_cast<unsigned>(random.below(kPairs));
      bool is_broken = false;
      const bool looks = random.below(3) == 0;
      begin(who);
      Status status = looks ? check_pair(who, pair, &is_broken) : decide(who, pair, &random);
      const bool is_done = end(who, std::move(status));
      EXPECT_FALSE(is_done && is_broken) << "both of pair " << pair << " were given up";
    }
  }
};

TEST_F(DeltaSkewTest, no_two_transactions_give_up_both_rows_of_a_pair) {
  const std::uint64_t seed = testing::test_seed(1);
  for (unsigned group = 0; group < kGroups; ++group) {  // neighbours, which no thread changes
    for (unsigned i = 0; i < kGroup; ++i) {
      put_alone(0, account(group, i), row_of(kAmount, 90, 'z'));
    }
  }
  open_delta();
  glean_beside([this, seed](unsigned who) { skew(who, seed * kThreads + who); });
  EXPECT_GT(commits_.load(), kTransactions / 10);
  for (unsigned pair = 0; pair < kPairs; ++pair) {
    bool is_broken = true;
    begin(0);
    ASSERT_TRUE(check_pair(0, pair, &is_broken).is_ok());
    ASSERT_TRUE(commit(0).is_ok());
    EXPECT_FALSE(is_broken) << pair;
  }
  expect_all_in_snapshot();
}

}  // namespace
}  // namespace foedus::storage::masstree::stress_test
