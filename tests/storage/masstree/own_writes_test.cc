// A transaction sees its own writes, in cursors and after its records have moved.
#include "tests/storage/masstree/fixture.h"
#include "tests/storage/storages.h"
#include "tests/testing/test_database.h"

namespace foedus::testing::own_writes_test {
namespace {

using MasstreeOwnTest = MasstreeTest;

TEST_F(MasstreeOwnTest, a_cursor_sees_own_writes_ahead_and_not_behind) {
  fill(0, 0, 100, 10);
  for (const bool reverse : {false, true}) {
    begin(0);
    masstree::Cursor cursor;
    cursor.open(ctx(0), rig_.control(), "", "", reverse);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(cursor.next().is_ok());
    const unsigned here = reverse ? 70 : 20;
    ASSERT_EQ(cursor.key(), key_of(here));
    const auto ahead = [&](unsigned distance) {
      return key_of(reverse ? here - distance : here + distance);
    };
    insert(0, ahead(5), "own");
    insert(0, key_of(reverse ? here + 5 : here - 5), "behind");
    erase(0, ahead(10));
    put(0, ahead(20), "new");
    std::vector<std::string> seen;
    for (;;) {
      ASSERT_TRUE(cursor.next().is_ok());
      if (cursor.at_end()) break;
      seen.emplace_back(cursor.key());
      EXPECT_TRUE(cursor.key() != ahead(20) || cursor.payload() == "new");
    }
    ASSERT_GE(seen.size(), 2u);
    EXPECT_EQ(seen[0], ahead(5));
    EXPECT_EQ(seen[1], ahead(20));
    EXPECT_EQ(seen.size(), 7u);
    rig_.session(0).rollback();
  }
}

// Goal: a scan sees the rows that its transaction inserts ahead of it, through splits and new
// layers.
TEST_F(MasstreeOwnTest, a_cursor_follows_splits_and_layers_that_its_transaction_causes) {
  fill(0, 0, 1000, 20);
  for (const bool reverse : {false, true}) {
    begin(0);
    masstree::Cursor cursor;
    cursor.open(ctx(0), rig_.control(), "", "", reverse);
    std::vector<std::string> seen;
    for (;;) {
      ASSERT_TRUE(cursor.next().is_ok());
      if (cursor.at_end()) break;
      seen.emplace_back(cursor.key());
      const unsigned number = static_cast<unsigned>(std::stoul(std::string(cursor.key())));
      const bool original = cursor.key().size() == 8 && number % 20 == 0;
      if (original && number > 0 && number < 980) {
        const std::string next = key_of(reverse ? number - 7 : number + 7);
        insert(0, next, "own");
        insert(0, next + "A", "own");
        insert(0, next + "B", "own");
        insert(0, key_of(reverse ? number + 3 : number - 3), "behind");
      }
    }
    EXPECT_EQ(seen.size(), 50u + 48 * 3);
    EXPECT_TRUE(reverse ? std::is_sorted(seen.rbegin(), seen.rend())
                        : std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), seen.size());
    if (reverse) {
      expect_commit(0);
    } else {
      rig_.session(0).rollback();
    }
  }
  verify();
}

// A read of a record with an own write to a part, which moves after it was found.
class MasstreeOwnPartTest : public MasstreeTest {
 protected:
  MasstreeOwnPartTest() {
    fill(0, 0, 40, 1, "........");
    begin(0);
    put(0, kLayered, "........");
    put(0, "zzz", "........");
    expect_commit(0);
    begin(0);
  }
  void write_own_part(std::string_view key) {
    const Status status = storage::write_at(ctx(0), rig_.control(), key, 2, "own");
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  // Lets another session move all records to other pages, and that of kLayered to a next layer.
  void move_records() {
    begin(1);
    put(1, key_of(6), std::string(900, 'o'));
    expect_commit(1);
  }
  void make_layer() {
    begin(1);
    insert(1, "samesliceN", "new");
    expect_commit(1);
  }
  static constexpr std::string_view kLayered = "samesliceM";
  static constexpr std::string_view kSeen = "..own...";
};

TEST_F(MasstreeOwnPartTest, a_read_sees_it_on_a_record_that_another_moves_before_the_copy) {
  write_own_part(key_of(5));
  const AtSyncPoint found("occ:read_own", [&] { move_records(); });
  EXPECT_EQ(get(0, key_of(5)), kSeen);
  EXPECT_EQ(found.runs(), 1u);
  expect_commit(0);
}

TEST_F(MasstreeOwnPartTest,
       a_read_sees_it_on_a_record_that_another_puts_into_a_layer_before_the_copy) {
  write_own_part(kLayered);
  const AtSyncPoint found("occ:read_own", [&] { make_layer(); });
  EXPECT_EQ(get(0, kLayered), kSeen);
  EXPECT_EQ(found.runs(), 1u);
  expect_commit(0);
}

TEST_F(MasstreeOwnPartTest, a_cursor_sees_it_on_a_record_that_another_moves_before_the_copy) {
  write_own_part(key_of(5));
  const AtSyncPoint found("occ:read_own", [&] { move_records(); });
  masstree::Cursor cursor;
  cursor.open(ctx(0), rig_.control(), key_of(3), "", false);
  while (cursor.key() != key_of(5)) ASSERT_TRUE(cursor.next().is_ok());
  EXPECT_EQ(cursor.payload(), kSeen);
  EXPECT_EQ(found.runs(), 1u);
  ASSERT_TRUE(cursor.next().is_ok());
  EXPECT_EQ(cursor.key(), key_of(6));
  cursor.close();
  rig_.session(0).rollback();
}

TEST_F(MasstreeOwnPartTest, a_cursor_sees_it_on_a_record_that_another_puts_into_a_layer) {
  write_own_part(kLayered);
  const AtSyncPoint found("occ:read_own", [&] { make_layer(); });
  masstree::Cursor cursor;
  cursor.open(ctx(0), rig_.control(), kLayered, "", false);
  ASSERT_TRUE(cursor.next().is_ok());
  EXPECT_EQ(cursor.key(), kLayered);
  EXPECT_EQ(cursor.payload(), kSeen);
  EXPECT_EQ(found.runs(), 1u);
  cursor.close();
  rig_.session(0).rollback();
}

TEST_F(MasstreeOwnTest, a_layer_made_at_the_position_of_a_cursor_is_entered_behind_it) {
  begin(0);
  put(0, "samesliceM", "m");
  put(0, "zzz", "z");
  expect_commit(0);
  for (const bool reverse : {false, true}) {
    begin(0);
    masstree::Cursor cursor;
    cursor.open(ctx(0), rig_.control(), "s", "t", reverse);
    ASSERT_TRUE(cursor.next().is_ok());
    ASSERT_EQ(cursor.key(), "samesliceM");
    insert(0, reverse ? "samesliceA" : "samesliceZ", "own");
    insert(0, reverse ? "samesliceY" : "samesliceB", "behind");
    ASSERT_TRUE(cursor.next().is_ok());
    EXPECT_EQ(cursor.key(), reverse ? "samesliceA" : "samesliceZ");
    ASSERT_TRUE(cursor.next().is_ok());
    EXPECT_TRUE(cursor.at_end());
    rig_.session(0).rollback();
  }
}

TEST_F(MasstreeOwnTest, writes_are_seen_after_others_moved_their_records) {
  fill(0, 0, 300, 10);
  begin(0);
  put(0, key_of(20), "mine");
  insert(0, key_of(21), "new");
  erase(0, key_of(30));
  put(0, "samesliceA", "layered");
  begin(1);
  for (unsigned i = 100; i < 300; i += 20) put(1, key_of(i), std::string(400, 'b'));
  insert(1, "samesliceB", "b");
  expect_commit(1);
  EXPECT_EQ(get(0, key_of(20)), "mine");
  EXPECT_EQ(get(0, key_of(21)), "new");
  EXPECT_EQ(get(0, key_of(30)), "not_found");
  EXPECT_EQ(get(0, "samesliceA"), "layered");
  EXPECT_EQ(write(0, WriteMode::kInsert, key_of(21), "again").code(), ErrorCode::kAlreadyExists);
  put(0, key_of(21), "newer");
  EXPECT_EQ(scan(0, key_of(20), key_of(40)), (std::vector<std::string>{key_of(20), key_of(21)}));
  expect_commit(0);
  begin(0);
  EXPECT_EQ(get(0, key_of(20)), "mine");
  EXPECT_EQ(get(0, key_of(21)), "newer");
  EXPECT_EQ(get(0, key_of(30)), "not_found");
  EXPECT_EQ(get(0, "samesliceA"), "layered");
  expect_commit(0);
  verify();
}

// The transaction writes more rows than a page holds: each split takes its uncommitted writes
// along.
TEST_F(MasstreeOwnTest, very_many_writes_are_seen_after_their_pages_were_split) {
  constexpr unsigned kKeys = 2000;
  begin(0);
  for (unsigned i = 0; i < kKeys; ++i) insert(0, key_of(i * 7 % kKeys), "own");
  for (unsigned i = 0; i < kKeys; ++i) ASSERT_EQ(get(0, key_of(i)), "own") << i;
  expect_commit(0);
  EXPECT_EQ(verify().records, kKeys);
  begin(1);
  for (unsigned i = 0; i < kKeys; ++i) ASSERT_EQ(get(1, key_of(i)), "own") << i;
  expect_commit(1);
}

// Method: a bin of a hash storage has more records than a border page, so the place of a write
// there may be none of a border page.
TEST(MasstreeOwnBesideTest, a_page_is_split_beside_a_write_to_a_bin_of_more_records) {
  storage::Storages all({.sessions = 1});
  storage_meta::StorageMeta meta;
  occ::StorageControl* const tree = all.make(meta);
  meta.kind = StorageKind::kHash;
  meta.fan_out_bits = 1;
  occ::StorageControl* const hash = all.make(meta);
  const auto put_in_hash = [&](unsigned row) {
    must(storage::hash::write_whole(all.ctx(), hash, WriteMode::kPut, key_of(row), ""));
    return all.ctx().sets().writes().entries().back().place;
  };
  const auto insert_in_tree = [&](unsigned row) {
    must(masstree::write_whole(all.ctx(), tree, WriteMode::kInsert, key_of(row), "x"));
  };
  unsigned last = 0;
  for (std::uint32_t place = 0; place < masstree::BorderPage::kKeysMax;) {
    ASSERT_LT(++last, 1000u);
    all.session(0).begin();
    place = put_in_hash(last);
    must(all.session(0).commit());
  }
  for (unsigned i = 0; i < masstree::BorderPage::kKeysMax; ++i) {
    all.session(0).begin();
    insert_in_tree(i);
    must(all.session(0).commit());
  }
  all.session(0).begin();
  ASSERT_GE(put_in_hash(last), masstree::BorderPage::kKeysMax);
  insert_in_tree(masstree::BorderPage::kKeysMax);
  must(all.session(0).commit());
  const masstree::Statistics seen = masstree::verify_tree(all.pool(), tree);
  EXPECT_EQ(seen.border_pages, 2u);
  EXPECT_EQ(seen.records, masstree::BorderPage::kKeysMax + 1);
}

// Goal: the lock of get_for_update moves with its record when its own transaction splits the page.
TEST_F(MasstreeOwnTest, a_held_lock_moves_with_its_record) {
  fill(0, 0, 640, 10);
  begin(0);
  char bytes[64];
  occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
  ASSERT_TRUE(masstree::get_for_update(ctx(0), rig_.control(), key_of(100), &range).is_ok());
  page::RecordHeader* const old_record = ctx(0).locks().held().entries()[0].record;
  for (unsigned i = 1; i < 640; i += 10) insert(0, key_of(i), "own");
  const masstree::KeyPosition position = find(key_of(100));
  EXPECT_NE(position.record(), old_record);
  EXPECT_TRUE(ctx(0).locks().holds(position.record()));
  EXPECT_NE(position.record()->lock.load_relaxed(), 0u);
  EXPECT_EQ(old_record->lock.load_relaxed(), 0u);
  put(0, key_of(100), "locked");
  expect_commit(0);
  EXPECT_EQ(position.record()->lock.load_relaxed(), 0u);
  verify();
}

TEST_F(MasstreeOwnTest, a_lock_that_another_holds_keeps_its_page_from_moving) {
  fill(0, 0, 640, 10);
  begin(0);
  char bytes[64];
  occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
  ASSERT_TRUE(masstree::get_for_update(ctx(0), rig_.control(), key_of(100), &range).is_ok());
  begin(1);
  Status status;
  for (unsigned i = 1; i < 640 && status.is_ok(); i += 10) {
    status = write(1, WriteMode::kInsert, key_of(i), "x");
  }
  EXPECT_EQ(status.conflict_reason(), ConflictReason::kRecordLocked) << status.message();
  EXPECT_FALSE(commit(1).is_ok());
  expect_commit(0);
  fill(1, 1, 640, 10);
  EXPECT_EQ(verify().records, 128u);
}

// Goal: P7. A key that was erased, purged by a split and inserted again gets a TID above its past.
TEST_F(MasstreeOwnTest, a_purged_key_comes_back_above_its_erasure) {
  fill(0, 0, 640, 10);
  for (int i = 0; i < 20; ++i) {  // ordinals grow within the epoch
    begin(0);
    put(0, key_of(100), "again");
    expect_commit(0);
  }
  begin(0);
  erase(0, key_of(100));
  expect_commit(0);
  const auto tid_now = [&] { return find(key_of(100)).record()->load_tid(); };
  const page::Tid erased = tid_now();
  fill(1, 1, 640, 10);
  EXPECT_FALSE(find(key_of(100)).found());
  begin(2);
  insert(2, key_of(100), "back");
  expect_commit(2);
  EXPECT_GT(tid_now().version(), erased.version());
}

// Session 3 has written to a record, and reads it while another session moves it. Session 1 begins
// then, some epochs after the records were marked or the clock was read for the birth of their new
// page, and writes to one of them.
class MasstreeOwnWindowTest : public MasstreeTest {
 protected:
  void write_before(std::string_view key) {
    for (int i = 0; i < 3; ++i) rig_.tick();  // pages without a birth are older
    begin(3);
    put(3, key, "older");
  }
  void write_in_window(std::string_view key, std::string_view older) {
    EXPECT_EQ(get(3, older), "older");
    for (int i = 0; i < 3; ++i) rig_.tick();
    begin(1);
    status_ = write(1, WriteMode::kPut, key, "own");
  }
  // Checks that session 1 could not write, or sees its own write.
  void check(std::string_view key, std::string_view before) {
    if (status_.is_ok()) {
      EXPECT_EQ(get(1, key), "own");
      expect_commit(1);
    } else {
      EXPECT_EQ(status_.conflict_reason(), ConflictReason::kRetryBound) << status_.message();
      rig_.session(1).rollback();
    }
    begin(2);
    EXPECT_EQ(get(2, key), status_.is_ok() ? "own" : before);
    expect_commit(2);
    rig_.session(3).rollback();
    verify();
  }
  Status status_;
};

TEST_F(MasstreeOwnWindowTest, a_write_to_a_page_that_is_split_is_seen) {
  fill(0, 0, 40, 1, "before");
  write_before(key_of(7));
  begin(0);
  const AtSyncPoint window("moves:birth_read", [&] { write_in_window(key_of(5), key_of(7)); });
  put(0, key_of(6), std::string(900, 'o'));
  EXPECT_EQ(window.runs(), 1u);
  expect_commit(0);
  check(key_of(5), "before");
}

TEST_F(MasstreeOwnWindowTest, a_write_to_the_second_page_of_a_split_is_seen) {
  fill(0, 0, 640, 10, "before");
  ASSERT_EQ(verify().border_pages, 1u);
  write_before(key_of(570));
  begin(0);
  const AtSyncPoint window("moves:birth_read",
                           [&] { write_in_window(key_of(550), key_of(570)); });
  insert(0, key_of(305), "new");
  EXPECT_EQ(window.runs(), 1u);
  expect_commit(0);
  EXPECT_EQ(verify().border_pages, 2u);
  check(key_of(550), "before");
}

TEST_F(MasstreeOwnWindowTest, a_write_to_a_record_that_becomes_a_layer_is_seen) {
  begin(0);
  put(0, "samesliceM", "before");
  expect_commit(0);
  write_before("samesliceM");
  begin(0);
  const AtSyncPoint window("moves:birth_read",
                           [&] { write_in_window("samesliceM", "samesliceM"); });
  insert(0, "samesliceN", "new");
  EXPECT_EQ(window.runs(), 1u);
  expect_commit(0);
  check("samesliceM", "before");
}

// Method: session 1 writes when one of the two pages is marked moved, and the record's page is not
// yet.
TEST_F(MasstreeOwnWindowTest, a_write_to_a_page_that_is_joined_is_seen) {
  const std::string payload(100, 'x');
  fill(0, 0, 54 * 10, 10, payload);
  ASSERT_EQ(verify().border_pages, 2u);
  for (unsigned i = 0; i < 54; ++i) {
    if (i % 9 == 8) continue;
    begin(0);
    erase(0, key_of(i * 10));
    expect_commit(0);
  }
  write_before(key_of(8 * 10));
  begin(0);
  const AtSyncPoint window("masstree:merge_half_moved",
                           [&] { write_in_window(key_of(35 * 10), key_of(8 * 10)); });
  insert(0, key_of(5), payload);
  EXPECT_EQ(window.runs(), 1u);
  expect_commit(0);
  check(key_of(35 * 10), payload);
}

// Method: the boundary of two pages moves to the left. The older write comes to the second new one.
TEST_F(MasstreeOwnWindowTest, a_write_to_a_page_that_comes_to_the_second_of_two_is_seen) {
  const std::string payload(100, 'x');
  fill(0, 0, 4 * 27 * 10, 10, payload);
  ASSERT_EQ(verify().border_pages, 4u);
  for (unsigned i = 27; i < 54; ++i) {
    if (i % 9 == 8) continue;
    begin(0);
    erase(0, key_of(i * 10));
    expect_commit(0);
  }
  write_before(key_of(26 * 10));
  begin(0);
  const AtSyncPoint window("masstree:merge_half_moved",
                           [&] { write_in_window(key_of(35 * 10), key_of(26 * 10)); });
  insert(0, key_of(35), payload);
  EXPECT_EQ(window.runs(), 1u);
  expect_commit(0);
  EXPECT_EQ(verify().border_pages, 4u);
  check(key_of(35 * 10), payload);
}

// Goal: a transaction sees its own put even if it began when the records of the page were already
// marked. Method: it acts after the marks, before the change that leads to the row's new place.
class MasstreeBirthTest : public MasstreeOwnTest {
 protected:
  void expect_seen(const char* place, const std::string& row, const std::string& mover) {
    AtSyncPoint marked(place, [&] {
      for (int i = 0; i < 3; ++i) rig_.tick();
      begin(2);
      put(2, row, "own");
    });
    begin(0);
    insert(0, mover, "x");
    EXPECT_EQ(marked.runs(), 1u);
    expect_commit(0);
    EXPECT_EQ(get(2, row), "own");
    expect_commit(2);
  }
};

TEST_F(MasstreeBirthTest, a_put_to_a_page_whose_records_are_marked_is_seen) {
  fill(0, 0, 640, 10);
  expect_seen("masstree:split_records_moved", key_of(100), key_of(105));
}

TEST_F(MasstreeBirthTest, a_put_to_a_record_that_is_marked_for_its_layer_is_seen) {
  begin(0);
  put(0, "samesliceA", "x");
  expect_commit(0);
  expect_seen("masstree:layer_record_marked", "samesliceA", "samesliceC");
}

}  // namespace
}  // namespace foedus::testing::own_writes_test
