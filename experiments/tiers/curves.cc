#include "experiments/tiers/curves.h"

#include <algorithm>

#include "experiments/common/text.h"

namespace experiments::tiers {

namespace {

foedus::Result<PointSeen> see_lookups(const Plan& plan, const LookupSetting& setting) {
  FOEDUS_TRY(const LookupsSeen of, measure_lookups(plan, setting));
  const auto lookups = static_cast<double>(of.lookups);
  return PointSeen{.per_s = of.per_s,
              .members = {
                  {"lines_per_lookup", static_cast<double>(of.lines_read) / lookups},
                  {"ssd_reads_per_lookup", static_cast<double>(of.ssd_reads) / lookups},
                  {"cache_mb", static_cast<double>(of.cache_bytes) / 1e6},
              }};
}

}  // namespace

Curves::Curves(const Plan& plan, const char* figure, const char* x_name, const char* y_name)
    : plan_(plan), figure_(figure), x_name_(x_name), y_name_(y_name) {}

foedus::Status Curves::add(double x, const std::vector<std::pair<std::string, Measure>>& curves) {
  std::map<std::string, std::vector<double>> runs;
  std::map<std::string, PointSeen> last;
  for (std::uint32_t round = 0; round < plan_.rounds; ++round) {
    for (const auto& [name, measure] : curves) {
      FOEDUS_TRY(last[name], measure());
      runs[name].push_back(last[name].per_s);
    }
  }
  for (const auto& [name, unused] : curves) {
    const std::vector<double>& speeds = runs[name];
    speeds_[name][x] = median_of(speeds);
    JsonObject point;
    point.add(x_name_, x);
    point.add(y_name_, speeds_[name][x]);
    point.add(std::string(y_name_) + "_least", *std::min_element(speeds.begin(), speeds.end()));
    point.add(std::string(y_name_) + "_most", *std::max_element(speeds.begin(), speeds.end()));
    for (const auto& [member, value] : last[name].members) point.add(member, value);
    print_point(figure_, name, point);
  }
  return {};
}

foedus::Status Curves::add_lookups(double x, const std::vector<LookupSetting>& settings) {
  std::vector<std::pair<std::string, Measure>> curves;
  for (const LookupSetting& setting : settings) {
    curves.emplace_back(setting.system.name,
                        [this, &setting] { return see_lookups(plan_, setting); });
  }
  return add(x, curves);
}

bool Curves::is_always_faster(const System& one, const System& other) const {
  const auto& points = speeds_.at(one.name);
  return std::all_of(points.begin(), points.end(), [&](const auto& point) {
    return point.second > speed(other.name, point.first);
  });
}

std::string RegionRatios::text() const {
  return experiments::text(
      "three tiers have %.2f of the speed of main memory while the data fits DRAM, %.2f times that "
      "of an NVM page cache and %.2f times that of NVM-direct while it fits NVM, and %.1f times "
      "that of an SSD page cache beyond",
      of_memory, of_nvm, of_direct, of_ssd);
}

}  // namespace experiments::tiers
