// Changes of a part of a row on a snapshot page of the main tree: the whole changed row is put into
// the delta, and the page stays a snapshot page.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::part_test {
namespace {

class DeltaPartTest : public MasstreeDeltaTest {
 protected:
  // Changes the row twice in the session's open transaction, and `*row` with it. The second change
  // finds the row where the first one has put it.
  void change_twice(std::uint32_t session, const std::string& key, std::string* row) {
    ASSERT_TRUE(add(session, key, -3, 4).is_ok());
    add_to(row->data() + 4, -3);
    ASSERT_EQ(get(session, key), *row);
    ASSERT_TRUE(write_part(session, key, "part", 6).is_ok());
    row->replace(6, 4, "part");
    ASSERT_EQ(get(session, key), *row);
  }
};

TEST_F(DeltaPartTest, a_part_of_a_cold_row_is_changed_in_the_delta) {
  load_and_open();
  begin(0);
  for (unsigned i = 0; i < kRows; i += 40) {
    change_twice(0, key_of(i), &rows_[key_of(i)]);
    ASSERT_TRUE(write_part(0, key_of(i + 1), "P").is_ok());
    rows_[key_of(i + 1)][0] = 'P';
  }
  for (const bool reverse : {false, true}) {
    std::vector<Row> rows = merged_rows(0, "", "", reverse);
    if (reverse) std::reverse(rows.begin(), rows.end());
    EXPECT_TRUE(rows == std::vector<Row>(rows_.begin(), rows_.end())) << reverse;
  }
  expect_commit(0);
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_TRUE(is_in_delta(key_of(40)) && is_in_delta(key_of(41)));
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaPartTest, a_part_of_a_volatile_row_is_changed_where_it_is) {
  load_and_open();
  make_hot(key_of(100));
  begin(0);
  ASSERT_NO_FATAL_FAILURE(change_twice(0, key_of(100), &rows_[key_of(100)]));
  expect_commit(0);
  EXPECT_FALSE(is_in_delta(key_of(100)));
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaPartTest, a_part_of_a_row_in_a_cold_layer_is_changed_in_the_delta) {
  load_and_open(kRows, [](std::uint64_t i) { return deep_key(i); });
  make_hot(deep_key(0));  // the other layers of this page stay cold
  const KeyPosition position =
      find_below(all_.all().pool(), {&control()->root, nullptr}, deep_key(65));
  ASSERT_TRUE(position.is_cut_short() && position.layer.owner != nullptr);
  for (unsigned i = 30; i < kRows; i += 35) {
    begin(0);
    ASSERT_NO_FATAL_FAILURE(change_twice(0, deep_key(i), &rows_[deep_key(i)]));
    expect_commit(0);
  }
  EXPECT_TRUE(is_in_delta(deep_key(65)) && is_cold_in_main(deep_key(65)));
  check_rows();
  expect_all_goes();
}

// Goal: a transaction that has found no row relies on its absence. Method: another one inserts the
// row: a small one, which goes to the delta, or a chain, which goes to the main tree.
TEST_F(DeltaPartTest, a_row_that_was_missing_and_comes_before_the_commit_is_a_conflict) {
  load_and_open();
  for (unsigned i = 0; i < 4; ++i) {
    const std::string key = key_between(300 * i);
    begin(0);
    EXPECT_EQ(i % 2 == 0 ? write_part(0, key, "x").code() : add(0, key, 1).code(),
              ErrorCode::kNotFound);
    EXPECT_TRUE(is_cold_in_main(key));
    ASSERT_TRUE(put(0, key_of(1'900), "goes on").is_ok());
    put_row(key, i < 2 ? "theirs" : kChain, 1);
    expect_any_conflict(0);
  }
  check_rows();
  expect_all_goes();
}

// Goal: a part that is not wholly within the row fails as it does without a delta, and changes no
// byte.
TEST_F(DeltaPartTest, a_part_outside_of_the_row_changes_nothing) {
  load_and_open();
  const std::string key = key_of(100);
  const auto size = static_cast<std::uint32_t>(rows_.at(key).size());
  for (const std::uint32_t offset : {size - 1, size, size + 1, ~std::uint32_t{0}}) {
    for (int glean = 0; glean < 2; ++glean) all_.glean();
    ASSERT_TRUE(is_cold_in_main(key));
    begin(0);
    const Status status = write_part(0, key, "xy", offset);
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(
        status.message(),
        one_tree::write_part(ctx(0), control(), log::LogRecordType::kWriteAt, key, offset, "xy")
            .message());
    EXPECT_EQ(add(0, key, 1, offset).code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(get(0, key), rows_.at(key));
    expect_commit(0);
    EXPECT_FALSE(is_in_delta(key));
  }
  begin(0);
  const auto end = static_cast<std::uint32_t>(rows_.at(key_of(700)).size());
  EXPECT_TRUE(write_part(0, key_of(700), "", end).is_ok());
  expect_commit(0);
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaPartTest, a_page_that_cannot_be_read_leaves_the_row_as_it_was) {
  load_and_open();
  const std::string key = key_of(100);
  forget_pages();
  all_.pages().fail_read_after(0);
  begin(0);
  EXPECT_EQ(add(0, key, 1).code(), ErrorCode::kIoError);
  all_.pages().read_well();
  ASSERT_NO_FATAL_FAILURE(change_twice(0, key_of(700), &rows_[key_of(700)]));
  expect_commit(0);
  check_rows();
  expect_all_goes();
}

// Goal: the delta gets the whole row, and no row with a chain. Method: the longest payload that is
// no chain, the shortest chain, and a chain of several pages, each changed at its end.
TEST_F(DeltaPartTest, a_row_with_a_chain_is_changed_in_the_main_tree) {
  load_and_open();
  const std::size_t sizes[] = {kInlinePayloadBytesMax, kInlinePayloadBytesMax + 1, 9'000};
  const auto key = [](unsigned i) { return key_of(500 * i + 7); };
  for (unsigned i = 0; i < 3; ++i) put_row(key(i), std::string(sizes[i], 'z'));
  for (int round = 0; round < 2; ++round) {
    ASSERT_NO_FATAL_FAILURE(expect_all_goes());
    for (unsigned i = 0; i < 3; ++i) {
      std::string& row = rows_[key(i)];
      const auto end = static_cast<std::uint32_t>(row.size());
      begin(0);
      ASSERT_TRUE(add(0, key(i), 1, end - 8).is_ok());
      ASSERT_TRUE(write_part(0, key(i), "part", end - 4).is_ok());
      add_to(row.data() + end - 8, 1);
      row.replace(end - 4, 4, "part");
      ASSERT_EQ(get(0, key(i)), row);
      expect_commit(0);
      EXPECT_EQ(is_in_delta(key(i)), i == 0);
      EXPECT_EQ(is_cold_in_main(key(i)), i == 0);
    }
    check_rows();
  }
  expect_all_goes();
}

// Goal: a transaction that has changed a part of a row can make every other change to it. Method:
// each kind of change is rolled back first, and committed in a second transaction.
TEST_F(DeltaPartTest, changes_of_one_transaction_are_made_or_rolled_back) {
  load_and_open();
  for (unsigned kind = 0; kind < 4; ++kind) {
    for (const bool is_kept : {false, true}) {
      const std::string key = key_of(100 + 300 * kind);
      std::string row = rows_.at(key);
      begin(0);
      ASSERT_NO_FATAL_FAILURE(change_twice(0, key, &row));
      if (kind == 1) {
        ASSERT_TRUE(put(0, key, row = "12345678 put", WriteMode::kUpdate).is_ok());
      }
      if (kind >= 2) {
        ASSERT_TRUE(erase(0, key).is_ok());
        ASSERT_EQ(write_part(0, key, "x").code(), ErrorCode::kNotFound);
      }
      if (kind == 3) {
        ASSERT_TRUE(put(0, key, row = "12345678 inserted", WriteMode::kInsert).is_ok());
      }
      if (kind != 2) {
        ASSERT_NO_FATAL_FAILURE(change_twice(0, key, &row));
      }
      if (!is_kept) {
        all_.session(0).rollback();
      } else {
        expect_commit(0);
        if (kind == 2) rows_.erase(key);
        if (kind != 2) rows_[key] = row;
      }
      check_rows();
    }
  }
  expect_all_goes();
}

}  // namespace
}  // namespace foedus::storage::masstree::part_test
