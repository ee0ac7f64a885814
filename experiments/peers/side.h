#pragma once
// Side: one of the two engines of a comparison, with its driver behind an interface that does not
// name the engine. Virtual calls are per run, not per transaction: within a run all is one
// template.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "experiments/common/backend.h"
#include "experiments/common/histogram.h"
#include "experiments/tpcc/run.h"
#include "experiments/tpcc/tables.h"
#include "experiments/ycsb/ycsb_session.h"
#include "foedus/status.h"

namespace experiments {

// What both sides do.
struct Task {
  enum class Driver { kYcsb, kTpcc, kCheck };

  Driver driver = Driver::kYcsb;
  YcsbConfig ycsb;
  tpcc::Scale scale;
  tpcc::StorageChoice storage = tpcc::StorageChoice::kMixed;
  tpcc::RunPlan plan;  // seconds and seed are set for each run
};

struct SideRun {
  double seconds = 0;
  std::uint64_t txns = 0;
  std::uint64_t ops = 0;
  Counters counters;
  std::map<std::string, Histogram> latency;
  std::map<std::string, Histogram> durable_latency;

  void add(const SideRun& other) {
    seconds += other.seconds;
    txns += other.txns;
    ops += other.ops;
    counters.add(other.counters);
    for (const auto& [name, histogram] : other.latency) latency[name].merge(histogram);
    for (const auto& [name, histogram] : other.durable_latency) {
      durable_latency[name].merge(histogram);
    }
  }
  double txn_per_s() const { return static_cast<double>(txns) / seconds; }
};

class Side {
 public:
  virtual ~Side() = default;
  virtual std::string name() const = 0;
  // Once, before the first run.
  virtual foedus::Status load() = 0;
  virtual foedus::Result<SideRun> run(double seconds, std::uint64_t seed) = 0;
  // Instead of load and run: conformance.h.
  virtual foedus::Status check() = 0;
  virtual StatsLine stats() = 0;
};

// Where a side keeps its data, and whether each of its commits waits for the device.
struct Place {
  std::string dir;  // made if it is missing
  bool sync = false;
};

// Each in a file of its own: an engine's header, and the drivers compiled for it, stay there.
foedus::Result<std::unique_ptr<Side>> open_foedus_side(const Place& place, const Task& task);
foedus::Result<std::unique_ptr<Side>> open_lmdb_side(const Place& place, const Task& task);
foedus::Result<std::unique_ptr<Side>> open_rocksdb_pessimistic_side(const Place& place,
                                                                    const Task& task);
foedus::Result<std::unique_ptr<Side>> open_rocksdb_optimistic_side(const Place& place,
                                                                   const Task& task);
foedus::Result<std::unique_ptr<Side>> open_wiredtiger_side(const Place& place, const Task& task);

}  // namespace experiments
