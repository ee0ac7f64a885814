// Figure 8 of the SIGMOD'18 paper (§5.2): reads of single rows over the size of the data, which
// outgrows DRAM, of 200 MB, and then NVM, of 1 GB. Beside three tiers, the same engine in main
// memory only, over NVM by whole pages and in place, and over an SSD.

#include <string>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/curves.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

foedus::Result<Verdict> draw_data_size(const Plan& plan) {
  const std::vector<std::uint64_t> sizes =
      plan.is_quick ? std::vector<std::uint64_t>{15'000, 100'000, 300'000}
                    : std::vector<std::uint64_t>{60'000, 200'000, 600'000, 2'400'000};
  LookupSetting shared{.hardware = {.dram_bytes = (plan.is_quick ? 64 : 200) * kMiB,
                                    .nvm_bytes = (plan.is_quick ? 256 : 1'024) * kMiB},
                       .rows = 0,
                       .seconds = plan.is_quick ? 0.5 : 3.0,
                       .warm_seconds = plan.is_quick ? 1.0 : 12.0};
  Curves curves(plan, "8", "data_mb", "lookups_per_s");
  for (const std::uint64_t rows : sizes) {
    shared.rows = rows;
    std::vector<LookupSetting> settings = {on(kMainMemory, shared), on(kThreeTiers, shared)};
    if (rows * kPageBytesOfRow <= shared.hardware.nvm_bytes) {
      settings.push_back(on(kNvmPages, shared));
      settings.push_back(on(kNvmDirect, shared));
    }
    settings.push_back(on(kSsdPages, shared));
    FOEDUS_CHECK(load_rows(plan, on(kThreeTiers, shared)).status());
    FOEDUS_CHECK(load_rows(plan, on(kSsdPages, shared)).status());
    FOEDUS_CHECK(curves.add_lookups(data_mb(rows), settings));
    remove_rows(plan, on(kThreeTiers, shared));
    remove_rows(plan, on(kSsdPages, shared));
  }
  const double in_dram = data_mb(sizes.front());
  const double in_nvm = data_mb(sizes[sizes.size() - 2]);
  const double in_ssd = data_mb(sizes.back());
  const RegionRatios times(curves, in_dram, in_nvm, in_ssd);
  return Verdict{times.text(), times.of_memory >= 0.85 && times.of_nvm > 1 && times.of_direct > 1 &&
                                   times.of_ssd >= 3};
}

}  // namespace experiments::tiers
