// Figure 11 of the SIGMOD'18 paper (§5.5): reads of rows of 8 bytes, evenly distributed, over the
// share of the pages that the cache has room for; and the same by Zipf's law. Leaves are sorted
// here, as in the first of the paper's two variants.

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
    FOEDUS_CHECK(curves.add_lookups(percent, {on(kTiersInNvm, setting), skewed}));
  }
  remove_rows(plan, setting);
  const double even = curves.kept(kTiersInNvm, kAllPagesPercent, 50);
  const double by_zipf = curves.kept(kSkewed, kAllPagesPercent, 50);
  return Verdict{text("with half of the pages in DRAM %.2f of the speed with all of them is left "
                      "evenly, and %.2f by Zipf's law; a hybrid system is not compared",
                      even, by_zipf),
                 false};
}

}  // namespace experiments::tiers
