#include "experiments/peers/comparison.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "experiments/common/text.h"

namespace experiments {

namespace {

constexpr const char* kSideNames[] = {"ours", "peer"};

JsonObject latencies(const std::map<std::string, Histogram>& histograms) {
  JsonObject object;
  for (const auto& [name, histogram] : histograms) object.add(name, latency_us(histogram));
  return object;
}

std::string list(const std::vector<double>& values) {
  std::string json = "[";
  for (const double value : values) json += text(json.size() > 1 ? ", %.3f" : "%.3f", value);
  return json + "]";
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

foedus::Status Comparison::run_side(std::size_t which, double seconds, std::uint64_t seed) {
  Side& side = *sides_[which];
  Total& total = totals_[which];
  const std::uint64_t log_before = side.stats().log_bytes;
  FOEDUS_TRY(const SideRun run, side.run(seconds, seed));
  total.log_bytes += side.stats().log_bytes - log_before;
  total.txn_per_s.push_back(run.txn_per_s());
  total.sum.add(run);
  std::fprintf(stderr, "%s: %.0f txn/s\n", side.name().c_str(), run.txn_per_s());
  return {};
}

foedus::Status Comparison::run(std::uint32_t rounds, double seconds, std::uint64_t seed) {
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::size_t first = round % 2;
    FOEDUS_CHECK(run_side(first, seconds, seed + round));
    FOEDUS_CHECK(run_side(1 - first, seconds, seed + round));
  }
  return {};
}

void Comparison::add_to(JsonObject& line) const {
  const auto& [ours, peer] = totals_;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < peer.txn_per_s.size(); ++round) {
    ratios.push_back(ours.txn_per_s[round] / peer.txn_per_s[round]);
  }
  const auto [lowest, highest] = std::minmax_element(ratios.begin(), ratios.end());
  line.add("ours_txn_per_s", median(ours.txn_per_s));
  line.add("peer_txn_per_s", median(peer.txn_per_s));
  line.add("ratio_median", median(ratios));
  line.add("ratio_min", ratios.empty() ? 0 : *lowest);
  line.add("ratio_max", ratios.empty() ? 0 : *highest);
  JsonObject rounds, operations, aborts, latency, durable_latency, log_bytes;
  for (std::size_t i = 0; i < 2; ++i) {
    const Total& total = totals_[i];
    std::map<std::string, std::uint64_t> counts = total.sum.counters.conflicts;
    counts["rolled_back"] = total.sum.counters.rollbacks;
    rounds.add_raw(kSideNames[i], list(total.txn_per_s));
    operations.add(kSideNames[i], static_cast<double>(total.sum.ops) / total.sum.seconds);
    aborts.add(kSideNames[i], counts);
    latency.add(kSideNames[i], latencies(total.sum.latency));
    durable_latency.add(kSideNames[i], latencies(total.sum.durable_latency));
    log_bytes.add(kSideNames[i], total.log_bytes);
  }
  line.add("txn_per_s_by_round", rounds);
  line.add("ops_per_s", operations);
  line.add("aborts", aborts);
  line.add("latency_us", latency);
  line.add("durable_latency_us", durable_latency);
  line.add("log_bytes", log_bytes);
  line.add("peak_memory_bytes", peak_memory_bytes());
}

}  // namespace experiments
