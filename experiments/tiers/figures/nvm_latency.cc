// Figure 12 of the SIGMOD'18 paper (§5.6.1): reads of single rows of a table that fits NVM and is
// five times DRAM, over the latency of NVM.

#include <string>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/curves.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

foedus::Result<Verdict> draw_nvm_latency(const Plan& plan) {
  const std::vector<std::uint64_t> latencies =
      plan.is_quick ? std::vector<std::uint64_t>{165, 500, 1'800}
                    : std::vector<std::uint64_t>{165, 300, 500, 900, 1'800};
  LookupSetting setting = five_times_dram(plan);
  FOEDUS_CHECK(load_rows(plan, setting).status());
  Curves curves(plan, "12", "latency_ns", "lookups_per_s");
  for (const std::uint64_t latency : latencies) {
    setting.hardware.nvm_latency_ns = latency;
    FOEDUS_CHECK(curves.add_lookups(
        static_cast<double>(latency),
        {on(kTiersInNvm, setting), on(kNvmPages, setting), on(kNvmDirect, setting)}));
  }
  remove_rows(plan, setting);
  bool outperforms_direct = true;  // above the 300 ns at which the paper sees them meet
  for (const std::uint64_t latency : latencies) {
    if (latency <= 300) continue;
    outperforms_direct &= curves.ratio(kTiersInNvm, kNvmDirect, static_cast<double>(latency)) > 1;
  }
  const auto least = static_cast<double>(latencies.front());
  const auto most = static_cast<double>(latencies.back());
  const double of_direct = curves.ratio(kTiersInNvm, kNvmDirect, least);
  const double kept = curves.kept(kTiersInNvm, least, most);
  const double direct_kept = curves.kept(kNvmDirect, least, most);
  return Verdict{
      text("from 165 to 1,800 ns three tiers keep %.2f of their speed, NVM-direct %.2f; three "
           "tiers have %.2f and %.2f times its speed, and %.2f and %.2f times that of a page cache",
           kept, direct_kept, of_direct, curves.ratio(kTiersInNvm, kNvmDirect, most),
           curves.ratio(kTiersInNvm, kNvmPages, least), curves.ratio(kTiersInNvm, kNvmPages, most)),
      of_direct <= 1 && outperforms_direct && kept > direct_kept &&
          curves.is_always_faster(kTiersInNvm, kNvmPages)};
}

}  // namespace experiments::tiers
