#include "experiments/tiers/lookups.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/random.h"
#include "experiments/common/worker_threads.h"
#include "experiments/tiers/child.h"
#include "experiments/tiers/ycsb_rows.h"
#include "experiments/ycsb/ycsb_driver.h"
#include "experiments/ycsb/zipf.h"

namespace experiments::tiers {

namespace {

static_assert(kFields * kFieldBytes == kRowBytes);
// One DIMM of the first such memory, read sequentially (Izraelevitz et al., "Basic Performance
// Measurements of the Intel Optane DC Persistent Memory Module", 2019).
constexpr std::uint64_t kBandwidthMb = 6'600;
// Sequential reads of an SSD on PCIe.
constexpr std::uint64_t kSsdTierBandwidthMb = 2'000;

std::string directory_of(const Plan& plan, const LookupSetting& setting) {
  const char* const kind = setting.is_in_memory     ? "/memory-"
                           : setting.nvm_bytes == 0 ? "/rows-"
                                                    : "/tiers-";
  return plan.dir + kind + std::to_string(setting.rows);
}

foedus::Options options_of(const Plan& plan, const LookupSetting& setting) {
  foedus::Options options;
  options.dir = directory_of(plan, setting);
  options.device = foedus::DeviceKind::kEmulated;
  options.nvm_latency_ns = 0;
  options.nvm_bytes = setting.nvm_bytes;
  if (setting.nvm_bytes != 0) options.ssd_dirs = {options.dir + "-ssd"};
  if (!setting.is_in_memory) return options;
  options.device = foedus::DeviceKind::kFile;
  options.logging = foedus::Logging::kNone;
  return options;
}

foedus::Status put_rows(FoedusBackend* backend, const Plan& plan, std::uint64_t rows) {
  FOEDUS_TRY(const auto driver,
             YcsbDriver<FoedusBackend>::open(
                 *backend, ordered_rows(plan, rows, *workload_named("C"), 0)));
  return driver->load();
}

foedus::Result<std::uint64_t> make_rows(const Plan& plan, const LookupSetting& setting) {
  FOEDUS_TRY(FoedusBackend backend,
             FoedusBackend::open(options_of(plan, setting), foedus::Durability::kAsync));
  FOEDUS_CHECK(put_rows(&backend, plan, setting.rows));
  FOEDUS_CHECK(backend.database().glean().status());
  FOEDUS_CHECK(backend.close());
  return setting.rows;
}

class Lookups {
 public:
  Lookups(FoedusBackend* backend, const FoedusTable& table, const Plan& plan,
          const LookupSetting& setting)
      : backend_(backend),
        table_(table),
        sessions_(plan.sessions),
        seed_(plan.seed),
        setting_(setting),
        zipf_(setting.rows, setting.theta),
        scramble_(setting.rows) {}

  // Returns how many there were, and for how long.
  struct Done {
    std::uint64_t lookups;
    double seconds;
  };
  foedus::Result<Done> run(double seconds) {
    using Steady = std::chrono::steady_clock;
    std::atomic<std::uint64_t> lookups{0};
    const auto begin = Steady::now();
    const auto end = begin + std::chrono::duration<double>(seconds);
    ++runs_;
    FOEDUS_CHECK(run_workers(sessions_, [&](std::uint32_t number) -> foedus::Status {
      FOEDUS_TRY(FoedusWorker worker, backend_->new_worker());
      Random random(seed_ + runs_, number);
      std::uint64_t own = 0;
      constexpr std::uint64_t kBetweenLooks = 64;  // at the clock
      while (own % kBetweenLooks != 0 || Steady::now() < end) {
        FOEDUS_CHECK(look_up(&worker, &random));
        ++own;
      }
      lookups.fetch_add(own);
      return {};
    }));
    return Done{lookups.load(), std::chrono::duration<double>(Steady::now() - begin).count()};
  }

 private:
  foedus::Status look_up(FoedusWorker* worker, Random* random) {
    const std::uint64_t row = scramble_.id(zipf_.rank(*random));
    const auto offset =
        static_cast<std::uint32_t>(random->uniform(0, kFields - 1) * kFieldBytes);
    const bool writes = random->uniform(0, 99) < setting_.write_percent;
    const YcsbKey key(row, true);
    const KeyView view{.index = row, .bytes = key.view()};
    return worker->transact([&](FoedusTxn& txn) -> foedus::Status {
      if (writes) return txn.write_at(table_, view, offset, std::string(kFieldBytes, 'w'));
      std::byte field[kFieldBytes];
      return txn.read_at(table_, view, offset, field);
    });
  }

  FoedusBackend* const backend_;
  const FoedusTable table_;
  const std::uint32_t sessions_;
  const std::uint64_t seed_;
  const LookupSetting setting_;
  const Zipf zipf_;
  const Scramble scramble_;
  std::uint64_t runs_ = 0;
};

foedus::Result<LookupsSeen> measure(const Plan& plan, const LookupSetting& setting) {
  foedus::Options options = options_of(plan, setting);
  options.memory_bytes = setting.memory_bytes;
  if (!setting.is_in_memory) options.device = setting.device;
  options.nvm_cache = setting.nvm_cache;
  options.nvm_latency_ns = setting.latency_ns;
  options.nvm_bandwidth_mb = kBandwidthMb;
  options.ssd_latency_ns = setting.ssd_latency_ns;
  options.ssd_bandwidth_mb = kSsdTierBandwidthMb;
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  if (setting.is_in_memory) FOEDUS_CHECK(put_rows(&backend, plan, setting.rows));
  FOEDUS_TRY(const FoedusTable table,
             backend.open_table({.name = "usertable", .kind = TableKind::kOrdered}));
  Lookups lookups(&backend, table, plan, setting);
  const double warm = setting.warm_seconds > 0 ? setting.warm_seconds : setting.seconds;
  FOEDUS_CHECK(lookups.run(warm).status());  // the caches fill
  const foedus::Stats before = backend.database().stats();
  FOEDUS_TRY(const Lookups::Done done, lookups.run(setting.seconds));
  const foedus::Stats stats = backend.database().stats();
  FOEDUS_CHECK(backend.close());
  return LookupsSeen{.per_s = static_cast<double>(done.lookups) / done.seconds,
                     .lookups = done.lookups,
                     .lines_read = stats.nvm.lines_read - before.nvm.lines_read,
                     .ssd_reads = stats.ssd.reads - before.ssd.reads,
                     .cache_bytes = stats.cache_bytes};
}

}  // namespace

foedus::Status load_rows(const Plan& plan, const LookupSetting& setting) {
  return in_child([&] { return make_rows(plan, setting); }).status();
}

void remove_rows(const Plan& plan, const LookupSetting& setting) {
  std::error_code ignored;
  std::filesystem::remove_all(directory_of(plan, setting), ignored);
  std::filesystem::remove_all(directory_of(plan, setting) + "-ssd", ignored);
}

foedus::Result<LookupsSeen> measure_lookups(const Plan& plan, const LookupSetting& setting) {
  return in_child([&] { return measure(plan, setting); });
}

}  // namespace experiments::tiers
