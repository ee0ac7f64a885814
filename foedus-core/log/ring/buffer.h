#pragma once
// LogBuffer: the ring in which one session builds its log records. The logger of its SOC writes
// them from there to a segment without another copy (paper §6.1).
//
//     ... free     |durable ........ committed ........ tail|... free
//                 | written by the  | published, not  | the open transaction
//                 v logger next     v yet durable     v
//
//   word        written by   read by           meaning
//   tail        session      session           end of the open transaction's records
//   committed   session      logger            end of the published records (L4)
//   durable     logger       session, logger   all before it is synced; its space may be used again
//
//   L4  committed moves only after all records before it have their TIDs, and before the
//       transaction's locks are released: a transaction that read from this one publishes after it.
//   L5  durable <= committed <= tail <= durable + capacity. All are counted from the session's
//       start; the place in the ring is the offset modulo capacity. (FOEDUS has a fourth offset,
//       head, for readers of durable records in memory. Here only the logger reads a ring, so head
//       would equal durable.)
//   L6  A record lies in one piece. Space before the ring's end that is too small for it is filler.
//   L28 The records of a transaction take at most half of the ring, filler aside. So whether they
//       fit does not depend on where the ring stands. With filler they need at most the whole ring:
//       each filler is smaller than the record after it, so all fillers together take less than
//       half.
//   L30 A ring begins small and grows to a multiple of its size when a transaction needs more, or
//       when the session would wait for space. It grows only while durable == committed: the logger
//       then has no byte of it to write. The logger reads only bytes below committed. It reads the
//       ring's address only after an acquire of a committed that was published since the move. All
//       offsets stay. A record that lies in one piece does so in a ring of a multiple of the size,
//       too.

#include <cstddef>
#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/log/ring/record.h"
#include "foedus/status.h"

namespace foedus::log {

class LogBuffer;

// The logger as a session sees it when the ring is full.
class LogSpace {
 public:
  virtual ~LogSpace() = default;
  // Returns once durable of `buffer` is at least `offset`. kOutOfSpace, kOutOfMemory: the logger
  // lacks space or memory at present. kClosed: it does not run. Else: the error that made the log
  // fail. Called by the session.
  virtual Status wait_for_space(const LogBuffer& buffer, std::uint64_t offset) = 0;
};

// Maps records of the open transaction from the old ring to the new one after a growth.
class RingMove {
 public:
  RingMove(char* from, std::uint64_t from_bytes, char* to, std::uint64_t to_bytes,
           std::uint64_t begin)
      : from_(from), from_bytes_(from_bytes), to_(to), to_bytes_(to_bytes), begin_(begin) {}

  LogRecord* moved(const LogRecord* record) const {
    const std::uint64_t place =
        static_cast<std::uint64_t>(reinterpret_cast<const char*>(record) - from_);
    // The record's offset is the first at this place from `begin_` on: records take less than the
    // ring.
    const std::uint64_t offset = begin_ + ((place - begin_) & (from_bytes_ - 1));
    return reinterpret_cast<LogRecord*>(to_ + (offset & (to_bytes_ - 1)));
  }

 private:
  char* const from_;
  const std::uint64_t from_bytes_;
  char* const to_;
  const std::uint64_t to_bytes_;
  const std::uint64_t begin_;  // offset of the transaction's first record
};

// The owner of the memory into which a ring grows.
class RingSource {
 public:
  virtual ~RingSource() = default;
  // Returns memory for a ring of `bytes` bytes, aligned to 4096, or kOutOfMemory. The old ring
  // stays as it is until the open transaction has ended. `is_needed`: the transaction cannot go on
  // without it.
  virtual Result<char*> grow_ring(std::uint64_t bytes, bool is_needed) = 0;
  // Reports that the records of the open transaction have moved.
  virtual void ring_has_moved(const RingMove& move) = 0;
};

class LogBuffer {
 public:
  // `memory`: `capacity` bytes aligned to 4096, a power of two, owned by the caller. If `space` is
  // null, nothing is logged, and published records are durable at once. The ring grows up to
  // `capacity_max` bytes, a power of two, in memory of `source`; if that is null, it does not grow.
  LogBuffer(char* memory, std::uint64_t capacity, std::uint32_t session_number, LogSpace* space,
            RingSource* source = nullptr, std::uint64_t capacity_max = 0)
      : session_number_(session_number),
        space_(space),
        source_(source),
        capacity_max_(source == nullptr ? capacity : capacity_max),
        memory_(memory),
        capacity_(capacity) {}
  LogBuffer(const LogBuffer&) = delete;
  LogBuffer& operator=(const LogBuffer&) = delete;

