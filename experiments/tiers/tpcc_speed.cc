#include "experiments/tiers/tpcc_speed.h"

#include "experiments/common/foedus_backend.h"
#include "experiments/tiers/child.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/run.h"

namespace experiments::tiers {

namespace {

using TpccPopulation = tpcc::Population<FoedusBackend>;

foedus::Result<TpccPopulation> fill(FoedusBackend* backend, const Plan& plan,
                                    const tpcc::Scale& scale) {
  return tpcc::populate(*backend, scale, tpcc::StorageChoice::kMixed, plan.seed, 0, plan.sessions);
}

foedus::Result<std::uint64_t> make_tpcc(const Plan& plan, const foedus::Options& options,
                                        const tpcc::Scale& scale) {
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  FOEDUS_CHECK(fill(&backend, plan, scale).status());
  FOEDUS_TRY(const foedus::GleanReport report, backend.database().glean());
  FOEDUS_CHECK(backend.close());
  constexpr std::uint64_t kPageBytes = 4'096;
  return report.pages_live * kPageBytes;
}

foedus::Result<tpcc::RunResult> run_mix(FoedusBackend* backend, const Plan& plan,
                                        const TpccPopulation& population, double seconds,
                                        std::uint64_t seed) {
  tpcc::RunPlan run;
  run.sessions = plan.sessions;
  run.seconds = seconds;
  run.seed = seed;
  run.watches_durability = false;
  run.last_name_constant = population.load.last_name_constant;
  return tpcc::Run<FoedusBackend>(*backend, population.tables, run).run();
}

foedus::Result<TpccSpeed> run_tpcc(FoedusBackend* backend, const Plan& plan,
                                   const TpccPopulation& population, const TpccSeconds& seconds,
                                   std::uint64_t seed) {
  FOEDUS_CHECK(run_mix(backend, plan, population, seconds.warm, seed).status());
  const foedus::Stats before = backend->database().stats();
  FOEDUS_TRY(const tpcc::RunResult result,
             run_mix(backend, plan, population, seconds.measured, seed + 1));
  const foedus::Stats stats = backend->database().stats();
  TpccSpeed seen{};
  for (const std::uint64_t commits : result.commits) {
    seen.txns_per_s += static_cast<double>(commits) / result.seconds;
  }
  seen.pages_read = stats.nvm.pages_read - before.nvm.pages_read;
  seen.ssd_reads = stats.ssd.reads - before.ssd.reads;
  FOEDUS_CHECK(backend->close());
  return seen;
}

foedus::Result<TpccSpeed> open_and_run(const Plan& plan, const foedus::Options& options,
                                       const TpccSeconds& seconds, std::uint64_t seed) {
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  FOEDUS_TRY(const auto population, tpcc::find_population(backend));
  if (!population.has_value()) return failed(foedus::ErrorCode::kNotFound, "nothing was loaded");
  return run_tpcc(&backend, plan, *population, seconds, seed);
}

foedus::Result<TpccSpeed> fill_and_run(const Plan& plan, const foedus::Options& options,
                                       const tpcc::Scale& scale, const TpccSeconds& seconds,
                                       std::uint64_t seed) {
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  FOEDUS_TRY(const TpccPopulation population, fill(&backend, plan, scale));
  return run_tpcc(&backend, plan, population, seconds, seed);
}

}  // namespace

foedus::Result<std::uint64_t> load_tpcc(const Plan& plan, const foedus::Options& options,
                                        const tpcc::Scale& scale) {
  return in_child([&] { return make_tpcc(plan, options, scale); });
}

foedus::Result<TpccSpeed> measure_tpcc(const Plan& plan, const foedus::Options& options,
                                       const TpccSeconds& seconds, std::uint64_t seed) {
  return in_child([&] { return open_and_run(plan, options, seconds, seed); });
}

foedus::Result<TpccSpeed> measure_tpcc_in_memory(const Plan& plan, foedus::Options options,
                                                 const tpcc::Scale& scale,
                                                 const TpccSeconds& seconds, std::uint64_t seed) {
  options.log.kind = foedus::Logging::kFiles;
  options.glean.log_bytes = 0;
  options.glean.interval_us = 0;
  options.pages.volatile_percent = 90;  // the most that there is; memory has room for far more
  options.glean.close_us = 0;
  return in_child([&] { return fill_and_run(plan, options, scale, seconds, seed); });
}

}  // namespace experiments::tiers
