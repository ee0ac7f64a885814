// ycsb: loads a table of YCSB and measures one of the core workloads on the engine.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/glean_watch.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/text.h"
#include "experiments/ycsb/ycsb_driver.h"
#include "experiments/ycsb/ycsb_line.h"

DEFINE_string(workload, "A", "A: 50 % reads, 50 % updates; B: 95/5; C: reads; D: 95 % reads of the "
              "latest rows, 5 % inserts; E: 95 % scans, 5 % inserts; F: 50 % read-modify-writes");
DEFINE_uint64(rows, 100'000, "rows to load, of ten fields of 100 bytes");
DEFINE_double(theta, 0.99, "skew of the Zipf distribution, 0 (uniform) to below 1");
DEFINE_uint32(ops_per_txn, 1, "operations in one transaction");
DEFINE_string(storage, "masstree", "masstree or hash; E needs masstree");
DEFINE_bool(ordered_keys, false, "keys in the order of insertion, rather than hashed");

namespace experiments {
namespace {

foedus::Result<YcsbConfig> config_of_flags() {
  YcsbConfig config;
  const auto workload = workload_named(FLAGS_workload);
  if (!workload) return failed(foedus::ErrorCode::kInvalidArgument, "--workload must be A .. F");
  if (FLAGS_storage != "masstree" && FLAGS_storage != "hash") {
    return failed(foedus::ErrorCode::kInvalidArgument, "--storage must be masstree or hash");
  }
  config.workload = *workload;
  config.rows = FLAGS_rows;
  config.theta = FLAGS_theta;
  config.ops_per_txn = FLAGS_ops_per_txn;
  config.ordered_keys = FLAGS_ordered_keys;
  config.storage = FLAGS_storage == "hash" ? TableKind::kHash : TableKind::kOrdered;
  config.sessions = FLAGS_sessions;
  config.seed = FLAGS_seed;
  return config;
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(parse_command_line(argc, argv, "ycsb --dir D [--workload A..F] [--rows R] ..."));
  FOEDUS_TRY(const YcsbConfig config, config_of_flags());
  FOEDUS_CHECK(YcsbDriver<FoedusBackend>::check(config));
  FOEDUS_TRY(FoedusBackend backend, open_foedus_by_flags());
  FOEDUS_TRY(const auto driver, YcsbDriver<FoedusBackend>::open(backend, config));
  FOEDUS_CHECK(driver->load());
  JsonObject line = begin_line("ycsb");
  line.add("workload", FLAGS_workload);
  FOEDUS_CHECK(drop_volatile_by_flags(backend.database(), line));
  if (FLAGS_warm_seconds > 0) FOEDUS_CHECK(driver->run(FLAGS_warm_seconds).status());
  StatsLine before;
  backend.fill_stats(before);
  GleanWatch watch(backend.database());
  FOEDUS_TRY(const YcsbResult result, driver->run(FLAGS_seconds));
  watch.stop();
  FOEDUS_CHECK(backend.wait_durable());
  StatsLine after;
  backend.fill_stats(after);
  add_ycsb_members(line, result, before, after);
  watch.add_members(line, FLAGS_sessions);
  FOEDUS_CHECK(backend.close());
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments

int main(int argc, char** argv) {
  const foedus::Status status = experiments::run(argc, argv);
  if (status.is_ok()) return 0;
  LOG(ERROR) << status.message();
  return 1;
}
