// Removal of interior pages: other sessions change them, their parent, their children or the page
// of a layer's root pointer, between the search and the locks, and while pages move.
#include <tuple>

#include "foedus-core/storage/masstree/change/adopt.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/merge_interior.h"
#include "tests/storage/masstree/fixture.h"
#include "tests/storage/masstree/install/fixture.h"

namespace foedus::storage::masstree::thin_test {
namespace {

using ThinTest = MasstreeInstallTest;

using testing::AtSyncPoint;

constexpr unsigned kChildrenMax = InteriorPage::kSeparatorsMax + 1;
const std::string kPayload(900, 'x');  // of which four fill a page

// Makes trees whose interior pages have as many children as a test likes, above border pages that
// are empty. Pages are made in the order of their slices.
class Planter {
 public:
  Planter(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control)
      : pool_(*pool), pages_(*pages), control_(control) {}

  // Key `i` of the border page that was made as number `page`.
  static std::string key_of(unsigned page, unsigned i = 0) {
    std::string key(8, '\0');
    put_slice(page * kSlices + i, key.data());
    return key;
  }
  InteriorPage* above_borders(unsigned count) {
    std::vector<TreePage*> made;
    for (; count != 0; --count, ++borders_) {
      made.push_back(make_border(pool_, pages_, control_, 0));
      set_range(made.back(), borders_ * kSlices, (borders_ + 1) * kSlices - 1);
    }
    return above(made);
  }
  InteriorPage* above(const std::vector<TreePage*>& children) {
    const auto level = static_cast<std::uint8_t>(children.front()->header.level + 1);
    InteriorPage* const page = make_interior(pool_, pages_, control_, 0, level);
    set_range(page, children.front()->low, children.back()->last);
    for (unsigned i = 0; i < children.size(); ++i) {
      page->child(i).store({children[i]->header.volatile_id(), page::SnapshotPageId()});
      if (i != 0) page->set_separator(i - 1, children[i]->low);
    }
    const page::PageVersion birth(static_cast<std::uint32_t>(children.size()) - 1, 0);
    page->header.birth_version = birth.word();
    page->header.store_version(birth);
    return page;
  }
  // Replaces the empty page of a new storage. REQUIRES: the root is above all pages that were made.
  void plant(InteriorPage* root) {
    discard(pages_, control_, TreePage::of(pool_.resolve(control_->root.load_volatile())));
    TreePage* last = root;
    for (; !last->is_border(); last = child(last, children_of(last) - 1)) {
      last->last = ~std::uint64_t{0};
    }
    last->last = ~std::uint64_t{0};
    control_->root.store({root->header.volatile_id(), page::SnapshotPageId()});
  }
  TreePage* child(TreePage* page, unsigned index) {
    return TreePage::of(pool_.resolve(InteriorPage::of(page)->child(index).load_volatile()));
  }
  static unsigned children_of(const TreePage* page) {
    return page->header.load_version().keys() + 1;
  }
  unsigned borders() const { return borders_; }

 private:
  static constexpr std::uint64_t kSlices = 1u << 20;  // of a border page

  page::PagePool& pool_;
  page::SessionPages& pages_;
  occ::StorageControl* const control_;
  unsigned borders_ = 0;
};

class MasstreeThinTest : public testing::MasstreeTest {
 protected:
  static std::string key_of(unsigned page, unsigned i = 0) { return Planter::key_of(page, i); }
  LayerRoot root() { return {&rig_.control()->root, nullptr}; }

  // Plants the tree, with one row in each border page.
  void plant(InteriorPage* top) {
    tree_.plant(top);
    for (unsigned page = 0; page < tree_.borders(); ++page) put_row(1, key_of(page));
  }
  // Puts a row in a transaction of its own.
  void put_row(unsigned session, const std::string& key, const std::string& payload = "x") {
    begin(session);
    put(session, key, payload);
    expect_commit(session);
    rows_.insert(key);
  }
  void erase_row(unsigned session, const std::string& key) {
    begin(session);
    erase(session, key);
    expect_commit(session);
    rows_.erase(key);
  }
  void thin(unsigned session, InteriorPage* page) {
    begin(session);
    merge_interior(ctx(session), rig_.control(), root(), page);
    expect_commit(session);
  }
  void split(unsigned session, InteriorPage* page) {
    begin(session);
    EXPECT_EQ(split_interior(ctx(session), rig_.control(), page, page->low), Change::kDone);
    expect_commit(session);
  }
  // Lets session 0 try to remove `page`; `meanwhile` runs at the place.
  void thin_while(InteriorPage* page, const char* place, const std::function<void()>& meanwhile) {
    const AtSyncPoint at(place, meanwhile);
    thin(0, page);
    EXPECT_EQ(at.runs(), 1u);
  }
  // Checks that the tree is whole, has all rows, and takes more everywhere.
  void check() {
    verify();
    begin(3);
    EXPECT_EQ(scan(3, "", ""), std::vector<std::string>(rows_.begin(), rows_.end()));
    expect_commit(3);
    for (unsigned page = 0; page < tree_.borders(); ++page) put_row(3, key_of(page, 1'000'000));
    EXPECT_EQ(verify().records, rows_.size());
  }

