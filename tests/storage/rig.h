#pragma once
// Rig: pool, clock, one storage and any number of sessions, without an engine around them. One
// thread can hold several transactions open and step the clock itself.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/txn/commit.h"
#include "tests/storage/parts.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::testing {

// One session and its open transaction.
class RigSession {
 public:
  RigSession(page::PagePool* pool, epoch::EpochClock* clock, std::uint32_t number,
             std::size_t log_bytes)
      : ring_(static_cast<char*>(std::aligned_alloc(4096, log_bytes)), &std::free),
        pages_(pool, clock, 0),
        log_(ring_.get(), log_bytes, number, nullptr),
        ctx_({pool, &pages_, clock, &log_, number, 0}) {}

  occ::TxnContext& begin(const TxnOptions& options = {}, bool is_retry = false) {
    if (ctx_.begin(options, is_retry)) ctx_.reacquire();
    return ctx_;
  }
  Status commit() {
    Epoch epoch;
    return txn::commit(&ctx_, &epoch);
  }
  void rollback() { txn::rollback(&ctx_); }
  occ::TxnContext& ctx() { return ctx_; }
  page::SessionPages& pages() { return pages_; }

 private:
  std::unique_ptr<char, void (*)(void*)> ring_;
  page::SessionPages pages_;
  log::LogBuffer log_;
  occ::TxnContext ctx_;
};

class Rig {
 public:
  explicit Rig(StorageKind kind, std::uint32_t sessions = 4, std::uint64_t pool_bytes = 256u << 20,
               std::size_t log_bytes = 32u << 20, std::uint64_t records = 0,
               std::uint32_t payload_bytes = 0)
      : topology_(numa::Topology::make(1).value()),
        budget_(pool_bytes),
        pool_(page::PagePool::make(&topology_, &budget_, pool_bytes, Facility::kTry, Facility::kOff)
                  .value()),
        clock_(&runtime_, Epoch(1), sessions, 1'000),
        control_({page::StorageId{1}, kind, "table", records, payload_bytes, 0}) {
    for (std::uint32_t i = 0; i < sessions; ++i) {
      sessions_.push_back(std::make_unique<RigSession>(pool_.get(), &clock_, i, log_bytes));
    }
    const Status status = storage::create(pool_.get(), &session(0).pages(), &control_);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }

  RigSession& session(std::uint32_t number) { return *sessions_[number]; }
  page::PagePool& pool() { return *pool_; }
  occ::StorageControl* control() { return &control_; }
  epoch::EpochClock& clock() { return clock_; }
  // Advances to the next epoch and reclaims pages. One thread at a time.
  void tick() {
    runtime_.run_for(2'000);
    clock_.step();
  }

 private:
  ManualRuntime runtime_;
  numa::Topology topology_;
  base::MemoryBudget budget_;
  std::unique_ptr<page::PagePool> pool_;
  epoch::EpochClock clock_;
  occ::StorageControl control_;
  std::vector<std::unique_ptr<RigSession>> sessions_;
};

}  // namespace foedus::testing
