#pragma once
// Changes a transaction's entries when their records and pages move (M9, M10).

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::masstree {

// Changes the own entries of a record that this transaction moves. If the transaction holds the
// record's lock, it then holds that of `to` instead, and this returns the waiter with which to
// unlock `from` once that is marked moved. Null: the lock was not held. REQUIRES: no other session
// can reach `to` yet.
occ::LockWaiter* move_own(occ::TxnContext& ctx, page::RecordHeader* from, page::RecordHeader* to,
                          std::uint32_t place);
// Returns the birth of a border page (storage/moves/birth.h). It is stored twice: kNotBorn before
// the page can be found, and the true birth after the marks.
inline base::AtomicWord<std::uint64_t>& birth_word(const TreePage* page) {
  static_assert(sizeof(base::AtomicWord<std::uint64_t>) == sizeof(page->header.kind_word));
  return *reinterpret_cast<base::AtomicWord<std::uint64_t>*>(
      const_cast<std::uint64_t*>(&page->header.kind_word));
}
inline void give_birth(const TreePage* page, moves::Birth stamp) {
  // order: relaxed. A transaction that still sees kNotBorn, which is later than any epoch, only
  // looks for its own writes once more.
  birth_word(page).store_relaxed(stamp.word());
}
// Returns whether another session may have moved to `page` records that this transaction wrote.
bool may_hide_own(occ::TxnContext& ctx, const BorderPage* page);
// Returns whether pages may have been dropped that this transaction has written to. If so, a
// snapshot page may be without its writes.
bool may_hide_own_cold(occ::TxnContext& ctx, const occ::StorageControl* control);
// Returns the epoch of birth of a page to which a search has come. For a snapshot page it is the
// epoch in which pages of the storage were last dropped (Q3).
Epoch birth_of(const occ::StorageControl* control, const BorderPosition& at);
// Updates own entries of a page whose counts an own insert changes, if they were true. REQUIRES:
// the page's lock; the page still says `before`.
void advance_page_version(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                          page::PageVersion before, page::PageVersion after);

}  // namespace foedus::storage::masstree