  Planter tree_{&rig_.pool(), &rig_.session(0).pages(), rig_.control()};
  std::set<std::string> rows_;
};

class MasstreeThinSidesTest : public MasstreeThinTest,
                              public ::testing::WithParamInterface<std::tuple<bool, bool>> {};

// Goal: a page whose children became too many after the search is not joined. Method: before the
// locks another session adds border pages under the neighbour until that is full; or until it
// splits, and the parent, which has not adopted its twins, still leads to it.
TEST_P(MasstreeThinSidesTest, a_neighbour_that_fills_up_behind_the_look_stays) {
  const auto [fills_left, splits] = GetParam();
  constexpr unsigned kMany = 119;  // the most that may become one page with a single one
  InteriorPage* const left = tree_.above_borders(fills_left ? kMany : 1);
  InteriorPage* const right = tree_.above_borders(fills_left ? 1 : kMany);
  InteriorPage* const many = fills_left ? left : right;
  plant(tree_.above({left, right}));
  thin_while(fills_left ? right : left, "masstree:merge_interior_searched", [&, splits = splits] {
    for (unsigned i = 1; Planter::children_of(many) != kChildrenMax; ++i) {
      put_row(1, Planter::key_of(many == left ? kMany - 1 : kMany, i), kPayload);
    }
    if (splits) split(1, many);
  });
  EXPECT_EQ(verify().interior_pages, splits ? 5u : 3u);
  check();
}

INSTANTIATE_TEST_SUITE_P(Sides, MasstreeThinSidesTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()));

// Goal: pages that another session has joined after the search are not joined again, although they
// have few children and their parent has not moved. Method: the same two pages, or the second with
// the next one.
TEST_F(MasstreeThinTest, two_pages_that_another_has_joined_are_not_joined_again) {
  InteriorPage* const left = tree_.above_borders(3);
  plant(tree_.above({left, tree_.above_borders(3), tree_.above_borders(kChildrenMax)}));
  thin_while(left, "masstree:merge_interior_searched", [&] { thin(1, left); });
  EXPECT_EQ(verify().interior_pages, 3u);
  check();
}

TEST_F(MasstreeThinTest, a_page_whose_neighbour_another_has_joined_is_not_joined_with_it) {
  InteriorPage* const left = tree_.above_borders(3);
  InteriorPage* const right = tree_.above_borders(3);
  plant(tree_.above({left, right, tree_.above_borders(3)}));
  thin_while(left, "masstree:merge_interior_searched", [&] { thin(1, right); });
  EXPECT_EQ(verify().interior_pages, 3u);
  check();
}

TEST_F(MasstreeThinTest, a_page_that_another_has_joined_with_the_one_before_is_not_joined_again) {
  InteriorPage* const first = tree_.above_borders(3);
  InteriorPage* const second = tree_.above_borders(3);
  plant(tree_.above({first, second, tree_.above_borders(3)}));
  thin_while(second, "masstree:merge_interior_searched", [&] { thin(1, first); });
  EXPECT_EQ(verify().interior_pages, 3u);
  check();
}

// Goal: pages are not joined if their parent has moved, because its successor would lead to them
// for ever. Method: the parent splits after the search, or is joined with its own neighbour.
TEST_F(MasstreeThinTest, pages_are_not_joined_under_a_page_that_has_split) {
  std::vector<TreePage*> pages;
  for (unsigned i = 0; i < kChildrenMax; ++i) pages.push_back(tree_.above_borders(1));
  InteriorPage* const top = tree_.above(pages);
  plant(top);
  thin_while(InteriorPage::of(pages[0]), "masstree:merge_interior_searched",
             [&] { split(1, top); });
  EXPECT_EQ(verify().interior_pages, kChildrenMax + 3);
  check();
}

TEST_F(MasstreeThinTest, pages_are_not_joined_under_a_page_that_was_joined) {
  InteriorPage* const left = tree_.above_borders(3);
  InteriorPage* const parent = tree_.above({left, tree_.above_borders(3)});
  plant(tree_.above({parent, tree_.above({tree_.above_borders(3)})}));
  thin_while(left, "masstree:merge_interior_searched", [&] { thin(1, parent); });
  EXPECT_EQ(verify().interior_pages, 4u);
  check();
}

// Goal: a page that another session is changing is not joined, nor its neighbour or a child.
TEST_F(MasstreeThinTest, pages_are_not_joined_without_all_locks) {
  InteriorPage* const left = tree_.above_borders(3);
  InteriorPage* const right = tree_.above_borders(3);
  InteriorPage* const top = tree_.above({left, right});
  plant(top);
  for (TreePage* const page : {left, right, top}) {
    occ::LockWaiter waiter;
    thin_while(left, "masstree:merge_interior_searched",
               [&] { EXPECT_TRUE(occ::try_lock(&page->header.lock, &waiter)); });
    occ::unlock(&page->header.lock, &waiter);
    ASSERT_EQ(verify().interior_pages, 3u);
  }
  thin(0, left);
  EXPECT_EQ(verify().interior_pages, 1u);
  check();
}

// Goal: until both of two joined pages are marked moved, no session removes a child of the unmarked
// one by way of the new page: later readers find the child's pointer in the unmarked page, and may
// use it as long as they like (M8). Method: after the first page has moved, another session empties
// the last of its children, which would be joined with the first child of the other page. A cursor
// that began later is just after that child, whose address it has read ahead. Epochs pass, and
// removed pages are reused as roots of layers.
TEST_F(MasstreeThinTest, a_child_of_a_page_that_is_still_open_stays) {
  InteriorPage* const left = tree_.above_borders(2);
  InteriorPage* const right = tree_.above_borders(3);
  plant(tree_.above({left, right}));
  for (unsigned i = 1; i < 4; ++i) put_row(1, key_of(0, i), kPayload);  // no room for another
  put_row(1, key_of(3, 1));
  Cursor cursor;
  std::vector<std::string> seen;
  const auto go_on = [&](unsigned rows) {
    for (; rows != 0; --rows) {
      ASSERT_TRUE(cursor.next().is_ok());
      if (cursor.at_end()) return;
      seen.emplace_back(cursor.key());
    }
  };
  std::vector<std::string> expected;
  thin_while(left, "masstree:merge_interior_half_moved", [&] {
    erase_row(1, key_of(1));
    for (int i = 0; i < 4; ++i) rig_.tick();
    begin(2);
    expected.assign(rows_.begin(), rows_.lower_bound(key_of(3, 2)));
    cursor.open(ctx(2), rig_.control(), "", key_of(3, 2), true);
    go_on(1);
  });
  for (int i = 0; i < 4; ++i) rig_.tick();
  for (unsigned i = 0; i < 8; ++i) {
    const std::string stem = key_of(4, 1 + i);
    put_row(1, stem + key_of(0, 10));
    put_row(1, stem + key_of(0, 11));
  }
  go_on(100);
  EXPECT_EQ(seen, std::vector<std::string>(expected.rbegin(), expected.rend()));
  expect_commit(2);
  check();
}

// Goal: a root whose only child has split after the search stays. Method: another session fills the
// child, and the root adopts its twins.
TEST_F(MasstreeThinTest, a_root_that_has_gained_a_child_stays) {
  InteriorPage* const top = tree_.above_borders(1);
  plant(top);
  thin_while(top, "masstree:shrink_searched", [&] {
    for (unsigned i = 1; i < 12; ++i) put_row(1, key_of(0, i), kPayload);
    EXPECT_GT(Planter::children_of(top), 1u);
  });
  EXPECT_EQ(root_page(rig_.pool(), root()), top);
  check();
}

TEST_F(MasstreeThinTest, a_root_that_another_has_locked_stays) {
  InteriorPage* const top = tree_.above_borders(1);
  plant(top);
  occ::LockWaiter waiter;
  thin_while(top, "masstree:shrink_searched",
             [&] { EXPECT_TRUE(occ::try_lock(&top->header.lock, &waiter)); });
  occ::unlock(&top->header.lock, &waiter);
  EXPECT_EQ(root_page(rig_.pool(), root()), top);
  check();
}

// Goal: a drop of the storage stops the removal of interior pages: no page is freed twice, and the
// root stays for older transactions. Method: the drop comes after the search.
TEST_F(MasstreeThinTest, a_drop_stops_a_root_that_is_about_to_give_way) {
  InteriorPage* const top = tree_.above_borders(1);
  plant(top);
  begin(0);
  {
    const AtSyncPoint dropping("masstree:shrink_searched", [&] {
      rig_.control()->set_dropped();
      drop(&rig_.pool(), &rig_.session(1).pages(), rig_.control());
    });
    merge_interior(ctx(0), rig_.control(), root(), top);
    EXPECT_EQ(dropping.runs(), 1u);
  }
  EXPECT_EQ(root_page(rig_.pool(), root()), top);
  EXPECT_EQ(rig_.control()->volatile_pages.load_relaxed(), 0u);
  rig_.session(0).rollback();
}

// A layer of which erasures leave one page of two, so that this page is to replace its root.
class MasstreeThinLayerTest : public MasstreeThinTest {
 protected:
  void shrink_while(const std::function<void()>& meanwhile) {
    for (unsigned i = 0; i < 6; ++i) put_row(0, key_in_layer(i), kPayload);
    ASSERT_EQ(verify().interior_pages, 1u);
    const AtSyncPoint at("masstree:shrink_searched", meanwhile);
    for (unsigned i = 0; i < 5; ++i) erase_row(0, key_in_layer(i));
    EXPECT_EQ(at.runs(), 1u);
  }
  void check() {
    EXPECT_EQ(verify().records, rows_.size());
    begin(3);
    EXPECT_EQ(scan(3, "", ""), std::vector<std::string>(rows_.begin(), rows_.end()));
    expect_commit(3);
    for (unsigned i = 0; i < 20; ++i) put_row(3, key_in_layer(i), kPayload);
    EXPECT_EQ(verify().records, rows_.size());
  }
  static std::string key_in_layer(unsigned i) { return key_of(0, 100) + key_of(0, i); }
};

// Goal: a layer's root is not replaced if the page of its pointer has moved: the valid pointer is
// in a twin. Method: before the locks another session splits that page.
TEST_F(MasstreeThinLayerTest, a_root_stays_if_the_page_of_its_pointer_has_moved) {
  shrink_while([&] {
    for (unsigned i = 0; i < 6; ++i) put_row(1, key_of(0, i), kPayload);
  });
  EXPECT_EQ(verify().interior_pages, 2u);  // the other one is above the split page
  check();
}

TEST_F(MasstreeThinLayerTest, a_root_stays_if_the_page_of_its_pointer_is_locked) {
  page::PageHeader* const owner = rig_.pool().resolve(rig_.control()->root.load_volatile());
  occ::LockWaiter waiter;
  shrink_while([&] { EXPECT_TRUE(occ::try_lock(&owner->lock, &waiter)); });
  occ::unlock(&owner->lock, &waiter);
  EXPECT_EQ(verify().interior_pages, 1u);
  check();
}

// Goal: a root whose only child is a snapshot page stays. Method: a root is to be replaced by its
// only child, another interior page. After the search an install exchanges the border pages of that
// child for the only page of the snapshot, and then has dropped enough.
TEST_F(ThinTest, a_root_above_a_snapshot_page_stays) {
  Planter tree(&all_.all().pool(), &all_.session(0).pages(), all_.control());
  InteriorPage* const top = tree.above({tree.above_borders(4)});
  tree.plant(top);
  for (unsigned page = 0; page < 4; ++page) put(Planter::key_of(page), "x");
  all_.compose();
  begin(0);
  {
    const AtSyncPoint installing("masstree:shrink_searched", [&] { all_.install(1); });
    merge_interior(all_.session(0).ctx(), all_.control(), {&all_.control()->root, nullptr}, top);
    EXPECT_EQ(installing.runs(), 1u);
  }
  ASSERT_TRUE(commit(0).is_ok());
  EXPECT_EQ(volatile_pages(), 1u);
  check();
  put(Planter::key_of(2), "y");
  check();
}

}  // namespace
}  // namespace foedus::storage::masstree::thin_test
