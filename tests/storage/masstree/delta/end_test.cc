// A delta that operations do not search any more, because it stays empty, and that is used again
// later (M53).
// ctest-labels: memory

#include <gtest/gtest.h>

#include <string>

#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::end_test {
namespace {

class DeltaEndTest : public MasstreeDeltaTest {
 protected:
  bool is_empty() { return delta::is_empty(all_.all().pool(), *control()); }
  // Ends the delta. REQUIRES: no transaction is open that began while the delta took puts.
  void end() {
    control()->clear_delta_takes_puts();
    ASSERT_TRUE(is_empty());
    control()->clear_has_delta();
  }
  void put_some(unsigned begin, const std::string& payload) {
    for (unsigned i = begin; i < kRows; i += 50) put_row(key_of(i), payload + std::to_string(i));
  }
  // Makes every kind of write, to rows of the main tree.
  void change_some() {
    put_some(1, "put");
    for (unsigned i = 2; i < kRows; i += 50) {
      if (rows_.contains(key_of(i))) erase_row(key_of(i));
    }
    put_row(key_between(3), "new");
    begin(0);
    ASSERT_TRUE(write_part(0, key_of(3), "part").is_ok());
    ASSERT_TRUE(add(0, key_of(4), 1).is_ok());
    expect_commit(0);
    rows_[key_of(3)].replace(0, 4, "part");
    ++rows_[key_of(4)][0];
  }
};

TEST_F(DeltaEndTest, it_is_empty_when_no_row_is_there) {
  load_and_open();
  EXPECT_TRUE(is_empty());
  put_row(key_of(1), "put");
  EXPECT_FALSE(is_empty());
  erase_row(key_of(1));
  EXPECT_TRUE(is_empty());
  put_row(key_of(2), "put");
  put_row(key_of(2) + "a layer", "put");
  erase_row(key_of(2));
  EXPECT_FALSE(is_empty());
  all_.glean();
  EXPECT_TRUE(is_empty());
  for (unsigned i = 0; i < 500; ++i) put_row(key_of(i), "put");
  EXPECT_GT(delta_pages(), 2u);
  EXPECT_FALSE(is_empty());
  for (unsigned i = 0; i < 500; ++i) erase_row(key_of(i));
  all_.glean();
  put_some(0, "put");
  all_.compose();
  put_row(key_of(7), "newer than the snapshot");
  all_.install();
  EXPECT_FALSE(is_empty());
  check_rows();
  expect_all_goes();
  EXPECT_TRUE(is_empty());
  put_row(key_of(1) + "one", "put");
  erase_row(key_of(1) + "one");
  EXPECT_TRUE(is_empty());
  put_row(key_of(1) + "two", "put");  // the erased record becomes a layer
  EXPECT_FALSE(is_empty());
}

// Method: a transaction puts more rows than a page holds, and no page is left for a new root when
// the root has been split. The records of the old root are still those of rows that are not
// committed.
TEST_F(DeltaEndTest, it_is_not_empty_while_its_rows_are_in_twins_of_the_root) {
  load_and_open();
  page::SessionPages& session_pages = all_.session(0).pages();
  std::vector<page::PageHeader*> pages;
  begin(0);
  {
    const AtSyncPoint split("masstree:split_page_moved", [&] {
      while (page::PageHeader* const page = session_pages.allocate()) pages.push_back(page);
    });
    for (unsigned i = 0; i <= BorderPage::kKeysMax; ++i) {
      ASSERT_TRUE(put(0, key_of(i), "put").is_ok()) << i;
      rows_[key_of(i)] = "put";
    }
    ASSERT_EQ(split.runs(), 1u);
  }
  expect_commit(0);
  EXPECT_EQ(delta_pages(), 3u) << "the moved root and its twins";
  EXPECT_FALSE(is_empty());
  for (page::PageHeader* const page : pages) session_pages.release(page);
  check_rows();
  expect_all_goes();
  EXPECT_TRUE(is_empty());
}

// Goal: no row is put there while rows of the log's tail are still to be applied (E39).
TEST_F(DeltaEndTest, it_stays_empty_while_rows_are_unapplied) {
  load_and_open();
  control()->set_unapplied();
  begin(0);
  ASSERT_TRUE(write_part(0, key_of(1'003), "part").is_ok());
  expect_commit(0);
  rows_[key_of(1'003)].replace(0, 4, "part");
  change_some();
  EXPECT_TRUE(is_empty());
  control()->clear_unapplied();
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaEndTest, after_its_end_rows_are_in_the_main_tree_and_it_is_taken_up_again) {
  load_and_open();
  for (int round = 0; round < 3; ++round) {
    put_some(0, "in the delta ");
    all_.glean();
    all_.all().pass_epochs();
    end();
    change_some();
    EXPECT_TRUE(is_empty());
    EXPECT_FALSE(is_cold_in_main(key_of(1)));
    check_rows();
    open_delta();
    all_.all().pass_epochs();
    check_rows();
    put_row(key_of(5), "put");
    EXPECT_TRUE(is_in_delta(key_of(5)));
    change_some();
    check_rows();
    all_.glean();
    check_rows();
  }
  expect_all_goes();
}

// A row was erased in both trees, and is inserted into the main tree again.
TEST_F(DeltaEndTest, rows_that_were_erased_in_it_can_be_inserted_after_its_end) {
  load_and_open();
  for (unsigned i = 0; i < 20; ++i) {
    put_row(key_of(i), "put");
    erase_row(key_of(i));
    put_row(key_between(i), "put");
    erase_row(key_between(i));
  }
  all_.all().pass_epochs();
  end();
  for (unsigned i = 0; i < 20; i += 2) {
    put_row(key_of(i), "again");
    put_row(key_between(i), "again");
  }
  check_rows();
  all_.glean();
  check_rows();
  open_delta();
  all_.all().pass_epochs();
  for (unsigned i = 0; i < 20; ++i) put_row(key_of(i), "once more");
  check_rows();
  expect_all_goes();
}

// Method: a row that was read or locked while operations searched the delta is written after its
// end.
TEST_F(DeltaEndTest, who_looked_before_its_end_conflicts_with_who_writes_after_it) {
  load_and_open();
  const std::string absent = key_between(9);
  for (const std::string& key : {key_of(1), absent}) {
    for (const bool is_locked : {false, true}) {
      SCOPED_TRACE(::testing::PrintToString(key) + (is_locked ? " locked" : " read"));
      all_.glean();
      all_.all().pass_epochs();
      control()->set_has_delta();
      control()->clear_delta_takes_puts();
      begin(0);
      if (is_locked) {
        (void)lock(0, key);
      } else {
        (void)get(0, key);
      }
      ASSERT_TRUE(put(0, key_of(500), "by the one that looked").is_ok());
      end();
      begin_impatient(1);
      const Status status = put(1, key, "by the other one");
      const bool is_written = status.is_ok() && commit(1).is_ok();
      if (!is_written && !status.is_ok()) all_.session(1).rollback();
      const bool is_committed = commit(0).is_ok();
      EXPECT_NE(is_written, is_committed);
      if (is_written) rows_[key] = "by the other one";
      if (is_committed) rows_[key_of(500)] = "by the one that looked";
      check_rows();
      if (key != absent || !is_written) continue;
      erase_row(key);
    }
  }
}

class DeltaEndDropTest : public DeltaEndTest {
 protected:
  void TearDown() override {
    for (occ::StorageControl* const tree : {control(), delta()}) tree->root.store({});
  }
};

TEST_F(DeltaEndDropTest, a_drop_after_its_end_gives_back_its_page) {
  load_and_open();
  end();
  masstree::drop(&all_.all().pool(), &all_.session(1).pages(), control());
  control()->set_dropped();  // as the catalog does
  EXPECT_TRUE(delta()->is_dropped());
  EXPECT_EQ(delta_pages(), 0u);
}

}  // namespace
}  // namespace foedus::storage::masstree::end_test
