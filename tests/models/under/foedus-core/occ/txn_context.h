#pragma once
// Stands in for occ/txn_context.h and what it includes: the sets of a transaction as small vectors,
// with the calls of txn/commit*.cc. All of it belongs to one thread; shared objects (records,
// clock, log ring) are the engine's own.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/line_allocator.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"
#include "foedus/txn.h"

namespace foedus::page {
class PagePool;  // the model's
}

namespace foedus::occ {

struct ReadEntry {
  page::RecordHeader* record;
  page::Tid observed;
  StorageControl* storage;
};

enum class Precondition : std::uint8_t { kNone, kPresent, kAbsent };

struct WriteEntry {
  page::RecordHeader* record;
  log::LogRecord* log;
  StorageControl* storage = nullptr;
  LockWaiter* waiter = nullptr;
  std::uint64_t overflow = 0;
  std::uint32_t place = 0;
  std::uint32_t next_own = 0;  // never followed: no record has two entries
  Precondition precondition = Precondition::kNone;
  std::uint64_t value = 0;  // written by the model's apply()

  bool is_whole() const {
    return log->type == log::LogRecordType::kPut || log->type == log::LogRecordType::kErase;
  }
};

struct PointerEntry {
  StorageControl* storage;
};
enum class PointerState : std::uint8_t { kSame, kInstalled, kDropped };

struct PageEntry {
  page::PageHeader* page;
  page::PageVersion observed;
  StorageControl* storage;
};

// No lock is held before the commit.
struct HeldLocks {
  bool are_below(const page::RecordHeader*) const { return true; }
  bool is_empty() const { return true; }
};

class WriteSet {
 public:
  struct Own {
    std::uint32_t oldest;
  };
  struct Sorted {
    page::RecordHeader* record;
    WriteEntry* entry;
  };

  bool is_empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  base::LineVector<WriteEntry>& entries() { return entries_; }
  WriteEntry& operator[](std::uint32_t i) { return entries_[i]; }
  Own find(const page::RecordHeader*) const { return {0}; }
  void move(const page::RecordHeader* from, page::RecordHeader* to, std::uint32_t) {
    for (WriteEntry& entry : entries_) {
      if (entry.record == from) entry.record = to;
    }
  }
  void sort() {
    sorted_.clear();
    for (WriteEntry& entry : entries_) sorted_.push_back({entry.record, &entry});
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const Sorted& a, const Sorted& b) { return a.record < b.record; });
  }
  void unsort() { sorted_.clear(); }
  bool has_one_for_each() const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (entries_[i].record == entries_[j].record) return false;
      }
    }
    return true;
  }
  const std::vector<Sorted>& sorted() const { return sorted_; }

 private:
  base::LineVector<WriteEntry> entries_;
  std::vector<Sorted> sorted_;
};

class ReadSet {
 public:
  void add(const ReadEntry& entry) { entries_.push_back(entry); }
  void truncate(std::size_t count) { entries_.resize(count); }
  std::size_t size() const { return entries_.size(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }

 private:
  std::vector<ReadEntry> entries_;
};

class PageSet {
 public:
  bool is_empty() const { return entries_.empty(); }
  std::vector<PageEntry>& entries() { return entries_; }

 private:
  std::vector<PageEntry> entries_;
};

// Waiters stay at their addresses for the whole execution of the model (O2).
class WaiterPool {
 public:
  explicit WaiterPool(std::uint32_t session) : session_(session) {}
  LockWaiter* take() {
    waiters_.emplace_back().set_session(session_);
    return &waiters_.back();
  }

 private:
  const std::uint32_t session_;
  std::deque<LockWaiter> waiters_;
};

class AccessSets {
 public:
  WriteSet& writes() { return writes_; }
  PageSet& pages() { return pages_; }
  ReadSet& reads() { return reads_; }
  std::vector<PointerEntry>& pointers() { return pointers_; }

 private:
  WriteSet writes_;
  PageSet pages_;
  ReadSet reads_;
  std::vector<PointerEntry> pointers_;
};

class TxnLocks {
 public:
  explicit TxnLocks(std::uint32_t session) : waiters_(session) {}
  bool lock(page::RecordHeader* record, LockWaiter* waiter) {
    occ::lock(&record->lock, waiter);
    return true;
  }
  bool holds(const page::RecordHeader*) const { return false; }
  HeldLocks held() const { return {}; }
  WaiterPool& waiters() { return waiters_; }
  void release() {}

 private:
  WaiterPool waiters_;
};

class TxnContext {
 public:
  struct Counters {
    int commits;
    int rollbacks;
    static void count(int* counter) { ++*counter; }
  };

  TxnContext(page::PagePool* pool, epoch::EpochClock* clock, log::LogBuffer* log,
             std::uint32_t session)
      : pool_(pool), clock_(clock), log_(log), session_(session), locks_(session) {}

  page::PagePool& pool() { return *pool_; }
  epoch::EpochClock& clock() { return *clock_; }
  log::LogBuffer& log() { return *log_; }
  std::uint32_t session() const { return session_; }

  bool is_open() const { return true; }
  bool is_doomed() const { return false; }
  Isolation isolation() const { return Isolation::kSerializable; }
  Epoch begin_epoch() const { return begin_epoch_; }
  Status conflict(ConflictReason, StorageControl*, std::string_view = {}) {
    return ErrorCode::kConflict;
  }
  void end() {}
  void end_for_retry() {}

  AccessSets& sets() { return sets_; }
  TxnLocks& locks() { return locks_; }
  Counters& counters() { return counters_; }
  page::Tid last_tid() const { return last_tid_; }
  page::Tid tid_floor() const { return {}; }
  void set_last_tid(page::Tid tid) { last_tid_ = tid; }

 private:
  page::PagePool* const pool_;
  epoch::EpochClock* const clock_;
  log::LogBuffer* const log_;
  const std::uint32_t session_;
  AccessSets sets_;
  TxnLocks locks_;
  Counters counters_{};
  page::Tid last_tid_;
  Epoch begin_epoch_;
};

}  // namespace foedus::occ
