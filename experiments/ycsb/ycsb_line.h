#pragma once
// The members of a JSON line that describe a run of YCSB.

#include <cstdint>
#include <map>
#include <string>

#include "experiments/common/backend.h"
#include "experiments/common/json_line.h"
#include "experiments/ycsb/ycsb_session.h"

namespace experiments {

inline JsonObject latencies_us(const std::map<std::string, Histogram>& histograms) {
  JsonObject object;
  for (const auto& [name, histogram] : histograms) object.add(name, latency_us(histogram));
  return object;
}

// `before` and `after`: the statistics of the store when the run began and ended.
inline void add_ycsb_members(JsonObject& line, const YcsbResult& result, const StatsLine& before,
                             const StatsLine& after) {
  line.add("seconds", result.seconds);
  line.add("txn_per_s", static_cast<double>(result.txns) / result.seconds);
  line.add("ops_per_s", static_cast<double>(result.ops) / result.seconds);
  line.add("stall_ms_max", result.stall_ms_max);
  line.add("rows_scanned", result.rows_scanned);
  std::map<std::string, std::uint64_t> aborts = result.counters.conflicts;
  aborts["rolled_back"] = result.counters.rollbacks;
  line.add("aborts", aborts);
  line.add("latency_us", latencies_us(result.latency));
  line.add("durable_latency_us", latency_us(result.until_durable));
  line.add("log_bytes", after.log_bytes - before.log_bytes);
  line.add("log_bytes_since_open", after.log_bytes);
  line.add("peak_memory_bytes", peak_memory_bytes());
  line.add("volatile_page_bytes", after.volatile_page_bytes);
  line.add("log_buffer_bytes", after.log_buffer_bytes);
  line.add("free_page_bytes", after.free_page_bytes);
  line.add("checksum", result.checksum);
}

}  // namespace experiments
