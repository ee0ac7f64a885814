// Txn::erase_range() erases the rows of a range and no others, of its own and of others' writing,
// and conflicts with what changes the range before the commit.
#include <map>
#include <string>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/rows_of.h"
#include "tests/testing/test_database.h"
#include "tests/txn/two_sessions.h"

namespace foedus::erase_range_test {
namespace {

using testing::must;
using testing::TestDatabase;
using Model = std::map<std::string, std::string>;

class EraseRangeTest : public testing::TwoSessionsTest {
 protected:
  EraseRangeTest() : tree_(must(db_->open_masstree("tree"))) {}

  void fill(unsigned rows) {
    must(db_->transact([&](Txn& txn) -> Status {
      for (unsigned i = 0; i < rows; ++i) FOEDUS_CHECK(txn.put(tree_, name(i), "v"));
      return {};
    }));
  }
  static std::string name(unsigned i) { return "row " + std::to_string(1'000 + i); }
  Model rows() { return testing::rows_of(*db_, tree_); }

  Masstree tree_;
};

TEST_F(EraseRangeTest, rows_from_low_up_to_high_are_erased_and_counted) {
  fill(500);
  EXPECT_EQ(
      must(db_->transact([&](Txn& txn) { return txn.erase_range(tree_, name(100), name(300)); })),
      200u);
  const Model left = rows();
  EXPECT_EQ(left.size(), 300u);
  EXPECT_TRUE(left.contains(name(99)) && left.contains(name(300)));
  EXPECT_FALSE(left.contains(name(100)) || left.contains(name(299)));
}

TEST_F(EraseRangeTest, an_empty_high_is_above_every_key_and_a_limit_takes_the_lowest) {
  fill(100);
  const auto erase = [&](std::string_view low, std::string_view high, std::uint64_t limit) {
    return must(db_->transact([&](Txn& txn) { return txn.erase_range(tree_, low, high, limit); }));
  };
  EXPECT_EQ(erase(name(50), "", 20), 20u);
  EXPECT_FALSE(rows().contains(name(69)));
  EXPECT_TRUE(rows().contains(name(70)));
  EXPECT_EQ(erase("", "", 0), 0u);
  EXPECT_EQ(erase("z", "a", ~std::uint64_t{0}), 0u);
  EXPECT_EQ(erase("", "", ~std::uint64_t{0}), 80u);
  EXPECT_TRUE(rows().empty());
}

// Goal: the transaction's own rows count, and those that it has erased do not.
TEST_F(EraseRangeTest, own_rows_of_the_range_are_erased_too) {
  fill(10);
  must(db_->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.insert(tree_, name(20), "own"));
    FOEDUS_CHECK(txn.erase(tree_, name(3)));
    EXPECT_EQ(must(txn.erase_range(tree_, name(2), "")), 8u);
    EXPECT_EQ(must(txn.erase_range(tree_, name(2), "")), 0u);
    return txn.put(tree_, name(5), "again");
  }));
  EXPECT_EQ(rows(), (Model{{name(0), "v"}, {name(1), "v"}, {name(5), "again"}}));
}

TEST_F(EraseRangeTest, a_row_that_comes_into_the_range_is_a_conflict) {
  fill(10);
  Txn txn = must(first_.begin());
  EXPECT_EQ(must(txn.erase_range(tree_, name(2), name(8))), 6u);
  commit_second([&](Txn& other) { return other.insert(tree_, name(4) + "x", "new"); });
  EXPECT_EQ(txn.commit().code(), ErrorCode::kConflict);
  EXPECT_EQ(rows().size(), 11u);
}

// Goal: a row that another transaction erases between the scan and the erasure is a conflict, and
// no kNotFound. Method: the other transaction commits when the first row was scanned.
TEST_F(EraseRangeTest, a_row_that_goes_from_the_range_is_a_conflict) {
  fill(10);
  Txn txn = must(first_.begin());
  const testing::AtSyncPoint found("txn:erase_scanned", [&] {
    commit_second([&](Txn& other) { return other.erase(tree_, name(2)); });
  });
  EXPECT_EQ(txn.erase_range(tree_, name(2), name(8)).code(), ErrorCode::kConflict);
  EXPECT_EQ(found.runs(), 1u);
  EXPECT_EQ(txn.commit().code(), ErrorCode::kConflict);
  EXPECT_EQ(rows().size(), 9u);
}

TEST_F(EraseRangeTest, a_transaction_that_must_not_write_is_refused_also_if_there_are_no_rows) {
  const auto erase = [&](Txn& txn) { return txn.erase_range(tree_, "", "").status(); };
  EXPECT_EQ(db_->transact(erase, {.read_only = true}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(db_->snapshot(erase).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      db_->transact([&](Txn& txn) { return txn.erase_range(Masstree(), "", "").status(); }).code(),
      ErrorCode::kInvalidArgument);
}

TEST_F(EraseRangeTest, more_rows_than_a_transaction_can_write_are_too_large_and_a_limit_helps) {
  Options options = testing::small_options("");
  options.log.buffer_bytes = 64u << 10;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  constexpr unsigned kRows = 3'000;
  for (unsigned begin = 0; begin < kRows; begin += 100) {
    must(db->transact([&](Txn& txn) -> Status {
      for (unsigned i = begin; i < begin + 100; ++i) FOEDUS_CHECK(txn.put(tree, name(i), "v"));
      return {};
    }));
  }
  const auto erase = [&](std::uint64_t limit) {
    return db->transact([&](Txn& txn) { return txn.erase_range(tree, "", "", limit); });
  };
  EXPECT_EQ(erase(~std::uint64_t{0}).code(), ErrorCode::kTooLarge);
  std::uint64_t all = 0;
  for (std::uint64_t erased = 200; erased == 200; all += erased) erased = must(erase(200));
  EXPECT_EQ(all, kRows);
}

TEST_F(EraseRangeTest, random_ranges_leave_what_a_map_has) {
  base::Random random(testing::test_seed(7));
  Model model;
  for (unsigned round = 0; round < 40; ++round) {
    must(db_->transact([&](Txn& txn) -> Status {
      for (unsigned i = 0; i < 60; ++i) {
        const std::string key =
            name(static_cast<unsigned>(random.below(400))) + std::string(random.below(12), 'x');
        model[key] = "v";
        FOEDUS_CHECK(txn.put(tree_, key, "v"));
      }
      const std::string low = name(static_cast<unsigned>(random.below(400)));
      const std::string high = name(static_cast<unsigned>(random.below(400)));
      const std::uint64_t limit = 1 + random.below(100);
      std::uint64_t erased = 0;
      for (auto at = model.lower_bound(low);
           erased < limit && at != model.end() && at->first < high; ++erased) {
        at = model.erase(at);
      }
      EXPECT_EQ(must(txn.erase_range(tree_, low, high, limit)), erased);
      return {};
    }));
    if (round % 8 == 7) must(db_->glean());
    ASSERT_EQ(rows(), model);
  }
}

}  // namespace
}  // namespace foedus::erase_range_test
