// Serializable transactions over sequential storages that are gleaned and dropped meanwhile.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/sequential/cold.h"

namespace foedus::storage::sequential::cold_txn_test {
namespace {

using Rows = SequentialCold::Rows;

class SequentialColdTxnTest : public ::testing::Test {
 protected:
  void expect_conflict(std::uint32_t who, const char* what) {
    ASSERT_TRUE(all_.append(who, "mine").is_ok());
    EXPECT_EQ(all_.session(who).commit().code(), ErrorCode::kConflict) << what;
  }
  SequentialCold all_;
};

// The appends go to an existing chain, to a new one, and to a storage that has no page in memory.
TEST_F(SequentialColdTxnTest, a_scan_conflicts_with_later_appends_of_others) {
  all_.append_now(1, "one");
  for (const bool at_rest : {true, false}) {
    for (const std::uint32_t other : {1u, 2u}) {
      if (at_rest) all_.glean();
      all_.session(0).begin();
      all_.scan(0);
      all_.append_now(other, "phantom");
      expect_conflict(0, at_rest ? "at rest" : "with chains");
    }
  }
}

TEST_F(SequentialColdTxnTest, a_scan_conflicts_with_an_append_that_a_glean_takes_away) {
  for (const bool at_rest : {true, false}) {
    all_.append_now(1, "one");
    if (at_rest) all_.glean();
    all_.session(0).begin();
    all_.scan(0);
    all_.append_now(1, "phantom");
    all_.glean();
    all_.glean();
    expect_conflict(0, at_rest ? "at rest" : "with chains");
  }
}

TEST_F(SequentialColdTxnTest, a_scan_conflicts_with_an_append_that_was_in_flight) {
  all_.append_now(1, "one");
  all_.session(1).begin();
  ASSERT_TRUE(all_.append(1, "in flight").is_ok());
  all_.glean();
  all_.session(0).begin();
  EXPECT_EQ(all_.scan(0), Rows{"one"});
  ASSERT_TRUE(all_.session(1).commit().is_ok());
  expect_conflict(0, "committed behind it");
}

TEST_F(SequentialColdTxnTest, an_install_between_scan_and_verify_conflicts) {
  all_.append_now(1, "one");
  all_.session(0).begin();
  EXPECT_EQ(all_.scan(0), Rows{"one"});
  all_.glean();
  ASSERT_TRUE(all_.append(0, "mine").is_ok());
  EXPECT_EQ(all_.session(0).commit().conflict_reason(), ConflictReason::kPageInstalled);
}

// A second install of the snapshot drops pages that were in use at the first one. An append in
// flight keeps the root.
TEST_F(SequentialColdTxnTest, a_drop_between_scan_and_verify_conflicts) {
  all_.append_now(1, "one");
  all_.session(2).begin();
  ASSERT_TRUE(all_.append(2, "in flight").is_ok());
  all_.session(1).begin();
  all_.glean();
  ASSERT_EQ(all_.volatile_pages(), 4u);
  all_.session(0).begin();
  EXPECT_EQ(all_.scan(0), Rows{"one"});
  all_.session(1).rollback();
  all_.install();
  ASSERT_EQ(all_.volatile_pages(), 3u);
  ASSERT_TRUE(all_.append(0, "mine").is_ok());
  EXPECT_EQ(all_.session(0).commit().conflict_reason(), ConflictReason::kPageDropped);
}

// A session's own root, heads page, chain and next page of the chain are no phantoms.
TEST_F(SequentialColdTxnTest, own_appends_to_a_cold_storage_are_no_conflict) {
  all_.append_now(1, "one");
  all_.glean();
  all_.session(0).begin();
  EXPECT_EQ(all_.scan(0), Rows{"one"});
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(all_.append(0, std::string(200, 'x')).is_ok());
  EXPECT_EQ(all_.scan(0).size(), 51u);
  const Status status = all_.session(0).commit();
  EXPECT_TRUE(status.is_ok()) << status.message();
  // Another session's append below the own root is a phantom.
  all_.glean();
  all_.session(0).begin();
  all_.scan(0);
  ASSERT_TRUE(all_.append(0, "own").is_ok());
  all_.append_now(2, "phantom");
  expect_conflict(0, "behind an own root");
}

// Two transactions scan and append: not both may commit.
TEST_F(SequentialColdTxnTest, no_write_skew_over_a_cold_storage) {
  all_.append_now(1, "one");
  all_.glean();
  all_.session(0).begin();
  all_.session(1).begin();
  EXPECT_EQ(all_.scan(0).size(), 1u);
  EXPECT_EQ(all_.scan(1).size(), 1u);
  ASSERT_TRUE(all_.append(0, "two").is_ok());
  ASSERT_TRUE(all_.append(1, "two").is_ok());
  const bool first = all_.session(0).commit().is_ok();
  const bool second = all_.session(1).commit().is_ok();
  EXPECT_FALSE(first && second);
}

// ---- model --------------------------------------------------------------------------------------

struct ModelRow {
  std::uint64_t tid;
  std::uint32_t session;
  std::string payload;
};

// Goal: after any mix of transactions, gleans, installs and drops, a scan returns the committed
// rows, by TID, and own appends; the scans of a transaction hold at its commit. Method: three
// sessions take turns in one thread; some transactions last over several gleans.
class Mix {
 public:
  explicit Mix(std::uint64_t seed) : random_(seed) {}

