// Figure 13 of the SIGMOD'18 paper (§5.6.2): reads of single rows of a table that fits NVM, over
// the size of the cache in DRAM as a share of the table's pages.

#include <string>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/curves.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

foedus::Result<Verdict> draw_dram_size(const Plan& plan) {
  const std::vector<double> percents = plan.is_quick
                                           ? std::vector<double>{10, 50, kAllPagesPercent}
                                           : std::vector<double>{10, 20, 50, 80, kAllPagesPercent};
  LookupSetting setting = five_times_dram(plan);
  setting.warm_seconds = plan.is_quick ? 1.5 : 4;  // the largest cache is all of the table
  FOEDUS_TRY(const std::uint64_t bytes, load_rows(plan, setting));
  Curves curves(plan, "13", "dram_percent", "lookups_per_s");
  for (const double percent : percents) {
    setting.cache_bytes = share_of(bytes, percent);
    FOEDUS_CHECK(curves.add_lookups(
        percent, {on(kTiersInNvm, setting), on(kNvmPages, setting), on(kNvmDirect, setting)}));
  }
  remove_rows(plan, setting);
  const double of_direct = curves.ratio(kTiersInNvm, kNvmDirect, 10);
  const double pages_half = curves.ratio(kNvmPages, kNvmDirect, 50);
  const double pages_all = curves.ratio(kNvmPages, kNvmDirect, kAllPagesPercent);
  const double direct_change = curves.kept(kNvmDirect, 10, kAllPagesPercent);
  return Verdict{
      text("NVM-direct has %.2f times its speed with all pages' worth of DRAM; with a tenth three "
           "tiers have %.2f times its speed; an NVM page cache has %.2f times with half, and %.2f "
           "with all",
           direct_change, of_direct, pages_half, pages_all),
      direct_change > 0.85 && direct_change < 1.15 && of_direct > 1 && pages_half < 1 &&
          pages_all > 1};
}

}  // namespace experiments::tiers
