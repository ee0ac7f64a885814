#pragma once
// The process that is killed: it loads a database, makes a snapshot of all of it, writes a tail of
// log behind that, tells its parent what is durable, and goes on until it is killed.

#include <cstdint>

#include "experiments/common/foedus_backend.h"
#include "experiments/recovery/rows.h"

namespace experiments::recovery {

inline constexpr std::uint32_t kWorkersMax = 64;

struct VictimPlan {
  TableKind storage = TableKind::kOrdered;
  std::uint64_t tail_bytes = 0;  // 0: as many as writers may make before they are stopped
  double warm_seconds = 0;
};

// What the victim writes into the pipe, once; everything that it counts is durable.
struct VictimReport {
  double txn_per_s;                   // median of the windows in the later half of the tail
  std::uint64_t tail_bytes;           // log behind the snapshot
  std::uint64_t snapshot;             // the newest one
  std::uint64_t counts[kWorkersMax];  // operations of each worker
};

// Runs until it is killed; returns with an error only.
foedus::Status run_victim(const Shape& shape, const VictimPlan& plan, int pipe);

// The table, made if it is missing.
foedus::Result<FoedusTable> open_rows(FoedusBackend& backend, const Shape& shape,
                                      TableKind storage);

}  // namespace experiments::recovery
