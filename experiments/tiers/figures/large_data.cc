// Figure 14 of the SIGMOD'18 paper (appendix A.2): reads of single rows over the size of the data,
// with as much NVM and a fifth of it as cache in DRAM.

#include <string>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/curves.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

foedus::Result<Verdict> draw_large_data(const Plan& plan) {
  const std::vector<std::uint64_t> sizes =
      plan.is_quick ? std::vector<std::uint64_t>{25'000, 100'000, 400'000}
                    : std::vector<std::uint64_t>{50'000, 200'000, 800'000, 1'600'000};
  LookupSetting setting = five_times_dram(plan);
  setting.warm_seconds = plan.is_quick ? 1.5 : 5;  // the cache of the largest is large, too
  Curves curves(plan, "14", "data_mb", "lookups_per_s");
  for (const std::uint64_t rows : sizes) {
    setting.rows = rows;
    FOEDUS_TRY(const std::uint64_t bytes, load_rows(plan, setting));
    setting.cache_bytes = share_of(bytes, 20);
    FOEDUS_CHECK(curves.add_lookups(
        data_mb(rows),
        {on(kTiersInNvm, setting), on(kNvmPages, setting), on(kNvmDirect, setting)}));
    remove_rows(plan, setting);
  }
  const double least = data_mb(sizes.front());
  const double most = data_mb(sizes.back());
  const double kept = curves.kept(kTiersInNvm, least, most);
  const double pages_kept = curves.kept(kNvmPages, least, most);
  const double direct_kept = curves.kept(kNvmDirect, least, most);
  return Verdict{text("from %.0f to %.0f MB three tiers keep %.2f of their speed, an NVM page "
                      "cache %.2f, and NVM-direct %.2f",
                      least, most, kept, pages_kept, direct_kept),
                 pages_kept >= 0.85 && direct_kept < 0.7 && kept > direct_kept};
}

}  // namespace experiments::tiers
