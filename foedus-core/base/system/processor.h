#pragma once
// Processors: which one a thread runs on, and which it may run on. The engine binds threads of its
// own only; those of the program run where the program and the system put them.

#include <cstdint>
#include <span>

namespace foedus::base {

// Returns the processor that the calling thread runs on at this moment; 0 where the system does not
// say.
std::uint32_t current_processor();

// Lets the calling thread run on `processors` alone. Returns false if the system refuses, or if
// there are none: nothing has changed then.
bool run_on(std::span<const std::uint32_t> processors);

}  // namespace foedus::base
