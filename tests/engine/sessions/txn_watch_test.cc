// The age from which a transaction is revoked. One thread and a simulated device.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::txn_watch_test {
namespace {

using testing::AtSyncPoint;
using testing::must;

constexpr std::uint64_t kTimeoutUs = 100'000;
constexpr std::uint64_t kLookUs = kTimeoutUs / 4;

class TxnWatchTest : public ::testing::Test {
 protected:
  TxnWatchTest() {
    Options options = testing::small_options("/failing");
    options.transaction_timeout_us = kTimeoutUs;
    options.sessions_max = 4;
    engine_ = must(engine::Engine::open(options, {.runtime = &runtime_, .device = &device_}));
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kArray;
    meta.name = "array";
    meta.records = 10;
    meta.payload_bytes = 8;
    array_ = internal::StorageAccess::make<Array>(must(engine_->catalog().open(meta)));
    for (engine::EngineSession*& session : sessions_) session = must(engine_->take_session());
  }
  ~TxnWatchTest() override { must(engine_->close()); }

  Txn begin(int session) { return must(engine::begin_txn(sessions_[session], {})); }
  ErrorCode read(Txn* txn) { return txn->get_as<std::uint64_t>(array_, 1).code(); }

  testing::FailingDevice device_;
  testing::ManualRuntime runtime_{1};
  std::unique_ptr<engine::Engine> engine_;
  Array array_;
  engine::EngineSession* sessions_[2] = {};
};

TEST_F(TxnWatchTest, a_transaction_is_revoked_at_the_timeout_and_not_before_it) {
  for (std::uint64_t begin_us = 0; begin_us < kLookUs; begin_us += 3'000) {
    runtime_.run_for(3'000);
    Txn txn = begin(0);
    runtime_.run_for(kTimeoutUs - 1'000);
    EXPECT_EQ(read(&txn), ErrorCode::kOk);
    runtime_.run_for(2 * kLookUs + 2'000);
    EXPECT_EQ(read(&txn), ErrorCode::kTimeout);
    txn.rollback();
  }
}

// Goal: a transaction that begins while the clock stands still has its whole time. Method: a commit
// holds the clock back for twice the timeout, as if its thread had no processor, and the other
// transaction begins near the end of that.
TEST_F(TxnWatchTest, a_young_transaction_stays_however_long_a_commit_holds_the_clock_back) {
  Txn slow = begin(0);
  must(slow.put(array_, 0, std::uint64_t{1}));
  std::optional<Txn> young;
  const AtSyncPoint at("commit:serialized", [&] {
    runtime_.run_for(2 * kTimeoutUs);
    young.emplace(begin(1));
    runtime_.run_for(2 * kLookUs);
    EXPECT_EQ(read(&*young), ErrorCode::kOk);
  });
  must(slow.commit());
  ASSERT_EQ(at.runs(), 1u);
  EXPECT_EQ(read(&*young), ErrorCode::kOk);
  must(young->commit());
}

// Goal: a retry that is revoked while it waits for the locks of its last try has none of them in
// the end. Method: the watch looks twice, a timeout apart, before the retry takes its lock.
TEST_F(TxnWatchTest, a_retry_that_is_revoked_while_it_waits_for_locks_keeps_none) {
  Txn conflicts = begin(0);
  std::uint64_t value = 0;
  must(conflicts.get_for_update(array_, 2, std::as_writable_bytes(std::span(&value, 1))));
  EXPECT_EQ(read(&conflicts), ErrorCode::kOk);
  Txn other = begin(1);
  must(other.put(array_, 1, std::uint64_t{5}));
  must(other.commit());
  EXPECT_EQ(conflicts.commit().code(), ErrorCode::kConflict);

  const AtSyncPoint at("occ:reacquire", [&] { runtime_.run_for(kTimeoutUs + 3 * kLookUs); });
  EXPECT_EQ(engine::begin_txn(sessions_[0], {}, true).code(), ErrorCode::kTimeout);
  ASSERT_EQ(at.runs(), 1u);
  Txn next = begin(1);
  must(next.put(array_, 2, std::uint64_t{6}));  // no transaction has the lock
  must(next.commit());
  Txn again = begin(0);
  EXPECT_EQ(read(&again), ErrorCode::kOk);
  must(again.commit());
}

// Goal: the time of a transaction begins anew with each transaction of a session.
TEST_F(TxnWatchTest, a_session_that_is_never_idle_has_young_transactions) {
  for (int i = 0; i < 20; ++i) {
    Txn txn = begin(0);
    runtime_.run_for(kTimeoutUs / 2);
    EXPECT_EQ(read(&txn), ErrorCode::kOk);
    must(txn.commit());
  }
}

}  // namespace
}  // namespace foedus::txn_watch_test
