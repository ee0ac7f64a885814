// Neighbouring pages that become one, or move the boundary between them (M16 to M18): readers,
// scans and other writers meanwhile, and the fill of pages.
#include <algorithm>
#include <map>
#include <tuple>

#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::join_test {
namespace {

constexpr unsigned kStep = 10;
constexpr unsigned kKeysPerPage = 27;  // of payloads of 100 bytes
const std::string kPayload(100, 'x');

class MasstreeJoinTest : public MasstreeTest {
 protected:
  // Makes full pages of ascending keys, and leaves the 9th, 18th and last record of each.
  void make_sparse(unsigned pages) {
    const unsigned keys = pages * kKeysPerPage;
    fill(0, 0, keys * kStep, kStep, kPayload);
    ASSERT_EQ(verify().border_pages, pages);
    for (unsigned i = 0; i < keys; ++i) {
      if (i % 9 == 8) {
        left_.push_back(key_of(i * kStep));
      } else {
        begin(0);
        erase(0, key_of(i * kStep));
        expect_commit(0);
      }
    }
    ASSERT_EQ(verify().border_pages, pages);
  }
  // Returns the remaining key of third `third` of page `page`.
  static std::string left_in(unsigned page, unsigned third) {
    return key_of((page * kKeysPerPage + third * 9 + 8) * kStep);
  }
  // Inserts into a page that is full of deleted records, and is therefore joined with a neighbour.
  void join_at(unsigned session, unsigned page, const std::string& key = "") {
    const std::uint64_t before = verify().border_pages;
    begin(session);
    insert(session, key.empty() ? key_of(page * kKeysPerPage * kStep + 5) : key, kPayload);
    expect_commit(session);
    EXPECT_EQ(verify().border_pages, before - 1);
  }
  std::uint64_t pages() { return rig_.control()->volatile_pages.load_relaxed(); }
  std::uint64_t erased_version(unsigned session, const std::string& key) {
    begin(session);
    erase(session, key);
    expect_commit(session);
    const page::Tid tid = find(key).record()->load_tid();
    EXPECT_TRUE(tid.is_deleted());
    return tid.version();
  }

  std::vector<std::string> left_;
};

TEST_F(MasstreeJoinTest, what_was_read_before_a_join_verifies_after_it) {
  make_sparse(6);
  begin(0);
  EXPECT_EQ(scan(0, "", ""), left_);
  EXPECT_EQ(get(0, key_of(3)), "not_found");
  EXPECT_EQ(get(0, key_of(273)), "not_found");
  EXPECT_EQ(get(0, left_in(1, 1)), kPayload);
  put(0, "zzz", "x");
  AtSyncPoint joined("masstree:split_done", [&] { expect_commit(0); });
  join_at(1, 0);
  EXPECT_EQ(joined.runs(), 1u);
}

TEST_F(MasstreeJoinTest, a_key_that_is_added_conflicts_with_scans_of_either_page_and_no_other) {
  make_sparse(6);
  for (const unsigned page : {0u, 1u, 2u}) {
    begin(page + 2);
    const unsigned low = page * kKeysPerPage * kStep;
    EXPECT_EQ(scan(page + 2, key_of(low), key_of(low + 260)).size(), 2u);
    put(page + 2, "zzz" + std::to_string(page), "x");
  }
  join_at(1, 0);
  expect_conflict(2, ConflictReason::kPageGained);
  expect_conflict(3, ConflictReason::kPageGained);  // the new page cannot tell whose key it is
  expect_commit(4);
}

TEST_F(MasstreeJoinTest, a_key_that_is_added_before_a_join_conflicts) {
  make_sparse(6);
  join_at(1, 1);  // pages 1 and 2: now joined, with free space
  begin(0);
  EXPECT_EQ(get(0, key_of(273)), "not_found");
  put(0, "zzz", "x");
  begin(1);
  insert(1, key_of(277), "y");
  expect_commit(1);
  join_at(2, 0);
  expect_conflict(0, ConflictReason::kPageGained);
  verify();
}

class MasstreeJoinScanTest : public MasstreeJoinTest,
                             public ::testing::WithParamInterface<std::tuple<bool, unsigned>> {};

// Goal: a scan goes on over pages that are joined behind, under and ahead of it, and sees each key
// once. Method: when the scan ends, the join is complete except for the inserted key.
TEST_P(MasstreeJoinScanTest, a_scan_crosses_a_join) {
  const auto [reverse, steps] = GetParam();
  make_sparse(3);
  begin(0);
  masstree::Cursor cursor;
  cursor.open(ctx(0), rig_.control(), "", "", reverse);
  std::vector<std::string> seen;
  const auto go = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_TRUE(cursor.next().is_ok());
      if (cursor.at_end()) return;
      seen.emplace_back(cursor.key());
    }
  };
  go(steps);
  AtSyncPoint joined("masstree:split_done", [&] {
    go(100);
    expect_commit(0);
  });
  join_at(1, 1);
  EXPECT_EQ(joined.runs(), 1u);
  if (reverse) std::reverse(left_.begin(), left_.end());
  EXPECT_EQ(seen, left_);
}

