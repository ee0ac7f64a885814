#pragma once
// YCSB's rows in the order of their keys, as the figures load them.

#include <cstdint>

#include "experiments/tiers/figure.h"
#include "experiments/ycsb/ycsb_driver.h"

namespace experiments::tiers {

// Returns what a driver needs to load the rows, and to run `workload` on them.
inline YcsbConfig ordered_rows(const Plan& plan, std::uint64_t rows, const Workload& workload,
                               double theta) {
  YcsbConfig config;
  config.workload = workload;
  config.rows = rows;
  config.theta = theta;
  config.ops_per_txn = 1;
  config.ordered_keys = true;
  config.storage = TableKind::kOrdered;
  config.sessions = plan.sessions;
  config.seed = plan.seed;
  return config;
}

}  // namespace experiments::tiers
