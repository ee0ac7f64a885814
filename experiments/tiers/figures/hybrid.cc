// Figure 11 of the SIGMOD'18 paper (§5.5): reads of rows of 8 bytes, evenly distributed, over the
// share of the pages that the cache has room for; and the same by Zipf's law. Beside it a hybrid
// system, whose interior pages are in DRAM and whose leaves are read in place. Leaves are sorted
// here, in both, where FPTree has fingerprints, by which it needs fewer lines of a leaf.

#include <string>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/curves.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

namespace {

constexpr System kSkewed{"three tiers, Zipf", kTiersInNvm.place, kTiersInNvm.cache};

}  // namespace

foedus::Result<Verdict> draw_hybrid(const Plan& plan) {
  const std::vector<double> percents = plan.is_quick
                                           ? std::vector<double>{10, 50, kAllPagesPercent}
                                           : std::vector<double>{10, 25, 50, 100, kAllPagesPercent};
  LookupSetting setting{.rows = plan.is_quick ? 1'000'000u : 4'000'000u,
                        .kind = RowKind::kSmall,
                        .theta = 0,
                        .seconds = plan.is_quick ? 0.6 : 2.0,
                        .warm_seconds = plan.is_quick ? 1.0 : 3.0};
  FOEDUS_TRY(const std::uint64_t bytes, load_rows(plan, setting));
  Curves curves(plan, "11", "dram_percent", "lookups_per_s");
  for (const double percent : percents) {
    setting.cache_bytes = share_of(bytes, percent);
    LookupSetting skewed = on(kSkewed, setting);
    skewed.theta = kTheta;
    FOEDUS_CHECK(
        curves.add_lookups(percent, {on(kTiersInNvm, setting), skewed, on(kHybrid, setting)}));
  }
  remove_rows(plan, setting);
  const double even_all = curves.ratio(kTiersInNvm, kHybrid, kAllPagesPercent);
  const double even_half = curves.ratio(kTiersInNvm, kHybrid, 50);
  const double zipf_half = curves.ratio(kSkewed, kHybrid, 50);
  const double zipf_tenth = curves.ratio(kSkewed, kHybrid, 10);
  return Verdict{text("evenly read, three tiers have %.2f times the speed of a hybrid system with "
                      "all pages in DRAM, and %.2f times with half of them; by Zipf's law %.2f "
                      "times with half of them, and %.2f times with a tenth",
                      even_all, even_half, zipf_half, zipf_tenth),
                 even_all > 1 && even_half < 1 && zipf_half >= 1.3 && zipf_tenth >= 0.8};
}

}  // namespace experiments::tiers
