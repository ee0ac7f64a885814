// gleaner_speed: how fast the log of TPC-C becomes a snapshot, and what transactions feel of it.
// See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/run.h"

DEFINE_uint32(warehouses, 1, "scale of TPC-C");
DEFINE_bool(small, false, "a hundredth of the rows of each warehouse; for tests");
DEFINE_uint32(mappers, 0, "threads that read the log; 0: the store's default");
DEFINE_uint32(reducers, 0, "threads that sort and write pages; 0: the store's default");
DEFINE_uint32(installers, 0, "threads that install a snapshot; 0: the store's default");
DEFINE_uint64(glean_memory_bytes, 0, "of mappers and reducers; 0: the store's default");

namespace experiments {
namespace {

using TpccRun = tpcc::Run<FoedusBackend>;
using Population = tpcc::Population<FoedusBackend>;

foedus::Status check_flags() {
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_dir.empty()) return foedus::Status::error(code, "--dir is missing");
  if (log_is_on()) return {};
  return foedus::Status::error(code, "--log must be on: there is nothing else to glean");
}

// No glean of its own accord: the log of the load and of the first run makes the first snapshot.
foedus::Options options_by_flags() {
  foedus::Options options = foedus_options_by_flags();
  set_gleans_by_flags("off", &options);
  options.glean.mappers = FLAGS_mappers;
  options.glean.reducers = FLAGS_reducers;
  options.glean.installers = FLAGS_installers;
  options.glean.memory_bytes = FLAGS_glean_memory_bytes;
  return options;
}

foedus::Result<Population> load(FoedusBackend& backend) {
  tpcc::Scale scale;
  scale.warehouses = FLAGS_warehouses;
  if (FLAGS_small) {
    scale.items /= 100;
    scale.customers_per_district /= 100;
    scale.orders /= 100;
  }
  return tpcc::populate(backend, scale, tpcc::StorageChoice::kMixed, FLAGS_seed, tpcc::date_now(),
                        FLAGS_sessions);
}

tpcc::RunPlan plan_for(const Population& population, const tpcc::Mix& mix, std::uint64_t number) {
  tpcc::RunPlan plan;
  plan.sessions = FLAGS_sessions;
  plan.seconds = FLAGS_seconds;
  plan.seed = FLAGS_seed + number;
  plan.mix = mix;
  plan.last_name_constant = population.load.last_name_constant;
  return plan;
}

// How long each transaction of all types took, from the end of the one before.
Histogram gaps_of(const tpcc::RunResult& result) {
  Histogram all;
  for (const Histogram& of_type : result.latency) all.merge(of_type);
  return all;
}

struct Gleaned {
  std::uint64_t gleans = 0;
  std::uint64_t pages_dropped = 0;
  foedus::Status status;
};

// Runs transactions while one snapshot is made, installed, and pages dropped after the other.
foedus::Result<tpcc::RunResult> run_beside_gleans(FoedusBackend& backend,
                                                  const Population& population, Gleaned& gleaned) {
  std::atomic<bool> stop{false};
  std::thread gleaner([&] {
    while (!stop.load(std::memory_order_relaxed)) {  // order: a wish to stop, some time
      const auto report = backend.database().glean();
      if (!report.is_ok()) {
        gleaned.status = report.status();
        return;
      }
      ++gleaned.gleans;
      gleaned.pages_dropped += report->pages_dropped;
    }
  });
  const tpcc::RunPlan plan = plan_for(population, tpcc::kNewOrderPaymentMix, 2);
  foedus::Result<tpcc::RunResult> result = TpccRun(backend, population.tables, plan).run();
  stop.store(true, std::memory_order_relaxed);  // order: see above
  gleaner.join();
  FOEDUS_CHECK(gleaned.status);
  return result;
}

double per_second(std::uint64_t count, std::uint64_t us) {
  return static_cast<double>(count) * 1e6 / static_cast<double>(std::max<std::uint64_t>(us, 1));
}
double ms(std::uint64_t us) { return static_cast<double>(us) * 1e-3; }

void add_report(JsonObject& line, const foedus::GleanReport& report) {
  const std::uint64_t compose_cpu_us = report.reduce_cpu_us + report.compose_cpu_us;
  line.add("records", report.records_read);
  line.add("records_composed", report.records_composed);
  line.add("pages_written", report.pages_written);
  line.add("pages_dropped", report.pages_dropped);
  line.add("pages_kept", report.pages_kept);
  line.add("runs_spilled", report.runs_spilled);
  line.add("mapper_records_per_s", per_second(report.records_read, report.map_cpu_us));
  line.add("sort_records_per_s", per_second(report.records_read, report.sort_cpu_us));
  line.add("compose_records_per_s", per_second(report.records_read, compose_cpu_us));
  line.add("end_to_end_records_per_s", per_second(report.records_read, report.total_us));
  line.add("map_reduce_ms", ms(report.map_reduce_us));
  line.add("compose_ms", ms(report.compose_us));
  line.add("install_ms", ms(report.install_us));
  line.add("cpu_ms", ms(report.total_cpu_us));
}

void add_gaps(JsonObject& line, const std::string& name, const tpcc::RunResult& result) {
  constexpr double kNanosecondsPerUs = 1000;
  const Histogram gaps = gaps_of(result);
  line.add(name + "_us_max", static_cast<double>(gaps.max()) / kNanosecondsPerUs);
  line.add(name + "_us_p9999", gaps.percentile(0.9999) / kNanosecondsPerUs);
  line.add(name + "_txn_per_s", static_cast<double>(gaps.count()) / result.seconds);
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(
      parse_command_line(argc, argv, "gleaner_speed --dir D [--warehouses W] [--seconds S] ..."));
  FOEDUS_CHECK(check_flags());
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options_by_flags(), durability_by_flags()));
  FOEDUS_TRY(const Population population, load(backend));
  FOEDUS_CHECK(
      TpccRun(backend, population.tables, plan_for(population, tpcc::kFullMix, 0)).run().status());
  FOEDUS_TRY(const foedus::GleanReport report, backend.database().glean());

  // Memory that the system still has to clear would be a pause, too.
  if (!FLAGS_small) {
    constexpr double kBytesPerSessionSecond = 100e6;
    backend.reserve_memory(
        static_cast<std::uint64_t>(2 * FLAGS_sessions * FLAGS_seconds * kBytesPerSessionSecond));
  }
  // What transactions feel: first without a glean, then with one after the other.
  FOEDUS_TRY(const tpcc::RunResult quiet,
             TpccRun(backend, population.tables, plan_for(population, tpcc::kNewOrderPaymentMix, 1))
                 .run());
  Gleaned gleaned;
  FOEDUS_TRY(const tpcc::RunResult beside, run_beside_gleans(backend, population, gleaned));

  JsonObject line = begin_line("gleaner_speed");
  add_report(line, report);
  add_gaps(line, "quiet", quiet);
  add_gaps(line, "pause", beside);
  line.add("gleans_beside", gleaned.gleans);
  line.add("pages_dropped_beside", gleaned.pages_dropped);
  FOEDUS_CHECK(backend.close());
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments

int main(int argc, char** argv) {
  const foedus::Status status = experiments::run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "gleaner_speed: " << status.message();
  return EXIT_FAILURE;
}
