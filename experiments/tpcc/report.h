#pragma once
// What TPC-C adds to the JSON line.

#include <cstdint>
#include <map>
#include <string>

#include "experiments/common/backend.h"
#include "experiments/common/json_line.h"
#include "experiments/tpcc/run.h"

namespace experiments::tpcc {

inline JsonObject latency_by_type(const std::array<Histogram, kTxnTypes>& histograms) {
  JsonObject object;
  for (std::size_t i = 0; i < kTxnTypes; ++i) {
    if (histograms[i].count() == 0) continue;
    object.add(kTxnTypeNames[i], latency_us(histograms[i]));
  }
  return object;
}

// Throughput counts commits only; rolled back new-orders (1 % of them) are among the aborts.
inline void add_run(JsonObject& line, const RunResult& result) {
  std::uint64_t commits = 0;
  JsonObject by_type;
  for (std::size_t i = 0; i < kTxnTypes; ++i) {
    commits += result.commits[i];
    by_type.add(kTxnTypeNames[i], result.commits[i]);
  }
  std::map<std::string, std::uint64_t> aborts = result.counters.conflicts;
  aborts["rolled_back"] = result.counters.rollbacks;
  const std::uint64_t new_orders = result.commits[static_cast<std::size_t>(TxnType::kNewOrder)];
  line.add("run_seconds", result.seconds);
  line.add("txn_per_s", static_cast<double>(commits) / result.seconds);
  line.add("new_orders_per_s", static_cast<double>(new_orders) / result.seconds);
  line.add("stall_ms_max", result.stall_ms_max);
  line.add("commits", by_type);
  line.add("aborts", aborts);
  line.add("latency_us", latency_by_type(result.latency));
  line.add("durable_latency_us", latency_by_type(result.durable_latency));
}

// `before`: the statistics when the run began; log_bytes is that of the run, if there was one.
inline void add_stats(JsonObject& line, const StatsLine& before, const StatsLine& after,
                      std::uint64_t data_bytes) {
  line.add("log_bytes", after.log_bytes - before.log_bytes);
  line.add("log_bytes_since_open", after.log_bytes);
  line.add("peak_memory_bytes", peak_memory_bytes());
  line.add("volatile_page_bytes", after.volatile_page_bytes);
  line.add("data_bytes", data_bytes);
  line.add("log_buffer_bytes", after.log_buffer_bytes);
  line.add("free_page_bytes", after.free_page_bytes);
  for (const auto& [name, value] : after.more) line.add(name, value);
}

}  // namespace experiments::tpcc
