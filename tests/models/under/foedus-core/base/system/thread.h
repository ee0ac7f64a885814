#pragma once
// Stands in for base/system/thread.h: a thread of the model runs the thread's code.

#include <functional>
#include <utility>

#include "tests/models/harness/threads.h"

namespace foedus::base {

class Thread : public model::Thread {
 public:
  Thread(const char*, std::function<void()> run) : model::Thread(std::move(run)) {}
};

}  // namespace foedus::base
