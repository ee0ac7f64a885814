#pragma once
// Storages: any number of storages and sessions with what they need around them, without an engine,
// log files or threads of their own. A test steps the clock; sessions may be used by one thread or
// by one thread each. (rig.h is the same for one storage.)

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/memory_budget.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/snapshot/cache/page_cache.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus-core/txn/commit.h"
#include "tests/storage/parts.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::storage {

struct StoragesOptions {
  std::uint32_t sessions = 4;
  std::uint32_t socs = 1;
  std::uint64_t pool_bytes = 64u << 20;
  std::uint64_t log_bytes = 1u << 20;
  snapshot::PageReader* reader = nullptr;  // of snapshots; null without any
  std::uint64_t cache_bytes = 8u << 20;
  // The runtime of the clock's task, for tests in which sessions wait for the clock. Null: tests
  // step it.
  base::Runtime* runtime = nullptr;
};

class Storages {
 public:
  // A session, with one transaction after another.
  class Session {
   public:
    Session(Storages* all, std::uint32_t number)
        : pages_(all->pool_.get(), &all->clock_, number % all->topology_.socs()),
          memory_(static_cast<char*>(std::aligned_alloc(4096, all->options_.log_bytes)),
                  &std::free),
          log_(memory_.get(), all->options_.log_bytes, number, nullptr),
          ctx_({all->pool_.get(), &pages_, &all->clock_, &log_, number,
                number % all->topology_.socs(), all->cache_.get()}) {}
    ~Session() {
      if (ctx_.is_open()) txn::rollback(&ctx_);
    }

    occ::TxnContext& ctx() { return ctx_; }
    page::SessionPages& pages() { return pages_; }
    log::LogBuffer& log() { return log_; }

    void begin(const TxnOptions& options = {}, bool is_retry = false) {
      if (ctx_.begin(options, is_retry)) ctx_.reacquire();
    }
    Status commit() {
      Epoch epoch;
      return txn::commit(&ctx_, &epoch);
    }
    void rollback() { txn::rollback(&ctx_); }

   private:
    page::SessionPages pages_;
    std::unique_ptr<char, void (*)(void*)> memory_;
    log::LogBuffer log_;
    occ::TxnContext ctx_;
  };

  explicit Storages(const StoragesOptions& options = {})
      : options_(options),
        budget_(options.pool_bytes),
        topology_(numa::Topology::make(options.socs).value()),
        pool_(page::PagePool::make(&topology_, &budget_, options.pool_bytes, Facility::kOff,
                                   Facility::kOff)
                  .value()),
        clock_(options.runtime != nullptr ? options.runtime : &runtime_, Epoch(10),
               options.sessions, kIntervalUs),
        cache_(make_cache()) {
    for (std::uint32_t i = 0; i < options.sessions; ++i) {
      sessions_.push_back(std::make_unique<Session>(this, i));
    }
    if (options.runtime != nullptr) options.runtime->start(&clock_);
  }
  ~Storages() {
    if (options_.runtime != nullptr) options_.runtime->stop(&clock_);
    for (auto& control : controls_) drop(pool_.get(), &sessions_[0]->pages(), control.get());
    for (auto& control : controls_) {
      EXPECT_EQ(control->volatile_pages.load_relaxed(), 0u) << control->meta.name;
    }
  }

  Session& session(std::uint32_t i) { return *sessions_[i]; }
  occ::TxnContext& ctx(std::uint32_t i = 0) { return sessions_[i]->ctx(); }
  std::uint32_t socs() const { return topology_.socs(); }
  page::PagePool& pool() { return *pool_; }
  epoch::EpochClock& clock() { return clock_; }
  snapshot::PageCache* cache() { return cache_.get(); }

  // Lets at least two epochs pass, as far as open commits allow. One thread at a time.
  void pass_epochs() {
    for (int i = 0; i < 4; ++i) {
      if (options_.runtime != nullptr) {
        clock_.request_advance(clock_.current());
        options_.runtime->pause(kIntervalUs + 1);
        continue;
      }
      runtime_.run_for(kIntervalUs + 1);
      clock_.step();
    }
  }

  // Lets this time pass, and some epochs. REQUIRES: tests step the clock.
  void pass_time(std::uint64_t microseconds) {
    runtime_.run_for(microseconds);
    pass_epochs();
  }

  // Makes a storage, which is dropped at the end; then no page may be left.
  occ::StorageControl* make(storage_meta::StorageMeta meta) {
    meta.id = static_cast<page::StorageId>(controls_.size() + 1);
    if (meta.name.empty()) meta.name = "storage";
    controls_.push_back(std::make_unique<occ::StorageControl>(std::move(meta)));
    occ::StorageControl* const control = controls_.back().get();
    const Status status = create(pool_.get(), &sessions_[0]->pages(), control);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return control;
  }

 private:
  static constexpr std::uint64_t kIntervalUs = 1'000;

  std::unique_ptr<snapshot::PageCache> make_cache() {
    if (options_.reader == nullptr) return nullptr;
    return snapshot::PageCache::make(&topology_, &cache_budget_, options_.cache_bytes,
                                     Facility::kOff, Facility::kOff, options_.reader, &clock_)
        .value();
  }

  const StoragesOptions options_;
  base::MemoryBudget budget_;
  base::MemoryBudget cache_budget_{options_.cache_bytes};
  const numa::Topology topology_;
  testing::ManualRuntime runtime_;
  const std::unique_ptr<page::PagePool> pool_;
  epoch::EpochClock clock_;
  const std::unique_ptr<snapshot::PageCache> cache_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<occ::StorageControl>> controls_;
};

// A read of a whole payload, as a string.
struct WholeRead {
  Status status;
  std::string payload;
};
template <typename Get>
WholeRead read_whole(Get&& get) {
  WholeRead result;
  result.payload.resize(64);
  for (;;) {
    occ::ReadRange range;
    range.out = result.payload.data();
    range.out_bytes = static_cast<std::uint32_t>(result.payload.size());
    result.status = get(&range);
    if (!result.status.is_ok()) return result;
    const bool complete = range.payload_bytes <= result.payload.size();
    result.payload.resize(range.payload_bytes);
    if (complete) return result;
  }
}

}  // namespace foedus::storage
