// Txn::scan() of an array returns the records of a range, as they are for the transaction.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/testing/test_database.h"

namespace foedus::array_scan_test {
namespace {

using testing::must;
using testing::TestDatabase;

using Rows = std::vector<std::pair<std::uint64_t, std::string>>;

Rows rows_of(ArrayScan scan) {
  Rows rows;
  for (const ArrayRow& row : scan) rows.emplace_back(row.index, row.payload);
  EXPECT_FALSE(scan.failure().has_value()) << scan.failure()->message();
  return rows;
}

class ArrayScanTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRecords = 3'000;

  void put(std::uint64_t index, std::string_view payload) {
    must(db_->transact([&](Txn& txn) { return txn.put(array_, index, payload); }));
  }

  TestDatabase db_;
  Array array_ = must(db_->open_array("array", kRecords, 8));
};

// Goal: a scan returns what single reads would. Method: random writes, gleans and ranges, in
// serializable transactions and in snapshots; a model has the payloads.
TEST_F(ArrayScanTest, ranges_are_those_of_a_model) {
  base::Random random(testing::test_seed(5));
  std::vector<std::string> model(kRecords, std::string(8, '\0'));
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t index = random.below(kRecords);
      model[index] = std::string(8, static_cast<char>('a' + random.below(26)));
      put(index, model[index]);
    }
    if (random.below(10) == 0) must(db_->glean());
    const std::uint64_t low = random.below(kRecords + 10);
    const std::uint64_t high = random.below(4) == 0 ? ~std::uint64_t{0} : low + random.below(500);
    const ArrayScanOptions options{random.below(3) == 0 ? random.below(100) : ~std::uint64_t{0},
                                   random.below(2) == 0};
    Rows wanted;
    for (std::uint64_t i = low; i < std::min(high, kRecords); ++i) wanted.emplace_back(i, model[i]);
    if (options.reverse) std::reverse(wanted.begin(), wanted.end());
    if (wanted.size() > options.limit) wanted.resize(options.limit);
    const auto check = [&](Txn& txn) -> Status {
      EXPECT_EQ(rows_of(txn.scan(array_, low, high, options)), wanted);
      return {};
    };
    must(db_->transact(check));
    if (round % 10 == 0) must(db_->snapshot(check));
  }
}

TEST_F(ArrayScanTest, an_empty_range_has_no_records) {
  must(db_->transact([&](Txn& txn) -> Status {
    EXPECT_TRUE(rows_of(txn.scan(array_, 7, 7)).empty());
    EXPECT_TRUE(rows_of(txn.scan(array_, 8, 7)).empty());
    EXPECT_TRUE(rows_of(txn.scan(array_, kRecords, kRecords + 5)).empty());
    EXPECT_TRUE(rows_of(txn.scan(array_, 0, 10, {.limit = 0})).empty());
    EXPECT_EQ(rows_of(txn.scan(array_)).size(), kRecords);
    return {};
  }));
}

TEST_F(ArrayScanTest, a_scan_sees_own_writes_ahead_of_it) {
  must(db_->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(array_, 3, "three..."));
    std::vector<std::string> seen;
    ArrayScan scan = txn.scan(array_, 2, 6);
    for (const ArrayRow& row : scan) {
      seen.emplace_back(row.payload);
      if (row.index + 1 < 6) FOEDUS_CHECK(txn.put(array_, row.index + 1, "ahead..."));
    }
    EXPECT_EQ(seen,
              (std::vector<std::string>{std::string(8, '\0'), "ahead...", "ahead...", "ahead..."}));
    return scan.failure().value_or(Status());
  }));
}

TEST_F(ArrayScanTest, a_record_that_changes_after_it_was_scanned_is_a_conflict) {
  Session session = must(db_->new_session());
  for (const std::uint64_t changed : {99u, 100u, 199u, 200u}) {
    Txn txn = must(session.begin());
    EXPECT_EQ(rows_of(txn.scan(array_, 100, 200)).size(), 100u);
    put(changed, "changed.");
    must(txn.put(array_, 0, "written."));
    const bool is_within = changed >= 100 && changed < 200;
    EXPECT_EQ(txn.commit().code(), is_within ? ErrorCode::kConflict : ErrorCode::kOk) << changed;
  }
}

TEST_F(ArrayScanTest, a_scan_that_outlives_its_transaction_says_so) {
  Session session = must(db_->new_session());
  Txn txn = must(session.begin());
  ArrayScan scan = txn.scan(array_, 0, 1'000);
  auto row = scan.begin();
  txn.rollback();
  ++row;
  EXPECT_TRUE(row == scan.end());
  ASSERT_TRUE(scan.failure().has_value());
  EXPECT_EQ(scan.failure()->code(), ErrorCode::kClosed);
  Txn next = must(session.begin());
  ArrayScan late = txn.scan(array_);
  EXPECT_TRUE(late.begin() == late.end());
  EXPECT_TRUE(late.failure().has_value());
  ArrayScan of_nothing = next.scan(Array());
  EXPECT_TRUE(of_nothing.begin() == of_nothing.end());
  EXPECT_EQ(of_nothing.failure()->code(), ErrorCode::kInvalidArgument);
}

TEST_F(ArrayScanTest, rows_of_the_tail_are_there_after_a_recovery) {
  for (std::uint64_t i = 0; i < kRecords; i += 7) put(i, "row.....");
  must(db_->wait_durable());
  db_.reopen();
  array_ = must(db_->open_array("array", kRecords, 8));
  must(db_->transact([&](Txn& txn) -> Status {
    for (const auto& [index, payload] : rows_of(txn.scan(array_, 500, 2'500))) {
      EXPECT_EQ(payload, index % 7 == 0 ? "row....." : std::string(8, '\0')) << index;
    }
    return {};
  }));
}

}  // namespace
}  // namespace foedus::array_scan_test
