#pragma once
// Stands in for numa/topology.h: a machine of one SOC.

#include <cstdint>

#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::numa {

class Topology {
 public:
  std::uint32_t socs() const { return 1; }
  Status check_binding(Facility) const { return {}; }
};

}  // namespace foedus::numa
