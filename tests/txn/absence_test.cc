// ctest-labels: concurrency
// A key that was absent when a transaction read it is inserted, and is erased while the transaction
// is being verified: absent at both checks, and present at the serialization point. Method: two
// sessions of one thread, the second one run between the verification of two reads of the first.
#include <functional>
#include <string>
#include <utility>

#include "foedus-core/base/system/sync_point.h"
#include "tests/testing/test_database.h"

namespace foedus::absence_test {
namespace {

using testing::must;
using testing::TestDatabase;

// Runs an action once when commit verifies a read whose record has moved.
class AtMovedRead {
 public:
  explicit AtMovedRead(std::function<void()> action) {
    action_ = std::move(action);
    base::set_sync_point_hook([](const char* place) {
      if (std::string_view(place) != "commit:read_moved" || !action_) return;  // other places pass
      std::exchange(action_, nullptr)();
    });
  }
  ~AtMovedRead() {
    base::set_sync_point_hook(nullptr);
    EXPECT_FALSE(action_) << "never reached";
    action_ = nullptr;
  }

 private:
  static inline std::function<void()> action_;
};

class AbsenceTest : public ::testing::Test {
 protected:
  using Change = std::function<Status(Txn&)>;

  AbsenceTest()
      : db_(seldom_epochs()),
        tree_(must(db_->open_masstree("tree"))),
        hash_(must(db_->open_hash("hash"))),
        array_(must(db_->open_array("array", 10, 8))),
        first_(must(db_->new_session())),
        second_(must(db_->new_session())) {
    make_movable();
  }
  // Makes a row that moves when the next one grows.
  void make_movable() {
    moved_ = must(db_->open_masstree("moved" + std::to_string(movables_++)));
    commit_second([&](Txn& two) -> Status {
      FOEDUS_CHECK(two.put(moved_, key(1u), "row"));
      return two.put(moved_, key(2u), "row");
    });
  }
  static Options seldom_epochs() {
    Options options = testing::small_options("");
    options.epoch_interval_us = 1'000'000;
    return options;
  }
  void commit_second(const Change& change) {
    Txn txn = must(second_.begin());
    must(change(txn));
    const Result<Ticket> ticket = txn.commit();
    ASSERT_TRUE(ticket.is_ok()) << ticket.status().message();
  }
  // Makes a deleted record of the key.
  void make_absent(const KeyedStorage& storage, std::string_view key) {
    commit_second([&](Txn& two) { return two.put(storage, key, "old"); });
    commit_second([&](Txn& two) { return two.erase(storage, key); });
  }
  // Lets the page of the keys that begin with `prefix` move, which purges deleted records.
  void move_page(std::string_view prefix) {
    const std::string number = std::to_string(9 - moves_++);  // before the keys of the last call
    for (int i = 0; i < 100; ++i) {
      const std::string row = std::string(prefix) + number + std::to_string(1000 + i);
      commit_second([&](Txn& two) { return two.put(tree_, row, "row"); });
    }
  }

  std::uint64_t cell(Txn& txn, std::uint64_t index) {
    return must(txn.get_as<std::uint64_t>(array_, index));
  }
  Status set_cell(Txn& txn, std::uint64_t index) {
    return txn.put(array_, index, std::uint64_t{1});
  }

  // The first session reads the old cell 0 and no `key`. The second one commits `appear` and cell
  // 1, which the first one reads, too. While that is verified, the second one erases the key, and
  // changes cell 0 if `changes_cell`. Only after this commit is there a state without the key and
  // with the new cell 1.
  //
  // Returns false if a new epoch between both commits made a conflict, so that nothing was tried.
  bool run(const KeyedStorage& storage, std::string_view key_of, const Change& appear,
           const std::function<void()>& vanish, bool changes_cell, bool writes,
           const std::function<void()>& before = nothing) {
    const Epoch epoch = db_->stats().current_epoch;
    Txn one = must(first_.begin());
    EXPECT_EQ(cell(one, 0), 0u);
    must(one.get(moved_, key(1u)));
    EXPECT_FALSE(must(one.contains(storage, key_of)));
    before();
    commit_second([&](Txn& two) -> Status {
      FOEDUS_CHECK(appear(two));
      FOEDUS_CHECK(two.put(moved_, key(2u), std::string(900, 'x')));
      return set_cell(two, 1);
    });
    EXPECT_EQ(cell(one, 1), 1u);
    if (writes) must(set_cell(one, 5));
    const AtMovedRead verified([&] {
      commit_second([&](Txn& two) -> Status {
        FOEDUS_CHECK(two.erase(storage, key_of));
        return changes_cell ? set_cell(two, 0) : Status();
      });
      vanish();
    });
    const Result<Ticket> ticket = one.commit();
    if (changes_cell) {
      EXPECT_EQ(ticket.code(), ErrorCode::kConflict);
      EXPECT_EQ(ticket.status().conflict_reason(), ConflictReason::kRecordChanged);
      return true;
    }
    if (!ticket.is_ok() && db_->stats().current_epoch != epoch) return false;
    EXPECT_TRUE(ticket.is_ok()) << ticket.status().message();
    return true;
  }
  static void nothing() {}

