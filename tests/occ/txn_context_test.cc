#include "foedus-core/occ/txn_context.h"

#include <vector>

#include "tests/storage/storages.h"

namespace foedus::occ::txn_context_test {
namespace {

using storage::Storages;

class TxnContextTest : public ::testing::Test {
 protected:
  TxnContext& ctx(std::uint32_t session = 0) { return all_.ctx(session); }
  std::uint64_t pin(std::uint32_t session = 0) {
    return all_.clock().slot(session).pin.load_relaxed();
  }
  bool hold(std::uint32_t session, page::RecordHeader* record) {
    const Status status = ctx(session).hold(control_, record, "key");
    if (status.is_ok()) return true;
    EXPECT_EQ(status.conflict_reason(), ConflictReason::kRecordLocked);
    return false;
  }
  void begin_retry() {
    if (ctx().begin({}, true)) ctx().reacquire();
  }
  // Ends the open transaction of session 0 and begins its retry.
  void retry() {
    txn::rollback(&ctx(), true);
    begin_retry();
  }
  std::vector<const page::RecordHeader*> held() {
    std::vector<const page::RecordHeader*> records;
    for (const HeldLock& held : ctx().locks().held().entries()) records.push_back(held.record);
    return records;
  }

  Storages all_;
  StorageControl* const control_ = all_.make({.kind = StorageKind::kHash, .name = "hash"});
  page::RecordHeader records_[3];
  page::RecordHeader* const low_ = &records_[0];
  page::RecordHeader* const middle_ = &records_[1];
  page::RecordHeader* const high_ = &records_[2];
};

TEST_F(TxnContextTest, a_transaction_pins_its_epoch_until_it_ends) {
  ctx().begin({});
  EXPECT_EQ(pin(), all_.clock().current().number());
  const Epoch begun = all_.clock().current();
  all_.pass_epochs();
  EXPECT_LT(all_.clock().reclaimable(), begun);
  txn::rollback(&ctx());
  EXPECT_EQ(pin(), 0u);
  all_.pass_epochs();
  EXPECT_GT(all_.clock().reclaimable(), begun);
}

TEST_F(TxnContextTest, a_transaction_of_a_snapshot_pins_nothing) {
  ctx().begin({.isolation = Isolation::kSnapshot});
  EXPECT_EQ(pin(), 0u);
  txn::rollback(&ctx());
}

TEST_F(TxnContextTest, a_page_that_could_not_be_read_is_forgotten_with_its_transaction) {
  ctx().begin({});
  ctx().cold_pages().refuse(page::SnapshotPageId(1));
  EXPECT_TRUE(ctx().cold_pages().has_failed());
  txn::rollback(&ctx());
  ctx().begin({});
  EXPECT_FALSE(ctx().cold_pages().has_failed());
  EXPECT_EQ(ctx().no_page(control_).code(), ErrorCode::kOutOfMemory);
  txn::rollback(&ctx());
}

// After the transaction the page may be reused, or be lent to the cache.
TEST_F(TxnContextTest, a_page_is_marked_before_its_transaction_ends_and_not_after) {
  alignas(page::kPageBytes) static char pages[2][page::kPageBytes];
  const auto use_often = [&](int i) {
    for (int k = 0; k < 100; ++k) {
      ctx().uses().note(reinterpret_cast<page::RecordHeader*>(pages[i] + 2048));
    }
  };
  const auto take_mark = [&](int i) {
    return reinterpret_cast<page::PageHeader*>(pages[i])->take_used();
  };
  ctx().begin({});
  use_often(0);
  EXPECT_TRUE(take_mark(0));
  txn::rollback(&ctx());
  EXPECT_TRUE(take_mark(0));  // the last sampled use

  ctx().begin({});
  use_often(1);
  txn::rollback(&ctx());
  EXPECT_TRUE(take_mark(1));
  EXPECT_FALSE(take_mark(0));
}

// The records that a retry will lock must not be reclaimed meanwhile.
TEST_F(TxnContextTest, a_retry_that_will_lock_finds_its_pin_and_no_other_leaves_one) {
  ctx().begin({});
  const std::uint64_t begun = pin();
  txn::rollback(&ctx(), true);
  EXPECT_EQ(pin(), 0u);

  ctx().begin({});
  ASSERT_TRUE(hold(0, low_));
  txn::rollback(&ctx(), true);
  EXPECT_EQ(epoch::EpochClock::epoch_of_pin(pin()), begun);
  all_.pass_epochs();
  EXPECT_LT(all_.clock().reclaimable().number(), begun);
  begin_retry();
  EXPECT_EQ(pin(), begun);
  EXPECT_EQ(held().size(), 1u);
  txn::rollback(&ctx());
  EXPECT_EQ(pin(), 0u);

  ctx().begin({});
  ASSERT_TRUE(hold(0, low_));
  txn::rollback(&ctx(), true);
  EXPECT_NE(pin(), 0u);
  ctx().forget_retry();
  EXPECT_EQ(pin(), 0u);
}

// Goal: a session that is not used any more holds back no page. Method: its last transaction is
// retried, but after the clock has revoked its pin.
TEST_F(TxnContextTest, a_session_that_is_idle_before_its_retry_gives_its_pin_up) {
  ctx().begin({});
  ASSERT_TRUE(hold(0, low_));
  txn::rollback(&ctx(), true);
  const Epoch begun = all_.clock().current();
  all_.pass_time(200'000);
  EXPECT_EQ(pin(), 0u);
  EXPECT_GT(all_.clock().reclaimable(), begun);
  begin_retry();
  EXPECT_TRUE(held().empty());
  EXPECT_EQ(pin(), all_.clock().current().number());
  txn::rollback(&ctx());
  EXPECT_EQ(pin(), 0u);
}

TEST_F(TxnContextTest, a_retry_locks_by_address_what_was_held_in_any_order) {
  ctx().begin({});
  ASSERT_TRUE(hold(0, middle_));
  ASSERT_TRUE(hold(0, high_));
  ASSERT_TRUE(hold(0, low_));
  ASSERT_TRUE(hold(0, middle_));
  EXPECT_EQ(held().size(), 3u);
  retry();
  EXPECT_EQ(held(), (std::vector<const page::RecordHeader*>{low_, middle_, high_}));
  txn::rollback(&ctx());
  EXPECT_EQ(low_->lock.load_relaxed(), 0u);
}

TEST_F(TxnContextTest, a_retry_locks_what_was_read_once_its_reads_lock) {
  ctx().begin({});
  ctx().sets().remember_read(high_, page::Tid(), control_);
  retry();
  EXPECT_TRUE(held().empty());
  ctx().set_locks_reads(true);
  ctx().sets().remember_read(high_, page::Tid(), control_);
  ctx().sets().remember_read(low_, page::Tid(), control_);
  ctx().sets().remember_read(high_, page::Tid(), control_);
  ctx().sets().remember_read(low_, page::Tid(), control_);
  retry();
  EXPECT_EQ(held(), (std::vector<const page::RecordHeader*>{low_, high_}));
  txn::rollback(&ctx());
}

// Waiting for a lock below a held one could deadlock.
TEST_F(TxnContextTest, a_lock_below_one_that_is_held_is_only_tried_and_left_to_the_retry) {
  ctx(0).begin({});
  ctx(1).begin({});
  ASSERT_TRUE(hold(1, low_));
  ASSERT_TRUE(hold(0, high_));
  EXPECT_FALSE(hold(0, low_));
  EXPECT_TRUE(ctx(0).is_doomed());
  txn::rollback(&ctx(1));
  retry();
  EXPECT_EQ(held(), (std::vector<const page::RecordHeader*>{low_, high_}));
  txn::rollback(&ctx());
}

// Goal: a wait for a lock that is not released ends after a bounded time, with a message that names
// the holder. Method: one thread with two transactions.
TEST_F(TxnContextTest, a_lock_that_is_not_given_back_is_a_conflict_that_names_its_session) {
  const auto expect_conflict = [this](const std::string& text) {
    const Status status = ctx().hold(control_, low_, "key");
    EXPECT_EQ(status.conflict_reason(), ConflictReason::kRecordLocked);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
    EXPECT_TRUE(ctx().locks().has_timed_out());
    const Status later = ctx().conflict(ConflictReason::kNone, control_, "key");
    EXPECT_NE(later.message().find(text), std::string::npos) << later.message();
  };
  ctx().locks().set_wait_us(2'000);
  ctx(3).begin({});
  ASSERT_TRUE(hold(3, low_));
  ctx().begin({});
  expect_conflict(
      "in storage 'hash' at key \"key\": waited 2 ms for the record's lock, which session 3 has");
  txn::rollback(&ctx());
  txn::rollback(&ctx(3));
  ctx().begin({});
  EXPECT_FALSE(ctx().locks().has_timed_out());
  EXPECT_TRUE(hold(0, low_));
  txn::rollback(&ctx());

  LockWaiter waiter;
  lock(&low_->lock, &waiter);
  ctx().begin({});
  expect_conflict("waited 2 ms for the record's lock, which a change of its page");
  txn::rollback(&ctx());
  unlock(&low_->lock, &waiter);
  EXPECT_EQ(low_->lock.load_relaxed(), 0u);
}

// Goal: the retry of a transaction that held locks does not wait for ever either. Method: another
// transaction has the second of its two locks by then.
TEST_F(TxnContextTest, a_retry_goes_on_without_a_lock_that_is_not_given_back) {
  ctx().locks().set_wait_us(2'000);
  ctx().begin({});
  ASSERT_TRUE(hold(0, low_));
  ASSERT_TRUE(hold(0, high_));
  txn::rollback(&ctx(), true);
  ctx(1).begin({});
  ASSERT_TRUE(hold(1, high_));
  begin_retry();
  EXPECT_EQ(held(), std::vector<const page::RecordHeader*>{low_});
  EXPECT_FALSE(hold(0, high_));
  txn::rollback(&ctx());
  txn::rollback(&ctx(1));
  EXPECT_EQ(low_->lock.load_relaxed(), 0u);
  EXPECT_EQ(high_->lock.load_relaxed(), 0u);
}

// An install by a transaction updates its own entries of the pointer, except those of an older
// value: another transaction has changed the pointer since.
TEST_F(TxnContextTest, an_own_install_is_followed_only_from_what_it_replaced) {
  page::DualPagePointer pointer;
  page::DualPagePointer other;
  const page::DualPageIds older{page::VolatilePageId(), page::SnapshotPageId(7)};
  const page::DualPageIds before{page::VolatilePageId(), page::SnapshotPageId(8)};
  const page::DualPageIds after{page::VolatilePageId(9), page::SnapshotPageId(8)};
  ctx().begin({});
  ctx().sets().remember_pointer(&pointer, nullptr, older, control_);
  EXPECT_FALSE(ctx().sets().pointers().replace(&pointer, before, after));
  EXPECT_EQ(ctx().sets().pointers()[0].observed, older);
  ctx().sets().remember_pointer(&other, nullptr, before, control_);
  EXPECT_FALSE(ctx().sets().pointers().replace(&pointer, before, after));
  ctx().sets().remember_pointer(&pointer, nullptr, before, control_);
  EXPECT_TRUE(ctx().sets().pointers().replace(&pointer, before, after));
  ASSERT_EQ(ctx().sets().pointers().size(), 3u);
  EXPECT_EQ(ctx().sets().pointers()[0].observed, older);
  EXPECT_EQ(ctx().sets().pointers()[1].observed, before);
  EXPECT_EQ(ctx().sets().pointers()[2].observed, after);
  ctx().sets().pointers().clear();
  txn::rollback(&ctx());
}

// O17: a check of own writes begins after the writes that the last one has checked, if pages were
// born before it.
TEST_F(TxnContextTest, own_writes_that_were_seen_since_a_birth_are_not_looked_at_again) {
  const page::StorageId id = control_->id();
  const auto write = [&](page::RecordHeader* record) {
    const Status status = ctx().write(log::LogRecordType::kErase, control_, record, 0, "key", 0, "",
                                      Precondition::kNone);
    ASSERT_TRUE(status.is_ok()) << status.message();
  };
  ctx().begin({});
  write(low_);
  write(middle_);
  const Epoch now = all_.clock().current();
  const auto first = ctx().located_writes().begin(id, now);
  EXPECT_EQ(first.count, 0u);
  EXPECT_FALSE(ctx().located_writes().has_all(id, now.previous()));
  ctx().located_writes().end(first);
  EXPECT_TRUE(ctx().located_writes().has_all(id, now.previous()));
  EXPECT_FALSE(ctx().located_writes().has_all(id, now));  // a page may still be born in this epoch
  EXPECT_FALSE(ctx().located_writes().has_all(page::StorageId{77}, now.previous()));
  EXPECT_EQ(ctx().located_writes().begin(id, now).count, 0u);

  write(high_);
  EXPECT_FALSE(ctx().located_writes().has_all(id, now.previous()));
  all_.pass_epochs();
  const auto rest = ctx().located_writes().begin(id, now.previous());
  EXPECT_EQ(rest.count, 2u);
  ctx().located_writes().end(rest);
  EXPECT_TRUE(ctx().located_writes().has_all(id, now.previous()));
  EXPECT_FALSE(ctx().located_writes().has_all(id, now));  // the first two were checked before
  ctx().located_writes().end(ctx().located_writes().begin(id, now));
  EXPECT_TRUE(ctx().located_writes().has_all(id, now));
  txn::rollback(&ctx());
  ctx().begin({});
  EXPECT_FALSE(ctx().located_writes().has_all(id, now));
  txn::rollback(&ctx());
}

TEST_F(TxnContextTest, what_is_forgotten_of_a_pointer_is_what_was_observed_of_its_storage) {
  StorageControl* const other = all_.make({.kind = StorageKind::kHash, .name = "other"});
  page::DualPagePointer pointer;
  const page::DualPageIds older{page::VolatilePageId(), page::SnapshotPageId(7)};
  const page::DualPageIds before{page::VolatilePageId(), page::SnapshotPageId(8)};
  ctx().begin({});
  ctx().sets().remember_pointer(&pointer, nullptr, older, control_);
  EXPECT_FALSE(ctx().sets().forget_pointer(control_, before));
  ctx().sets().remember_pointer(&pointer, nullptr, before, control_);
  EXPECT_FALSE(ctx().sets().forget_pointer(other, before));
  EXPECT_TRUE(ctx().sets().forget_pointer(control_, before));
  ASSERT_EQ(ctx().sets().pointers().size(), 1u);
  EXPECT_EQ(ctx().sets().pointers()[0].observed, older);
  ctx().sets().pointers().clear();
  txn::rollback(&ctx());
}

}  // namespace
}  // namespace foedus::occ::txn_context_test
