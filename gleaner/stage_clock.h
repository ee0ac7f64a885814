#pragma once
// StageClock: the time that a stage has taken, and the processor time of the calling thread in it.

#include <cstdint>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/task.h"

namespace foedus::gleaner {

class StageClock {
 public:
  explicit StageClock(base::Runtime* runtime)
      : runtime_(runtime), begin_us_(runtime->now_us()), begin_cpu_us_(base::thread_cpu_us()) {}

  std::uint64_t us() const { return runtime_->now_us() - begin_us_; }
  std::uint64_t cpu_us() const { return base::thread_cpu_us() - begin_cpu_us_; }

 private:
  base::Runtime* const runtime_;
  const std::uint64_t begin_us_;
  const std::uint64_t begin_cpu_us_;
};

}  // namespace foedus::gleaner