INSTANTIATE_TEST_SUITE_P(Steps, MasstreeJoinScanTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Range(1u, 9u)));

TEST_F(MasstreeJoinTest, own_writes_are_found_in_pages_that_another_joined) {
  make_sparse(6);
  begin(0);
  EXPECT_EQ(get(0, key_of(274)), "not_found");
  put(0, left_in(0, 0), "own 0");
  put(0, left_in(1, 0), "own 1");
  erase(0, left_in(1, 1));
  put(0, left_in(1, 2), std::string(300, 'o'));  // makes a new page
  EXPECT_EQ(get(0, left_in(1, 2)), std::string(300, 'o'));
  begin(1);
  for (unsigned i = 1; i < 30; ++i) insert(1, key_of(i * kStep - 4), kPayload);
  expect_commit(1);
  EXPECT_EQ(get(0, left_in(0, 0)), "own 0");
  EXPECT_EQ(get(0, left_in(1, 0)), "own 1");
  EXPECT_EQ(get(0, left_in(1, 1)), "not_found");
  EXPECT_EQ(get(0, left_in(1, 2)), std::string(300, 'o'));
  rig_.session(0).rollback();
  verify();
}

// Goal: an own write is found whose record another session has moved, and which the own session
// moves again when it joins the page with another one.
TEST_F(MasstreeJoinTest, own_writes_are_found_in_a_page_of_another_that_this_session_joined) {
  make_sparse(6);
  begin(0);
  put(0, left_in(1, 0), "own 1");
  begin(1);
  put(1, left_in(1, 1), std::string(300, 'b'));  // page 1 moves, by another session
  expect_commit(1);
  const std::uint64_t before = pages();
  insert(0, key_of(5), "own 5");  // page 0, with what page 1 has become
  EXPECT_EQ(pages(), before - 1);
  EXPECT_EQ(get(0, left_in(1, 0)), "own 1");
  EXPECT_EQ(get(0, key_of(5)), "own 5");
  expect_commit(0);
  begin(0);
  EXPECT_EQ(get(0, left_in(1, 0)), "own 1");
  expect_commit(0);
  verify();
}

// Goal: own inserts and scans in pages that another session joins in between, without a conflict.
TEST_F(MasstreeJoinTest, own_inserts_on_both_sides_of_a_join_by_another_commit) {
  make_sparse(6);
  begin(0);
  EXPECT_EQ(get(0, key_of(3)), "not_found");    // page 0
  EXPECT_EQ(get(0, key_of(273)), "not_found");  // page 1
  put(0, left_in(0, 0), "own 0");
  put(0, left_in(1, 2), "own 1");
  AtSyncPoint joined("masstree:split_done", [&] {
    EXPECT_EQ(get(0, left_in(0, 0)), "own 0");
    insert(0, key_of(3), "own 3");
    insert(0, key_of(273), "own 273");
    EXPECT_EQ(get(0, left_in(1, 2)), "own 1");
    EXPECT_EQ(scan(0, "", key_of(540)).size(), 8u);
    expect_commit(0);
  });
  begin(1);
  insert(1, key_of(5), kPayload);
  EXPECT_EQ(joined.runs(), 1u);
  expect_commit(1);
  begin(0);
  EXPECT_EQ(get(0, key_of(273)), "own 273");
  EXPECT_EQ(get(0, left_in(1, 2)), "own 1");
  EXPECT_EQ(scan(0, "", key_of(540)).size(), 9u);
  expect_commit(0);
  verify();
}

