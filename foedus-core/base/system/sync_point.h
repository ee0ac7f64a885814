#pragma once
// FOEDUS_SYNC_POINT("place"): a named place in a protocol where a test may stop a thread or run
// another transaction. In production the hook is null and the cost is one load of a word that
// nobody writes; no sync point lies inside the reading of a record. The hook is process-wide
// because races are: it is set by tests only.

#include "foedus-core/base/atomic_word.h"

namespace foedus::base {

using SyncPointHook = void (*)(const char* place);

// Sets the hook (null: none), and waits until other threads have left the one before: what that one
// used may go afterwards. Tests only. Not while a thread is held in the hook.
void set_sync_point_hook(SyncPointHook hook);

namespace internal {
extern AtomicWord<SyncPointHook> sync_point_hook;
[[gnu::cold]] void call_sync_point_hook(const char* place);
}  // namespace internal

inline void sync_point(const char* place) {
  // order: relaxed, call_sync_point_hook() looks again.
  if (internal::sync_point_hook.load_relaxed() != nullptr) [[unlikely]] {
    internal::call_sync_point_hook(place);
  }
}

}  // namespace foedus::base

#define FOEDUS_SYNC_POINT(place) ::foedus::base::sync_point(place)
