// Figure 15 of the SIGMOD'18 paper (appendix A.3): reads and updates of single rows of a table that
// fits NVM and is five times DRAM, over the share of updates.

#include <string>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/curves.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

foedus::Result<Verdict> draw_updates(const Plan& plan) {
  const std::vector<std::uint32_t> percents = plan.is_quick
                                                  ? std::vector<std::uint32_t>{0, 50, 100}
                                                  : std::vector<std::uint32_t>{0, 25, 50, 75, 100};
  LookupSetting setting = five_times_dram(plan);
  Curves curves(plan, "15", "update_percent", "txn_per_s");
  for (const std::uint32_t percent : percents) {
    // Updates leave rows in other pages, and log: no point begins with those of another.
    FOEDUS_CHECK(load_rows(plan, setting).status());
    setting.write_percent = percent;
    FOEDUS_CHECK(curves.add_lookups(
        percent, {on(kTiersInNvm, setting), on(kNvmPages, setting), on(kNvmDirect, setting)}));
    remove_rows(plan, setting);
  }
  const double kept = curves.kept(kTiersInNvm, 0, 100);
  const double pages_kept = curves.kept(kNvmPages, 0, 100);
  const double direct_kept = curves.kept(kNvmDirect, 0, 100);
  const double stability = kept / direct_kept;
  const bool outperform_pages = curves.is_always_faster(kTiersInNvm, kNvmPages) &&
                                curves.is_always_faster(kNvmDirect, kNvmPages);
  return Verdict{
      text("updates only: three tiers have %.2f of the speed of reads only, an NVM page "
           "cache %.2f, and NVM-direct %.2f; three tiers have %.2f times the speed of "
           "the page cache and %.2f times that of NVM-direct",
           kept, pages_kept, direct_kept, curves.ratio(kTiersInNvm, kNvmPages, 100),
           curves.ratio(kTiersInNvm, kNvmDirect, 100)),
      outperform_pages && pages_kept >= 0.4 && kept >= 0.4 && stability > 0.8 && stability < 1.25};
}

}  // namespace experiments::tiers
