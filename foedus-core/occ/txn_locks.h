#pragma once
// TxnLocks: the record locks that a transaction takes before its commit (get_for_update, and reads
// of the second half of transact()'s tries), and those that its retry takes first.
//
//     held --release()--> to reacquire --reacquire(), in the retry's begin--> held

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "foedus-core/base/line_allocator.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/occ/address_index.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/tid.h"
#include "foedus/status.h"

namespace foedus::occ {

// Microseconds for which a transaction waits for a record's lock before it conflicts: a user may
// have forgotten to end a transaction that locked the record by get_for_update().
inline constexpr std::uint64_t kLockWaitUs = 10'000'000;

// A record lock that a transaction took before its commit.
struct HeldLock {
  page::RecordHeader* record;
  LockWaiter* waiter;
};

// The record locks that a transaction holds. Lookup is O(1), however many there are.
class HeldLocks {
 public:
  explicit HeldLocks(base::MemorySource* source = nullptr)
      : entries_(base::LineAllocator<HeldLock>(source)), index_(source) {}

  bool is_empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const base::LineVector<HeldLock>& entries() const { return entries_; }
  bool contains(const page::RecordHeader* record) const {
    return !entries_.empty() && find(record) != AddressIndex::kNone;
  }
  // Returns whether all held records lie at lower addresses than `record`, so that its lock may be
  // waited for (O1). May return false although they do, if the record with the highest address has
  // moved away.
  bool are_below(const page::RecordHeader* record) const { return highest_ < address_of(record); }
  void add(page::RecordHeader* record, LockWaiter* waiter);
  // Makes room: `count` more locks need no allocation.
  void reserve(std::size_t count) {
    base::reserve_more(&entries_, count);
    index_.reserve(count);
  }
  // Updates the entry of a record that has moved from `from` to `to`. `waiter` holds the lock of
  // `to`. Returns the waiter that holds the lock of `from`. REQUIRES: contains(from).
  LockWaiter* move(const page::RecordHeader* from, page::RecordHeader* to, LockWaiter* waiter);
  void clear() {
    entries_.clear();
    base::trim(&entries_, kKeptBytesMax);
    index_.clear();
    highest_ = 0;
  }

 private:
  static std::uintptr_t address_of(const page::RecordHeader* record) {
    return reinterpret_cast<std::uintptr_t>(record);
  }
  // Returns the index of the lock in entries_, or kNone. index_ also keeps the addresses from which
  // records have moved away; they do not count.
  std::uint32_t find(const page::RecordHeader* record) const {
    const std::uint32_t i = index_.find(record);
    return i == AddressIndex::kNone || entries_[i].record != record ? AddressIndex::kNone : i;
  }

  base::LineVector<HeldLock> entries_;
  AddressIndex index_;  // record -> entries_
  std::uintptr_t highest_ = 0;
};

// WaiterPool: LockWaiters of a transaction, which stay at their addresses (O2). Their memory is
// kept for the next transaction.
class WaiterPool {
 public:
  WaiterPool() = default;  // for a system transaction: the memory is not counted
  WaiterPool(base::MemorySource* source, std::uint32_t session)
      : source_(source), session_(session) {}
  ~WaiterPool() { drop_blocks(0); }
  WaiterPool(const WaiterPool&) = delete;
  WaiterPool& operator=(const WaiterPool&) = delete;

  LockWaiter* take() {
    if (next_ == end_) [[unlikely]]
      begin_block();
    return next_++;
  }
  // Makes room: `count` more waiters are taken without allocation.
  void reserve(std::size_t count) {
    while (blocks_.size() < blocks_used_ + (count + kBlockWaiters - 1) / kBlockWaiters) add_block();
  }
  void clear() {
    blocks_used_ = 0;
    next_ = end_ = nullptr;
    if (blocks_.size() > kBlocksKept) [[unlikely]]
      drop_blocks(kBlocksKept);
  }

 private:
  static constexpr std::size_t kBlockWaiters = 256;
  static constexpr std::size_t kBlockBytes = kBlockWaiters * sizeof(LockWaiter);
  static constexpr std::size_t kBlocksKept = kKeptBytesMax / kBlockBytes;

