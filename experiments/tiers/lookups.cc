#include "experiments/tiers/lookups.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/random.h"
#include "experiments/common/worker_threads.h"
#include "experiments/tiers/child.h"
#include "experiments/tiers/small_rows.h"
#include "experiments/tiers/ycsb_rows.h"
#include "experiments/ycsb/ycsb_driver.h"
#include "experiments/ycsb/zipf.h"

namespace experiments::tiers {

namespace {

static_assert(kFields * kFieldBytes == kRowBytes);

std::string directory_of(const Plan& plan, const LookupSetting& setting) {
  std::string dir = plan.dir + (setting.kind == RowKind::kSmall ? "/small-" : "/rows-");
  dir += std::to_string(setting.rows);
  if (setting.system.place == Place::kDram) dir += "-memory";
  if (setting.system.place == Place::kNvmAndSsd) dir += "-tiers";
  return dir;
}

foedus::Status put_rows(FoedusBackend* backend, const Plan& plan, const LookupSetting& setting) {
  if (setting.kind == RowKind::kSmall) return put_small_rows(backend, plan, setting.rows);
  FOEDUS_TRY(const auto driver,
             YcsbDriver<FoedusBackend>::open(
                 *backend, ordered_rows(plan, setting.rows, *workload_named("C"), 0)));
  return driver->load();
}

foedus::Result<FoedusTable> open_rows(FoedusBackend* backend, RowKind kind) {
  if (kind == RowKind::kSmall) return open_small_rows(backend);
  return backend->open_table({.name = "usertable", .kind = TableKind::kOrdered});
}

foedus::Result<std::uint64_t> make_rows(const Plan& plan, const LookupSetting& setting) {
  const foedus::Options options =
      load_options_on(setting.system, setting.hardware, directory_of(plan, setting));
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  FOEDUS_CHECK(put_rows(&backend, plan, setting));
  FOEDUS_TRY(const foedus::GleanReport report, backend.database().glean());
  FOEDUS_CHECK(backend.close());
  constexpr std::uint64_t kPageBytes = 4'096;
  return report.pages_live * kPageBytes;
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
    const YcsbKey key(row, true);
    const KeyView view{.index = row, .bytes = key.view()};
    if (setting_.kind == RowKind::kSmall) {
      std::byte value[kSmallRowBytes];
      return worker->transact([&](FoedusTxn& txn) { return txn.get(table_, view, value); });
    }
    const auto offset =
        static_cast<std::uint32_t>(random->uniform(0, kFields - 1) * kFieldBytes);
    const bool writes = random->uniform(0, 99) < setting_.write_percent;
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

// Returns how long the caches may fill. Reads in place leave nothing in them.
double warm_seconds_of(const LookupSetting& setting) {
  const double warm = setting.warm_seconds > 0 ? setting.warm_seconds : setting.seconds;
  constexpr double kNothingFills = 0.5;
  const bool fills = setting.system.cache != foedus::NvmCache::kDirect || setting.write_percent > 0;
  return fills ? warm : std::min(warm, kNothingFills);
}

foedus::Result<LookupsSeen> measure(const Plan& plan, const LookupSetting& setting) {
  foedus::Options options =
      options_on(setting.system, setting.hardware, directory_of(plan, setting));
  if (setting.cache_bytes != 0) {
    options.pages.cache_bytes = setting.cache_bytes;
    options.memory_bytes = 2 * setting.cache_bytes + 64 * kMiB;
  }
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  if (setting.system.place == Place::kDram) FOEDUS_CHECK(put_rows(&backend, plan, setting));
  FOEDUS_TRY(const FoedusTable table, open_rows(&backend, setting.kind));
  Lookups lookups(&backend, table, plan, setting);
  FOEDUS_CHECK(lookups.run(warm_seconds_of(setting)).status());
  const foedus::Stats before = backend.database().stats();
  FOEDUS_TRY(const Lookups::Done done, lookups.run(setting.seconds));
  const foedus::Stats stats = backend.database().stats();
  FOEDUS_CHECK(backend.close());
  if (setting.system.place == Place::kDram) remove_rows(plan, setting);
  return LookupsSeen{.per_s = static_cast<double>(done.lookups) / done.seconds,
                     .lookups = done.lookups,
                     .lines_read = stats.nvm.lines_read - before.nvm.lines_read,
                     .ssd_reads = stats.ssd.reads - before.ssd.reads,
                     .cache_bytes = stats.cache_bytes};
}

}  // namespace

LookupSetting five_times_dram(const Plan& plan) {
  return LookupSetting{.hardware = {.dram_bytes = (plan.is_quick ? 64 : 200) * kMiB},
                       .rows = plan.is_quick ? 240'000u : 750'000u,
                       .seconds = plan.is_quick ? 0.6 : 2.0,
                       .warm_seconds = plan.is_quick ? 1.0 : 3.0};
}

foedus::Result<std::uint64_t> load_rows(const Plan& plan, const LookupSetting& setting) {
  return in_child([&] { return make_rows(plan, setting); });
}

void remove_rows(const Plan& plan, const LookupSetting& setting) {
  remove_database(directory_of(plan, setting));
}

foedus::Result<LookupsSeen> measure_lookups(const Plan& plan, const LookupSetting& setting) {
  return in_child([&] { return measure(plan, setting); });
}

}  // namespace experiments::tiers
