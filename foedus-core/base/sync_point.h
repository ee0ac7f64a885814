#pragma once
// FOEDUS_SYNC_POINT("place"): a named place in a protocol where a test may stop a thread or run
// another transaction. In production the hook is null and the cost is one load of a word that
// nobody writes; no sync point lies inside the reading of a record. The hook is process-wide
// because races are: it is set by tests only.

#include "foedus-core/base/atomic_word.h"

namespace foedus::base {

using SyncPointHook = void (*)(const char* place);

// Sets the hook (null: none). Tests only; not while threads are at a sync point.
void set_sync_point_hook(SyncPointHook hook);

namespace internal {
extern AtomicWord<SyncPointHook> sync_point_hook;
}

inline void sync_point(const char* place) {
  // order: acquire, pairs with the release in set_sync_point_hook: the hook's captured state is
  // ready.
  const SyncPointHook hook = internal::sync_point_hook.load_acquire();
  if (hook != nullptr) [[unlikely]] hook(place);
}

}  // namespace foedus::base

#define FOEDUS_SYNC_POINT(place) ::foedus::base::sync_point(place)
