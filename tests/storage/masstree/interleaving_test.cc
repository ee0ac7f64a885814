// Hand-stepped interleavings at sync points: another session's transaction runs within a system
// transaction.
#include <algorithm>
#include <map>

#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::interleaving_test {
namespace {

class MasstreeInterleavingTest : public MasstreeTest {
 protected:
  // Makes rows of session 0 and begins its next transaction.
  void begin_among_rows_that_move() {
    fill(0, 0, 640, 10);
    begin(0);
    put(0, "samesliceA", "a");
    expect_commit(0);
    begin(0);
  }
  // Lets session 1 split the pages of these rows, and make a layer of the last one.
  void move_rows() {
    fill(1, 1, 640, 10);
    begin(1);
    insert(1, "samesliceB", "b");
    expect_commit(1);
  }
};

// The steps of an insert at which a reader waits for no lock.
constexpr const char* kSteps[] = {
    "masstree:split_locked",     "masstree:split_twins_set", "masstree:split_records_moved",
    "masstree:split_page_moved", "masstree:split_done",      "masstree:adopt_searched",
    "masstree:adopt_shifted",    "masstree:adopted",         "masstree:interior_split",
    "masstree:grow_searched",    "masstree:grown",           "masstree:insert_locked",
    "masstree:layer_locked"};

// Session 0 puts one key after another, each in a transaction of its own; at a step of that, other
// sessions act.
class MasstreeSteps {
 public:
  explicit MasstreeSteps(std::string place) : place_(std::move(place)) {}

