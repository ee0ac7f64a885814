#pragma once
// Materializes snapshot pages as volatile ones: the change of a dual page pointer by system
// transactions (paper §4, figure 2).
//
//   O10 A pointer that lies in a page is changed under that page's lock, after a look at its
//       version. A page that has moved or was dropped keeps its pointers as they were. A session
//       that meets such a page searches again from the root (P5). Roots are changed by one
//       compare-and-swap of both halves (P4), and need no lock.

#include <cstring>
#include <optional>

#include "foedus-core/occ/record_lock.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"

namespace foedus::storage {

// Changes a pointer (O10). `holder`: the page that it lies in, null for a root. Returns false if
// nothing was changed.
inline bool change_pointer(page::DualPagePointer* pointer, page::PageHeader* holder,
                           const page::DualPageIds& expected, const page::DualPageIds& desired) {
  std::optional<occ::LockGuard> guard;
  if (holder != nullptr) {
    guard.emplace(&holder->lock);
    if (holder->load_version().is_gone()) return false;
  }
  return pointer->compare_exchange(expected, desired);
}

// Fills `page`, which no other session can reach, with a snapshot page's bytes under its own id.
// Hints of `from` are copied: a kind whose pointers may have hints clears them (P18).
inline void copy_snapshot_page(const page::PageHeader* from, page::VolatilePageId id,
                               std::uint32_t soc, page::PageHeader* page) {
  // Readers of the cached page may be writing hints.
  base::racy_read(static_cast<void*>(page), static_cast<const void*>(from), page::kPageBytes);
  page->page_id = id.word();
  page->crc32c = 0;
  page->last_soc.store_relaxed(soc);  // order: relaxed, not reachable yet
}

// Makes a record that names a chain of pages in an earlier snapshot (O13) name the same chain in
// the new one, `chain`. The name is one aligned word, and both chains have the same bytes, so a
// reader may see either name (O9). is_named() returns whether the record still names a chain to be
// replaced. Returns true, and changes nothing, if it does not or the record is deleted. Returns
// false, and changes nothing, if the record's lock is taken, the record has moved, or `chain` is
// null.
template <typename IsNamed>
bool rename_chain(page::RecordHeader* record, char* body, page::SnapshotPageId chain,
                  IsNamed&& is_named) {
  occ::LockWaiter waiter;
  if (!occ::try_lock(&record->lock, &waiter)) return false;
  // While this thread holds the record's lock, no session writes to the record or moves it.
  const bool is_of_no_use = !is_named() || record->load_tid().is_deleted();
  const bool is_here = !chain.is_null() && !record->load_tid().is_moved();
  const std::uint64_t word = chain.word();
  if (!is_of_no_use && is_here) base::racy_write(body, &word, sizeof(word));
  occ::unlock(&record->lock, &waiter);
  return is_of_no_use || is_here;
}

}  // namespace foedus::storage