  TestDatabase db_;
  Masstree tree_;
  Hash hash_;
  Masstree moved_;
  Array array_;
  Session first_;
  Session second_;
  int moves_ = 0;
  int movables_ = 0;
};

class AbsenceRecordTest : public AbsenceTest, public ::testing::WithParamInterface<bool> {
 protected:
  void run_in(const KeyedStorage& storage, bool changes_cell) {
    for (int attempt = 0;; ++attempt) {
      ASSERT_LT(attempt, 100) << "a new epoch each time";
      const std::string name = "k" + std::to_string(attempt);
      make_absent(storage, name);
      const Change appear = [&](Txn& two) { return two.insert(storage, name, "new"); };
      if (run(storage, name, appear, nothing, changes_cell, GetParam())) return;
      commit_second([&](Txn& two) { return two.put(array_, 1, std::uint64_t{0}); });
      make_movable();
    }
  }
};

TEST_P(AbsenceRecordTest, of_a_tree_is_of_the_serialization_point) { run_in(tree_, true); }
TEST_P(AbsenceRecordTest, of_a_hash_is_of_the_serialization_point) { run_in(hash_, true); }
TEST_P(AbsenceRecordTest, of_a_tree_may_be_of_a_later_one) { run_in(tree_, false); }
TEST_P(AbsenceRecordTest, of_a_hash_may_be_of_a_later_one) { run_in(hash_, false); }

INSTANTIATE_TEST_SUITE_P(ReadOnlyAndWriting, AbsenceRecordTest, ::testing::Bool());

// A move of its page purges the deleted record.
class AbsencePurgedTest : public AbsenceTest, public ::testing::WithParamInterface<bool> {
 protected:
  void run_in_tree(const std::function<void()>& first_move) {
    make_absent(tree_, "key");
    const Change appear = [&](Txn& two) { return two.insert(tree_, "key", "new"); };
    run(tree_, "key", appear, [&] { move_page("key"); }, GetParam(), false, first_move);
  }
};

TEST_P(AbsencePurgedTest, while_it_is_verified) { run_in_tree(nothing); }

// Moves of the page purge two deleted records: the one that was read and the next one.
TEST_P(AbsencePurgedTest, twice) {
  run_in_tree([&] { move_page("key"); });
}

INSTANTIATE_TEST_SUITE_P(CellChangesToo, AbsencePurgedTest, ::testing::Bool());

// A layer does not tell whether the key was there in between, so two absences are not enough.
TEST_F(AbsenceTest, of_a_record_purged_from_a_new_layer_conflicts) {
  make_absent(tree_, "prefix__key");
  const Change appear = [&](Txn& two) -> Status {
    FOEDUS_CHECK(two.insert(tree_, "prefix__other", "new"));
    return two.insert(tree_, "prefix__key", "new");
  };
  run(tree_, "prefix__key", appear, [&] { move_page("prefix__"); }, true, false);
}

// An insert that found no key relies on its absence as a read does.
TEST_F(AbsenceTest, of_a_premise_is_of_the_point_of_the_reads) {
  Txn one = must(first_.begin());
  EXPECT_EQ(cell(one, 0), 0u);
  must(one.insert(moved_, key(7u), "mine"));
  must(one.insert(tree_, "k", "mine"));
  commit_second([&](Txn& two) -> Status {
    FOEDUS_CHECK(two.put(tree_, "k", "other"));
    FOEDUS_CHECK(two.put(moved_, key(2u), std::string(900, 'x')));
    return set_cell(two, 1);
  });
  EXPECT_EQ(cell(one, 1), 1u);
  Status verified;
  {
    const AtMovedRead at([&] {
      commit_second([&](Txn& two) -> Status {
        FOEDUS_CHECK(two.erase(tree_, "k"));
        return set_cell(two, 0);
      });
    });
    verified = one.verify();
  }
  EXPECT_EQ(verified.code(), ErrorCode::kConflict) << verified.message();
  one.rollback();
}

}  // namespace
}  // namespace foedus::absence_test