  void step() {
    const auto who = static_cast<std::uint32_t>(random_.below(3));
    const std::uint64_t action = random_.below(100);
    Txn& txn = txns_[who];
    if (action >= 85) return housekeeping(action);
    if (!txn.is_open) {
      all_.session(who).begin();
      txn = {true, false, 0, {}};
    }
    if (action < 50) {
      const std::uint64_t bytes = random_.below(random_.below(8) == 0 ? 3000 : 200);
      txn.own.push_back(std::to_string(random_.next()) + std::string(bytes, 'm'));
      ASSERT_TRUE(all_.append(who, txn.own.back()).is_ok());
    } else if (action < 57) {
      ASSERT_EQ(all_.scan(who), expected(txn.own)) << "session " << who;
      if (!txn.has_scanned) txn.seen = model_.size();
      txn.has_scanned = true;
    } else if (action < 62) {
      all_.session(who).rollback();
      txn.is_open = false;
    } else if (action < 75) {
      commit(who);
    }
  }
  void finish() {
    for (std::uint32_t who = 0; who < 3; ++who) {
      if (txns_[who].is_open) all_.session(who).rollback();
    }
    EXPECT_EQ(all_.scan_now(), expected({}));
    EXPECT_EQ(all_.glean().pages_kept, 0u);
    EXPECT_EQ(all_.scan_now(), expected({}));
  }
  std::uint64_t commits_after_scan() const { return commits_after_scan_; }

 private:
  struct Txn {
    bool is_open = false;
    bool has_scanned = false;
    std::size_t seen = 0;  // rows at its first scan
    Rows own;
  };

  void housekeeping(std::uint64_t action) {
    if (action < 90) {
      all_.all().pass_epochs();
    } else if (action < 94) {
      all_.compose();
    } else if (action < 96) {
      if (!all_.root().is_null()) all_.install();
    } else {
      all_.glean();
    }
  }
  void commit(std::uint32_t who) {
    Txn& txn = txns_[who];
    txn.is_open = false;
    const Status status = all_.session(who).commit();
    if (!status.is_ok()) {
      ASSERT_EQ(status.code(), ErrorCode::kConflict) << status.message();
      ASSERT_TRUE(txn.has_scanned) << "appends alone never conflict";
      return;
    }
    if (txn.has_scanned) {
      ASSERT_EQ(txn.seen, model_.size()) << "a phantom";
      ++commits_after_scan_;
    }
    const std::uint64_t tid = all_.session(who).ctx().last_tid().version();
    for (const std::string& payload : txn.own) model_.push_back({tid, who, payload});
    std::stable_sort(model_.begin(), model_.end(), [](const ModelRow& left, const ModelRow& right) {
      return std::tie(left.tid, left.session) < std::tie(right.tid, right.session);
    });
  }
  Rows expected(const Rows& own) const {
    Rows rows;
    for (const ModelRow& row : model_) rows.push_back(row.payload);
    rows.insert(rows.end(), own.begin(), own.end());
    return rows;
  }

  base::Random random_;
  SequentialCold all_;
  Txn txns_[3];
  std::vector<ModelRow> model_;
  std::uint64_t commits_after_scan_ = 0;
};

TEST(SequentialColdModelTest, equals_a_list_after_anything) {
  const std::uint64_t first = testing::test_seed(1);
  std::uint64_t commits_after_scan = 0;
  for (std::uint64_t seed = first; seed < first + 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Mix mix(seed);
    for (int step = 0; step < 2000; ++step) {
      mix.step();
      if (::testing::Test::HasFatalFailure()) return;
    }
    mix.finish();
    commits_after_scan += mix.commits_after_scan();
  }
  EXPECT_GT(commits_after_scan, 20u);
}

}  // namespace
}  // namespace foedus::storage::sequential::cold_txn_test
