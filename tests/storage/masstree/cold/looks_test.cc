// Pointers of a Master-Tree that lead to snapshot pages, and change while they are read.
// ctest-labels: memory

#include "foedus-core/storage/masstree/install/install.h"
#include "tests/storage/masstree/cold/fixture.h"

namespace foedus::storage::masstree::looks_test {
namespace {

class MasstreeColdLooksTest : public MasstreeColdTest {
 protected:
  static constexpr unsigned kFew = 2'000;

  explicit MasstreeColdLooksTest(Gleaned::Install install = SimpleInstall::install)
      : MasstreeColdTest(std::move(install)) {}

  // Returns the pointer to the border page of a key. REQUIRES: the root is volatile, one level
  // above.
  page::DualPagePointer& pointer_to(const std::string& key) {
    InteriorPage* const root = volatile_root();
    const unsigned keys = root->header.load_version().keys();
    return root->child(root->child_of(slice_of(key), keys));
  }
  InteriorPage* volatile_root() {
    const page::VolatilePageId id = all_.control()->root.load_volatile();
    TreePage* const root = TreePage::of(all_.all().pool().resolve(id));
    EXPECT_EQ(root->header.level, 1u);
    return InteriorPage::of(root);
  }
  // Returns the border page of a key in the snapshot with that root.
  page::SnapshotPageId cold_page_of(page::SnapshotPageId root, const std::string& key) {
    auto* const page = const_cast<InteriorPage*>(all_.pages().as<InteriorPage>(root));
    EXPECT_EQ(page->header.level, 1u);
    const unsigned keys = page->header.load_version().keys();
    return page->child(page->child_of(slice_of(key), keys)).load().snapshot_page;
  }
};

// Goal: a page that another session makes volatile between two loads of its pointer is read where
// it is now, without a conflict. Method: the pointers of the root, of a child, and of a layer.
TEST_F(MasstreeColdLooksTest, a_pointer_that_changes_behind_the_first_look_is_not_believed) {
  const auto changes = [&](const std::string& key) {
    begin(0);
    const AtSyncPoint other("masstree:cold_seen", [&] { put_alone(1, key, "changed"); });
    EXPECT_EQ(get(0, key), "changed");
    EXPECT_EQ(other.runs(), 1u);
    ASSERT_TRUE(put(0, key_of(kFew), "x").is_ok());
    expect_commit(0);
  };
  load(10, key_of);
  glean_all();
  changes(key_of(3));
  load(kFew, key_of);
  glean_all();
  put_alone(1, key_of(14), "its path is volatile now");
  changes(key_of(1'500));
  load(kFew, deep_key);
  glean_all();
  put_alone(1, key_of(1) + "?", "the page above is volatile now");
  changes(deep_key(60));
}

// Goal: a write that gets no page for a copy changes nothing, and succeeds when there is one.
TEST_F(MasstreeColdLooksTest, a_write_without_a_page_for_its_copy_is_refused) {
  load(10, key_of);
  glean_all();
  page::SessionPages& pages = all_.session(0).pages();
  std::vector<page::PageHeader*> taken;
  while (page::PageHeader* const page = pages.allocate()) taken.push_back(page);
  begin(0);
  EXPECT_EQ(put(0, key_of(3), "changed").code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(get(0, key_of(3)), payload_of(3));
  all_.session(0).rollback();
  for (page::PageHeader* const page : taken) pages.release(page);
  EXPECT_EQ(volatile_pages(), 0u);
  put_alone(0, key_of(3), "changed");
  EXPECT_EQ(get_alone(1, key_of(3)), "changed");
}

// Goal: a read in a layer of a snapshot conflicts with a change there, even if the pointer to the
// layer has moved before. Method: the page above splits; then another session changes the row.
TEST_F(MasstreeColdLooksTest, a_pointer_that_has_moved_is_not_verified_at_its_old_place) {
  load(kFew, deep_key);
  glean_all();
  put_alone(1, key_of(1) + "?", "the page above is volatile now");
  begin(0);
  EXPECT_EQ(get(0, deep_key(60)), payload_of(60));
  ASSERT_TRUE(put(0, key_of(kFew), "x").is_ok());
  const std::uint64_t before = volatile_pages();
  for (unsigned i = 0; i < 40; ++i) {
    put_alone(1, key_of(1) + std::to_string(i), std::string(200, 'x'));
  }
  ASSERT_GT(volatile_pages(), before);
  put_alone(1, deep_key(60), "changed");
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}

// Goal: a snapshot page with other fences than its pointer's is refused even if it has the slice,
// because rows could be missed. Method: the pointer leads to the page of an earlier snapshot.
TEST_F(MasstreeColdLooksTest, a_page_with_other_fences_is_not_taken_for_the_one_of_its_pointer) {
  load(kFew, key_of);
  glean_all();
  const page::SnapshotPageId before = all_.root();
  const std::string added = key_of(1'500) + "new";
  put_alone(0, added, "in the new one only");
  for (unsigned i = 1'460; i < 1'540; ++i) put_alone(0, key_of(i) + "more", payload_of(i));
  glean_all();
  put_alone(1, key_of(3), "its path is volatile now");
  page::DualPagePointer& pointer = pointer_to(added);
  const page::DualPageIds right = pointer.load();
  ASSERT_TRUE(right.volatile_page.is_null());
  const page::SnapshotPageId wrong = cold_page_of(before, added);
  const auto* const page = all_.pages().as<TreePage>(wrong);
  const auto* const right_page = all_.pages().as<TreePage>(right.snapshot_page);
  ASSERT_TRUE(page->contains(slice_of(added)));
  ASSERT_TRUE(page->low != right_page->low || page->last != right_page->last);
  pointer.store({{}, wrong});
  begin(0);
  const WholeRead got = read(0, added);
  EXPECT_EQ(got.status.code(), ErrorCode::kCorruption) << got.status.message();
  pointer.store(right);
  EXPECT_EQ(get(0, added), "in the new one only");
  expect_commit(0);
}

// Tests with installations that exchange runs of pages.
class MasstreeShiftedLooksTest : public MasstreeColdLooksTest {
 protected:
  MasstreeShiftedLooksTest() : MasstreeColdLooksTest(install) {}
};

// Goal: a reader that loads the halves of two pointers, because children are being shifted, does
// not fail if the page of that id cannot be read. Method: the pointer to a volatile page has the id
// of a page whose file was removed (M38). It is put beside the null half of its cold neighbour, as
// within a store, until the page has been requested.
TEST_F(MasstreeShiftedLooksTest, a_page_that_no_pointer_leads_to_need_not_be_readable) {
  const std::string hot = key_of(1'000);
  load(kFew, key_of);
  glean_all();
  // The payload keeps its length, so that pages of the snapshot end at the same rows.
  put_alone(1, hot, std::string(payload_of(1'000).size(), '1'));
  all_.compose_anew();
  put_alone(1, hot, "hot");
  EXPECT_FALSE(all_.install().may_need_earlier);
  all_.check_leads();
  all_.remove_old_files();
  const page::DualPageIds shifted = pointer_to(hot).load();
  ASSERT_FALSE(shifted.volatile_page.is_null());
  ASSERT_NE(shifted.snapshot_page.snapshot(), all_.root().snapshot());
  const TreePage* const page = TreePage::of(all_.all().pool().resolve(shifted.volatile_page));
  const unsigned beside = static_cast<unsigned>(page->last / 16 + 1);
  page::DualPagePointer& pointer = pointer_to(key_of(beside));
  const page::DualPageIds whole = pointer.load();
  ASSERT_TRUE(whole.volatile_page.is_null());
  for (const bool writes : {false, true}) {
    begin(0);
    pointer.store({{}, shifted.snapshot_page});
    const AtSyncPoint stored("cache:before_publish", [&] { pointer.store(whole); });
    if (writes) {
      const Status status = put(0, key_of(beside), "mine");
      EXPECT_TRUE(status.is_ok()) << status.message();
    } else {
      EXPECT_EQ(get(0, key_of(beside)), payload_of(beside));
    }
    EXPECT_EQ(stored.runs(), 1u);
    expect_commit(0);
  }
  EXPECT_EQ(get_alone(1, key_of(beside)), "mine");
}

}  // namespace
}  // namespace foedus::storage::masstree::looks_test
