// Transactions that change parts of cold rows by way of a delta, and meet others that change the
// same rows: each of them ends as if it had been alone, or conflicts.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::part_conflict_test {
namespace {

class DeltaPartConflictTest : public MasstreeDeltaTest {
 protected:
  enum Other : unsigned { kNothing, kPart, kNumber, kHotPart, kLockedPart, kErase, kPut, kLong };
  static constexpr Other kOthers[] = {kNothing,    kPart,  kNumber, kHotPart,
                                      kLockedPart, kErase, kPut,    kLong};
  // Makes the change in the session's open transaction. kHotPart and kLockedPart make the page
  // volatile first, as a lock does.
  Status change(std::uint32_t session, const std::string& key, Other other) {
    if (other == kHotPart) FOEDUS_CHECK(lock(session, next_key(key)).status);
    if (other == kLockedPart) FOEDUS_CHECK(lock(session, key).status);
    switch (other) {
      case kNothing:
        return {};
      case kNumber:
        return add(session, key, 77);
      case kErase:
        return erase(session, key);
      case kPut:
        return put(session, key, "12345678 put by another one");
      case kLong:
        return put(session, key, kChain);
      default:
        return write_part(session, key, "theirs", 2);
    }
  }
  // Makes the same change to the model.
  void note(const std::string& key, Other other) {
    switch (other) {
      case kNothing:
        break;
      case kNumber:
        add_to_row(key, 0, 77);
        break;
      case kErase:
        rows_.erase(key);
        break;
      case kPut:
        rows_[key] = "12345678 put by another one";
        break;
      case kLong:
        rows_[key] = kChain;
        break;
      default:
        rows_.at(key).replace(2, 6, "theirs");
    }
  }
  static std::string next_key(const std::string& key) { return key_of(slice_of(key) / 16 + 1); }
  // Returns the key of a cold row that no other case uses.
  std::string next_cold_key() {
    const std::string key = key_of(10 * ++cases_);
    for (int i = 0; i < 2; ++i) all_.glean();
    EXPECT_TRUE(is_cold_in_main(key) && !is_in_delta(key));
    return key;
  }
  // Adds to the number at `offset` of the row in the model.
  void add_to_row(const std::string& key, std::uint32_t offset, std::int64_t number) {
    add_to(rows_.at(key).data() + offset, number);
  }

  unsigned cases_ = 0;
};

// Goal: a change of a part relies on the row that it read. Method: another transaction changes the
// row and commits, during the call or after it. An installation may follow, by which the row leaves
// the delta again.
TEST_F(DeltaPartConflictTest, a_row_that_changes_before_the_commit_is_a_conflict) {
  load_and_open();
  for (const char* const place :
       {"masstree:cold_seen", "masstree:cold_read", "masstree:delta_put", "after the call"}) {
    for (const Other other : kOthers) {
      for (const bool leaves : {false, true}) {
        SCOPED_TRACE(std::string(place) + ", change " + std::to_string(other));
        const std::string key = next_cold_key();
        const auto act = [&] {
          begin(1);
          ASSERT_TRUE(change(1, key, other).is_ok());
          expect_commit(1);
          note(key, other);
          if (leaves) all_.glean();
        };
        begin(0);
        Status status;
        {
          const testing::AtSyncPoint at(place, act);
          status = add(0, key, 1'000'003, 8);
          if (at.runs() == 0) act();
        }
        const bool is_erased = other == kErase && status.code() == ErrorCode::kNotFound;
        if (status.is_ok() || is_erased) status = commit(0);
        if (ctx(0).is_open()) all_.session(0).rollback();
        if (status.is_ok()) add_to_row(key, 8, 1'000'003);
        if (other != kNothing) {
          EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
        }
        ASSERT_NO_FATAL_FAILURE(check_rows());
      }
    }
  }
}

// Goal: no change is lost if two transactions change one row at once. Method: each order of the
// calls and of the commits. The model makes the changes of those that commit, in that order.
TEST_F(DeltaPartConflictTest, two_changes_of_a_row_are_made_one_after_the_other_or_conflict) {
  load_and_open();
  for (const Other other : kOthers) {
    for (unsigned order = 0; order < 4; ++order) {
      SCOPED_TRACE("change " + std::to_string(other) + ", order " + std::to_string(order));
      const std::string key = next_cold_key();
      const Other kinds[] = {kNumber, other};
      begin_impatient(0);
      begin_impatient(1);
      for (const unsigned i : {order % 2, 1 - order % 2}) {
        const Status status = change(i, key, kinds[i]);
        ASSERT_TRUE(status.is_ok()) << status.message();
      }
      unsigned commits = 0;
      for (const unsigned i : {order / 2, 1 - order / 2}) {
        if (!commit(i).is_ok()) continue;
        ++commits;
        note(key, kinds[i]);
      }
      if (other == kPart || other == kNumber) {
        EXPECT_EQ(commits, 1u);
      }
      ASSERT_NO_FATAL_FAILURE(check_rows());
    }
  }
}

// Goal: a transaction still relies on the row after it has made the row's page volatile itself.
// Method: it locks the next row of the page; another transaction changes the row in the main tree.
TEST_F(DeltaPartConflictTest, a_row_is_still_relied_on_after_its_page_became_volatile) {
  load_and_open();
  for (const bool changes : {false, true}) {
    const std::string key = next_cold_key();
    begin(0);
    ASSERT_TRUE(add(0, key, 5, 8).is_ok());
    ASSERT_TRUE(lock(0, next_key(key)).status.is_ok());
    ASSERT_FALSE(is_cold_in_main(key));
    if (changes) {
      heat(key, 1);
      expect_any_conflict(0);
    } else {
      ASSERT_TRUE(add(0, key, 5, 8).is_ok());
      expect_commit(0);
      add_to_row(key, 8, 10);
    }
    check_rows();
  }
  expect_all_goes();
}

// Goal: no increment is lost. Method: several threads increment the same few rows, which are cold
// at the beginning of each round.
TEST_F(DeltaPartConflictTest, increments_by_several_threads_add_up) {
  constexpr unsigned kThreads = 3;
  constexpr unsigned kNumbers = 60;
  constexpr unsigned kRounds = 8;
  constexpr unsigned kIncrements = 300;
  load_and_open();
  const std::uint64_t seed = testing::test_seed(1);
  for (unsigned round = 0; round < kRounds; ++round) {
    std::vector<std::vector<std::uint64_t>> added(kThreads, std::vector<std::uint64_t>(kNumbers));
    std::vector<std::thread> threads;
    for (unsigned who = 0; who < kThreads; ++who) {
      threads.emplace_back([&, who] {
        base::Random random(seed * 100 + round * kThreads + who);
        for (unsigned i = 0; i < kIncrements;) {
          const std::uint64_t number = random.below(kNumbers);
          begin(who);
          Status status = add(who, key_of(31 * number), static_cast<std::int64_t>(i), 8);
          if (status.is_ok()) {
            status = commit(who);
          } else {
            all_.session(who).rollback();
          }
          ASSERT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
          if (status.is_ok()) added[who][number] += i++;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(volatile_pages(), 0u);
    for (const auto& mine : added) {
      for (unsigned i = 0; i < kNumbers; ++i) {
        add_to_row(key_of(31 * i), 8, static_cast<std::int64_t>(mine[i]));
      }
    }
    ASSERT_NO_FATAL_FAILURE(check_rows());
    all_.glean();
    ASSERT_FALSE(is_in_delta(key_of(31)));
  }
  expect_all_goes();
}

}  // namespace
}  // namespace foedus::storage::masstree::part_conflict_test
