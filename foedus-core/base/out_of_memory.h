#pragma once
// Where std::bad_alloc becomes kOutOfMemory.
//
//   T4  No exception of the engine leaves a public call or a task: calls run in catching(), steps
//       in Task::take_step(). Code below throws std::bad_alloc where the heap is spent, and leaves
//       everything valid. Locks and pins have owners with destructors, and steps that belong
//       together come after the last allocation.
//   T5  A thread that the system refuses counts as memory that it refuses: NoThread.

#include <new>
#include <type_traits>
#include <utility>

#include "foedus/status.h"

namespace foedus::base {

class NoThread : public std::bad_alloc {
 public:
  const char* what() const noexcept override {
    return "the system gave the process no thread; raise its limits of threads (ulimit -u, "
           "pids.max) or addresses (ulimit -v)";
  }
};

// Returns `thrown` as a status; takes memory for its text if there is some.
Status out_of_memory(const std::bad_alloc& thrown) noexcept;

// Returns what `function` returns, a Status or a Result; kOutOfMemory if it throws std::bad_alloc.
template <typename Function>
auto catching(Function&& function) -> std::invoke_result_t<Function&> {
  try {
    return function();
  } catch (const std::bad_alloc& thrown) {
    return out_of_memory(thrown);
  }
}

// Calls `function` for work that may be left undone: if memory is spent, ignores it.
template <typename Function>
void trying(Function&& function) noexcept {
  try {
    function();
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace foedus::base
