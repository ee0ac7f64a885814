#pragma once
// A transaction's entries of records and pages follow them when they move (M9, M10).

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::masstree {

// Moves the own entries of a record that this transaction moves. If it holds the record's lock, it
// holds that of `to` instead. Returns the waiter with which to unlock `from` once that says moved.
// Null: it is not held. REQUIRES: no other session can reach `to` yet.
occ::LockWaiter* move_own(occ::TxnContext& ctx, page::RecordHeader* from, page::RecordHeader* to,
                          std::uint32_t place);
// Returns the birth of a border page (storage/moves/birth.h). It is given once more after the
// marks.
inline base::AtomicWord<std::uint64_t>& birth_word(const TreePage* page) {
  static_assert(sizeof(base::AtomicWord<std::uint64_t>) == sizeof(page->header.kind_word));
  return *reinterpret_cast<base::AtomicWord<std::uint64_t>*>(
      const_cast<std::uint64_t*>(&page->header.kind_word));
}
inline void give_birth(const TreePage* page, moves::Birth stamp) {
  // order: relaxed: a later birth than it has only makes others look once more.
  birth_word(page).store_relaxed(stamp.word());
}
// Returns true if records that this transaction wrote may have come to `page` without its doing.
bool may_hide_own(occ::TxnContext& ctx, const BorderPage* page);
// Returns true if own writes may be in pages that were dropped; snapshot pages do not show them.
bool may_hide_own_cold(occ::TxnContext& ctx, const occ::StorageControl* control);
// Returns the birth of a page to which a search has come; for one in a snapshot, that of the newest
// copies.
Epoch birth_of(const occ::StorageControl* control, const BorderPosition& at);
// Updates own entries of a page whose counts an own insert changes, if they were true. REQUIRES:
// the page's lock; the page still says `before`.
void advance_page_version(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                          page::PageVersion before, page::PageVersion after);

}  // namespace foedus::storage::masstree
