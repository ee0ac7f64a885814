// Threads over a Master-Tree of which parts become cold and volatile again meanwhile.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/masstree/change/adopt.h"
#include "foedus-core/storage/masstree/install/install.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/cold/fixture.h"
#include "tests/storage/masstree/contents.h"

namespace foedus::storage::masstree::stress_test {
namespace {

// Goal: no update is lost, none is seen in part, no scan misses a row and no own write is missed
// while runs of pages are exchanged. Method: threads move amounts between accounts, of which empty
// ones have no row; a transaction that reads or scans a whole group must find its sum. Each thread
// stays with a few groups for a while, so that most pages are quiet. Only commits wait for a
// compose, which takes the log; installs run beside all calls.
class InstallStressTest : public MasstreeColdTest {
 protected:
  static constexpr unsigned kThreads = 3;
  static constexpr unsigned kGroup = 8;  // accounts whose sum is constant
  static constexpr unsigned kGroups = 1'500;
  static constexpr unsigned kNear = 12;  // groups that a thread stays with
  static constexpr int kAmount = 100;
  static constexpr unsigned kTransactions = 10'000;

  InstallStressTest() : MasstreeColdTest(install) {}

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
        std::snprintf(text, sizeof(text), "c%05u..groups.%08u%d", group / 90, group, digit);
    }
    return text;
  }
  // Returns nine digits and bytes that depend on them.
  static std::string text_of(int amount) {
    const std::string digits = std::to_string(amount);
    return digits + ' ' + std::string(static_cast<unsigned>(amount) % 190, digits.back());
  }
  static int amount_of(const std::string& text) {
    const int amount = std::atoi(text.c_str());
    EXPECT_EQ(text, text_of(amount));
    return amount;
  }
  Status read_amount(unsigned who, const std::string& key, int* amount) {
    const WholeRead got = read(who, key);
    *amount = 0;
    if (got.status.code() == ErrorCode::kNotFound) return {};
    if (got.status.is_ok()) *amount = amount_of(got.payload);
    return got.status;
  }
  Status write_amount(unsigned who, const std::string& key, int before, int after) {
    if (after == 0) return before == 0 ? Status() : erase(who, key);
    return put(who, key, text_of(after));
  }
  Status move(unsigned who, unsigned group, base::Random* random) {
    const std::uint64_t i = random->below(kGroup);
    const std::string from = account(group, i);
    const std::string to = account(group, (i + 1 + random->below(kGroup - 1)) % kGroup);
    int have = 0;
    int other = 0;
    FOEDUS_CHECK(read_amount(who, from, &have));
    FOEDUS_CHECK(read_amount(who, to, &other));
    if (random->below(8) == 0) std::this_thread::yield();  // for installs in between
    const int part = random->below(3) == 0 ? have : have / 2;
    FOEDUS_CHECK(write_amount(who, from, have, have - part));
    if (part != 0) FOEDUS_CHECK(write_amount(who, to, other, other + part));
    if (random->below(8) == 0) std::this_thread::yield();
    if (have == 0) return {};  // no write
    int now = 0;
    FOEDUS_CHECK(read_amount(who, from, &now));
    EXPECT_EQ(now, have - part);
    return {};
  }
  Status sum_up(unsigned who, unsigned group, int* sum) {
    for (unsigned i = 0; i < kGroup; ++i) {
      int amount = 0;
      FOEDUS_CHECK(read_amount(who, account(group, i), &amount));
      *sum += amount;
    }
    return {};
  }
  Status scan_up(unsigned who, unsigned group, bool reverse, int* sum) {
    Cursor cursor;
    cursor.open(ctx(who), all_.control(), account(group, 0), account(group, kGroup), reverse);
    for (;;) {
      FOEDUS_CHECK(cursor.next());
      if (cursor.at_end()) return {};
      *sum += amount_of(std::string(cursor.payload()));
    }
  }
  void transact(unsigned who, unsigned group, base::Random* random) {
    const std::uint64_t kind = random->below(8);
    int sum = 0;
    begin(who);
    Status status = kind < 5   ? move(who, group, random)
                    : kind < 6 ? sum_up(who, group, &sum)
                               : scan_up(who, group, kind == 7, &sum);
    if (status.is_ok()) {
      const std::shared_lock<std::shared_mutex> lock(compose_);
      status = commit(who);
      if (status.is_ok()) ++commits_;
      if (status.is_ok() && kind >= 5) {
        EXPECT_EQ(sum, kAmount * static_cast<int>(kGroup)) << group << ' ' << kind;
      }
    } else {
      all_.session(who).rollback();
    }
    // A key that a doomed transaction has read may be erased since. The cache may have no free
    // frame while other threads are at work for long.
    const bool is_expected = status.is_ok() || status.code() == ErrorCode::kConflict ||
                             status.code() == ErrorCode::kNotFound ||
                             status.code() == ErrorCode::kOutOfMemory;
    ASSERT_TRUE(is_expected) << status.message();
    if (!status.is_ok()) ++failures_;
  }
  void work(unsigned who, std::uint64_t seed) {
    base::Random random(seed);
    unsigned near = 0;
    for (unsigned i = 0; i < kTransactions && !HasFailure(); ++i) {
      while (gleaner_waits_) std::this_thread::yield();
      if (i % 300 == 0) near = static_cast<unsigned>(random.below(kGroups - kNear));
      transact(who, near + static_cast<unsigned>(random.below(kNear)), &random);
    }
  }
  void check_sums() {
    for (unsigned group = 0; group < kGroups; ++group) {
      int sum = 0;
      if (group % 100 == 0) all_.all().pass_epochs();
      begin(0);
      ASSERT_TRUE(sum_up(0, group, &sum).is_ok());
      int scanned = 0;
      ASSERT_TRUE(scan_up(0, group, false, &scanned).is_ok());
      ASSERT_TRUE(commit(0).is_ok());
      ASSERT_EQ(sum, kAmount * static_cast<int>(kGroup)) << group;
      ASSERT_EQ(scanned, sum) << group;
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
    InstallCounts sum;
    for (; finished_ < kThreads && !HasFailure(); ++gleans) {
      {
        gleaner_waits_ = true;  // the lock prefers readers
        const std::unique_lock<std::shared_mutex> lock(compose_);
        gleaner_waits_ = false;
        all_.compose();
      }
      const InstallCounts counts = all_.install();
      sum.pages_dropped += counts.pages_dropped;
      sum.pages_kept += counts.pages_kept;
      // A snapshot's pages are new to the cache, whose frames are free two epochs later.
      all_.all().pass_epochs();
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    for (std::thread& thread : threads) thread.join();
    all_.check_leads();
    std::printf("%u of %u installs left nothing of earlier snapshots\n", all_.clean_installs(),
                all_.installs());
    std::printf("%u gleans dropped %llu pages and kept %llu, %u commits, %u failures\n", gleans,
                static_cast<unsigned long long>(sum.pages_dropped),
                static_cast<unsigned long long>(sum.pages_kept), commits_.load(), failures_.load());
  }

  std::shared_mutex compose_;
  std::atomic<unsigned> commits_ = 0;
  std::atomic<unsigned> failures_ = 0;
  std::atomic<unsigned> finished_ = 0;
  std::atomic<bool> gleaner_waits_ = false;
};

TEST_F(InstallStressTest, sums_stay_while_runs_are_exchanged) {
  const std::uint64_t seed = testing::test_seed(1);
  for (unsigned group = 0; group < kGroups; ++group) {
    for (unsigned i = 0; i < kGroup; ++i) put_alone(0, account(group, i), text_of(kAmount));
  }
  glean_beside([this, seed](unsigned who) { work(who, seed * kThreads + who); });
  EXPECT_GT(commits_.load(), kTransactions / 10);
  for (unsigned round = 0; round < 2; ++round) {
    ASSERT_NO_FATAL_FAILURE(check_sums());
    verify_tree(all_.all().pool(), all_.control());
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
  }
}

// Goal: rows that are inserted and erased while pages split, join and are exchanged are those of
// the commits. Method: each thread inserts and erases runs of its own keys in changing places, and
// checks its commits.
class InstallGrowthTest : public InstallStressTest {
 protected:
  struct Rows {
    std::map<std::string, std::string> present;
    std::vector<std::string> names;  // all that ever were
  };

  static std::string name_of(unsigned who, std::uint64_t place) {
    char text[40];
    std::snprintf(text, sizeof(text), place % 4 == 0 ? "%07u%u-longer" : "%07u%u",
                  static_cast<unsigned>(place), who);
    return text;
  }
  Status change(unsigned who, base::Random* random, std::uint64_t near, Rows* rows) {
    for (unsigned i = 0; i < 3; ++i) {
      const std::string name = name_of(who, near + random->below(400));
      const std::string text = text_of(static_cast<int>(random->below(1'000'000)));
      if (rows->present.contains(name) && random->below(3) == 0) {
        FOEDUS_CHECK(erase(who, name));
        rows->present.erase(name);
      } else {
        FOEDUS_CHECK(put(who, name, text));
        rows->present[name] = text;
        rows->names.push_back(name);
      }
    }
    return {};
  }
  Status look(unsigned who, const std::string& name, const Rows& rows) {
    const WholeRead got = read(who, name);
    if (!got.status.is_ok() && got.status.code() != ErrorCode::kNotFound) return got.status;
    const auto found = rows.present.find(name);
    const std::string expected = found == rows.present.end() ? "" : found->second;
    FOEDUS_CHECK(commit_beside(who));
    EXPECT_EQ(got.status.is_ok() ? got.payload : "", expected) << name;
    return {};
  }
  Status commit_beside(unsigned who) {
    const std::shared_lock<std::shared_mutex> lock(compose_);
    const Status status = commit(who);
    if (status.is_ok()) ++commits_;
    return status;
  }
  void grow(unsigned who, std::uint64_t seed, Rows* rows) {
    base::Random random(seed);
    std::uint64_t near = 0;
    for (unsigned i = 0; i < kTransactions / 4 && !HasFailure(); ++i) {
      while (gleaner_waits_) std::this_thread::yield();
      if (i % 200 == 0) near = random.below(100'000);
      begin(who);
      Status status;
      if (i % 4 == 3 && !rows->names.empty()) {
        status = look(who, rows->names[random.below(rows->names.size())], *rows);
      } else {
        Rows changed = near_rows(*rows, who, near);
        status = change(who, &random, near, &changed);
        if (status.is_ok()) status = commit_beside(who);
        if (status.is_ok()) apply(who, near, changed, rows);
      }
      if (!status.is_ok()) {
        const bool is_expected =
            status.code() == ErrorCode::kConflict || status.code() == ErrorCode::kOutOfMemory;
        ASSERT_TRUE(is_expected) << status.message();
        ++failures_;
        if (ctx(who).is_open()) all_.session(who).rollback();
      }
    }
  }
  // Returns the rows that change() may choose from.
  static Rows near_rows(const Rows& rows, unsigned who, std::uint64_t near) {
    Rows chosen;
    for (std::uint64_t place = near; place < near + 400; ++place) {
      const auto found = rows.present.find(name_of(who, place));
      if (found != rows.present.end()) chosen.present.insert(*found);
    }
    return chosen;
  }
  static void apply(unsigned who, std::uint64_t near, const Rows& changed, Rows* rows) {
    for (std::uint64_t place = near; place < near + 400; ++place) {
      rows->present.erase(name_of(who, place));
    }
    rows->present.insert(changed.present.begin(), changed.present.end());
    rows->names.insert(rows->names.end(), changed.names.begin(), changed.names.end());
  }
};

TEST_F(InstallGrowthTest, rows_are_those_of_the_commits) {
  const std::uint64_t seed = testing::test_seed(1);
  Rows rows[kThreads];
  glean_beside([&](unsigned who) { grow(who, seed * kThreads + who, &rows[who]); });
  EXPECT_GT(commits_.load(), kTransactions / 10);
  std::map<std::string, std::string> all;
  for (const Rows& some : rows) all.insert(some.present.begin(), some.present.end());
  for (unsigned round = 0; round < 2; ++round) {
    verify_tree(all_.all().pool(), all_.control());
    EXPECT_TRUE(MasstreeContents(&all_).rows == all);
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
  }
}

}  // namespace
}  // namespace foedus::storage::masstree::stress_test
