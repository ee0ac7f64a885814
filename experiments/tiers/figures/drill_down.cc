// Figure 10 of the SIGMOD'18 paper (§5.4.1): what each technique adds to a cache of whole pages,
// for reads of single rows of a table that fits NVM and is five times DRAM.

#include <map>
#include <string>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

namespace {

using foedus::NvmCache;

const char* name_of(NvmCache cache) {
  if (cache == NvmCache::kAuto) return "mini pages once the cache is full";
  if (cache == NvmCache::kPages) return "whole pages";
  return cache == NvmCache::kLines ? "+ lines" : "+ mini pages";
}

}  // namespace

foedus::Result<Verdict> draw_drill_down(const Plan& plan) {
  LookupSetting setting{.hardware = {.dram_bytes = (plan.is_quick ? 64 : 200) * kMiB},
                        .rows = plan.is_quick ? 320'000u : 1'000'000u,
                        .seconds = plan.is_quick ? 1.0 : 5.0};
  FOEDUS_CHECK(load_rows(plan, setting).status());
  constexpr NvmCache kCaches[] = {NvmCache::kPages, NvmCache::kLines, NvmCache::kMiniPages,
                                  NvmCache::kAuto};
  std::map<NvmCache, std::vector<double>> speeds;
  std::map<NvmCache, std::vector<double>> lines;
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    for (const NvmCache cache : kCaches) {
      setting.system.cache = cache;
      FOEDUS_TRY(const LookupsSeen seen, measure_lookups(plan, setting));
      speeds[cache].push_back(seen.per_s);
      lines[cache].push_back(static_cast<double>(seen.lines_read) /
                             static_cast<double>(seen.lookups));
    }
  }
  for (const NvmCache cache : kCaches) {
    JsonObject point;
    point.add("technique", name_of(cache));
    point.add("lookups_per_s", median_of(speeds[cache]));
    point.add("lines_per_lookup", median_of(lines[cache]));
    print_point("10", name_of(cache), point);
  }
  const auto speed = [&](NvmCache cache) {
    return median_of(speeds[cache]) / median_of(speeds[NvmCache::kPages]);
  };
  const auto fewer = [&](NvmCache more, NvmCache less) {
    return median_of(lines[more]) / median_of(lines[less]);
  };
  const double by_lines = fewer(NvmCache::kPages, NvmCache::kLines);
  const double by_mini_pages = fewer(NvmCache::kLines, NvmCache::kMiniPages);
  return Verdict{
      text("lines: %.2f of the speed of whole pages, %.1f times fewer lines; with mini pages %.2f, "
           "and another %.2f times fewer; whole pages load %.1f lines a lookup",
           speed(NvmCache::kLines), by_lines, speed(NvmCache::kMiniPages), by_mini_pages,
           median_of(lines[NvmCache::kPages])),
      speed(NvmCache::kMiniPages) > 1 && by_lines * by_mini_pages >= 50};
}

}  // namespace experiments::tiers
