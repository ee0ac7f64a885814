#include "tests/isolation/report.h"

#include <cstdio>
#include <utility>

namespace foedus::isolation {

void print_anomalies(const Checker& checker) {
  for (const Anomaly& anomaly : checker.anomalies()) {
    std::fprintf(stderr, "%s: %s\n", anomaly.name.c_str(), anomaly.text.c_str());
  }
}

std::string stats_json(const Checker& checker) {
  const CheckStats& stats = checker.stats();
  const std::pair<const char*, std::uint64_t> members[] = {
      {"txns", stats.txns},
      {"writers", stats.writers},
      {"readers", stats.readers},
      {"snapshots", stats.snapshots},
      {"not_committed", stats.not_committed},
      {"unreported", stats.unreported},
      {"reads", stats.reads},
      {"edges", stats.edges},
      {"windows", stats.windows},
      {"crashes", stats.crashes},
      {"versions_lost_unacknowledged", stats.lost},
      {"anomalies", checker.anomalies().size()},
  };
  std::string text;
  for (const auto& [name, value] : members) {
    if (!text.empty()) text += ",";
    text += "\"" + std::string(name) + "\":" + std::to_string(value);
  }
  return text;
}

}  // namespace foedus::isolation
