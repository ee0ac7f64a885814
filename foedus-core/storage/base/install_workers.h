#pragma once
// InstallWorkers: threads that install a snapshot of one storage together (install_team.h).
//
//   O19 The children of one volatile page are dealt out, each with all that is below it. A thread
//       looks at pages of its child's keys alone, changes pointers to these, and drops them. So no
//       page is in the hands of two threads, and the argument for one installer holds for each. A
//       page below may have keys of two children, because sessions have merged pages meanwhile. The
//       threads leave such a page to the calling one, which installs there when the others have
//       ended, or reports it as may_need_earlier (O16). The threads share the page above, whose
//       lock each takes for its own pointer. They also share words of the storage: counters, to
//       which they add, and drop_epoch, which only grows (StorageControl::announce_drop()).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "foedus-core/page/session_pages.h"

namespace foedus::storage {

class InstallWorkers {
 public:
  // The part of an Installation that is one thread's own.
  struct Worker {
    page::SessionPages* pages;
    std::uint32_t session;
    std::uint32_t soc;
  };

  virtual ~InstallWorkers() = default;
  // Returns two workers or more. The first is the calling thread.
  virtual std::span<const Worker> workers() const = 0;
  // Calls work(i) in the thread of each worker i that could be started, and work(0) in the calling
  // thread. Returns when all these calls have returned. `work` must not throw.
  virtual void run(const std::function<void(std::size_t)>& work) = 0;
};

}  // namespace foedus::storage
