#pragma once
// PageRoom: makes pages free when the memory for volatile pages is used up. Any thread.

#include <cstdint>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/glean/glean_scheduler.h"
#include "foedus-core/engine/sessions/session_pool.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/page/page_pool.h"

namespace foedus::engine {

class PageRoom {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    epoch::EpochClock* clock = nullptr;
    page::PagePool* pool = nullptr;
    GleanScheduler* scheduler = nullptr;
    const SessionPool* sessions = nullptr;
  };
  explicit PageRoom(const Parts& parts) : parts_(parts) {}
  PageRoom(const PageRoom&) = delete;
  PageRoom& operator=(const PageRoom&) = delete;

  // Calls in the pages that the cache has borrowed, and returns true if any came back. Otherwise
  // has a glean made, and waits until the dropped pages may be used again: returns true if fewer
  // pages are in use than before, or more than a sixteenth of all pages is free.
  bool make();

 private:
  bool call_in_lent();
  bool is_kept_waiting(std::uint64_t waited_us) const;

  const Parts parts_;
};

}  // namespace foedus::engine
