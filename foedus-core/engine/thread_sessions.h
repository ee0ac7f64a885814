#pragma once
// Sessions of threads: which session a thread uses in which database. A thread may end before or
// after the database closes; the home is what both know, and it outlives either.
//
//   E9  A thread that ends gives its session back through the home, under its mutex, if the
//       engine is still there; an engine that closes empties the home first. So neither touches a
//       dead other. Destructors that run at the end of a thread, or of the process, may run
//       transactions also behind that: they are given a session anew, as by a first call.

#include <memory>
#include <mutex>

#include "foedus-core/base/process.h"
#include "foedus/status.h"

namespace foedus::engine {

class Engine;
class EngineSession;

struct SessionHome {
  std::mutex mutex;
  Engine* engine = nullptr;  // guarded by mutex; null once the engine closes
  // Constant. In a child of fork() the mutex may be held by a thread that is not there (E12).
  const std::uint64_t generation = base::process_generation();
  bool is_of_this_process() const { return generation == base::process_generation(); }
};

// The calling thread's session of the engine behind `home`, or null.
EngineSession* attached_session(const SessionHome* home);
// From now on it is this thread's, until the thread ends.
void attach_session(std::shared_ptr<SessionHome> home, EngineSession* session);

}  // namespace foedus::engine
