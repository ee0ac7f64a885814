// TPC-C without an end, for the page of `foedus demo`: one JSON line on stdout for each event and
// each quarter of a second. See README.md.

#include <gflags/gflags.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/options.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/run.h"
#include "experiments/tpcc_live/acked_orders.h"
#include "experiments/tpcc_live/live_lines.h"
#include "experiments/tpcc_live/sampler.h"

DEFINE_uint32(warehouses, 1, "scale of a new database");
DEFINE_bool(small, false, "a hundredth of the rows of each warehouse; for tests, not TPC-C");
DEFINE_string(ack_dir, "", "files of acknowledged new-orders, one for each start of the program");

namespace experiments::tpcc {
namespace {

constexpr char kUsage[] = "tpcc_live --dir D --ack_dir A [--warehouses W] [--sessions N] ...";

using Backend = FoedusBackend;

foedus::Result<Population<Backend>> find_or_load(Backend& backend, const LiveLines& lines) {
  FOEDUS_TRY(std::optional<Population<Backend>> found, find_population(backend));
  if (found.has_value()) return std::move(*found);
  lines.event("loading");
  Scale scale;
  scale.warehouses = FLAGS_warehouses;
  if (FLAGS_small) {
    scale.items /= 100;
    scale.customers_per_district /= 100;
    scale.orders /= 100;
  }
  return populate(backend, scale, StorageChoice::kMixed, FLAGS_seed, date_now(), FLAGS_sessions);
}

// Reads the row of the first warehouse: an answer that a user of the database waits for.
foedus::Status read_first(Backend& backend, const Tables<Backend>& tables) {
  FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
  WarehouseRow row;
  return worker.read_only(
      [&](FoedusTxn& txn) { return txn.get(tables.warehouse, warehouse_key(1), bytes_of(row)); });
}

foedus::Status run_live(Backend& backend, const LiveLines& lines) {
  FOEDUS_TRY(const Population<Backend> population, find_or_load(backend, lines));
  FOEDUS_CHECK(read_first(backend, population.tables));
  lines.event("first_read");

  FOEDUS_TRY(const AckedOrders acked, AckedOrders::find(FLAGS_ack_dir));
  Sampler sampler(backend.database(), lines);
  OrderCheck check(backend, population.tables, acked, lines);
  RunPlan plan;
  plan.sessions = FLAGS_sessions;
  plan.seconds = 1e9;  // the parent ends the process
  plan.seed = FLAGS_seed;
  plan.last_name_constant = population.load.last_name_constant;
  plan.ack_path = acked.next_path();
  return Run<Backend>(backend, population.tables, plan).run().status();
}

foedus::Status open_and_run(int argc, char** argv) {
  FOEDUS_CHECK(parse_command_line(argc, argv, kUsage));
  if (FLAGS_dir.empty() || FLAGS_ack_dir.empty()) {
    return failed(foedus::ErrorCode::kInvalidArgument, "--dir and --ack_dir are needed");
  }
  const LiveLines lines;
  FOEDUS_TRY(Backend backend, open_foedus_by_flags());
  lines.event("opened");
  return run_live(backend, lines);
}

}  // namespace
}  // namespace experiments::tpcc

int main(int argc, char** argv) {
  // Without its parent nothing would ever end this process.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const foedus::Status status = experiments::tpcc::open_and_run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "tpcc_live: %s\n", status.message().c_str());
  std::fflush(stderr);
  std::_Exit(EXIT_FAILURE);
}
