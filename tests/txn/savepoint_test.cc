// Txn::rollback_to() undoes the writes since a savepoint and nothing else, and a serializable
// transaction still answers for what these writes have told it.
#include <functional>
#include <string>
#include <vector>

#include "tests/testing/at_sync_point.h"
#include "tests/testing/test_database.h"
#include "tests/txn/two_sessions.h"

namespace foedus::savepoint_test {
namespace {

using testing::must;
using Texts = std::vector<std::string>;

class SavepointTest : public testing::TwoSessionsTest {
 protected:
  SavepointTest()
      : tree_(must(db_->open_masstree("tree"))),
        hash_(must(db_->open_hash("hash"))),
        array_(must(db_->open_array("array", 10, 8))),
        log_(must(db_->open_sequential("log"))) {
    must(db_->transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.put(tree_, "a", "1"));
      FOEDUS_CHECK(txn.put(tree_, "b", "2"));
      return txn.put(hash_, "a", "1");
    }));
  }
  Texts rows(Txn& txn) {
    Texts found;
    Scan scan = txn.scan(tree_, "", "");
    for (const Row& row : scan) found.push_back(std::string(row.key) + std::string(row.payload));
    EXPECT_FALSE(scan.failure().has_value());
    return found;
  }
  Texts committed_rows() {
    Txn txn = must(second_.begin());
    Texts found = rows(txn);
    must(txn.commit());
    return found;
  }
  Texts appended(Txn& txn) {
    Texts found;
    Scan scan = txn.scan(log_);
    for (const Row& row : scan) found.emplace_back(row.payload);
    return found;
  }

  Masstree tree_;
  Hash hash_;
  Array array_;
  Sequential log_;
};

