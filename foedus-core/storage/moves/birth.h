#pragma once
// When records came to a page: how a transaction knows whether records that it wrote to, read or
// missed may have come to a page without its doing.
//
//   Q1  A mark is the flag of a record (moved, next layer) or of its page (moved, dropped, or a
//       count of layers) by which others see that records have left. A session that moves or drops
//       records makes all marks first; then it fences and reads the clock (epoch_behind_marks()). A
//       transaction that sees a mark missing has pinned itself before, and a pin ends with a fence
//       (EpochClock::pin()). Its fence came before the session's, so it began in no later epoch
//       than the one that is read. (The marks of the records alone would not do: a blind write does
//       not look at them, and the clock may have moved on for long before the pages are marked.)
//   Q2  A page has a birth: the epoch, by Q1, in which records of other pages last came to it, and
//       the session that moved them. From when the page can be found until the marks are made, the
//       birth is kNotBorn, later than any transaction. A transaction that began in a later epoch
//       has no address of a record that came, and missed none of their keys in the page that they
//       left. A transaction of the session that moved them has moved its own writes along. Every
//       other one is concerned: before it believes what it finds in the page, it settles, that is,
//       it looks where the records of its own writes are now (own_writes.h). If a record came from
//       a page that concerns the session's own transaction, the birth is of kSeveral. Entries of
//       the page-version set follow where the birth is not earlier than the transaction, whatever
//       the session. The commit protocol, which looks at each own write, asks for no birth.
//   Q3  A copy of a snapshot page, a page made where there is none, and what takes the place of all
//       pages of a delta, are born in the epoch in which pages of the storage were last dropped, of
//       kSeveral: an older transaction may have addresses in the page that was there before. Where
//       a search ends in a snapshot page, that epoch stands for the birth. It is
//       StorageControl::drop_epoch, announced by Q1 before the pointer to a dropped page loses its
//       volatile half.
//   Q4  Whether a record that says moved was dropped is seen at its pages, not at the announcement,
//       which comes after all marks. In a dropped page a marked record is as it was to the end: no
//       session makes its key again before the pointer changes, behind the announcement. So a read
//       that found it absent may still verify; every other read of it conflicts. The end of a
//       record that had moved before is in a successor of its page: if that was dropped, the key
//       may have come there since, and the record that was left behind proves nothing. (A second
//       announcement before the marks would not do: a transaction that begins between the two, in a
//       newer epoch, is not told.) A hash takes every read in a dropped bin for lost.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/epoch.h"

namespace foedus::storage::moves {

// The epoch and the session of Q2, as a word of a page has them.
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
  // Returns whether they may have come without the doing of a transaction that began in `begin`
  // in `session`.
  constexpr bool concerns(Epoch begin, std::uint32_t session) const {
    return is_since(begin) && this->session() != session;
  }

 private:
  std::uint64_t word_;
};

inline constexpr Birth kNotBorn(Epoch(Epoch::kMax), Birth::kSeveral);

// Returns the epoch of Q1. REQUIRES: all marks are made.
inline Epoch epoch_behind_marks(const epoch::EpochClock& clock) {
  base::fence_seq_cst();  // order: Q1, pairs with the fence of EpochClock::pin()
  return clock.current();
}

// Returns the birth of Q3. REQUIRES: the caller has acquired the pointer that has no volatile half.
inline Birth birth_of_copy(const occ::StorageControl& control) {
  // order: relaxed, the drop that left the pointer without was announced before.
  return {Epoch(control.drop_epoch.load_relaxed()), Birth::kSeveral};
}

}  // namespace foedus::storage::moves
