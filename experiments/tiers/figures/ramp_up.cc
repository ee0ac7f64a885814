// Figure 17 of the SIGMOD'18 paper (appendix A.5): speed from the moment of a restart on, for reads
// of rows of 8 bytes, evenly distributed, of a table that fits DRAM. The database was closed; the
// next process opens it with nothing in memory. A device with the latency of an SSD, and whole
// pages, stands for the traditional buffer manager.

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/random.h"
#include "experiments/common/text.h"
#include "experiments/common/worker_threads.h"
#include "experiments/tiers/child.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/small_rows.h"
#include "experiments/tiers/systems.h"
#include "experiments/ycsb/ycsb_row.h"

namespace experiments::tiers {

namespace {

using Steady = std::chrono::steady_clock;
using foedus::NvmCache;

constexpr std::uint64_t kSlotMs = 50;
constexpr std::size_t kSlots = 240;
constexpr std::uint64_t kNvmLatencyNs = 500;
constexpr std::uint64_t kSsdLatencyNs = 100'000;

struct RampSetting {
  const char* name;
  NvmCache cache;
  std::uint64_t latency_ns;
  std::uint64_t bandwidth_mb;
};

// Reads in each slot of time, from the begin of open on.
struct Ramp {
  std::array<std::uint32_t, kSlots> reads;
  double open_ms;
};

foedus::Options small_rows_options(const Plan& plan) {
  foedus::Options options;
  options.dir = plan.dir + "/small-rows";
  options.files.device = foedus::DeviceKind::kEmulated;
  options.emulation.nvm_latency_ns = 0;
  return options;
}

foedus::Result<std::uint64_t> make_small_rows(const Plan& plan, std::uint64_t rows) {
  FOEDUS_TRY(FoedusBackend backend,
             FoedusBackend::open(small_rows_options(plan), foedus::Durability::kAsync));
  FOEDUS_CHECK(put_small_rows(&backend, plan, rows));
  FOEDUS_CHECK(backend.database().glean().status());
  FOEDUS_CHECK(backend.close());
  return rows;
}

foedus::Status read_rows(FoedusBackend& backend, const FoedusTable& table, const Plan& plan,
                         std::uint64_t rows, Steady::time_point begin, double seconds, Ramp* ramp) {
  std::mutex mutex;
  return run_workers(plan.sessions, [&](std::uint32_t number) -> foedus::Status {
    FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
    Random random(plan.seed, number);
    std::array<std::uint32_t, kSlots> own = {};
    for (std::size_t slot = 0;;) {
      constexpr int kBetweenLooks = 16;  // at the clock
      for (int i = 0; i < kBetweenLooks; ++i) {
        const std::uint64_t row = random.uniform(0, rows - 1);
        const YcsbKey key(row, true);
        std::byte value[kSmallRowBytes];
        FOEDUS_CHECK(worker.transact([&](FoedusTxn& txn) {
          return txn.get(table, {.index = row, .bytes = key.view()}, value);
        }));
      }
      own[slot] += kBetweenLooks;
      const std::chrono::duration<double> since = Steady::now() - begin;
      slot = static_cast<std::size_t>(since.count() * 1'000) / kSlotMs;
      if (since.count() >= seconds || slot >= kSlots) break;
    }
    const std::lock_guard lock(mutex);
    for (std::size_t slot = 0; slot < kSlots; ++slot) ramp->reads[slot] += own[slot];
    return {};
  });
}

foedus::Result<Ramp> measure_ramp(const Plan& plan, const RampSetting& setting, std::uint64_t rows,
                                  double seconds) {
  foedus::Options options = small_rows_options(plan);
  options.pages.nvm_cache = setting.cache;
  options.emulation.nvm_latency_ns = setting.latency_ns;
  options.emulation.nvm_bandwidth_mb = setting.bandwidth_mb;
  const auto begin = Steady::now();
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  FOEDUS_TRY(const FoedusTable table, open_small_rows(&backend));
  Ramp ramp = {};
  ramp.open_ms = std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
  FOEDUS_CHECK(read_rows(backend, table, plan, rows, begin, seconds, &ramp));
  FOEDUS_CHECK(backend.close());
  return ramp;
}

// Returns reads a second in a slot.
double speed_at(const Ramp& ramp, std::size_t slot) {
  return ramp.reads[slot] * (1e3 / static_cast<double>(kSlotMs));
}

// Returns the median of the last quarter of the slots, but the last one, which is cut short.
double speed_at_end(const Ramp& ramp, std::size_t slots) {
  std::vector<double> last;
  for (std::size_t slot = slots * 3 / 4; slot + 1 < slots; ++slot) {
    last.push_back(speed_at(ramp, slot));
  }
  return median_of(last);
}

// Returns the milliseconds until the end of the first slot with nine tenths of that speed.
double ms_to(const Ramp& ramp, std::size_t slots, double speed) {
  std::size_t slot = 0;
  while (slot + 1 < slots && speed_at(ramp, slot) < 0.9 * speed) ++slot;
  return static_cast<double>((slot + 1) * kSlotMs);
}

}  // namespace

foedus::Result<Verdict> draw_ramp_up(const Plan& plan) {
  const std::uint64_t rows = plan.is_quick ? 1'000'000 : 4'000'000;
  const double seconds = plan.is_quick ? 3 : 10;
  const auto slots = static_cast<std::size_t>(seconds * 1e3) / kSlotMs;
  FOEDUS_CHECK(in_child([&] { return make_small_rows(plan, rows); }).status());
  const RampSetting settings[] = {
      {"default", NvmCache::kAuto, kNvmLatencyNs, kNvmBandwidthMb},
      {"whole pages", NvmCache::kPages, kNvmLatencyNs, kNvmBandwidthMb},
      {"mini pages", NvmCache::kMiniPages, kNvmLatencyNs, kNvmBandwidthMb},
      {"SSD", NvmCache::kPages, kSsdLatencyNs, kSsdBandwidthMb}};
  std::vector<double> ms;
  double open_ms = 0;
  for (const RampSetting& setting : settings) {
    FOEDUS_TRY(const Ramp ramp,
               in_child([&] { return measure_ramp(plan, setting, rows, seconds); }));
    for (std::size_t slot = 0; slot + 1 < slots; ++slot) {
      JsonObject point;
      point.add("ms", (slot + 1) * kSlotMs);
      point.add("lookups_per_s", speed_at(ramp, slot));
      print_point("17", setting.name, point);
    }
    ms.push_back(ms_to(ramp, slots, speed_at_end(ramp, slots)));
    open_ms = std::max(open_ms, ramp.open_ms);
  }
  return Verdict{
      text("open within %.0f ms; nine tenths of the speed at the end after %.0f ms, with whole "
           "pages %.0f ms, mini pages alone %.0f ms, from an SSD %.0f ms",
           open_ms, ms[0], ms[1], ms[2], ms[3]),
      open_ms < 300 && ms[0] < ms[3] && ms[1] < ms[3]};
}

}  // namespace experiments::tiers
