#include "foedus-core/engine/thread_sessions.h"

#include <algorithm>

#include "foedus-core/base/line_allocator.h"
#include "foedus-core/engine/engine.h"

namespace foedus::engine {

namespace {

struct Attached {
  std::shared_ptr<SessionHome> home;
  EngineSession* session;
};

// A thread uses few databases: a list is faster than a map.
struct AttachedList {
  base::LineVector<Attached> all;  // looked at in every transaction

  ~AttachedList() {
    for (const Attached& attached : all) {
      if (!attached.home->is_of_this_process()) continue;
      const std::lock_guard lock(attached.home->mutex);
      if (attached.home->engine != nullptr) attached.home->engine->give_session(attached.session);
    }
  }
};

thread_local AttachedList attached_list;

}  // namespace

EngineSession* attached_session(const SessionHome* home) {
  for (const Attached& attached : attached_list.all) {
    if (attached.home.get() == home) return attached.session;
  }
  return nullptr;
}

void attach_session(std::shared_ptr<SessionHome> home, EngineSession* session) {
  // Forget databases that were closed meanwhile, and those of the process that forked this one.
  std::erase_if(attached_list.all, [](const Attached& attached) {
    if (!attached.home->is_of_this_process()) return true;
    const std::lock_guard lock(attached.home->mutex);
    return attached.home->engine == nullptr;
  });
  attached_list.all.push_back({std::move(home), session});
}

}  // namespace foedus::engine
