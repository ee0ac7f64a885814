#pragma once
// Placement: where threads run, and where the pages are that the sessions of each SOC use.

#include <cstdint>

#include "experiments/common/json_line.h"
#include "foedus/foedus.h"

namespace experiments {

// With --bind: lets the calling thread run on one processor alone, so that worker i of n has the
// processor of rank i * P / n (modulo P) of the P that the process has. Does nothing without.
void bind_worker_by_flags(std::uint32_t worker, std::uint32_t workers);

// Returns the member `placement` of the line: pages that sessions took since the database was
// opened, and pages that their transactions touched between two looks at the statistics; all
// together and by SOC.
JsonObject placement_between(const foedus::Stats& before, const foedus::Stats& after);

}  // namespace experiments
