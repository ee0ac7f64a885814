// Hand-stepped interleavings at sync points: another session's transaction runs in the middle of a
// system transaction.
#include "tests/storage/masstree/masstree_fixture.h"

namespace foedus::testing {
namespace {

using MasstreeInterleaving = MasstreeTest;

// Goal: readers find everything at every step of a split, an adoption, and growth, and what they
// read there verifies. Method: read all keys at each sync point, again and again.
TEST_F(MasstreeInterleaving, readers_find_all_keys_at_every_step_of_an_insert) {
  for (const char* const place :
       {"masstree:split_locked", "masstree:split_twins_set", "masstree:split_records_moved",
        "masstree:split_page_moved", "masstree:split_done", "masstree:adopt_searched",
        "masstree:adopt_shifted", "masstree:adopted", "masstree:grow_searched", "masstree:grown",
        "masstree:insert_locked", "masstree:layer_locked"}) {
    Rig fresh(StorageKind::kMasstree, 6);
    unsigned done = 0;
    std::vector<std::string> keys;
    AtSyncPoint reader(
        place,
        [&] {
          RigSession& session = fresh.session(1);
          session.begin();
          for (unsigned i = 0; i < done; i += 1 + done / 64) {
            char bytes[64];
            occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
            const Status status =
                masstree::get(session.ctx(), fresh.control(), keys[i], &range);
            ASSERT_TRUE(status.is_ok()) << place << " " << keys[i] << " " << status.message();
          }
          if (done % 16 == 0) {
            masstree::Cursor cursor;
            cursor.open(session.ctx(), fresh.control(), "", "", done % 32 == 0);
            unsigned seen = 0;
            for (;; ++seen) {
              ASSERT_TRUE(cursor.next().is_ok());
              if (cursor.at_end()) break;
            }
            ASSERT_EQ(seen, done) << place;
          }
          const Status status = session.commit();
          ASSERT_TRUE(status.is_ok()) << place << " " << status.message();
        },
        true);
    for (unsigned i = 0; i < 1500; ++i) {
      std::string key = key_of((i * 7919u) % 100'000);
      if (i % 5 == 0) key += "tail" + std::to_string(i);
      if (i % 25 == 1) key = "12345678" + key;
      keys.push_back(key);
      RigSession& session = fresh.session(0);
      session.begin();
      ASSERT_TRUE(masstree::write_whole(session.ctx(), fresh.control(), WriteMode::kPut, key, "x")
                      .is_ok());
      ASSERT_TRUE(session.commit().is_ok());
      ++done;
    }
    EXPECT_GT(reader.runs(), 0u) << place;
    masstree::verify_tree(fresh.pool(), fresh.control());
  }
}

TEST_F(MasstreeInterleaving, an_insert_into_a_page_that_moved_meanwhile_arrives) {
  fill(0, 0, 640, 10);
  begin(0);
  AtSyncPoint other("masstree:place_searched", [&] { fill(1, 1, 640, 10); });
  insert(0, key_of(105), "mine");
  EXPECT_EQ(other.runs(), 1u);
  expect_commit(0);
  EXPECT_EQ(verify().records, 129u);
}

TEST_F(MasstreeInterleaving, two_inserts_of_one_key_at_once_give_one_record) {
  fill(0, 0, 100, 10);
  begin(0);
  AtSyncPoint other("masstree:place_searched", [&] {
    begin(1);
    insert(1, "both", "theirs");
  });
  insert(0, "both", "mine");
  expect_commit(1);
  expect_conflict(0, ConflictReason::kRecordChanged);
  begin(0);
  EXPECT_EQ(get(0, "both"), "theirs");
  expect_commit(0);
  EXPECT_EQ(verify().records, 11u);
}

TEST_F(MasstreeInterleaving, two_sessions_make_the_same_layer_once) {
  begin(0);
  put(0, "samesliceA", "a");
  expect_commit(0);
  begin(0);
  AtSyncPoint other("masstree:place_searched", [&] {
    begin(1);
    insert(1, "samesliceB", "b");
    expect_commit(1);
  });
  insert(0, "samesliceC", "c");
  expect_commit(0);
  EXPECT_EQ(verify().layers, 1u);
  begin(0);
  EXPECT_EQ(scan(0, "", "").size(), 3u);
  expect_commit(0);
}

// Goal: adoption by an inserter whose parent was split, or whose child was adopted, meanwhile.
TEST_F(MasstreeInterleaving, an_adoption_after_the_parent_split_is_left_to_the_next) {
  for (const char* const place : {"masstree:adopt_searched", "masstree:grow_searched"}) {
    Rig fresh(StorageKind::kMasstree, 6);
    const auto put_in = [&](unsigned number, unsigned key) {
      RigSession& session = fresh.session(number);
      session.begin();
      ASSERT_TRUE(masstree::write_whole(session.ctx(), fresh.control(), WriteMode::kPut,
                                        key_of(key), std::string(200, 'x'))
                      .is_ok());
      ASSERT_TRUE(session.commit().is_ok());
    };
    unsigned next = 0;
    AtSyncPoint other(
        place, [&] { for (unsigned i = 0; i < 60; ++i) put_in(1, (next += 7919) % 1'000'000); },
        true);
    for (unsigned i = 0; i < 4000; ++i) put_in(0, (i * 4591u) % 1'000'000);
    EXPECT_GT(other.runs(), 0u);
    const masstree::Statistics tree = masstree::verify_tree(fresh.pool(), fresh.control());
    EXPECT_GT(tree.records, 1500u);
    EXPECT_GT(tree.interior_pages, 1u);
  }
}

// Goal: a record that is split away, or becomes a layer, between the look and the lock of a commit.
TEST_F(MasstreeInterleaving, a_commit_follows_records_that_move_before_its_locks) {
  fill(0, 0, 640, 10);
  begin(0);
  put(0, "samesliceA", "a");
  expect_commit(0);
  begin(0);
  put(0, key_of(100), "mine");
  put(0, "samesliceA", "mine");
  insert(0, key_of(105), "mine");
  EXPECT_EQ(get(0, key_of(200)), "x");
  AtSyncPoint other("commit:before_lock", [&] {
    fill(1, 1, 640, 10);
    begin(1);
    insert(1, "samesliceB", "b");
    expect_commit(1);
  });
  expect_commit(0);
  EXPECT_EQ(other.runs(), 1u);
  begin(0);
  EXPECT_EQ(get(0, key_of(100)), "mine");
  EXPECT_EQ(get(0, key_of(105)), "mine");
  EXPECT_EQ(get(0, "samesliceA"), "mine");
  EXPECT_EQ(get(0, "samesliceB"), "b");
  expect_commit(0);
  verify();
}

// Goal: memory runs out at any allocation; the tree stays whole and keeps what was committed.
TEST_F(MasstreeInterleaving, running_out_of_pages_changes_nothing) {
  Rig small(StorageKind::kMasstree, 1, 4u << 20);
  RigSession& session = small.session(0);
  base::Random random(7);
  std::uint64_t committed = 0;
  unsigned failures = 0;
  std::set<std::string> keys;
  for (unsigned i = 0; i < 60'000 && failures < 200; ++i) {
    session.begin();
    std::string key = key_of(static_cast<unsigned>(random.below(1'000'000)));
    if (i % 3 == 0) key += "tail" + std::to_string(random.below(1000));
    const Status status = masstree::write_whole(session.ctx(), small.control(), WriteMode::kPut,
                                                key, std::string(random.below(3000), 'x'));
    if (!status.is_ok()) {
      ASSERT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
      ++failures;
      session.rollback();
      continue;
    }
    ASSERT_TRUE(session.commit().is_ok());
    if (keys.insert(key).second) ++committed;
    if (i % 100 == 0) small.tick();
  }
  EXPECT_EQ(failures, 200u);
  EXPECT_EQ(masstree::verify_tree(small.pool(), small.control()).records, committed);
}

// Goal: a transaction that is at work in a storage that is dropped reads on, changes no page, and
// no page is retired twice.
TEST_F(MasstreeInterleaving, a_drop_stops_the_changes_of_older_transactions) {
  fill(0, 0, 2000, 1, std::string(100, 'x'));
  begin(0);
  begin(1);
  put(0, key_of(3000), "x");
  masstree::drop(&rig_.pool(), &rig_.session(1).pages(), rig_.control());
  rig_.control()->dropped.store_release(1);
  EXPECT_EQ(get(0, key_of(77)), std::string(100, 'x'));
  Status status;
  for (unsigned i = 4000; i < 4100 && status.is_ok(); ++i) {
    status = write(0, WriteMode::kPut, key_of(i), "x");
  }
  EXPECT_EQ(status.conflict_reason(), ConflictReason::kPageDropped) << status.message();
  EXPECT_FALSE(commit(0).is_ok());
  rig_.session(1).rollback();
  EXPECT_EQ(rig_.control()->volatile_pages.load_relaxed(), 0u);
}

// Goal: a part of a record that goes is missing, not outside of what is left of it. Method: the
// record is erased, or becomes long enough, between the look at its length and the one that counts.
TEST_F(MasstreeInterleaving, a_part_of_a_record_that_changes_is_looked_for_again) {
  const std::pair<std::string, ErrorCode> cases[] = {{"", ErrorCode::kNotFound},
                                                     {"payload.", ErrorCode::kInvalidArgument},
                                                     {"payload.........", ErrorCode::kOk}};
  for (const auto& [payload, expected] : cases) {
    begin(0);
    put(0, "key", "........");
    expect_commit(0);
    begin(0);
    const AtSyncPoint outside("masstree:part_outside", [&, &now = payload] {
      begin(1);
      if (now.empty()) {
        erase(1, "key");
      } else {
        put(1, "key", now);
      }
      expect_commit(1);
    });
    const Status status = masstree::write_at(ctx(0), rig_.control(), "key", 8, "own");
    EXPECT_EQ(status.code(), expected) << status.message();
    EXPECT_EQ(outside.runs(), 1u);
    rig_.session(0).rollback();
  }
}

}  // namespace
}  // namespace foedus::testing