  void add_block();
  void drop_blocks(std::size_t kept);
  void begin_block() {
    if (blocks_used_ == blocks_.size()) add_block();
    next_ = blocks_[blocks_used_++].get();
    end_ = next_ + kBlockWaiters;
  }

  base::MemorySource* const source_ = nullptr;
  const std::int64_t session_ = -1;
  std::vector<std::unique_ptr<LockWaiter[]>> blocks_;
  std::size_t blocks_used_ = 0;
  LockWaiter* next_ = nullptr;
  LockWaiter* end_ = nullptr;
};

class TxnLocks {
 public:
  TxnLocks(base::MemorySource* source, std::uint32_t session)
      : held_(source),
        to_reacquire_(base::LineAllocator<page::RecordHeader*>(source)),
        waiters_(source, session) {}

  // Locks `record`. Returns false if the wait took longer than set_wait_us() allows. REQUIRES: the
  // lock order permits to wait for this lock (O1).
  [[nodiscard]] bool lock(page::RecordHeader* record, LockWaiter* waiter) {
    if (lock_for(&record->lock, waiter, wait_us_)) [[likely]]
      return true;
    set_timed_out(*waiter);
    return false;
  }
  // Returns whether lock() has failed. Then transact() does not retry: the retry would wait as
  // long.
  bool has_timed_out() const { return timeout_.waited_us != 0; }
  // Returns `status` with a text that says for how long lock() waited, and which session has the
  // lock.
  [[gnu::cold]] Status with_timeout(Status status) const;
  // Sets the time for which lock() waits at most. Until the first call it is kLockWaitUs.
  void set_wait_us(std::uint64_t wait_us) { wait_us_ = wait_us; }

  // Locks the record until release(). Waits for the lock only if all held records have lower
  // addresses (O1), and otherwise tries it for a short time. Returns false if the wait timed out or
  // the try failed. Throws std::bad_alloc before it locks anything.
  [[nodiscard]] bool hold(page::RecordHeader* record);
  bool holds(const page::RecordHeader* record) const { return held_.contains(record); }
  HeldLocks& held() { return held_; }
  WaiterPool& waiters() { return waiters_; }
  // Makes room: `count` more locks can be held without allocation.
  void reserve(std::size_t count) {
    waiters_.reserve(count);
    held_.reserve(count);
  }
  // Releases the locks of hold() and reacquire(). Remembers their records for a retry.
  void release();

  // ---- between a transaction and its retry ---------------------------------------------------
  bool has_to_reacquire() const { return !to_reacquire_.empty(); }
  // Adds a record to those that the retry locks first. Does nothing if there is no memory.
  void add_to_reacquire(page::RecordHeader* record) {
    base::trying([&] { to_reacquire_.push_back(record); });
  }
  // Sorts the records for the retry by address (O1), and removes duplicates.
  void sort_for_retry();
  // Locks the records for the retry, and waits for each lock. If a wait times out, leaves that
  // record and all after it to the calls of the retry that ask for them. Does not look whether a
  // record has moved meanwhile: the lock of such a record does no harm, and no good.
  void reacquire();
  void forget_retry() { to_reacquire_.clear(); }

  // Begins a transaction.
  void begin() { timeout_ = {}; }
  // Ends a transaction. REQUIRES: no lock is held.
  void end() { waiters_.clear(); }

 private:
  struct Timeout {
    std::uint64_t waited_us = 0;  // 0: no lock() has timed out
    std::int64_t session = -1;    // the holder; -1: a system transaction
  };

  [[gnu::cold]] void set_timed_out(const LockWaiter& waiter) {
    timeout_ = {wait_us_, waiter.met_session()};
  }

  HeldLocks held_;
  // Valid between two transactions only while the session's pin is lent (E26). Once the clock has
  // cleared the pin, the pages of these records may be reused.
  base::LineVector<page::RecordHeader*> to_reacquire_;
  WaiterPool waiters_;
  Timeout timeout_;
  std::uint64_t wait_us_ = kLockWaitUs;
};

}  // namespace foedus::occ
