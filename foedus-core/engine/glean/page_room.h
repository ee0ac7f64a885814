#pragma once
// PageRoom: makes room when memory for volatile pages is spent. Any thread.

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

  // Calls in the pages that the cache has borrowed. If there are none, gleans, and waits until the
  // dropped pages may be used again. Returns true if there is more room than before, or a sixteenth
  // of all memory for pages.
  bool make();

 private:
  bool call_in_lent();
  bool is_kept_waiting(std::uint64_t waited_us) const;

  const Parts parts_;
};

}  // namespace foedus::engine
