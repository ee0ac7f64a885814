#pragma once
// SettledWrites: which own writes a transaction need not look for again.
//
//   O17 The first `count` own writes, those to one storage among them, were seen where they are,
//       after a fence that came after `since` had begun. A page that takes one over later is born
//       no earlier: its maker marks the records, fences, and reads the clock for its birth. So once
//       the pages' epoch is over, the transaction looks at each own write once, not for each page.

#include <array>
#include <cstddef>
#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/occ/write_set.h"
#include "foedus-core/page/page_id.h"
#include "foedus/epoch.h"

namespace foedus::occ {

class SettledWrites {
 public:
  // What was seen of one storage.
  struct Seen {
    std::uint64_t txn = 0;
    page::StorageId storage{};
    Epoch since;
    std::uint32_t count = 0;
  };

  // `turn`: the word that tells the session's transactions apart.
  SettledWrites(const base::AtomicWord<std::uint64_t>* turn, const epoch::EpochClock* clock,
                const WriteSet* writes)
      : turn_(turn), clock_(clock), writes_(writes) {}

  // Begins a look at own writes of `storage` that a page born in `birth` calls for, from `count`
  // on. If none had moved, end() ends it; else it is begun again.
  Seen begin(page::StorageId storage, Epoch birth) const {
    const Seen& last = seen_[slot_of(storage)];
    const bool goes_on = last.txn == txn() && last.storage == storage && birth < last.since;
    if (goes_on) return last;
    const Seen first{txn(), storage, clock_->current(), 0};
    base::fence_seq_cst();  // order: O17: the clock before the looks at the records
    return first;
  }
  void end(Seen seen) {
    seen.count = static_cast<std::uint32_t>(writes_->size());
    seen_[slot_of(seen.storage)] = seen;
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
