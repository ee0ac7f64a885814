// ctest-labels: concurrency
// Changes by other sessions to two neighbours and their parent during a join (M16, M17), and a
// parent's count of joins.
#include <atomic>
#include <thread>

#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/split.h"
#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::join_window_test {
namespace {

constexpr unsigned kStep = 10;
constexpr unsigned kKeysPerPage = 27;  // of payloads of 100 bytes
const std::string kPayload(100, 'x');

class MasstreeJoinWindowTest : public MasstreeTest {
 protected:
  // Returns a key of full pages of ascending keys.
  static std::string row(unsigned page, unsigned index) {
    return key_of((page * kKeysPerPage + index) * kStep);
  }
  static std::string behind_row(unsigned page, unsigned index) {
    return key_of((page * kKeysPerPage + index) * kStep + 5);
  }
  void make_full(unsigned pages) {
    fill(0, 0, pages * kKeysPerPage * kStep, kStep, kPayload);
    ASSERT_EQ(verify().border_pages, pages);
  }
  // Leaves the 9th, 18th and last row.
  void thin_page(unsigned page) {
    for (unsigned i = 0; i < kKeysPerPage; ++i) {
      if (i % 9 == 8) continue;
      begin(0);
      erase(0, row(page, i));
      expect_commit(0);
    }
  }
  masstree::InteriorPage* root() {
    masstree::TreePage* const page =
        masstree::root_page(rig_.pool(), {&rig_.control()->root, nullptr});
    return page->is_border() ? nullptr : masstree::InteriorPage::of(page);
  }
};

// Goal: a neighbour that has moved is not moved again, or its moved records would be copied.
// Method: it moves after the check and before its lock, by a session that does not get to the
// adoption.
TEST_F(MasstreeJoinWindowTest, a_neighbour_that_moves_behind_the_look_is_not_joined) {
  make_full(2);
  thin_page(0);
  thin_page(1);
  begin(0);
  const AtSyncPoint searched("masstree:merge_searched", [&] {
    masstree::BorderPage* const neighbour = find(row(1, 8)).at.page;
    masstree::Need need;
    need.slice = masstree::slice_of(behind_row(1, 0));
    need.bytes = masstree::footprint(0, masstree::capacity_for(kPayload.size()));
    begin(1);
    EXPECT_EQ(masstree::reorganize(ctx(1), rig_.control(), neighbour, need),
              masstree::Change::kDone);
    EXPECT_TRUE(neighbour->header.load_version().is_moved());
  });
  insert(0, behind_row(0, 0), kPayload);
  EXPECT_EQ(searched.runs(), 1u);
  expect_commit(0);
  insert(1, behind_row(1, 0), kPayload);
  expect_commit(1);
  begin(2);
  EXPECT_EQ(scan(2, "", "").size(), 8u);
  for (const unsigned page : {0u, 1u}) {
    for (const unsigned index : {8u, 17u, 26u}) EXPECT_EQ(get(2, row(page, index)), kPayload);
  }
  expect_commit(2);
  verify();
}

// Goal: a join adds up the contents of two pages with both locked. Method: the erased rows of the
// neighbour come back after the check, and both pages do not fit into one.
TEST_F(MasstreeJoinWindowTest, a_neighbour_that_fills_behind_the_look_is_not_joined) {
  make_full(2);
  thin_page(0);
  thin_page(1);
  begin(0);
  const AtSyncPoint searched("masstree:merge_searched", [&] {
    begin(1);
    for (unsigned i = 0; i < kKeysPerPage; ++i) put(1, row(1, i), kPayload);
    expect_commit(1);
  });
  insert(0, behind_row(0, 0), kPayload);
  EXPECT_EQ(searched.runs(), 1u);
  expect_commit(0);
  EXPECT_EQ(verify().border_pages, 2u);
  begin(2);
  EXPECT_EQ(scan(2, "", "").size(), 3u + 1 + kKeysPerPage);
  expect_commit(2);
}

// Neighbouring pages that are nearly empty: the erasure of the last row of the first one joins
// them.
class MasstreeEmptiedTest : public MasstreeJoinWindowTest {
 protected:
  void SetUp() override {
    make_full(2);
    thin_page(1);
    thin_page(0);
    begin(0);
  }
  void expect_rows_of_two_pages() {
    expect_commit(0);
    begin(2);
    EXPECT_EQ(scan(2, "", "").size(), 5u);
    for (const unsigned index : {8u, 17u}) EXPECT_EQ(get(2, row(0, index)), kPayload);
    EXPECT_EQ(get(2, row(0, 26)), "not_found");
    for (const unsigned index : {8u, 17u, 26u}) EXPECT_EQ(get(2, row(1, index)), kPayload);
    expect_commit(2);
    verify();
  }
};

// Goal: an emptied page that moves between the erasure and its lock is not joined.
TEST_F(MasstreeEmptiedTest, a_page_that_moves_behind_the_look_is_not_joined) {
  masstree::BorderPage* const page = find(row(0, 26)).at.page;
  const AtSyncPoint searched("masstree:emptied_searched", [&] {
    masstree::Need need;
    need.slice = masstree::slice_of(behind_row(0, 0));
    need.bytes = masstree::footprint(0, masstree::capacity_for(kPayload.size()));
    begin(1);
    EXPECT_EQ(masstree::reorganize(ctx(1), rig_.control(), page, need), masstree::Change::kDone);
    EXPECT_TRUE(page->header.load_version().is_moved());
    expect_commit(1);
  });
  erase(0, row(0, 26));
  EXPECT_EQ(searched.runs(), 1u);
  expect_rows_of_two_pages();
}

// Goal: no record is moved without the page's lock, which another session holds for longer than the
// tries.
TEST_F(MasstreeEmptiedTest, a_page_that_another_has_the_lock_of_stays) {
  masstree::BorderPage* const page = find(row(0, 26)).at.page;
  occ::LockWaiter waiter;
  const AtSyncPoint searched("masstree:emptied_searched",
                             [&] { occ::lock(&page->header.lock, &waiter); });
  erase(0, row(0, 26));
  EXPECT_EQ(searched.runs(), 1u);
  EXPECT_FALSE(page->header.load_version().is_moved());
  occ::unlock(&page->header.lock, &waiter);
  expect_rows_of_two_pages();
}

// Goal: the records of an emptied page are free again if its neighbour cannot be locked.
TEST_F(MasstreeEmptiedTest, a_page_whose_neighbour_is_locked_keeps_no_lock) {
  masstree::BorderPage* const neighbour = find(row(1, 8)).at.page;
  occ::LockWaiter waiter;
  const AtSyncPoint searched("masstree:merge_searched",
                             [&] { occ::lock(&neighbour->header.lock, &waiter); });
  erase(0, row(0, 26));
  EXPECT_EQ(searched.runs(), 1u);
  occ::unlock(&neighbour->header.lock, &waiter);
  for (const unsigned index : {8u, 17u}) {
    EXPECT_EQ(find(row(0, index)).record()->lock.load_relaxed(), 0u) << index;
  }
  expect_rows_of_two_pages();
}

TEST_F(MasstreeEmptiedTest, an_erasure_that_gets_no_page_for_a_join_leaves_both) {
  page::SessionPages& pages = rig_.session(0).pages();
  std::vector<page::PageHeader*> taken;
  while (page::PageHeader* const page = pages.allocate()) taken.push_back(page);
  erase(0, row(0, 26));
  for (page::PageHeader* const page : taken) pages.release(page);
  EXPECT_EQ(verify().border_pages, 2u);
  expect_rows_of_two_pages();
}

// Goal: no write skew over a boundary that moves: the second new page gains no key by way of the
// left old page, which is marked moved first, before the right one is marked, too. Method: the
// boundary between a full page and a nearly empty one moves to the left. When only the left one is
// marked, session 1 reads X, reaches the second new page by a row of the left page, and inserts a
// key of the right one. Session 2 has missed that key and writes X. When it commits, session 1
// waits for the page, and so is at no sync point, or has committed.
TEST_F(MasstreeJoinWindowTest,
       the_second_page_of_a_moved_boundary_gains_keys_when_both_have_moved) {
  make_full(4);
  thin_page(1);
  const std::string added = behind_row(1, 10);
  const std::string way = row(0, kKeysPerPage - 1);
  const std::string other = row(3, 10);
  begin(2);
  EXPECT_EQ(get(2, added), "not_found");
  put(2, other, "by 2");
  std::atomic<bool> is_done = false;
  Status of_1;
  std::thread session_1;
  const AtSyncPoint half_moved("masstree:merge_half_moved", [&] {
    occ::LockWord& lock = find(way).at.page->header.lock;
    const std::uint64_t before = lock.load_acquire();
    begin(1);
    EXPECT_EQ(get(1, other), kPayload);
    EXPECT_EQ(get(1, way), kPayload);
    session_1 = std::thread([&] {
      of_1 = write(1, WriteMode::kInsert, added, kPayload);
      if (of_1.is_ok()) of_1 = commit(1);
      is_done.store(true);
    });
    // The lock's word names the last waiter.
    while (!is_done.load() && (before == 0 || lock.load_acquire() == before)) {
      std::this_thread::yield();
    }
    expect_commit(2);
  });
  begin(0);
  insert(0, behind_row(0, 3), kPayload);
  expect_commit(0);
  EXPECT_EQ(half_moved.runs(), 1u);
  ASSERT_TRUE(session_1.joinable());
  session_1.join();
  EXPECT_EQ(of_1.conflict_reason(), ConflictReason::kRecordChanged) << of_1.message();
  EXPECT_EQ(verify().border_pages, 4u);
}

// Goal: a parent that has split is not changed: its twins lead to the two pages now. Method: the
// parent is full; after the check of the neighbour another session splits a page far away, and with
// it the parent.
TEST_F(MasstreeJoinWindowTest, pages_whose_parent_splits_behind_the_look_are_not_joined) {
  constexpr unsigned kPages = masstree::InteriorPage::kSeparatorsMax + 1;
  constexpr unsigned kRows = 3;  // of a page
  const std::string payload(1200, 'x');
  fill(0, 0, kPages * kRows * kStep, kStep, payload);
  ASSERT_EQ(verify().border_pages, kPages);
  ASSERT_EQ(verify().interior_pages, 1u);
  for (const unsigned erased : {0u, 1u, kRows, kRows + 1}) {  // the last row of both pages stays
    begin(0);
    erase(0, key_of(erased * kStep));
    expect_commit(0);
  }
  ASSERT_EQ(verify().border_pages, kPages);
  begin(0);
  const AtSyncPoint searched("masstree:merge_searched", [&] {
    const masstree::InteriorPage* const parent = root();
    begin(1);
    insert(1, key_of(100 * kRows * kStep + 5), payload);
    expect_commit(1);
    EXPECT_TRUE(parent->header.load_version().is_moved());
  });
  insert(0, key_of(5), std::string(400, 'y'));
  expect_commit(0);
  EXPECT_EQ(searched.runs(), 1u);
  EXPECT_EQ(verify().records, kPages * kRows - 4 + 2);
  begin(2);
  EXPECT_EQ(scan(2, "", "").size(), kPages * kRows - 4 + 2);
  expect_commit(2);
}

// Goal: a join only tries its second page's lock and that of the parent (O1), and gives up without
// them. Method: another session is at work there; the page moves alone.
class MasstreeJoinLockedTest : public MasstreeJoinWindowTest,
                               public ::testing::WithParamInterface<bool> {};

TEST_P(MasstreeJoinLockedTest, two_pages_one_of_which_or_whose_parent_is_locked_are_not_joined) {
  make_full(4);
  thin_page(0);
  thin_page(1);
  masstree::BorderPage* const page = find(row(0, 8)).at.page;
  masstree::BorderPage* const neighbour = find(row(1, 8)).at.page;
  masstree::Need need;
  need.slice = masstree::slice_of(behind_row(0, 0));
  need.bytes = masstree::footprint(0, masstree::capacity_for(kPayload.size()));
  need.parent = root();
  need.layer = {&rig_.control()->root, nullptr};
  begin(0);
  {
    masstree::TreePage* locked = neighbour;
    if (GetParam()) locked = need.parent;
    const occ::LockGuard guard(&locked->header.lock);
    EXPECT_EQ(masstree::reorganize(ctx(0), rig_.control(), page, need), masstree::Change::kDone);
    EXPECT_TRUE(page->header.load_version().is_moved());
    EXPECT_FALSE(neighbour->header.load_version().is_moved());
  }
  insert(0, behind_row(0, 0), kPayload);
  expect_commit(0);
  EXPECT_EQ(verify().border_pages, 4u);
}

INSTANTIATE_TEST_SUITE_P(Parent, MasstreeJoinLockedTest, ::testing::Bool());

class MasstreeJoinCountTest : public MasstreeJoinWindowTest {
 protected:
  void join_first_two() {
    const std::uint64_t before = verify().border_pages;
    begin(1);
    insert(1, behind_row(0, 0), kPayload);
    expect_commit(1);
    ASSERT_EQ(verify().border_pages, before - 1);
  }
};

// Goal: the version of a parent changes by an adoption and a join together, although the number of
// children is the same, so look_again() notices them. tests/models/shift_model.cc shows what would
// be missed otherwise: shifts between the two loads of one pointer.
TEST_F(MasstreeJoinCountTest, a_parent_that_gains_and_loses_a_child_has_another_version) {
  make_full(4);
  thin_page(0);
  thin_page(1);
  const page::PageVersion before = root()->header.load_version();
  begin(2);
  insert(2, behind_row(3, 10), kPayload);  // splits a full page
  expect_commit(2);
  const page::PageVersion between = root()->header.load_version();
  EXPECT_EQ(between, before.plus_key());
  join_first_two();
  const page::PageVersion after = root()->header.load_version();
  EXPECT_EQ(after.keys(), before.keys());
  EXPECT_FALSE(after == before);
}

// Goal: joins go on when the parent's count of them overflows. Method: a parent with the highest
// count.
TEST_F(MasstreeJoinCountTest, a_parent_counts_on_from_zero) {
  make_full(4);
  thin_page(0);
  thin_page(1);
  page::PageHeader& header = root()->header;
  const std::uint32_t keys = header.load_version().keys();
  header.store_version(page::PageVersion(keys, 0xffff));
  join_first_two();
  EXPECT_EQ(header.load_version(), page::PageVersion(keys - 1, 0));
}

}  // namespace
}  // namespace foedus::testing::join_window_test