TEST_F(SavepointTest, writes_of_each_kind_are_undone_and_earlier_ones_stay) {
  Txn txn = must(first_.begin());
  must(txn.put(tree_, "c", "3"));
  must(txn.put(hash_, "kept", "1"));
  must(txn.put(array_, 1, std::uint64_t{11}));
  must(txn.append(log_, "kept"));
  const Savepoint point = must(txn.savepoint());
  must(txn.insert(tree_, "d", "4"));
  must(txn.update(tree_, "a", std::string(5'000, 'x')));
  must(txn.put(tree_, "c", "changed"));
  must(txn.erase(tree_, "b"));
  must(txn.erase(hash_, "a"));
  must(txn.write_at(hash_, "kept", 0, "9"));
  must(txn.put(array_, 1, std::uint64_t{12}));
  must(txn.increment(array_, 2, 0, 5));
  must(txn.append(log_, "undone"));
  must(txn.rollback_to(point));

  EXPECT_EQ(rows(txn), (Texts{"a1", "b2", "c3"}));
  EXPECT_EQ(must(txn.get(hash_, "a")), "1");
  EXPECT_EQ(must(txn.get(hash_, "kept")), "1");
  EXPECT_EQ(must(txn.get_as<std::uint64_t>(array_, 1)), 11u);
  EXPECT_EQ(must(txn.get_as<std::uint64_t>(array_, 2)), 0u);
  EXPECT_EQ(appended(txn), (Texts{"kept"}));
  must(txn.put(tree_, "d", "5"));
  must(txn.append(log_, "later"));
  must(txn.commit());

  EXPECT_EQ(committed_rows(), (Texts{"a1", "b2", "c3", "d5"}));
  Txn after = must(second_.begin());
  EXPECT_EQ(must(after.get(hash_, "kept")), "1");
  EXPECT_EQ(must(after.get_as<std::uint64_t>(array_, 1)), 11u);
  EXPECT_EQ(appended(after), (Texts{"kept", "later"}));
}

TEST_F(SavepointTest, a_savepoint_can_be_gone_back_to_again_and_ends_those_after_it) {
  Txn txn = must(first_.begin());
  const Savepoint outer = must(txn.savepoint());
  must(txn.put(tree_, "x", "1"));
  const Savepoint inner = must(txn.savepoint());
  must(txn.put(tree_, "y", "2"));
  must(txn.rollback_to(inner));
  EXPECT_EQ(rows(txn), (Texts{"a1", "b2", "x1"}));
  must(txn.rollback_to(inner));
  must(txn.rollback_to(outer));
  EXPECT_EQ(txn.rollback_to(inner).code(), ErrorCode::kInvalidArgument);
  must(txn.put(tree_, "z", "3"));
  EXPECT_EQ(txn.rollback_to(inner).code(), ErrorCode::kInvalidArgument) << "as many writes again";
  must(txn.rollback_to(outer));
  must(txn.rollback_to(outer));
  must(txn.commit());
  EXPECT_EQ(committed_rows(), (Texts{"a1", "b2"}));
}

TEST_F(SavepointTest, a_release_ends_savepoints_and_keeps_the_writes) {
  Txn txn = must(first_.begin());
  const Savepoint outer = must(txn.savepoint());
  must(txn.put(tree_, "x", "1"));
  const Savepoint inner = must(txn.savepoint());
  const Savepoint innermost = must(txn.savepoint());
  must(txn.release(inner));
  EXPECT_EQ(txn.rollback_to(innermost).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(txn.release(inner).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(rows(txn), (Texts{"a1", "b2", "x1"}));
  must(txn.rollback_to(outer));
  must(txn.commit());
  EXPECT_EQ(committed_rows(), (Texts{"a1", "b2"}));
}

TEST_F(SavepointTest, a_savepoint_of_another_transaction_is_refused) {
  Savepoint old;
  {
    Txn txn = must(first_.begin());
    old = must(txn.savepoint());
    EXPECT_EQ(txn.rollback_to(Savepoint()).code(), ErrorCode::kInvalidArgument);
    must(txn.commit());
    EXPECT_EQ(txn.rollback_to(old).code(), ErrorCode::kClosed);
    EXPECT_EQ(txn.savepoint().code(), ErrorCode::kClosed);
  }
  Txn next = must(first_.begin());
  Txn other = must(second_.begin());
  must(other.savepoint());
  EXPECT_EQ(next.rollback_to(old).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(other.rollback_to(old).code(), ErrorCode::kInvalidArgument);
}

// ---- what undone writes have told (C8) ----------------------------------------------------------

// A write that tells something, and a change by which that is no longer so.
struct Told {
  const char* what;
  std::function<Status(Txn&, const KeyedStorage&)> write;
  std::function<Status(Txn&, const KeyedStorage&)> change;
};

const std::vector<Told> kTold = {
    {"insert() found no row", [](Txn& txn, auto& of) { return txn.insert(of, "new", "1"); },
     [](Txn& txn, auto& of) { return txn.insert(of, "new", "2"); }},
    {"update() found one", [](Txn& txn, auto& of) { return txn.update(of, "row", "1"); },
     [](Txn& txn, auto& of) { return txn.erase(of, "row"); }},
    {"erase() found one", [](Txn& txn, auto& of) { return txn.erase(of, "row"); },
     [](Txn& txn, auto& of) { return txn.erase(of, "row"); }},
    {"increment() found one", [](Txn& txn, auto& of) { return txn.increment(of, "row", 8, 1); },
     [](Txn& txn, auto& of) { return txn.erase(of, "row"); }},
    {"write_at() found so many bytes",
     [](Txn& txn, auto& of) { return txn.write_at(of, "row", 15, "x"); },
     [](Txn& txn, auto& of) { return txn.update(of, "row", "fifteen bytes ."); }},
    {"a second write_at() found more bytes",
     [](Txn& txn, auto& of) {
       FOEDUS_CHECK(txn.write_at(of, "row", 0, "x"));
       return txn.write_at(of, "row", 15, "x");
     },
     [](Txn& txn, auto& of) { return txn.update(of, "row", "fifteen bytes ."); }},
};

class ToldTest : public SavepointTest {
 protected:
  // Inserts rows until the page of "row" must have been split.
  void move_row(const KeyedStorage& storage) {
    commit_second([&](Txn& other) -> Status {
      for (int i = 0; i < 200; ++i) {
        FOEDUS_CHECK(other.put(storage, "row" + std::to_string(i), std::string(100, 'x')));
      }
      return {};
    });
  }
  // Runs a transaction whose write is undone. The other session changes what the write has told,
  // before the undoing or after it. Returns whether the transaction committed.
  bool commits(const KeyedStorage& storage, const Told& told, bool is_before, bool is_changed) {
    commit_second([&](Txn& other) -> Status {
      if (must(other.contains(storage, "new"))) FOEDUS_CHECK(other.erase(storage, "new"));
      return other.put(storage, "row", "of sixteen bytes");
    });
    const auto change = [&] {
      if (is_changed) commit_second([&](Txn& other) { return told.change(other, storage); });
    };
    Txn txn = must(first_.begin());
    must(txn.put(tree_, "written", "anyway"));
    const Savepoint point = must(txn.savepoint());
    must(told.write(txn, storage));
    if (is_before) change();
    const Status back = txn.rollback_to(point);
    if (!is_before) change();
    EXPECT_EQ(back.is_ok(), !is_before || !is_changed) << told.what;
    const Result<Ticket> ticket = txn.commit();
    EXPECT_TRUE(ticket.is_ok() || ticket.code() == ErrorCode::kConflict);
    return ticket.is_ok();
  }
};

TEST_F(ToldTest, what_an_undone_write_has_told_is_verified) {
  for (const KeyedStorage& storage : std::vector<KeyedStorage>{tree_, hash_}) {
    for (const Told& told : kTold) {
      EXPECT_TRUE(commits(storage, told, false, false)) << told.what;
      EXPECT_FALSE(commits(storage, told, true, true)) << told.what << ", before";
      EXPECT_FALSE(commits(storage, told, false, true)) << told.what << ", after";
    }
  }
}

// The writer marks the record while rollback_to() looks at it, and then changes it or does not.
TEST_F(ToldTest, a_change_that_is_under_way_at_the_undoing_is_seen) {
  Txn txn = must(first_.begin());
  const Savepoint point = must(txn.savepoint());
  must(txn.insert(tree_, "new", "1"));
  Txn other = must(second_.begin());
  must(other.insert(tree_, "new", "2"));
  Status back;
  {
    const testing::AtSyncPoint marked("commit:serialized", [&] { back = txn.rollback_to(point); });
    must(other.commit());
    EXPECT_EQ(marked.runs(), 1u);
  }
  must(back);
  expect_conflict(txn.commit(), ConflictReason::kRecordChanged);
}

// Other sessions move the record to another page, and shorten its payload there.
TEST_F(ToldTest, a_record_that_has_moved_is_looked_at_where_it_is) {
  for (const KeyedStorage& storage : std::vector<KeyedStorage>{tree_, hash_}) {
    commit_second([&](Txn& other) { return other.put(storage, "row", "of sixteen bytes"); });
    Txn txn = must(first_.begin());
    const Savepoint point = must(txn.savepoint());
    must(txn.write_at(storage, "row", 15, "x"));
    move_row(storage);
    commit_second([&](Txn& other) { return other.update(storage, "row", "fifteen bytes ."); });
    EXPECT_EQ(txn.rollback_to(point).code(), ErrorCode::kConflict);
  }
}

// The record becomes a layer of the tree just before the look at it. Its word never changes again,
// so the read must be of the record in the layer.
TEST_F(ToldTest, a_record_that_moves_during_the_undoing_is_looked_at_again) {
  commit_second(
      [&](Txn& other) { return other.put(tree_, "8 bytes and more", "of sixteen bytes"); });
  Txn txn = must(first_.begin());
  must(txn.put(tree_, "written", "anyway"));
  const Savepoint point = must(txn.savepoint());
  must(txn.write_at(tree_, "8 bytes and more", 15, "x"));
  {
    const testing::AtSyncPoint found("txn:precondition_found", [&] {
      commit_second([&](Txn& other) { return other.put(tree_, "8 bytes and others", ""); });
    });
    must(txn.rollback_to(point));
    EXPECT_EQ(found.runs(), 1u);
  }
  commit_second([&](Txn& other) { return other.update(tree_, "8 bytes and more", "shorter"); });
  expect_conflict(txn.commit(), ConflictReason::kRecordChanged);
}

TEST_F(ToldTest, writes_that_tell_nothing_conflict_with_nothing_once_undone) {
  Txn txn = must(first_.begin());
  const Savepoint point = must(txn.savepoint());
  must(txn.put(tree_, "a", "mine"));
  must(txn.put(hash_, "b", "mine"));
  must(txn.update(tree_, "a", "found my own"));
  must(txn.rollback_to(point));
  must(txn.put(tree_, "written", "anyway"));
  commit_second([&](Txn& other) -> Status {
    FOEDUS_CHECK(other.erase(tree_, "a"));
    return other.put(hash_, "b", "2");
  });
  must(txn.commit());
}

// A kept increment relies on the row and its size already, so others may go on incrementing it.
TEST_F(ToldTest, a_kept_write_answers_for_an_undone_one_of_its_record) {
  must(db_->transact([&](Txn& txn) { return txn.put(tree_, "sum", std::uint64_t{0}); }));
  Txn txn = must(first_.begin());
  must(txn.increment(tree_, "sum", 0, 1));
  const Savepoint point = must(txn.savepoint());
  must(txn.increment(tree_, "sum", 0, 10));
  must(txn.update(tree_, "sum", std::string(100, 'x')));
  must(txn.rollback_to(point));
  commit_second([&](Txn& other) { return other.increment(tree_, "sum", 0, 100); });
  must(txn.commit());
  EXPECT_EQ(must(db_->transact([&](Txn& t) { return t.get_as<std::uint64_t>(tree_, "sum"); })),
            101u);
}

TEST_F(SavepointTest, reads_since_the_savepoint_are_verified) {
  Txn txn = must(first_.begin());
  must(txn.put(tree_, "written", "anyway"));
  const Savepoint point = must(txn.savepoint());
  must(txn.get(tree_, "a"));
  must(txn.rollback_to(point));
  commit_second([&](Txn& other) { return other.put(tree_, "a", "changed"); });
  expect_conflict(txn.commit(), ConflictReason::kRecordChanged);
}

TEST_F(SavepointTest, a_locked_record_stays_locked) {
  Txn txn = must(first_.begin());
  const Savepoint point = must(txn.savepoint());
  std::byte out[8];
  must(txn.get_for_update(tree_, "b", out));
  must(txn.put(tree_, "b", "undone"));
  must(txn.rollback_to(point));
  Txn other = must(second_.begin());
  must(other.get_for_update(tree_, "a", out));  // so the other lock is tried, not waited for
  EXPECT_EQ(other.get_for_update(tree_, "b", out).code(), ErrorCode::kConflict);
  must(txn.commit());
}

// ---- scans that stay open -----------------------------------------------------------------------

TEST_F(SavepointTest, an_open_scan_goes_on_over_the_rows_that_are_left) {
  Txn txn = must(first_.begin());
  const Savepoint point = must(txn.savepoint());
  must(txn.put(tree_, "aa", "undone"));
  must(txn.put(tree_, "c", "undone"));
  Scan scan = txn.scan(tree_, "", "");
  auto row = scan.begin();
  EXPECT_EQ(row->key, "a");
  ++row;
  EXPECT_EQ(row->key, "aa");
  must(txn.rollback_to(point));
  must(txn.put(tree_, "d", "1"));  // as many writes as before
  must(txn.put(tree_, "e", "1"));
  Texts rest;
  for (++row; row != scan.end(); ++row) rest.emplace_back(row->key);
  EXPECT_FALSE(scan.failure().has_value());
  EXPECT_EQ(rest, (Texts{"b", "d", "e"}));
}

TEST_F(SavepointTest, an_open_scan_of_appends_returns_those_that_come_after_the_undoing) {
  Txn txn = must(first_.begin());
  must(txn.append(log_, "1"));
  const Savepoint point = must(txn.savepoint());
  must(txn.append(log_, "2"));
  must(txn.append(log_, "3"));
  Scan scan = txn.scan(log_);
  auto row = scan.begin();
  ++row;
  EXPECT_EQ(row->payload, "2");
  must(txn.rollback_to(point));
  must(txn.append(log_, "4"));
  must(txn.rollback_to(point));
  must(txn.append(log_, "5"));
  must(txn.append(log_, "6"));
  Texts rest;
  for (++row; row != scan.end(); ++row) rest.emplace_back(row->payload);
  EXPECT_EQ(rest, (Texts{"5", "6"}));
}

TEST_F(SavepointTest, a_scan_of_a_hash_goes_on) {
  Txn txn = must(first_.begin());
  const Savepoint point = must(txn.savepoint());
  for (int i = 0; i < 40; ++i) must(txn.put(hash_, std::to_string(i), "undone"));
  Scan scan = txn.scan(hash_);
  auto row = scan.begin();
  for (int i = 0; i < 5; ++i) ++row;
  must(txn.rollback_to(point));
  unsigned undone = 0;
  for (++row; row != scan.end(); ++row) undone += row->payload == "undone" ? 1 : 0;
  EXPECT_FALSE(scan.failure().has_value());
  EXPECT_EQ(undone, 0u);
}

// ---- the log ------------------------------------------------------------------------------------

// The records of undone writes must not be replayed.
TEST_F(SavepointTest, undone_writes_do_not_come_back_with_a_recovery) {
  for (unsigned i = 0; i < 20; ++i) {
    commit_second([&](Txn& txn) -> Status {
      const std::string name = "row " + std::to_string(100 + i);
      FOEDUS_CHECK(txn.put(tree_, name, "kept"));
      FOEDUS_TRY(const Savepoint point, txn.savepoint());
      for (unsigned j = 0; j < 40; ++j) {  // beyond the first size of the ring
        FOEDUS_CHECK(txn.put(tree_, "undone " + std::to_string(j), std::string(1'000, 'x')));
      }
      FOEDUS_CHECK(txn.erase(tree_, name));
      FOEDUS_CHECK(txn.rollback_to(point));
      return txn.append(log_, std::to_string(i));
    });
  }
  { const Session first = std::move(first_), second = std::move(second_); }
  db_.reopen();
  tree_ = must(db_->open_masstree("tree"));
  log_ = must(db_->open_sequential("log"));
  must(db_->transact([&](Txn& txn) -> Status {
    const Texts found = rows(txn);
    EXPECT_EQ(found.size(), 22u);
    for (const std::string& row : found) EXPECT_FALSE(row.starts_with("undone")) << row;
    EXPECT_EQ(appended(txn).size(), 20u);
    return {};
  }));
}

TEST_F(SavepointTest, a_transaction_that_has_become_too_large_can_go_back_and_commit) {
  Txn txn = must(first_.begin());
  must(txn.put(tree_, "kept", "1"));
  const Savepoint point = must(txn.savepoint());
  Status status;
  const std::string large(1'000, 'x');
  for (unsigned i = 0; status.is_ok(); ++i) status = txn.put(tree_, std::to_string(i), large);
  EXPECT_EQ(status.code(), ErrorCode::kTooLarge) << status.message();
  must(txn.rollback_to(point));
  for (unsigned i = 0; i < 100; ++i) must(txn.put(hash_, std::to_string(i), large));
  must(txn.commit());
  EXPECT_EQ(committed_rows(), (Texts{"a1", "b2", "kept1"}));
}

// The pages of a payload that is larger than a page are free again.
TEST_F(SavepointTest, undone_large_payloads_give_their_pages_back) {
  Txn txn = must(first_.begin());
  const Savepoint point = must(txn.savepoint());
  const std::string large(300'000, 'x');
  for (unsigned i = 0; i < 1'000; ++i) {  // more than the memory of the database in all
    must(txn.put(tree_, "large", large));
    must(txn.rollback_to(point));
  }
  must(txn.commit());
}

TEST_F(SavepointTest, a_conflict_ends_savepoints_with_the_transaction) {
  Txn txn = must(first_.begin());
  must(txn.get(tree_, "a"));
  const Savepoint point = must(txn.savepoint());
  commit_second([&](Txn& other) { return other.put(tree_, "a", "changed"); });
  EXPECT_EQ(txn.verify().code(), ErrorCode::kConflict);
  EXPECT_EQ(txn.savepoint().code(), ErrorCode::kConflict);
  EXPECT_EQ(txn.rollback_to(point).code(), ErrorCode::kConflict);
  EXPECT_EQ(txn.release(point).code(), ErrorCode::kConflict);
}

}  // namespace
}  // namespace foedus::savepoint_test
