#pragma once
// The birth of a page: when records last moved to it, and which session moved them. By this a
// transaction knows whether the page may have records that it wrote to, read or missed elsewhere.
//
//   Q1  A mark is the flag of a record (moved, next layer) or of its page (moved, dropped, or a
//       count of layers) by which others see that records have left. A session that moves or drops
//       records makes all marks first. Then it fences and reads the clock (epoch_after_marks()). A
//       transaction pins itself before it looks at pages, and a pin ends with a fence
//       (EpochClock::pin()). If it sees a mark missing, its fence came before the session's, so it
//       began in no later epoch than the session reads. (To read the clock after the marks of the
//       records alone would not do: a blind write looks only at the page's mark, and epochs may end
//       between the two.)
//   Q2  A page has a birth: the epoch, by Q1, in which records of other pages last came to it, and
//       the session that moved them. From when the page can be found until the marks are made, the
//       birth is kNotBorn, later than any transaction. A transaction that began in a later epoch
//       holds no address of one of these records in the page that they left, and has missed none of
//       their keys there. A transaction of the session that moved them has moved its own writes
//       along. Every other transaction is concerned: before it believes what it finds in the page,
//       it settles, that is, it looks where the records of its own writes are now (own_writes.h).
//       If a record came from a page that concerns the transaction of the moving session, the birth
//       names kSeveral in place of that session. Entries of the page-version set go on from pages
//       that records left to their successors, unless these were born before the transaction began,
//       whichever session moved the records. The commit protocol asks for no birth, because it
//       looks at each own write anyway.
//   Q3  Three kinds of pages are born in the epoch in which pages of the storage were last dropped,
//       with kSeveral as session: a copy of a snapshot page, a page made where there is none, and
//       what takes the place of all pages of a delta. A transaction that began no later may have
//       addresses in the page that was there before. Where a search ends in a snapshot page, that
//       epoch stands for the birth. It is StorageControl::drop_epoch, announced by Q1 before the
//       pointer to a dropped page loses its volatile half.
//   Q4  The verification of a read of a record that says moved has to know whether the record was
//       dropped. It sees that at the record's pages, not by the announcement, which comes after all
//       marks. In a dropped page a marked record is in its last state: no session makes its key
//       again before the pointer changes, which is after the announcement. So a read that found it
//       absent may still verify; every other read of it conflicts. If the record had moved before,
//       its last state is in a successor of its page. If that was dropped, the key may have been
//       inserted there since, so the record that was left behind proves nothing, and the read
//       conflicts. (A second announcement before the marks would not do: a transaction that begins
//       between the two, in a newer epoch, would not be told.) In a hash every read in a dropped
//       bin conflicts.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/epoch.h"

namespace foedus::storage::moves {

// Birth: the epoch in which records last came to a page, and the session that moved them (Q2),
// packed into a word of the page.
class Birth {
 public:
  static constexpr unsigned kSessionBits = 16;
  static constexpr std::uint32_t kSeveral = (1u << kSessionBits) - 1;  // no session's number

  constexpr explicit Birth(std::uint64_t word) : word_(word) {}
  constexpr Birth(Epoch epoch, std::uint32_t session)
      : word_(epoch.number() << kSessionBits | session) {}
  constexpr std::uint64_t word() const { return word_; }
  constexpr Epoch epoch() const { return Epoch(word_ >> kSessionBits); }
  constexpr std::uint32_t session() const { return word_ & kSeveral; }

  // Returns whether records may have come since a transaction began in `begin`.
  constexpr bool is_since(Epoch begin) const { return epoch() >= begin; }
  // Returns whether another session may have moved records here since a transaction of `session`
  // began in `begin`.
  constexpr bool concerns(Epoch begin, std::uint32_t session) const {
    return is_since(begin) && this->session() != session;
  }

 private:
  std::uint64_t word_;
};

inline constexpr Birth kNotBorn(Epoch(Epoch::kMax), Birth::kSeveral);

// Fences, and returns the clock's epoch: no transaction that begins in a later one misses a mark
// (Q1). REQUIRES: all marks are made.
inline Epoch epoch_after_marks(const epoch::EpochClock& clock) {
  base::fence_seq_cst();  // order: Q1, pairs with the fence of EpochClock::pin()
  return clock.current();
}

// Returns the birth of a copy of a snapshot page: the epoch in which pages of the storage were last
// dropped (Q3). REQUIRES: the caller has acquired the pointer that has no volatile half.
inline Birth birth_of_copy(const occ::StorageControl& control) {
  // order: relaxed, the drop that took the pointer's volatile half was announced before.
  return {Epoch(control.drop_epoch.load_relaxed()), Birth::kSeveral};
}

}  // namespace foedus::storage::moves