  std::uint32_t session_number() const { return session_number_; }
  // Read by the session, and by the logger while it has bytes of the ring to write (L30).
  std::uint64_t capacity() const { return capacity_; }

  // ---- session -------------------------------------------------------------------------------

  // Reserves space for a record of `bytes` (a multiple of 8) after those of the open transaction.
  // Waits for the logger while the ring is full. Returns null, with an error in `status`, if there
  // is no space: kTooLarge (the transaction takes over half of the ring), or LogSpace's error.
  LogRecord* reserve(std::size_t bytes, Status* status) {
    LogRecord* const record = try_reserve(bytes);
    return record != nullptr ? record : reserve_slowly(bytes, status);
  }
  // Reserves as reserve() does, if that needs no look at the logger's progress. Otherwise returns
  // null and changes nothing: call reserve().
  LogRecord* try_reserve(std::size_t bytes) {
    const std::uint64_t in_ring = tail_ & (capacity_ - 1);
    // A record that would end exactly at the ring's end fails here, so that each bound is one
    // comparison.
    if (in_ring + bytes >= capacity_ || tail_ + bytes > limit_) [[unlikely]] return nullptr;
    tail_ += bytes;
    return reinterpret_cast<LogRecord*>(memory_ + in_ring);
  }
  // Hands the open transaction's records over to the logger (L4).
  void publish() {
    // order: release, pairs with the acquire in committed(): the records' bytes are there.
    committed_.store_release(tail_);
    if (space_ == nullptr) durable_.store_relaxed(tail_);  // the session is the only reader then
  }
  // Forgets the open transaction's records.
  void rollback() {
    // order: relaxed, own word.
    tail_ = committed_.load_relaxed();
  }
  // A place between two records of the open transaction. It stays valid if the ring grows, because
  // it holds offsets.
  struct Mark {
    std::uint64_t tail;
    std::uint64_t ring_end;
    std::uint64_t filler;
  };
  Mark mark() const { return {tail_, ring_end_, filler_}; }
  // Forgets the records that were reserved after `mark` was taken. limit_ stays: it bounds where
  // the transaction may end, and the transaction's begin is the same. REQUIRES: the mark is of the
  // open transaction, and no cut to an earlier one came since.
  void cut(const Mark& mark) {
    tail_ = mark.tail;
    ring_end_ = mark.ring_end;
    filler_ = mark.filler;
  }
  bool has_open_records() const { return open_record_bytes() != 0; }
  // Returns the bytes of the open transaction's records, filler included.
  std::uint64_t open_record_bytes() const {
    return tail_ - committed_.load_relaxed();  // order: relaxed, own word
  }

  // ---- logger (and any thread, to look) -------------------------------------------------------

  std::uint64_t committed() const {
    // order: acquire, pairs with publish().
    return committed_.load_acquire();
  }
  std::uint64_t durable() const {
    // order: acquire, pairs with set_durable(): the logger has read the bytes that may be
    // overwritten.
    return durable_.load_acquire();
  }
  void set_durable(std::uint64_t offset) {
    // order: release, pairs with durable().
    durable_.store_release(offset);
  }
  const char* at(std::uint64_t offset) const { return memory_ + (offset & (capacity_ - 1)); }

 private:
  LogRecord* reserve_slowly(std::size_t bytes, Status* status);
  Status make_fit(std::uint64_t bytes);
  Status grow(std::uint64_t capacity, bool is_needed);

  // Constant after construction.
  const std::uint32_t session_number_;
  LogSpace* const space_;
  RingSource* const source_;
  const std::uint64_t capacity_max_;

  // Written by the session, seldom; L30 says when the logger may read them.
  char* memory_;
  std::uint64_t capacity_;

  // Written by the session.
  alignas(64) std::uint64_t tail_ = 0;
  std::uint64_t limit_ = 0;     // reserve() up to here need not read durable_
  std::uint64_t ring_end_ = 0;  // offset of the last end of the ring that a record reached
  std::uint64_t filler_ = 0;    // filler bytes of that record's transaction before it
  base::AtomicWord<std::uint64_t> committed_;

  // Written by the logger.
  alignas(64) base::AtomicWord<std::uint64_t> durable_;
};

}  // namespace foedus::log
