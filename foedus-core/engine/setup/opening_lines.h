#pragma once
// The first lines that an operator gets of an open database.

#include <cstdint>
#include <string>
#include <vector>

#include "foedus/options.h"

namespace foedus::engine {

struct MachineFacts {
  std::uint32_t processors = 0;  // that the process may use
  std::uint64_t physical_bytes = 0;
};

// Returns lines with the versions of engine and formats, the options in force, and the machine.
std::vector<std::string> describe_opening(const EffectiveOptions& effective,
                                          const MachineFacts& machine);

}  // namespace foedus::engine
