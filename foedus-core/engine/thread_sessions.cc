#include "foedus-core/engine/thread_sessions.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/line_allocator.h"
#include "foedus-core/base/thread_end.h"
#include "foedus-core/engine/engine.h"

namespace foedus::engine {

namespace {

struct Attached {
  std::shared_ptr<SessionHome> home;
  EngineSession* session;
};

// A thread uses few databases: a list is faster than a map.
struct alignas(64) AttachedList {
  base::LineVector<Attached> all;  // looked at in every transaction

  ~AttachedList() {
    for (const Attached& attached : all) {
      if (!attached.home->is_of_this_process()) continue;
      const std::lock_guard lock(attached.home->mutex);
      if (attached.home->engine != nullptr) attached.home->engine->give_session(attached.session);
    }
  }
};

// Null: there is no list, or no longer one (base/thread_end.h).
thread_local AttachedList* attached_list = nullptr;

void end_list(void*) { delete std::exchange(attached_list, nullptr); }

AttachedList* list_of_thread() {
  if (attached_list != nullptr) return attached_list;
  auto made = std::make_unique<AttachedList>();
  base::at_thread_end(&end_list);
  return attached_list = made.release();
}

}  // namespace

EngineSession* attached_session(const SessionHome* home) {
  if (attached_list == nullptr) return nullptr;
  for (const Attached& attached : attached_list->all) {
    if (attached.home.get() == home) return attached.session;
  }
  return nullptr;
}

void attach_session(std::shared_ptr<SessionHome> home, EngineSession* session) {
  AttachedList* const list = list_of_thread();
  // Forget databases that were closed meanwhile, and those of the process that forked this one.
  std::erase_if(list->all, [](const Attached& attached) {
    if (!attached.home->is_of_this_process()) return true;
    const std::lock_guard lock(attached.home->mutex);
    return attached.home->engine == nullptr;
  });
  list->all.push_back({std::move(home), session});
}

}  // namespace foedus::engine
