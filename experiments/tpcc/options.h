#pragma once
// Flags of TPC-C, besides those in common/options.h.

#include <gflags/gflags_declare.h>

#include "experiments/tpcc/run.h"
#include "experiments/tpcc/tables.h"

DECLARE_uint32(warehouses);
DECLARE_bool(small);
DECLARE_string(storage);
DECLARE_string(mix);
DECLARE_uint32(remote_percent);
DECLARE_bool(load);
DECLARE_bool(run);
DECLARE_bool(check);
DECLARE_int64(reserve_bytes);
DECLARE_double(kill_after);
DECLARE_string(ack_file);
DECLARE_string(verify_acks);

namespace experiments::tpcc {

// What to do, in this order. With none of --load, --run and --check: all of it.
struct Phases {
  bool loads_if_empty = false;
  bool checks = false;  // after load or recovery, and after the run
  bool runs = false;
};

// kInvalidArgument: a flag of this file is out of range, or does not go with another.
foedus::Status check_flags();
Phases phases_by_flags();
// --warehouses, or one per session; --small.
Scale scale_by_flags();
StorageChoice storage_by_flags();
RunPlan plan_by_flags(const LoadRow& load);
// --reserve-bytes, or what its default says.
std::uint64_t reserve_bytes_by_flags();
// kInvalidArgument: the database is of another shape than --warehouses, --small and
// --storage ask for.
foedus::Status check_population_by_flags(const LoadRow& load);

}  // namespace experiments::tpcc
