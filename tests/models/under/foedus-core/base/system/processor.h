#pragma once
// Stands in for base/system/processor.h: all threads run on one processor.

#include <cstdint>
#include <span>

namespace foedus::base {

inline std::uint32_t current_processor() { return 0; }
inline bool run_on(std::span<const std::uint32_t>) { return true; }

}  // namespace foedus::base
