#pragma once
// LocatedWrites: remembers which of its own writes a transaction has looked for and found unmoved,
// so that it does not look for them again at each page that it reads.
//
//   O17 Seen: after a fence that came after epoch `since` had begun, the transaction looked at
//       those of its first `count` writes that go to one storage, and found their records unmoved.
//       A page that takes over one of these records later has a birth not before `since`: its maker
//       marks the records as moved, fences, and only then reads the clock for the birth. So a page
//       that was born before `since` has none of these records, and the transaction need not look
//       at the writes again for that page.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/occ/write_set.h"
#include "foedus-core/page/page_id.h"
#include "foedus/epoch.h"

namespace foedus::occ {

class LocatedWrites {
 public:
  // The last look at the own writes to one storage that found all records unmoved (O17).
  struct Seen {
    std::uint64_t txn = 0;
    page::StorageId storage{};
    Epoch since;
    std::uint32_t count = 0;
  };

  // `turn`: the word that counts the session's transactions (TxnTurn).
  LocatedWrites(const base::AtomicWord<std::uint64_t>* turn, const epoch::EpochClock* clock,
                const WriteSet* writes)
      : turn_(turn), clock_(clock), writes_(writes) {}

  // Begins a look at the own writes to `storage`, which a page born in `birth` calls for. The
  // caller looks at the writes from the result's `count` on. If the record of none has moved, it
  // calls end(). Otherwise nothing is noted, and the next look begins with the same writes.
  Seen begin(page::StorageId storage, Epoch birth) const {
    const Seen& last = seen_[slot_of(storage)];
    const bool goes_on = last.txn == txn() && last.storage == storage && birth < last.since;
    if (goes_on) return last;
    const Seen first{txn(), storage, clock_->current(), 0};
    base::fence_seq_cst();  // order: O17: the clock is read before the records are looked at
    return first;
  }
  void end(Seen seen) {
    seen.count = static_cast<std::uint32_t>(writes_->size());
    seen_[slot_of(seen.storage)] = seen;
  }
  // Follows WriteSet::cut(): writes that are added from now on have not been looked at.
  void cut(std::uint32_t count) {
    for (Seen& seen : seen_) seen.count = std::min(seen.count, count);
  }
  // Returns whether the transaction has looked for all its writes to `storage` after epoch `birth`
  // ended. Then a page that was born in `birth` calls for no further look (O17).
  bool has_all(page::StorageId storage, Epoch birth) const {
    const Seen& seen = seen_[slot_of(storage)];
    return seen.txn == txn() && seen.storage == storage && birth < seen.since &&
           seen.count == writes_->size();
  }

 private:
  static constexpr std::size_t kSlots = 8;

  static std::size_t slot_of(page::StorageId storage) {
    return static_cast<std::size_t>(storage) % kSlots;
  }
  std::uint64_t txn() const {
    return turn_->load_relaxed();  // order: relaxed, written by the session's thread
  }

  const base::AtomicWord<std::uint64_t>* const turn_;
  const epoch::EpochClock* const clock_;
  const WriteSet* const writes_;
  std::array<Seen, kSlots> seen_{};
};

}  // namespace foedus::occ
