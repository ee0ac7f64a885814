// Interior pages that split, and layers that grow, by two sessions at once: a change that one of
// them makes between the other one's check and its lock is not made twice (M12).

#include <string>

#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::adoption_test {
namespace {

using MasstreeAdoptionTest = MasstreeTest;

// Goal: a full interior page splits once. Method: an inserter finds it full; before it has the lock
// another one splits the page and adds to its twins.
TEST_F(MasstreeAdoptionTest, an_interior_page_that_two_find_full_splits_once) {
  const std::string payload(900, 'x');
  unsigned rows = 0;
  const auto insert_next = [&](unsigned session) {
    begin(session);
    insert(session, key_of(rows++ * 7919u % 100'000), payload);
    expect_commit(session);
  };
  const AtSyncPoint full("masstree:interior_searched", [&] {
    for (unsigned i = 0; i < 100; ++i) insert_next(1);
  });
  while (full.runs() == 0) {
    ASSERT_LT(rows, 5'000u);
    insert_next(0);
  }
  begin(2);
  for (unsigned i = 0; i < rows; ++i) ASSERT_EQ(get(2, key_of(i * 7919u % 100'000)), payload) << i;
  expect_commit(2);
  EXPECT_EQ(verify().records, rows);
}

// Goal: a page that was replaced by one page is adopted once, by the parent that is there. Method:
// the parent is full. Before the adoption has its lock, another session splits a page far away, and
// with it the parent.
TEST_F(MasstreeAdoptionTest, a_parent_that_has_split_adopts_no_page) {
  constexpr unsigned kPages = masstree::InteriorPage::kSeparatorsMax + 1;
  constexpr unsigned kRows = 3;  // of a page
  const std::string payload(1200, 'x');
  const auto row_of = [](unsigned page, unsigned tenths) {
    return key_of(page * kRows * 10 + tenths);
  };
  fill(0, 0, kPages * kRows * 10, 10, payload);
  ASSERT_EQ(verify().border_pages, kPages);
  ASSERT_EQ(verify().interior_pages, 1u);
  for (const unsigned tenths : {0u, 10u}) {
    begin(0);
    erase(0, row_of(50, tenths));
    expect_commit(0);
  }
  const AtSyncPoint searched("masstree:adopt_searched", [&] {
    begin(1);
    insert(1, row_of(100, 15), payload);
    expect_commit(1);
  });
  begin(0);
  insert(0, row_of(50, 5), std::string(400, 'y'));
  expect_commit(0);
  EXPECT_EQ(searched.runs(), 1u);
  begin(1);
  insert(1, row_of(50, 7), "z");
  expect_commit(1);
  const masstree::Statistics tree = verify();
  EXPECT_EQ(tree.records, kPages * kRows - 2 + 3);
  EXPECT_EQ(tree.border_pages + tree.interior_pages,
            rig_.control()->volatile_pages.load_relaxed());
}

// Goal: a layer grows where its pointer has moved to. Method: when its root is about to be replaced
// another session splits the page above.
TEST_F(MasstreeAdoptionTest, a_layer_grows_where_its_pointer_is) {
  const std::string slice = key_of(5);
  const auto insert_row = [&](unsigned session, const std::string& key) {
    begin(session);
    insert(session, key, "x");
    expect_commit(session);
  };
  unsigned rows = 0;
  const AtSyncPoint growing("masstree:grow_searched", [&] {
    const masstree::BorderPage* const above = find(slice + key_of(0)).layer.owner;
    ASSERT_NE(above, nullptr);
    for (unsigned i = 10; !above->header.load_version().is_moved(); ++i) insert_row(1, key_of(i));
  });
  for (; growing.runs() == 0; ++rows) {
    ASSERT_LT(rows, 200u);
    insert_row(0, slice + key_of(rows));
  }
  const masstree::LayerRoot layer = find(slice + key_of(0)).layer;
  EXPECT_FALSE(layer.owner->header.load_version().is_moved());
  EXPECT_FALSE(masstree::root_page(rig_.pool(), layer)->header.load_version().is_retired());
  insert_row(0, slice + "next");
  begin(2);
  for (unsigned i = 0; i < rows; ++i) ASSERT_EQ(get(2, slice + key_of(i)), "x") << i;
  expect_commit(2);
  verify();
}

}  // namespace
}  // namespace foedus::testing::adoption_test
