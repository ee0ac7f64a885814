// The state that each step of the commit protocol leaves to the next one. Method: one thread
// inspects records at sync points and after commits that fail.
#include "foedus-core/txn/commit.h"

#include <new>
#include <string>

#include "tests/txn/commit_steps_fixture.h"

namespace foedus::testing::commit_steps_test {
namespace {

// Method: the record is inspected between the lock phase and the epoch, between the epoch and
// verify, and between log and release.
TEST_F(CommitStepsTest, a_record_is_locked_and_marked_from_before_the_epoch_to_behind_the_log) {
  commit_put(0, "k");
  const log::LogRecord* in_log = nullptr;
  const auto step = [&](const char* place, const std::function<void()>& look) {
    begin(0);
    put(0, "k", "new");
    in_log = ctx(0).sets().writes()[0].log;
    const AtSyncPoint stop(place, [&] {
      EXPECT_TRUE(is_locked("k")) << place;
      look();
    });
    expect_commit(0);
    EXPECT_EQ(stop.runs(), 1u) << place;
    EXPECT_FALSE(is_locked("k")) << place;
    EXPECT_FALSE(tid_of("k").is_being_written()) << place;
    EXPECT_EQ(in_commit(0), 0u) << place;
  };
  step("commit:locked", [&] {
    EXPECT_EQ(in_commit(0), 0u);
    EXPECT_EQ(first_byte_of("k"), 'o');
  });
  step("commit:serialized", [&] {
    EXPECT_EQ(in_commit(0), now().number());
    EXPECT_TRUE(tid_of("k").is_being_written());
  });
  const std::uint64_t committed = ctx(0).log().committed();
  step("commit:published", [&] {
    EXPECT_EQ(in_commit(0), now().number());
    EXPECT_TRUE(tid_of("k").is_being_written());
    EXPECT_EQ(page::Tid(in_log->tid).epoch(), now());
    EXPECT_EQ(first_byte_of("k"), 'n');
    EXPECT_GT(ctx(0).log().committed(), committed);
  });
}

// The next holder of the lock finds the final record, even after several writes of the commit to
// it.
TEST_F(CommitStepsTest, a_record_is_released_once_when_its_tid_is_set) {
  commit_put(0, "erased");
  commit_put(0, "written");
  begin(0);
  put(0, "erased", "new");
  put(0, "written", "new");
  erase(0, "erased");
  erase(0, "written");
  put(0, "written", "newer");
  const bool written_first = record_of("written") < record_of("erased");
  unsigned published = 0;
  const AtSyncPoint stop(
      "commit:record_published",
      [&] {
        const std::string_view key = (published++ == 0) == written_first ? "written" : "erased";
        EXPECT_TRUE(is_locked(key)) << key;
        EXPECT_FALSE(tid_of(key).is_being_written()) << key;
        EXPECT_EQ(tid_of(key).is_deleted(), key == "erased") << key;
        EXPECT_EQ(ctx(0).last_tid().version(), tid_of(key).version()) << "C7";
      },
      true);
  expect_commit(0);
  EXPECT_EQ(published, 2u);
  EXPECT_EQ(first_byte_of("written"), 'n');
}

// Otherwise a commit that waited could be of an earlier epoch than the commit that it waited for.
TEST_F(CommitStepsTest, a_commit_that_waits_for_its_locks_is_of_the_epoch_behind_them) {
  begin(0);
  put(0, "k", "late");
  const AtSyncPoint stop("commit:before_lock", [&] {
    rig_.tick();
    commit_put(1, "k", "early");
  });
  expect_commit(0);
  EXPECT_EQ(stop.runs(), 1u);
  EXPECT_EQ(tid_of("k").epoch(), now());
  EXPECT_EQ(first_byte_of("k"), 'l');
}

TEST_F(CommitStepsTest, a_tid_is_above_all_that_was_read_overwritten_or_committed_before) {
  commit_put(0, "earlier");
  for (int i = 0; i < 5; ++i) commit_put(0, "read");
  begin(1);
  EXPECT_EQ(get(1, "read"), "old");
  EXPECT_EQ(get(1, "earlier"), "old");
  put(1, "other", "x");
  expect_commit(1);
  EXPECT_GT(tid_of("other").version(), tid_of("read").version());

  const page::Tid overwritten = tid_of("other");
  commit_put(2, "other");
  EXPECT_GT(tid_of("other").version(), overwritten.version());

  commit_put(3, "one");
  commit_put(3, "another");
  EXPECT_GT(tid_of("another").version(), tid_of("one").version());

  rig_.tick();
  commit_put(0, "one");
  EXPECT_EQ(tid_of("one").epoch(), now());
}

TEST_F(CommitStepsTest, a_session_without_ordinals_waits_for_the_next_epoch) {
  begin(0);
  put(0, "k", "x");
  ctx(0).set_last_tid(page::Tid(now(), page::Tid::kOrdinalMax));
  expect_conflict(0, ConflictReason::kRetryBound);
  EXPECT_FALSE(is_locked("k"));
  EXPECT_EQ(in_commit(0), 0u);
  rig_.tick();
  commit_put(0, "k");
  EXPECT_EQ(tid_of("k").epoch(), now());
}

// Method: verify finds a changed read; of the two written records one was there, the other is new.
TEST_F(CommitStepsTest, a_commit_that_conflicts_leaves_records_as_they_were) {
  commit_put(0, "read");
  commit_put(0, "written");
  const page::Tid before = tid_of("written");
  begin(0);
  EXPECT_EQ(get(0, "read"), "old");
  put(0, "written", "new");
  put(0, "inserted", std::string(100'000, 'x'));
  const page::Tid inserted = tid_of("inserted");
  const std::uint64_t pages = rig_.control()->volatile_pages.load_relaxed();
  commit_put(1, "read", "new");
  expect_conflict(0, ConflictReason::kRecordChanged);
  EXPECT_EQ(tid_of("written").word(), before.word());
  EXPECT_EQ(tid_of("inserted").word(), inserted.word());
  EXPECT_TRUE(tid_of("inserted").is_deleted());
  EXPECT_FALSE(is_locked("written"));
  EXPECT_FALSE(is_locked("inserted"));
  EXPECT_LT(rig_.control()->volatile_pages.load_relaxed(), pages);  // the payload's
  EXPECT_EQ(in_commit(0), 0u);
  verify();
}

TEST_F(CommitStepsTest, a_commit_that_lacks_memory_fails_and_writes_nothing) {
  commit_put(0, "k");
  begin(0);
  put(0, "k", "new");
  const AtSyncPoint spent("commit:before_lock", [] { throw std::bad_alloc(); });
  Epoch epoch;
  EXPECT_EQ(txn::commit(&ctx(0), &epoch).code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(spent.runs(), 1u);
  EXPECT_EQ(first_byte_of("k"), 'o');
}

// The log has no record of the storage after that of its drop.
TEST_F(CommitStepsTest, a_write_to_a_storage_that_was_dropped_meanwhile_conflicts) {
  commit_put(0, "k");
  begin(0);
  put(0, "k", "new");
  const AtSyncPoint dropped("commit:serialized", [&] { rig_.control()->set_dropped(); });
  expect_conflict(0, ConflictReason::kPageDropped);
  EXPECT_EQ(dropped.runs(), 1u);
  EXPECT_EQ(first_byte_of("k"), 'o');
}

// Otherwise the session's next commit would publish the log records of the rolled-back one, too.
TEST_F(CommitStepsTest, what_was_rolled_back_is_not_in_the_log) {
  begin(0);
  put(0, "gone", "x");
  EXPECT_TRUE(ctx(0).log().has_open_records());
  rig_.session(0).rollback();
  EXPECT_FALSE(ctx(0).log().has_open_records());
  const std::uint64_t begin_of_next = ctx(0).log().committed();
  commit_put(0, "k");
  const auto* const logged =
      reinterpret_cast<const log::LogRecord*>(ctx(0).log().at(begin_of_next));
  EXPECT_EQ(logged->key(), "k");
  EXPECT_EQ(begin_of_next + logged->record_bytes, ctx(0).log().committed());
}

TEST_F(CommitStepsTest, a_premise_that_fails_leaves_no_lock) {
  commit_put(0, "other");
  commit_put(0, "k");
  begin(0);
  put(0, "other", "new");
  ASSERT_TRUE(write(0, WriteMode::kUpdate, "k", "new").is_ok());
  commit_erase(1, "k");
  expect_conflict(0, ConflictReason::kRecordChanged);
  EXPECT_FALSE(is_locked("other"));
  EXPECT_FALSE(is_locked("k"));
}

TEST_F(CommitStepsTest, a_conflict_at_commit_keeps_what_was_held_for_the_retry) {
  commit_put(0, "held");
  commit_put(0, "read");
  begin(0);
  hold(0, "held");
  EXPECT_EQ(get(0, "read"), "old");
  put(0, "held", "new");
  commit_put(1, "read", "new");
  expect_conflict(0, ConflictReason::kRecordChanged);
  EXPECT_FALSE(is_locked("held"));
  rig_.session(0).begin({}, true);
  ASSERT_EQ(ctx(0).locks().held().size(), 1u);
  EXPECT_EQ(ctx(0).locks().held().entries()[0].record, record_of("held"));
  rig_.session(0).rollback();
}

// A commit after a conflict conflicts even if the user's function ignored the error.
TEST_F(CommitStepsTest, a_transaction_that_met_a_conflict_does_not_commit) {
  commit_put(0, "k");
  begin(0);
  put(0, "k", "new");
  static_cast<void>(ctx(0).conflict(ConflictReason::kRecordLocked, rig_.control()));
  expect_conflict(0, ConflictReason::kRecordLocked);
  EXPECT_EQ(first_byte_of("k"), 'o');
}

TEST_F(CommitStepsTest, a_transaction_that_met_a_conflict_does_not_verify) {
  begin(0);
  static_cast<void>(ctx(0).conflict(ConflictReason::kRecordLocked, rig_.control()));
  EXPECT_EQ(txn::verify(&ctx(0)).code(), ErrorCode::kConflict);
  rig_.session(0).rollback();
}

// A reader writes nothing, but must not commit after reading half of another transaction's writes.
TEST_F(CommitStepsTest, a_reader_that_saw_two_times_conflicts) {
  commit_put(0, "a");
  commit_put(0, "b");
  begin(0);
  EXPECT_EQ(get(0, "a"), "old");
  begin(1);
  put(1, "a", "new");
  put(1, "b", "new");
  expect_commit(1);
  EXPECT_EQ(get(0, "b"), "new");
  expect_conflict(0, ConflictReason::kRecordChanged);
}

TEST_F(CommitStepsTest, a_reader_depends_on_the_newest_commit_that_it_saw) {
  commit_put(0, "earlier");
  rig_.tick();
  commit_put(0, "later");
  begin(1);
  EXPECT_EQ(get(1, "later"), "old");
  EXPECT_EQ(get(1, "earlier"), "old");
  Epoch epoch;
  ASSERT_TRUE(txn::commit(&ctx(1), &epoch).is_ok());
  EXPECT_EQ(epoch, tid_of("later").epoch());
}

// A missing key may have been erased, and its record purged, in any epoch up to now.
TEST_F(CommitStepsTest, a_reader_that_missed_a_key_depends_on_the_current_epoch) {
  commit_put(0, "k");
  const Epoch written = now();
  rig_.tick();
  rig_.tick();
  Epoch epoch;
  begin(1);
  EXPECT_EQ(get(1, "k"), "old");
  ASSERT_TRUE(txn::commit(&ctx(1), &epoch).is_ok());
  EXPECT_EQ(epoch, written);
  begin(1);
  EXPECT_EQ(get(1, "missing"), "not_found");
  ASSERT_TRUE(txn::commit(&ctx(1), &epoch).is_ok());
  EXPECT_EQ(epoch, now());
}

// Only what was read as absent may be absent again (C6).
TEST_F(CommitStepsTest, what_was_there_and_is_erased_is_a_conflict) {
  commit_put(0, "k");
  begin(0);
  EXPECT_EQ(get(0, "k"), "old");
  put(0, "other", "x");
  commit_erase(1, "k");
  expect_conflict(0, ConflictReason::kRecordChanged);
}

// Method: the deleted record is inserted and erased again, or is purged when its page splits.
TEST_F(CommitStepsTest, what_was_absent_and_is_absent_verifies) {
  commit_put(0, key_of(5));
  commit_erase(0, key_of(5));
  begin(0);
  EXPECT_EQ(get(0, key_of(5)), "not_found");
  commit_put(1, key_of(5));
  commit_erase(1, key_of(5));
  expect_commit(0);

  begin(0);
  EXPECT_EQ(get(0, key_of(5)), "not_found");
  ASSERT_EQ(ctx(0).sets().reads().size(), 1u);
  const page::RecordHeader* const read = ctx(0).sets().reads()[0].record;
  fill(1, 10, 700, 10);
  ASSERT_TRUE(read->load_tid().is_moved());
  ASSERT_FALSE(find(key_of(5)).found());
  expect_commit(0);
}

// Goal: a commit depends on no commit of a later epoch, because a crash could keep the one without
// the other (C2, C6). Method: the key is erased again in an epoch after that of a commit which read
// its absence.
TEST_F(CommitStepsTest, what_is_absent_again_since_a_later_epoch_is_a_conflict) {
  for (const bool ticks : {false, true}) {
    commit_put(0, "k");
    commit_erase(0, "k");
    begin(0);
    EXPECT_EQ(get(0, "k"), "not_found");
    put(0, "other", "x");
    commit_put(1, "k");
    const AtSyncPoint serialized("commit:serialized", [&] {
      if (ticks) rig_.tick();
      commit_erase(1, "k");
    });
    if (ticks) {
      expect_conflict(0, ConflictReason::kRecordChanged);
    } else {
      expect_commit(0);
      EXPECT_GT(tid_of("other").version(), tid_of("k").version());
    }
    EXPECT_EQ(serialized.runs(), 1u);
  }
}

TEST_F(CommitStepsTest, a_reader_of_what_is_absent_again_depends_on_who_erased_it) {
  commit_put(0, "k");
  commit_erase(0, "k");
  begin(0);
  EXPECT_EQ(get(0, "k"), "not_found");
  commit_put(1, "k");
  rig_.tick();
  commit_erase(1, "k");
  Epoch epoch;
  ASSERT_TRUE(txn::commit(&ctx(0), &epoch).is_ok());
  EXPECT_EQ(epoch, tid_of("k").epoch());
}

// Premises are verified before an error of the user's function is returned.
TEST_F(CommitStepsTest, premises_hold_from_the_oldest_write_on_and_not_under_a_mark) {
  commit_put(0, "old");
  begin(0);
  ASSERT_TRUE(write(0, WriteMode::kInsert, "new", "x").is_ok());
  ASSERT_TRUE(write(0, WriteMode::kUpdate, "new", "y").is_ok());
  EXPECT_TRUE(txn::verify(&ctx(0)).is_ok());
  EXPECT_TRUE(ctx(0).sets().reads().is_empty());  // preconditions left the read set
  rig_.session(0).rollback();

  begin(0);
  ASSERT_TRUE(write(0, WriteMode::kUpdate, "old", "y").is_ok());
  begin(1);
  erase(1, "old");
  const AtSyncPoint marked("commit:serialized",
                           [&] { EXPECT_EQ(txn::verify(&ctx(0)).code(), ErrorCode::kConflict); });
  expect_commit(1);
  EXPECT_EQ(marked.runs(), 1u);
  rig_.session(0).rollback();
}

// Both preconditions are checked: that the key is there, and that it is not.
TEST_F(CommitStepsTest, premises_about_records_that_a_split_purged_are_looked_at) {
  for (const unsigned first : {5u, 5'005u}) {
    commit_put(0, key_of(first));
    commit_put(0, key_of(first + 1));
    commit_erase(0, key_of(first));
    begin(0);
    insert(0, key_of(first), "x");
    if (first != 5) {
      ASSERT_TRUE(write(0, WriteMode::kUpdate, key_of(first + 1), "y").is_ok());
      commit_erase(1, key_of(first + 1));
    }
    fill(1, first + 5, first + 700, 10);
    ASSERT_TRUE(ctx(0).sets().writes()[0].record->load_tid().is_moved());
    ASSERT_FALSE(find(key_of(first)).found());
    EXPECT_EQ(txn::verify(&ctx(0)).is_ok(), first == 5);
    rig_.session(0).rollback();
  }
}

// A layer does not tell whether the key was there in between.
TEST_F(CommitStepsTest, a_premise_about_a_record_purged_from_a_new_layer_conflicts) {
  begin(0);
  insert(0, "prefix__key", "x");
  for (unsigned i = 0; i < 100; ++i) commit_put(1, "prefix__" + key_of(i), std::string(50, 'p'));
  ASSERT_FALSE(find("prefix__key").found());
  EXPECT_EQ(txn::verify(&ctx(0)).code(), ErrorCode::kConflict);
  rig_.session(0).rollback();
}

// Goal: the rounds of C6 are bounded. Method: an absent key is inserted and erased in each round,
// when verify finds that the record of another read has moved.
TEST_F(CommitStepsTest, a_key_that_comes_and_goes_in_every_round_is_a_conflict) {
  commit_put(0, key_of(5));
  commit_put(0, key_of(700));
  commit_erase(0, key_of(700));
  begin(0);
  EXPECT_EQ(get(0, key_of(700)), "not_found");
  EXPECT_EQ(get(0, key_of(5)), "old");
  put(0, "written", "x");
  fill(1, 10, 700, 10);
  ASSERT_TRUE(ctx(0).sets().reads()[1].record->load_tid().is_moved());
  const auto come_and_go = [&] {
    commit_put(1, key_of(700));
    commit_erase(1, key_of(700));
  };
  const AtSyncPoint moved("commit:read_moved", come_and_go, true);
  expect_conflict(0, ConflictReason::kRecordChanged);
  EXPECT_GE(moved.runs(), 8u);
}

// Otherwise two transactions that read each other's writes could both commit.
TEST_F(CommitStepsTest, a_read_of_what_another_one_is_writing_conflicts_behind_own_locks) {
  commit_put(0, "read");
  begin(1);
  EXPECT_EQ(get(1, "read"), "old");
  put(1, "written", "x");
  begin(0);
  put(0, "read", "new");
  const AtSyncPoint marked("commit:serialized",
                           [&] { expect_conflict(1, ConflictReason::kRecordLocked); });
  expect_commit(0);
  EXPECT_EQ(marked.runs(), 1u);
  EXPECT_FALSE(is_locked("written"));
}

TEST_F(CommitStepsTest, a_write_into_a_record_that_became_too_small_for_it_conflicts) {
  commit_put(0, "k", std::string(20, 'o'));
  begin(0);
  ASSERT_TRUE(storage::write_at(ctx(0), rig_.control(), "k", 10, "part").is_ok());
  commit_put(1, "k", "short");
  expect_conflict(0, ConflictReason::kRecordChanged);
  EXPECT_FALSE(is_locked("k"));
}

// Goal: commit checks the space for each put of a record, not for the first one only. Method: a
// record that had grown for the second put is purged, and comes back with space for the first.
TEST_F(CommitStepsTest, the_second_of_two_puts_that_fits_no_more_conflicts) {
  commit_put(0, key_of(3), "neighbour");
  begin(0);
  put(0, key_of(5), "short");
  put(0, key_of(5), std::string(500, 'l'));
  ASSERT_EQ(ctx(0).sets().writes().size(), 2u);
  ASSERT_GE(find(key_of(5)).slot.capacity(), 500u);
  fill(1, 10, 700, 10);
  ASSERT_FALSE(find(key_of(5)).found());
  commit_put(1, key_of(5), "theirs");
  ASSERT_LT(find(key_of(5)).slot.capacity(), 500u);
  expect_conflict(0, ConflictReason::kRecordChanged);
  EXPECT_FALSE(is_locked(key_of(5)));
  begin(0);
  EXPECT_EQ(get(0, key_of(5)), "theirs");
  EXPECT_EQ(get(0, key_of(3)), "neighbour");
  rig_.session(0).rollback();
}

// An error about the size of a payload depends on a read.
TEST_F(CommitStepsTest, a_part_outside_of_a_payload_conflicts_when_that_becomes_longer) {
  commit_put(0, "k", "short");
  begin(0);
  EXPECT_EQ(storage::write_at(ctx(0), rig_.control(), "k", 5, "part").code(),
            ErrorCode::kInvalidArgument);
  commit_put(1, "k", "long enough");
  EXPECT_EQ(txn::verify(&ctx(0)).code(), ErrorCode::kConflict);
  rig_.session(0).rollback();
}

}  // namespace
}  // namespace foedus::testing::commit_steps_test
