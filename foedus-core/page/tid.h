#pragma once
// Tid: the version of a record, and the word beside its payload that says whether the payload may
// be read (paper §6, appendix D.1). The widths are ours: 36 + 24 + 4 bits.
//
//        63           28 27         4   3     2      1        0
//       +---------------+------------+------+------+-------+-------+
//       | epoch         | ordinal    | next | moved| dele- | being |
//       |               | in epoch   | layer|      | ted   | writ. |
//       +---------------+------------+------+------+-------+-------+
//
//   being-written  a transaction commits: it sets the flag just before its serialization point and
//                  clears it with the new TID, or when it aborts. The payload may be partly old
//                  meanwhile. A reader waits; the verification of a read conflicts
//   deleted        the record is not there for users: erased, or inserted physically and not yet
//                  committed
//   moved          this copy of the record never changes again: the record is in another page
//                  (foster twin, rebuilt bin) or only in the snapshot now, or was purged
//   next-layer     the payload is a dual page pointer to the next layer; never cleared
//
//   P1  The version part of a record's word only grows: a commit's TID is above all it observed and
//       overwrites.
//   P2  The word is changed only by the holder of the record's lock.

#include <compare>
#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus/epoch.h"

namespace foedus::page {

class Tid {
 public:
  static constexpr unsigned kFlagBits = 4;
  static constexpr unsigned kOrdinalBits = 24;
  static constexpr std::uint64_t kBeingWritten = 1;
  static constexpr std::uint64_t kDeleted = 2;
  static constexpr std::uint64_t kMoved = 4;
  static constexpr std::uint64_t kNextLayer = 8;
  static constexpr std::uint64_t kFlags = (1u << kFlagBits) - 1;
  static constexpr std::uint32_t kOrdinalMax = (1u << kOrdinalBits) - 1;
  static_assert(kFlagBits + kOrdinalBits + Epoch::kBits == 64);

  constexpr Tid() = default;
  constexpr explicit Tid(std::uint64_t word) : word_(word) {}
  constexpr Tid(Epoch epoch, std::uint32_t ordinal)
      : word_((epoch.number() << (kOrdinalBits + kFlagBits)) |
              (static_cast<std::uint64_t>(ordinal) << kFlagBits)) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr Epoch epoch() const { return Epoch(word_ >> (kOrdinalBits + kFlagBits)); }
  constexpr std::uint32_t ordinal() const {
    return static_cast<std::uint32_t>(word_ >> kFlagBits) & kOrdinalMax;
  }
  // Returns the place in the serial order of versions, flags aside.
  constexpr std::uint64_t version() const { return word_ >> kFlagBits; }

  constexpr bool is_being_written() const { return (word_ & kBeingWritten) != 0; }
  constexpr bool is_deleted() const { return (word_ & kDeleted) != 0; }
  constexpr bool is_moved() const { return (word_ & kMoved) != 0; }
  constexpr bool is_next_layer() const { return (word_ & kNextLayer) != 0; }

  constexpr Tid with(std::uint64_t flags) const { return Tid(word_ | flags); }
  constexpr Tid without(std::uint64_t flags) const { return Tid(word_ & ~flags); }

  constexpr bool operator==(const Tid&) const = default;

 private:
  std::uint64_t word_ = 0;
};

// RecordHeader: stands before every record's bytes. Readers look at `tid` only.
struct RecordHeader {
  base::AtomicWord<std::uint64_t> lock;  // +8 -> 8   queue lock (occ/record_lock.h), 0: free
  base::AtomicWord<std::uint64_t> tid;   // +8 -> 16  Tid::word()

  // order: acquire, pairs with the release of publish(): the payload of that version is there.
  Tid load_tid() const { return Tid(tid.load_acquire()); }
};
static_assert(sizeof(RecordHeader) == 16);

}  // namespace foedus::page
