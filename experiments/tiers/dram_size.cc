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
  FOEDUS_TRY(const std::uint64_t bytes, load_rows(plan, setting));
  Curves curves(plan, "13", "dram_percent", "lookups_per_s");
  for (const double percent : percents) {
    setting.cache_bytes = share_of(bytes, percent);
    FOEDUS_CHECK(curves.add_lookups(percent, {on(kTiersInNvm, setting), on(kNvmPages, setting)}));
  }
  remove_rows(plan, setting);
  return Verdict{
      text("with a tenth of the pages in DRAM three tiers have %.2f of the speed that they have "
           "with all of them, an NVM page cache %.2f; NVM-direct is not compared",
           curves.kept(kTiersInNvm, kAllPagesPercent, 10),
           curves.kept(kNvmPages, kAllPagesPercent, 10)),
      false};
}

}  // namespace experiments::tiers
