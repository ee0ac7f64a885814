// A superseded row of the main tree still names its payload in a snapshot. The id keeps no file of
// earlier snapshots (O16), and no scan fails because of it.

#include <gtest/gtest.h>

#include <string>

#include "tests/storage/masstree/delta/tree_fixture.h"

namespace foedus::storage::masstree::names_test {
namespace {

class DeltaNamesTest : public DeltaTreeTest {
 protected:
  std::string key_ = key_of(100);

  // Makes a row with a chain in a snapshot, on a volatile page; the newer one is in the delta.
  void supersede_chain(const std::string& newer) {
    load(kRows, key_of);
    put_alone(0, key_, std::string(9'000, 'o'));
    open_delta();
    begin(0);
    ASSERT_TRUE(
        one_tree::write_whole(ctx(0), control(), WriteMode::kPut, key_of(101), "near").is_ok());
    expect_commit(0);
    ASSERT_FALSE(is_cold_in_main(key_));
    put_alone(0, key_, "new");
    if (newer != "new") put_alone(0, key_, newer);
    ASSERT_TRUE(is_in_delta(key_));
  }
  // Installs a snapshot of the newer row, and then one that lacks all earlier files but has the
  // page of the row unchanged.
  void lose_file_of_chain() {
    all_.compose();
    ASSERT_FALSE(all_.install(0).may_need_earlier);
    ASSERT_TRUE(is_in_delta(key_));
    all_.list_newest_files();
    put_alone(0, key_of(kRows - 1), "far");
    all_.compose();
    EXPECT_FALSE(all_.install(0).may_need_earlier);
    all_.remove_old_files();
    all_.all().pass_epochs();
  }
  void expect_row(const std::string& row) {
    EXPECT_EQ(get_alone(1, key_), row);
    begin(1);
    const std::vector<Row> rows = merged_rows(1, key_of(99), key_of(102));
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1].second, row);
    EXPECT_EQ(merged_rows(1, key_of(99), key_of(102), true).size(), 3u);
    expect_commit(1);
  }
};

// Goal: pages that stay volatile do not keep files for ever. Method: an installation drops no page;
// its snapshot has no chain of the row any more, and payloads have new ids. A later installation
// needs no earlier file either.
TEST_F(DeltaNamesTest, a_superseded_chain_needs_no_earlier_snapshot) {
  supersede_chain("new");
  all_.let_names_change();
  for (int i = 0; i < 3; ++i) {
    all_.compose();
    EXPECT_FALSE(all_.install(0).may_need_earlier) << i;
    all_.all().pass_epochs();
    expect_row("new");
  }
}

// Goal: a superseded chain keeps no file if the newer row is a chain, too: the older row may have
// the new id or none.
TEST_F(DeltaNamesTest, a_chain_that_a_chain_supersedes_needs_no_earlier_snapshot) {
  const std::string newer(7'000, 'n');
  supersede_chain(newer);
  all_.let_names_change();
  for (int i = 0; i < 3; ++i) {
    all_.compose();
    EXPECT_FALSE(all_.install(0).may_need_earlier) << i;
    all_.all().pass_epochs();
    expect_row(newer);
  }
}

// Goal: no page of a superseded chain is read from a removed file. Method: a snapshot whose pages
// are all new is installed at pages that stay volatile, and the earlier files are removed as soon
// as the installation says that none is needed.
TEST_F(DeltaNamesTest, rows_are_there_when_the_files_of_superseded_chains_are_gone) {
  supersede_chain("new");
  all_.compose_anew();
  bool is_needed = true;
  for (int i = 0; i < 3 && is_needed; ++i) is_needed = all_.install(0).may_need_earlier;
  EXPECT_FALSE(is_needed);
  if (!is_needed) all_.remove_old_files();
  all_.all().pass_epochs();
  expect_row("new");
}

// Goal: a superseded chain is forgotten when the newer row comes to the main tree, although the
// file of the chain is still needed then. Method: a later snapshot lacks that file, but has the
// page of the row unchanged, so that its installation passes over the page.
TEST_F(DeltaNamesTest, a_superseded_chain_is_forgotten_while_its_file_is_needed) {
  supersede_chain("new");
  lose_file_of_chain();
  expect_row("new");
}

class DeltaNamesLayerTest : public DeltaNamesTest,
                            public ::testing::WithParamInterface<const char*> {};

// Goal: the same where the snapshot has the newer row in a layer, and the main tree has no layer.
// Method: another row of the delta has the same slice. In the layer the key has more than one slice
// left, or a part of one.
TEST_P(DeltaNamesLayerTest, a_superseded_chain_is_forgotten_if_its_row_comes_to_a_layer) {
  key_ += GetParam();
  const std::string other = key_of(100) + " and another rest";
  supersede_chain("new");
  put_alone(0, other, "other");
  ASSERT_TRUE(is_in_delta(other));
  lose_file_of_chain();
  EXPECT_EQ(get_alone(1, key_), "new");
  EXPECT_EQ(get_alone(1, other), "other");
  begin(1);
  EXPECT_EQ(merged_rows(1, key_of(99), key_of(102)).size(), 5u);
  EXPECT_EQ(merged_rows(1, key_of(99), key_of(102), true).size(), 5u);
  expect_commit(1);
}

INSTANTIATE_TEST_SUITE_P(Rests, DeltaNamesLayerTest,
                         ::testing::Values(" and the rest of it", " short"));

}  // namespace
}  // namespace foedus::storage::masstree::names_test