TEST_F(MasstreeJoinTest, a_transaction_joins_pages_of_its_own_writes_reads_and_locks) {
  make_sparse(6);
  begin(0);
  char bytes[128];
  occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
  ASSERT_TRUE(masstree::get_for_update(ctx(0), rig_.control(), left_in(1, 0), &range).is_ok());
  EXPECT_EQ(scan(0, "", "").size(), left_.size());
  put(0, left_in(1, 1), "own 1");
  const std::uint64_t before = pages();
  insert(0, key_of(5), "own 5");
  EXPECT_EQ(pages(), before - 1);
  EXPECT_EQ(get(0, left_in(1, 1)), "own 1");
  EXPECT_TRUE(ctx(0).locks().holds(find(left_in(1, 0)).record()));
  put(0, left_in(1, 0), "own 0");
  expect_commit(0);
  begin(0);
  EXPECT_EQ(get(0, left_in(1, 0)), "own 0");
  EXPECT_EQ(get(0, key_of(5)), "own 5");
  expect_commit(0);
  verify();
}

TEST_F(MasstreeJoinTest, a_neighbour_whose_record_is_locked_stays_where_it_is) {
  make_sparse(2);
  begin(0);
  char bytes[128];
  occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
  ASSERT_TRUE(masstree::get_for_update(ctx(0), rig_.control(), left_in(1, 0), &range).is_ok());
  begin(1);
  insert(1, key_of(5), kPayload);
  expect_commit(1);
  expect_commit(0);
  EXPECT_EQ(verify().border_pages, 2u);
}

// Goal: a key that is erased, purged by a join and inserted again has ever newer TIDs, in either
// page (hard-parts 14).
TEST_F(MasstreeJoinTest, an_erased_key_starts_above_its_erasure_after_a_join) {
  make_sparse(6);
  const std::string keys[] = {left_in(2, 0), left_in(3, 0)};
  const std::uint64_t erased[] = {erased_version(1, keys[0]), erased_version(1, keys[1])};
  join_at(2, 2);
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_FALSE(find(keys[i]).found());
    begin(0);
    insert(0, keys[i], "again");
    EXPECT_GE(find(keys[i]).record()->load_tid().version(), erased[i]);
    expect_commit(0);
    EXPECT_GT(find(keys[i]).record()->load_tid().version(), erased[i]);
  }
  verify();
}

// Random inserts and erasures of rows, some with keys of several slices, with a model.
class Churn {
 public:
  Churn(Rig* rig, unsigned session, unsigned seed) : rig_(*rig), session_(session), random_(seed) {}

