// gleaner_speed: how fast the log of TPC-C becomes a snapshot. Loads and runs TPC-C, closes the
// database, and gleans its directory once. See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdlib>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/run.h"
#include "gleaner/gleaner.h"

DEFINE_uint32(warehouses, 1, "scale of TPC-C");
DEFINE_uint32(mappers, 1, "mapper tasks");
DEFINE_uint64(mapper_bytes, 16u << 20, "memory of each mapper");
DEFINE_uint64(reducer_bytes, 256u << 20, "memory of the reducer; what is more is spilled");

namespace {

using experiments::FoedusBackend;
namespace tpcc = experiments::tpcc;

foedus::Status check_flags() {
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_dir.empty()) return foedus::Status::error(code, "--dir is missing");
  if (experiments::log_is_on()) return {};
  return foedus::Status::error(code, "--log must be on: there is nothing else to glean");
}

foedus::Status write_log() {
  FOEDUS_TRY(FoedusBackend backend, experiments::open_foedus_by_flags());
  tpcc::Scale scale;
  scale.warehouses = FLAGS_warehouses;
  FOEDUS_TRY(const tpcc::Population<FoedusBackend> population,
             tpcc::populate(backend, scale, tpcc::StorageChoice::kMixed, FLAGS_seed,
                            tpcc::date_now(), FLAGS_sessions));
  tpcc::RunPlan plan;
  plan.sessions = FLAGS_sessions;
  plan.seconds = FLAGS_seconds;
  plan.seed = FLAGS_seed;
  plan.last_name_constant = population.load.last_name_constant;
  FOEDUS_TRY([[maybe_unused]] const tpcc::RunResult result,
             tpcc::Run<FoedusBackend>(backend, population.tables, plan).run());
  return backend.close();
}

double per_second(std::uint64_t count, std::uint64_t us) {
  return static_cast<double>(count) * 1e6 / static_cast<double>(std::max<std::uint64_t>(us, 1));
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(experiments::parse_command_line(
      argc, argv, "gleaner_speed --dir D [--warehouses W] [--seconds S] [--mappers M] ..."));
  FOEDUS_CHECK(check_flags());
  FOEDUS_CHECK(write_log());
  foedus::gleaner::DirectoryGleanOptions options;
  options.socs = FLAGS_socs;
  options.mappers = FLAGS_mappers;
  options.mapper_bytes = FLAGS_mapper_bytes;
  options.reducer_bytes = FLAGS_reducer_bytes;
  FOEDUS_TRY(const foedus::GleanReport report,
             foedus::gleaner::glean_directory(FLAGS_dir, options));
  experiments::JsonObject line = experiments::begin_line("gleaner_speed");
  line.add("records", report.records_read);
  line.add("records_composed", report.records_composed);
  line.add("pages_written", report.pages_written);
  line.add("runs_spilled", report.runs_spilled);
  line.add("map_reduce_records_per_s", per_second(report.records_read, report.map_reduce_us));
  line.add("compose_records_per_s", per_second(report.records_composed, report.compose_us));
  line.add("end_to_end_records_per_s", per_second(report.records_read, report.total_us));
  line.add("catalog_ms", static_cast<double>(report.catalog_us) * 1e-3);
  line.add("map_reduce_ms", static_cast<double>(report.map_reduce_us) * 1e-3);
  line.add("compose_ms", static_cast<double>(report.compose_us) * 1e-3);
  experiments::print_line(line);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "gleaner_speed: " << status.message();
  return EXIT_FAILURE;
}
