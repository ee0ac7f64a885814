#pragma once
// Materializes snapshot pages as volatile ones: the change of a dual page pointer by system
// transactions (paper §4, figure 2).
//
//   O10 A pointer that lies in a page is changed under that page's lock, after a look at its
//       version. A page that has moved or was dropped keeps its pointers as they were. A session
//       that comes by it looks again from the root (P5). Roots are changed by P4 alone.

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

// Renames the chain of a record whose payload is a chain of a snapshot (O13): `chain` is its name
// in another one. Both names are of the same bytes, and it is one aligned word: readers see either
// (O9). is_named() returns whether the record still has such a name. Returns false if the record is
// in use or elsewhere, or `chain` is null; the name is as it was.
template <typename IsNamed>
bool name_chain(page::RecordHeader* record, char* body, page::SnapshotPageId chain,
                IsNamed&& is_named) {
  occ::LockWaiter waiter;
  if (!occ::try_lock(&record->lock, &waiter)) return false;
  // While its lock is held, no session writes to the record or moves it.
  const bool is_of_no_use = !is_named() || record->load_tid().is_deleted();
  const bool is_here = !chain.is_null() && !record->load_tid().is_moved();
  const std::uint64_t word = chain.word();
  if (!is_of_no_use && is_here) base::racy_write(body, &word, sizeof(word));
  occ::unlock(&record->lock, &waiter);
  return is_of_no_use || is_here;
}

}  // namespace foedus::storage
