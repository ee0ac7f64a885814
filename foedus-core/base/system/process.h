#pragma once
// The identity of the process. A child of fork() must not use what its parent has opened. It has
// the parent's objects, but none of its threads; its locks are as they were at that moment, and
// some memory is not mapped (numa N6). So such an object keeps the generation of the process that
// opened it, and compares it before each use.
//
//   word         written by            read by   meaning
//   generation   fork(), in the child  all       1 more than there are forks between this process
//                                                and the one that loaded the library

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus/status.h"

namespace foedus::base {

namespace internal {
extern AtomicWord<std::uint64_t> process_generation;
}

// Returns a number that differs from that of every process from which this one descends, and is
// never 0. Costs a load of a word that is written at a fork only. Children of vfork(), _Fork() and
// clone() are not noticed: they run no handlers.
inline std::uint64_t process_generation() {
  // order: relaxed, written while the process has one thread; later ones begin after that.
  return internal::process_generation.load_relaxed();
}

namespace internal {
extern thread_local constinit std::uint32_t thread_id;
std::uint32_t find_thread_id();
}  // namespace internal

// Lets each later fork() call `before` in the parent, and `after` in both processes. So a child
// finds whole what all databases of a process share. Does nothing if there is no memory for it.
void at_fork(void (*before)(), void (*after)());

// Returns the system's number of the calling thread, as debuggers and /proc show it. Makes a system
// call only at the first call in a thread.
inline std::uint32_t thread_id() {
  const std::uint32_t known = internal::thread_id;
  return known != 0 ? known : internal::find_thread_id();
}

// Returns kForked, with a text for the user.
[[gnu::cold]] Status forked_error();

// Returns kForked unless `generation` is that of this process.
inline Status check_process(std::uint64_t generation) {
  if (generation == process_generation()) [[likely]]
    return {};
  return forked_error();
}

}  // namespace foedus::base
