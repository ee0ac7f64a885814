// Transactions whose pages of a Master-Tree are dropped for snapshot pages while they run.
// ctest-labels: memory

#include <map>

#include "tests/storage/masstree/cold/fixture.h"

namespace foedus::storage::masstree::drop_test {
namespace {

class MasstreeColdDropTest : public MasstreeColdTest {
 protected:
  static constexpr unsigned kFew = 2000;

  // Drops the storage by session 1, as the catalog does.
  void drop_storage() {
    masstree::drop(&all_.all().pool(), &all_.session(1).pages(), all_.control());
    all_.control()->set_dropped();
    EXPECT_EQ(volatile_pages(), 0u);
    was_dropped_ = true;
  }
  void TearDown() override {
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (ctx(i).is_open()) all_.session(i).rollback();
    }
    EXPECT_TRUE(!was_dropped_ || volatile_pages() == 0);
    if (was_dropped_) all_.control()->root.store({});  // so that it is not dropped again
    if (!was_dropped_) MasstreeColdTest::TearDown();
  }

 private:
  bool was_dropped_ = false;
};

// Goal: a transaction sees its own writes in a copy that is older than they are. Method: between
// the making of another session's copy and its install, the page is made volatile, written to and
// dropped.
TEST_F(MasstreeColdDropTest, own_writes_are_seen_in_a_copy_that_is_older_than_them) {
  load(10, key_of);
  glean_all();
  begin(1);
  const AtSyncPoint other("masstree:before_install", [&] {
    for (int i = 0; i < 4; ++i) all_.all().pass_epochs();
    begin(0);
    ASSERT_TRUE(put(0, key_of(3), "mine").is_ok());
    ASSERT_TRUE(erase(0, key_of(4)).is_ok());
    all_.glean();
  });
  ASSERT_TRUE(put(1, key_of(5), "theirs").is_ok());
  expect_commit(1);
  EXPECT_EQ(get(0, key_of(3)), "mine");
  EXPECT_EQ(get(0, key_of(4)), std::nullopt);
  EXPECT_EQ(scan(0, "", "").size(), 9u);
  expect_commit(0);
}

// Goal: a scan of snapshot pages returns rows that its transaction has written since it read the
// pointer. Method: another session makes the page volatile, the own write goes there, and a glean
// drops it, so that the pointer has its old value again.
TEST_F(MasstreeColdDropTest, a_scan_of_cold_pages_meets_own_writes_whose_pages_came_and_went) {
  load(kFew, key_of);
  glean_all();
  for (const int epochs : {0, 4}) {
    begin(0);
    Cursor cursor;
    cursor.open(ctx(0), all_.control(), key_of(0), "", false);
    ASSERT_TRUE(cursor.next().is_ok());
    for (int i = 0; i < epochs; ++i) all_.all().pass_epochs();
    begin(1);
    ASSERT_TRUE(put(1, key_of(1500), "theirs").is_ok());
    ASSERT_TRUE(put(0, key_of(1501), "mine").is_ok());
    ASSERT_TRUE(put(0, key_of(1502) + "-", "new").is_ok());
    all_.session(1).rollback();
    glean_all();
    std::map<std::string, std::string> rows;
    for (;;) {
      ASSERT_TRUE(cursor.next().is_ok());
      if (cursor.at_end()) break;
      rows.emplace(cursor.key(), cursor.payload());
    }
    EXPECT_EQ(rows.size(), kFew) << epochs;  // without the first one, with the new one
    EXPECT_EQ(rows[key_of(1501)], "mine") << epochs;
    EXPECT_EQ(rows[key_of(1502) + "-"], "new") << epochs;
    all_.session(0).rollback();
    glean_all();
  }
}

TEST_F(MasstreeColdDropTest, a_write_finds_its_record_again) {
  load(kFew, deep_key);
  begin(0);
  ASSERT_TRUE(put(0, deep_key(14), "mine").is_ok());
  ASSERT_TRUE(erase(0, deep_key(16)).is_ok());
  ASSERT_TRUE(storage::write_at(ctx(0), all_.control(), deep_key(17), 2, "part").is_ok());
  glean_all();
  ASSERT_EQ(get(0, deep_key(14)), "mine");  // an own write, whose page was dropped
  ASSERT_EQ(get(0, deep_key(16)), std::nullopt);
  ASSERT_EQ(get(0, deep_key(17)), payload_of(17).replace(2, 4, "part"));
  ASSERT_TRUE(put(0, deep_key(15), "second").is_ok());
  ASSERT_TRUE(put(0, deep_key(14), "third").is_ok());
  ASSERT_TRUE(erase(0, deep_key(17)).is_ok());
  expect_commit(0);
  EXPECT_EQ(get_alone(1, deep_key(14)), "third");
  EXPECT_EQ(get_alone(1, deep_key(15)), "second");
  EXPECT_EQ(get_alone(1, deep_key(16)), std::nullopt);
  EXPECT_EQ(get_alone(1, deep_key(17)), std::nullopt);
}
// The lock phase has to find the records, as no call has done so since the drop.
TEST_F(MasstreeColdDropTest, a_write_that_is_not_looked_at_again_commits) {
  load(kFew, deep_key);
  begin(0);
  ASSERT_TRUE(put(0, deep_key(14), "mine").is_ok());
  ASSERT_TRUE(put(0, "fresh", std::string(900, 'f')).is_ok());
  ASSERT_TRUE(put(0, deep_key(15), std::string(5000, 'c')).is_ok());
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  put_alone(1, deep_key(13), "theirs");
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 2u);  // its chain, which no page names yet
  expect_commit(0);
  EXPECT_EQ(get_alone(1, deep_key(13)), "theirs");
  EXPECT_EQ(get_alone(1, deep_key(14)), "mine");
  EXPECT_EQ(get_alone(1, deep_key(15)), std::string(5000, 'c'));
  EXPECT_EQ(get_alone(1, "fresh"), std::string(900, 'f'));
}
TEST_F(MasstreeColdDropTest, a_write_whose_page_was_dropped_and_made_again_by_others) {
  load(kFew, deep_key);
  begin(0);
  ASSERT_TRUE(put(0, deep_key(14), "mine").is_ok());
  glean_all();
  put_alone(1, deep_key(14), "theirs");
  erase_alone(1, deep_key(14));
  put_alone(1, deep_key(14), "theirs again");
  for (unsigned i = 0; i < 60; ++i) put_alone(1, deep_key(14) + key_of(i), std::string(300, 's'));
  ASSERT_EQ(get(0, deep_key(14)), "mine");
  expect_commit(0);
  EXPECT_EQ(get_alone(1, deep_key(14)), "mine");
}
TEST_F(MasstreeColdDropTest, an_insert_conflicts_if_the_key_has_come_meanwhile) {
  load(kFew, deep_key);
  begin(0);
  ASSERT_TRUE(put(0, "fresh", "mine", WriteMode::kInsert).is_ok());
  glean_all();
  put_alone(1, "fresh", "theirs");
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
  EXPECT_EQ(get_alone(1, "fresh"), "theirs");
}
// The dropped page in which the key was missing is no evidence: the key is in a snapshot by now.
TEST_F(MasstreeColdDropTest, a_premise_of_a_dropped_page_is_not_believed) {
  load(kFew, deep_key);
  begin(0);
  ASSERT_TRUE(put(0, "fresh", "mine", WriteMode::kInsert).is_ok());
  EXPECT_TRUE(txn::verify(&ctx(0)).is_ok());
  glean_all();
  put_alone(1, "fresh", "theirs");
  glean_all();
  EXPECT_EQ(txn::verify(&ctx(0)).code(), ErrorCode::kConflict);
}
TEST_F(MasstreeColdDropTest, a_key_that_was_read_erased_and_is_back_conflicts) {
  load(kFew, deep_key);
  erase_alone(1, deep_key(14));
  begin(0);
  ASSERT_EQ(get(0, deep_key(14)), std::nullopt);  // by a deleted record
  glean_all();
  put_alone(1, deep_key(14), "back");
  ASSERT_TRUE(put(0, deep_key(1900), "x").is_ok());
  expect_conflict(0, ConflictReason::kPageDropped);
}
TEST_F(MasstreeColdDropTest, a_drop_is_a_conflict_for_who_read_there) {
  for (unsigned what = 0; what < 3; ++what) {
    load(kFew, deep_key);
    begin(0);
    if (what == 0) {
      ASSERT_EQ(get(0, deep_key(14)), payload_of(14));
    } else if (what == 1) {
      ASSERT_EQ(get(0, "nothing"), std::nullopt);
    } else {
      ASSERT_EQ(scan(0, "", deep_key(1)).size(), 1u);
    }
    glean_all();
    ASSERT_TRUE(put(0, deep_key(1900), "x").is_ok());
    expect_conflict(0, ConflictReason::kPageDropped);
  }
}
// Goal: a read conflicts if its page has moved to twins and those were dropped.
TEST_F(MasstreeColdDropTest, a_drop_of_the_twins_is_a_conflict) {
  load(kFew, deep_key);
  begin(0);
  ASSERT_EQ(get(0, deep_key(14)), payload_of(14));
  ASSERT_EQ(get(0, deep_key(14) + "?"), std::nullopt);
  for (unsigned i = 0; i < 60; ++i) put_alone(1, deep_key(13) + key_of(i), std::string(300, 's'));
  for (unsigned i = 20; i < 50; ++i) put_alone(1, deep_key(i), std::string(900, 's'));
  glean_all();
  ASSERT_TRUE(put(0, deep_key(1900), "x").is_ok());
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}
TEST_F(MasstreeColdDropTest, a_locked_or_newer_record_keeps_its_pages) {
  load(kFew, deep_key);
  all_.compose();
  put_alone(1, deep_key(14), "newer");
  begin(0);
  occ::ReadRange range;
  ASSERT_TRUE(masstree::get_for_update(ctx(0), all_.control(), deep_key(1501), &range).is_ok());
  EXPECT_GE(all_.install().pages_kept, 2u);
  EXPECT_GE(volatile_pages(), 4u);
  all_.session(0).rollback();
  EXPECT_EQ(get_alone(1, deep_key(14)), "newer");
  glean_all();
  EXPECT_EQ(get_alone(1, deep_key(14)), "newer");
}
// Goal: the result of a prefetch is not used after its page was dropped.
TEST_F(MasstreeColdDropTest, a_prefetched_page_that_was_dropped) {
  load(kFew, key_of);
  begin(0);
  ASSERT_EQ(get(0, key_of(14)), payload_of(14));
  for (unsigned i = 100; i < 110; ++i) masstree::prefetch(ctx(0), all_.control(), key_of(i));
  glean_all();
  put_alone(1, key_of(100), "newer");
  ASSERT_EQ(get(0, key_of(100)), "newer");
  ASSERT_EQ(get(0, key_of(15)), payload_of(15));
  expect_conflict(0, ConflictReason::kPageDropped);
}
// Goal: a storage with snapshot pages is dropped like others: a transaction in its volatile pages
// reads on, no page of it is made volatile any more, and none is left.
TEST_F(MasstreeColdDropTest, a_storage_that_is_partly_cold_is_dropped) {
  load(kFew, deep_key);
  glean_all();
  put_alone(1, deep_key(14), "volatile");
  begin(0);
  begin(1);
  ASSERT_EQ(get(0, deep_key(100)), payload_of(100));
  drop_storage();
  EXPECT_EQ(get(0, deep_key(200)), payload_of(200));
  EXPECT_EQ(put(0, deep_key(200), "x").code(), ErrorCode::kConflict);
}
TEST_F(MasstreeColdDropTest, a_storage_whose_root_is_cold_is_dropped) {
  load(kFew, deep_key);
  glean_all();
  begin(0);
  begin(1);
  ASSERT_EQ(get(0, deep_key(100)), payload_of(100));
  drop_storage();
  EXPECT_EQ(put(0, deep_key(200), "x").conflict_reason(), ConflictReason::kPageDropped);
}

}  // namespace
}  // namespace foedus::storage::masstree::drop_test
