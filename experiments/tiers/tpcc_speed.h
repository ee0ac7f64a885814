#pragma once
// TPC-C over a database that was loaded and closed before: rows come from snapshots until they are
// written.

#include <cstdint>

#include "experiments/tiers/figure.h"
#include "experiments/tpcc/scale.h"
#include "foedus/options.h"

namespace experiments::tiers {

struct TpccSpeed {
  double txns_per_s;
  std::uint64_t pages_read;  // of NVM, by the gleaner, too
  std::uint64_t ssd_reads;   // of the SSD tier
};

struct TpccSeconds {
  double warm;  // before, in which the caches fill
  double measured;
};

// Makes the database, in snapshots, in a process of its own. Returns the bytes of its pages.
foedus::Result<std::uint64_t> load_tpcc(const Plan& plan, const foedus::Options& options,
                                        const tpcc::Scale& scale);

// Runs the full mix in a process of its own, which leaves the database as after a close. `seed`:
// runs with another one ask for other rows.
foedus::Result<TpccSpeed> measure_tpcc(const Plan& plan, const foedus::Options& options,
                                       const TpccSeconds& seconds, std::uint64_t seed);

// Makes the database in a process of its own, and runs the full mix there. All of it stays in
// memory, with its log: no snapshot is made.
foedus::Result<TpccSpeed> measure_tpcc_in_memory(const Plan& plan, foedus::Options options,
                                                 const tpcc::Scale& scale,
                                                 const TpccSeconds& seconds, std::uint64_t seed);

}  // namespace experiments::tiers
