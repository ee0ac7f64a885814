#include "foedus-core/base/system/processor.h"

#include <sched.h>

#include <algorithm>

namespace foedus::base {

std::uint32_t current_processor() {
  const int processor = sched_getcpu();
  return processor < 0 ? 0 : static_cast<std::uint32_t>(processor);
}

bool run_on(std::span<const std::uint32_t> processors) {
  if (processors.empty()) return false;
  const std::size_t count = std::size_t{*std::ranges::max_element(processors)} + 1;
  cpu_set_t* const set = CPU_ALLOC(count);
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set);
  for (const std::uint32_t processor : processors) CPU_SET_S(processor, bytes, set);
  const bool is_bound = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return is_bound;
}

}  // namespace foedus::base