  void step(std::size_t rows) {
    RigSession& session = rig_.session(session_);
    session.begin();
    auto victim = model_.end();
    if (model_.size() >= rows) {
      victim = model_.lower_bound(key());
      if (victim == model_.end()) victim = model_.begin();
      const Status status = masstree::erase(session.ctx(), rig_.control(), victim->first);
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
    const std::string added = key();
    const std::string payload(8 + random_.below(300), static_cast<char>('a' + random_.below(26)));
    ASSERT_TRUE(masstree::write_whole(session.ctx(), rig_.control(), WriteMode::kPut, added,
                                      payload)
                    .is_ok());
    const Status status = session.commit();
    ASSERT_TRUE(status.is_ok()) << status.message();
    if (victim != model_.end()) model_.erase(victim);
    model_[added] = payload;
    if (++steps_ % 256 == 0) rig_.tick();
  }

  // Checks that the rows are the committed ones, also within a step.
  void check(unsigned session, bool reverse, const std::string& place) {
    RigSession& reader = rig_.session(session);
    reader.begin();
    masstree::Cursor cursor;
    cursor.open(reader.ctx(), rig_.control(), "", "", reverse);
    std::map<std::string, std::string> seen;
    std::size_t count = 0;
    for (;; ++count) {
      ASSERT_TRUE(cursor.next().is_ok()) << place;
      if (cursor.at_end()) break;
      seen.emplace(cursor.key(), cursor.payload());
    }
    ASSERT_EQ(count, seen.size()) << place;
    ASSERT_TRUE(reader.commit().is_ok()) << place;
    ASSERT_TRUE(seen == model_) << place;
  }
  const std::map<std::string, std::string>& model() const { return model_; }

 private:
  std::string key() {
    std::string key = key_of(2 * static_cast<unsigned>(random_.below(1'000'000)) + session_);
    if (random_.below(10) == 0) key = key.substr(0, 4) + "0000tail" + key;
    return key;
  }

  Rig& rig_;
  unsigned session_;
  base::Random random_;
  std::map<std::string, std::string> model_;
  unsigned steps_ = 0;
};

// Goal: readers find all rows at every step of every kind of join, forward and in reverse, and
// their reads verify.
TEST_F(MasstreeJoinTest, readers_find_all_keys_at_every_step) {
  for (const char* const place :
       {"masstree:merge_successors_set", "masstree:merge_half_marked",
        "masstree:merge_records_moved", "masstree:merge_half_moved", "masstree:merge_moved",
        "masstree:pair_shifting", "masstree:merged"}) {
    Rig fresh(StorageKind::kMasstree, 6);
    Churn churn(&fresh, 0, 1);
    unsigned calls = 0;
    AtSyncPoint reader(
        place,
        [&] {
          if (++calls % 16 == 0) churn.check(1, calls % 32 == 0, place);
        },
        true);
    for (unsigned i = 0; i < 6000 && !HasFailure(); ++i) churn.step(800);
    EXPECT_GT(calls, 100u) << place;
    churn.check(1, false, place);
    masstree::verify_tree(fresh.pool(), fresh.control());
  }
}

TEST_F(MasstreeJoinTest, random_inserts_and_erasures_keep_pages_more_than_half_full) {
  Churn churn(&rig_, 0, 2);
  for (unsigned i = 0; i < 3000; ++i) churn.step(3000);
  const std::uint64_t loaded = verify().border_pages;
  for (unsigned round = 0; round < 30 && !HasFailure(); ++round) {
    for (unsigned i = 0; i < 3000; ++i) churn.step(3000);
    const masstree::Statistics tree = verify();
    EXPECT_EQ(tree.records, churn.model().size());
    if (round < 5) continue;
    // Root pages of layers have few keys and do not count.
    const double pages = static_cast<double>(tree.border_pages - tree.layers);
    EXPECT_LT(pages, 1.6 * static_cast<double>(loaded));
    EXPECT_GT(static_cast<double>(tree.live_bytes) / pages, 0.5 * masstree::BorderPage::kBodyBytes);
  }
  churn.check(1, false, "end");
}

// Goal: a queue leaves no empty pages. Method: rows are inserted at one end and erased at the
// other, for several queues whose keys interleave.
TEST_F(MasstreeJoinTest, queues_leave_no_pages_behind) {
  for (const bool ascending : {true, false}) {
    for (const unsigned queues : {1u, 10u}) {
      Rig fresh(StorageKind::kMasstree, 2);
      RigSession& session = fresh.session(0);
      const auto key = [&](unsigned queue, unsigned i) {
        return key_of(queue * 1'000'000 + (ascending ? i : 999'999 - i));
      };
      constexpr unsigned kLength = 300;
      for (unsigned i = 0; i < 20'000 / queues; ++i) {
        for (unsigned queue = 0; queue < queues; ++queue) {
          session.begin();
          ASSERT_TRUE(masstree::write_whole(session.ctx(), fresh.control(), WriteMode::kInsert,
                                            key(queue, i), kPayload)
                          .is_ok());
          if (i >= kLength) {
            ASSERT_TRUE(masstree::erase(session.ctx(), fresh.control(), key(queue, i - kLength))
                            .is_ok());
          }
          ASSERT_TRUE(session.commit().is_ok());
        }
        if (i % 64 == 0) fresh.tick();
      }
      const masstree::Statistics tree = masstree::verify_tree(fresh.pool(), fresh.control());
      EXPECT_EQ(tree.records, queues * kLength);
      EXPECT_LT(tree.border_pages, queues * (kLength / kKeysPerPage + 4) * 2)
          << ascending << queues;
      EXPECT_LE(tree.interior_pages, 4u) << ascending << queues;
    }
  }
}

// Goal: the last children of interior pages, which are emptied when they have no neighbour, are
// freed as well. Method: a queue that spans some interior pages, and moves over many.
TEST_F(MasstreeJoinTest, a_long_queue_leaves_no_pages_behind) {
  constexpr unsigned kLength = 4'000;
  constexpr unsigned kPasses = 60;
  const std::string payload(400, 'x');
  for (const bool ascending : {true, false}) {
    Rig fresh(StorageKind::kMasstree, 2);
    RigSession& session = fresh.session(0);
    base::Random random(1);
    const auto key = [&](unsigned i) {
      return key_of(ascending ? i : kLength * (kPasses + 2) - i);
    };
    std::uint64_t pages_first = 0;
    for (unsigned i = 0; i < kLength * kPasses; ++i) {
      session.begin();
      ASSERT_TRUE(masstree::write_whole(session.ctx(), fresh.control(), WriteMode::kInsert, key(i),
                                        payload.substr(0, 8 + random.below(390)))
                      .is_ok());
      if (i >= kLength) {
        ASSERT_TRUE(masstree::erase(session.ctx(), fresh.control(), key(i - kLength)).is_ok());
      }
      ASSERT_TRUE(session.commit().is_ok());
      if (i % 64 == 0) fresh.tick();
      if (i % (kLength * 10) != kLength * 10 - 1) continue;
      const masstree::Statistics tree = masstree::verify_tree(fresh.pool(), fresh.control());
      const std::uint64_t pages = tree.border_pages + tree.interior_pages;
      if (pages_first == 0) pages_first = pages;
      EXPECT_LE(pages, pages_first + 12) << ascending << ' ' << i;
    }
  }
}

// Goal: interior pages are freed, with readers at every step, and the tree can grow again.
TEST_F(MasstreeJoinTest, a_tree_that_is_emptied_in_order_shrinks) {
  for (const char* const place :
       {"masstree:merge_interior_half_moved", "masstree:merge_interior_moved",
        "masstree:interior_merged", "masstree:shrunk", "masstree:merged"}) {
    Rig fresh(StorageKind::kMasstree, 6);
    RigSession& session = fresh.session(0);
    constexpr unsigned kKeys = 12'000;
    for (unsigned i = 0; i < kKeys; ++i) {
      session.begin();
      ASSERT_TRUE(masstree::write_whole(session.ctx(), fresh.control(), WriteMode::kInsert,
                                        key_of(i), kPayload)
                      .is_ok());
      ASSERT_TRUE(session.commit().is_ok());
    }
    EXPECT_GT(masstree::verify_tree(fresh.pool(), fresh.control()).interior_pages, 3u);
    unsigned erased = 0;
    AtSyncPoint reader(
        place,
        [&] {
          RigSession& other = fresh.session(1);
          other.begin();
          char bytes[200];
          for (unsigned i = 0; i < kKeys; i += 1 + kKeys / 128) {
            occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
            const Status status = masstree::get(other.ctx(), fresh.control(), key_of(i), &range);
            ASSERT_EQ(status.is_ok(), i >= erased) << place << " " << i;
          }
          ASSERT_TRUE(other.commit().is_ok());
        },
        true);
    for (; erased < kKeys && !HasFailure(); ++erased) {
      session.begin();
      ASSERT_TRUE(masstree::erase(session.ctx(), fresh.control(), key_of(erased)).is_ok());
      ASSERT_TRUE(session.commit().is_ok());
      if (erased % 256 == 0) fresh.tick();
    }
    EXPECT_GT(reader.runs(), 0u) << place;
    const masstree::Statistics tree = masstree::verify_tree(fresh.pool(), fresh.control());
    EXPECT_LE(tree.border_pages, 4u) << place;
    EXPECT_LE(tree.interior_pages, 2u) << place;
  }
}

// Goal: two sessions join, split and adopt the same pages. Method: at places where one holds no
// lock, the other makes whole rounds of its own.
TEST_F(MasstreeJoinTest, two_sessions_join_and_split_the_same_pages) {
  for (const char* const place :
       {"masstree:place_searched", "masstree:adopt_searched", "masstree:grow_searched",
        "masstree:split_done", "masstree:adopted"}) {
    Rig fresh(StorageKind::kMasstree, 6);
    Churn ours(&fresh, 0, 3);
    Churn theirs(&fresh, 1, 4);
    unsigned calls = 0;
    AtSyncPoint other(
        place,
        [&] {
          for (unsigned i = 0; i < 12 && ++calls < 20'000; ++i) theirs.step(300);
        },
        true);
    for (unsigned i = 0; i < 3000 && !HasFailure(); ++i) ours.step(300);
    EXPECT_GE(masstree::verify_tree(fresh.pool(), fresh.control()).records, 300u) << place;
  }
}

}  // namespace
}  // namespace foedus::testing::join_test