  // Fills the tree. Only large payloads make enough border pages to split an interior page.
  void fill(const std::function<void()>& before, const std::function<void()>& at_step) {
    const AtSyncPoint step(place_, at_step, true);
    for (unsigned i = 0; i < 1500 && !::testing::Test::HasFatalFailure(); ++i) {
      under_way_ = key_of((i * 7919u) % 100'000);
      if (i % 5 == 0) under_way_ += "tail" + std::to_string(i);
      if (i % 25 == 1) under_way_ = "12345678" + under_way_;
      before();
      rig_.session(0).begin();
      write(0, under_way_, 'x');
    }
    EXPECT_GT(step.runs(), 0u) << place_;
    masstree::verify_tree(rig_.pool(), rig_.control());
  }
  // Finishes a transaction.
  void write(unsigned number, const std::string& key, char letter) {
    const std::string payload(place_ == "masstree:interior_split" ? 900 : 1, letter);
    RigSession& session = rig_.session(number);
    expect_ok(masstree::write_whole(session.ctx(), rig_.control(), WriteMode::kPut, key, payload));
    expect_ok(session.commit());
    rows_[key] = payload;
  }
  void read(unsigned number, const std::string& key) {
    char bytes[1024];
    occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
    expect_ok(masstree::get(rig_.session(number).ctx(), rig_.control(), key, &range));
    ASSERT_EQ(std::string(bytes, range.payload_bytes), rows_.at(key)) << place_ << " " << key;
  }
  // Reads some rows one by one, and at times all of them by a cursor.
  void read_all(unsigned number) {
    RigSession& session = rig_.session(number);
    session.begin();
    const std::size_t stride = 1 + rows_.size() / 64;
    std::size_t i = 0;
    for (const auto& [key, payload] : rows_) {
      if (i++ % stride == 0) read(number, key);
    }
    if (scans_++ % 16 == 0) scan(session, scans_ % 32 == 1);
    expect_ok(session.commit());
  }
  // Returns the first or the last row, whichever is far from the write of session 0.
  const std::string& far() const {
    return under_way_ < key_of(50'000) ? rows_.rbegin()->first : rows_.begin()->first;
  }
  // Returns the rows on both sides of the key that is being put.
  std::vector<std::string> around() const {
    const auto above = rows_.lower_bound(under_way_);
    std::vector<std::string> keys;
    if (above != rows_.begin()) keys.push_back(std::prev(above)->first);
    if (above != rows_.end()) keys.push_back(above->first);
    return keys;
  }
  Rig& rig() { return rig_; }
  const std::map<std::string, std::string>& rows() const { return rows_; }

 private:
  void scan(RigSession& session, bool reverse) {
    masstree::Cursor cursor;
    cursor.open(session.ctx(), rig_.control(), "", "", reverse);
    std::size_t seen = 0;
    for (;; ++seen) {
      expect_ok(cursor.next());
      if (cursor.at_end()) break;
      ASSERT_EQ(rows_.count(std::string(cursor.key())), 1u) << place_ << " " << cursor.key();
    }
    ASSERT_EQ(seen, rows_.size()) << place_;
  }
  void expect_ok(const Status& status) {
    ASSERT_TRUE(status.is_ok()) << place_ << " " << under_way_ << " " << status.message();
  }

  const std::string place_;
  Rig rig_{StorageKind::kMasstree, 6};
  std::map<std::string, std::string> rows_;  // committed
  std::string under_way_;
  unsigned scans_ = 0;
};

// Goal: readers find all rows at every step of a split, an adoption, and growth, and their reads
// verify. Method: keys are read at each sync point, again and again.
TEST_F(MasstreeInterleavingTest, readers_find_all_keys_at_every_step_of_an_insert) {
  for (const char* const place : kSteps) {
    MasstreeSteps steps(place);
    steps.fill([] {}, [&] { steps.read_all(1); });
  }
}

// Goal: at each of these steps another transaction goes on and commits, although the step moves
// rows that it has read. Method: it began before the insert and read rows beside the key; at the
// sync point it reads them again and overwrites one that the insert has not locked.
TEST_F(MasstreeInterleavingTest, a_transaction_from_before_commits_at_every_step_of_an_insert) {
  for (const char* const place : kSteps) {
    MasstreeSteps steps(place);
    // A split locks all records of its page, so there must be other pages.
    const std::size_t rows_min = std::string_view(place).starts_with("masstree:split") ? 400 : 20;
    unsigned commits = 0;
    std::vector<std::string> seen;
    RigSession& session = steps.rig().session(2);
    const auto read_seen = [&] {
      for (const std::string& key : seen) steps.read(2, key);
    };
    const auto before = [&] {
      if (steps.rows().size() < rows_min) return;
      if (session.ctx().is_open()) session.rollback();
      session.begin();
      seen = steps.around();
      read_seen();
    };
    steps.fill(before, [&] {
      if (!session.ctx().is_open()) return;
      read_seen();
      steps.write(2, steps.far(), static_cast<char>('a' + commits++ % 26));
    });
    if (session.ctx().is_open()) session.rollback();
    EXPECT_GT(commits, 0u) << place;
  }
}

TEST_F(MasstreeInterleavingTest, an_insert_into_a_page_that_moved_meanwhile_arrives) {
  fill(0, 0, 640, 10);
  begin(0);
  AtSyncPoint other("masstree:place_searched", [&] { fill(1, 1, 640, 10); });
  insert(0, key_of(105), "mine");
  EXPECT_EQ(other.runs(), 1u);
  expect_commit(0);
  EXPECT_EQ(verify().records, 129u);
}

TEST_F(MasstreeInterleavingTest, two_inserts_of_one_key_at_once_give_one_record) {
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

TEST_F(MasstreeInterleavingTest, two_sessions_make_the_same_layer_once) {
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

// Goal: an inserter leaves an adoption to the next one if the parent was split, or the child was
// adopted, meanwhile.
TEST_F(MasstreeInterleavingTest, an_adoption_after_the_parent_split_is_left_to_the_next) {
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

// Goal: a cursor in a page can read on after that was retired, for as long as it likes, and the
// page is not reused meanwhile. Method: at each retirement of a page a cursor that was in the tree
// before goes on by two rows, another transaction reads all rows, and epochs pass.
TEST_F(MasstreeInterleavingTest, a_cursor_reads_on_in_pages_that_are_retired) {
  fill(0, 0, 600, 10);
  begin(1);
  masstree::Cursor cursor;
  cursor.open(ctx(1), rig_.control(), "", "", false);
  std::vector<std::string> seen;
  const auto go_on = [&](unsigned rows) {
    for (; rows != 0 && !cursor.at_end(); --rows) {
      const Status status = cursor.next();
      ASSERT_TRUE(status.is_ok()) << status.message();
      if (cursor.at_end()) return;
      ASSERT_TRUE(cursor.payload() == "x" || cursor.key() >= key_of(10'000)) << cursor.key();
      seen.emplace_back(cursor.key());
    }
  };
  go_on(5);
  page::SessionPages& pages = rig_.session(4).pages();
  {
    const AtSyncPoint at(
        "pages:retired",
        [&] {
          go_on(2);
          begin(3);
          for (unsigned i = 0; i < 600; i += 10) EXPECT_EQ(get(3, key_of(i)), "x");
          expect_commit(3);
          for (int i = 0; i < 4; ++i) rig_.tick();
        },
        true);
    fill(4, 1, 600, 10);
    EXPECT_GT(at.runs(), 0u);
  }
  const std::uint64_t retired = pages.retired_count();
  EXPECT_GT(retired, 0u);
  fill(4, 10'000, 30'000, 10, std::string(900, 'y'));
  EXPECT_GE(pages.retired_count(), retired);
  go_on(100'000);
  unsigned originals = 0;
  for (const std::string& key : seen) originals += key < key_of(600) && key.back() == '0' ? 1 : 0;
  EXPECT_EQ(originals, 60u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  expect_conflict(1, ConflictReason::kPageGained);
  for (int i = 0; i < 40 && pages.retired_count() != 0; ++i) {
    rig_.tick();
    begin(4);
    expect_commit(4);
  }
  EXPECT_EQ(pages.retired_count(), 0u);
  verify();
}

// Goal: a commit follows a record that moves by a split, or becomes a layer, before its lock is
// taken.
TEST_F(MasstreeInterleavingTest, a_commit_follows_records_that_move_before_its_locks) {
  begin_among_rows_that_move();
  put(0, key_of(100), "mine");
  put(0, "samesliceA", "mine");
  insert(0, key_of(105), "mine");
  EXPECT_EQ(get(0, key_of(200)), "x");
  AtSyncPoint other("commit:before_lock", [&] { move_rows(); });
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

// Goal: a commit follows a record that moves between the resolution of moved records and the locks
// in the order of addresses. Method: a record with two writes, whose locks are not tried first.
TEST_F(MasstreeInterleavingTest, a_commit_follows_records_that_move_before_its_sorted_locks) {
  begin_among_rows_that_move();
  put(0, key_of(100), "first");
  put(0, key_of(100), "mine");
  put(0, "samesliceA", "mine");
  AtSyncPoint other("commit:before_sorted_lock", [&] { move_rows(); });
  expect_commit(0);
  EXPECT_EQ(other.runs(), 1u);
  begin(0);
  EXPECT_EQ(get(0, key_of(100)), "mine");
  EXPECT_EQ(get(0, "samesliceA"), "mine");
  EXPECT_EQ(get(0, "samesliceB"), "b");
  expect_commit(0);
  verify();
}

// Goal: a commit writes to the new places of records that move after it has sorted them. Method: a
// lock of another session keeps it from locking the records in the order of the calls. That session
// lets go when the records are sorted, and they move.
TEST_F(MasstreeInterleavingTest, a_commit_writes_to_the_new_places_of_records_that_it_has_sorted) {
  begin_among_rows_that_move();
  put(0, key_of(100), "mine");
  put(0, "samesliceA", "mine");
  begin(2);
  occ::ReadRange range;
  ASSERT_TRUE(masstree::get_for_update(ctx(2), rig_.control(), key_of(100), &range).is_ok());
  AtSyncPoint other("commit:before_sorted_lock", [&] {
    rig_.session(2).rollback();
    move_rows();
  });
  expect_commit(0);
  EXPECT_EQ(other.runs(), 1u);
  begin(0);
  EXPECT_EQ(get(0, key_of(100)), "mine");
  EXPECT_EQ(get(0, "samesliceA"), "mine");
  expect_commit(0);
  verify();
}

// Goal: memory runs out at any allocation; the tree stays whole and keeps all commits.
TEST_F(MasstreeInterleavingTest, running_out_of_pages_changes_nothing) {
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

// Goal: a transaction in a storage that is dropped can read on and changes no page, and no page is
// retired twice.
TEST_F(MasstreeInterleavingTest, a_drop_stops_the_changes_of_older_transactions) {
  fill(0, 0, 2000, 1, std::string(100, 'x'));
  begin(0);
  begin(1);
  put(0, key_of(3000), "x");
  masstree::drop(&rig_.pool(), &rig_.session(1).pages(), rig_.control());
  rig_.control()->set_dropped();
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

// Goal: a drop also stops a transaction whose tree has a moved root and would grow now.
TEST_F(MasstreeInterleavingTest, a_drop_stops_the_growth_that_an_older_transaction_has_begun) {
  fill(0, 0, 640, 10);
  ASSERT_EQ(verify().border_pages, 1u);
  const page::DualPageIds root = rig_.control()->root.load();
  begin(0);
  const AtSyncPoint dropping("masstree:split_done", [&] {
    rig_.control()->set_dropped();
    masstree::drop(&rig_.pool(), &rig_.session(1).pages(), rig_.control());
  });
  const Status status = write(0, WriteMode::kPut, key_of(1), "x");
  EXPECT_EQ(dropping.runs(), 1u);
  EXPECT_EQ(status.conflict_reason(), ConflictReason::kPageDropped) << status.message();
  EXPECT_TRUE(rig_.control()->root.load() == root);
  rig_.session(0).rollback();
  EXPECT_EQ(rig_.control()->volatile_pages.load_relaxed(), 0u);
}

// Goal: a twin that its parent has not adopted is not joined with its neighbour, or the other twin
// would be lost (M17). Method: of four pages the second is nearly empty, and a row of it is locked,
// so that the third one splits; before the twins are adopted another session erases the rows of the
// first.
TEST_F(MasstreeInterleavingTest, a_twin_that_is_not_adopted_is_not_joined) {
  constexpr unsigned kKeysPerPage = 27;
  constexpr unsigned kFirst = 2 * kKeysPerPage;  // row of the page that splits
  constexpr unsigned kErased = 21;
  constexpr unsigned kLeft = 3 * kKeysPerPage - kErased + 3 + 1;
  const std::string payload(100, 'x');
  const auto erase_row = [&](unsigned i) {
    begin(0);
    erase(0, key_of(i * 10));
    expect_commit(0);
  };
  fill(0, 0, 4 * kKeysPerPage * 10, 10, payload);
  for (unsigned i = kKeysPerPage; i < kFirst; ++i) {
    if (i % 9 != 8) erase_row(i);
  }
  ASSERT_EQ(verify().border_pages, 4u);
  begin(2);
  occ::ReadRange range;
  const std::string locked = key_of((kKeysPerPage + 8) * 10);
  ASSERT_TRUE(masstree::get_for_update(ctx(2), rig_.control(), locked, &range).is_ok());
  {
    const AtSyncPoint split("masstree:split_done", [&] {
      rig_.session(2).rollback();
      for (unsigned i = kFirst; i < kFirst + kErased; ++i) erase_row(i);
    });
    begin(1);
    insert(1, key_of((kFirst + 24) * 10 + 5), payload);
    expect_commit(1);
    EXPECT_EQ(split.runs(), 1u);
  }
  EXPECT_EQ(verify().records, kLeft);
  begin(0);
  EXPECT_EQ(scan(0, "", "").size(), kLeft);
  expect_commit(0);
}

}  // namespace
}  // namespace foedus::testing::interleaving_test
