// peers: our engine against another one, same driver, same process, in turns. See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/text.h"
#include "experiments/peers/comparison.h"
#include "experiments/peers/side.h"

DEFINE_string(driver, "", "tpcc, ycsb-A .. ycsb-F, or check: only whether the peer answers right");
DEFINE_string(peer, "", "lmdb, rocksdb-optimistic, rocksdb-pessimistic, wiredtiger; for check, "
              "foedus too");
DEFINE_uint32(rounds, 5, "rounds; each runs both sides for --seconds");
DEFINE_string(storage, "mixed", "tpcc: mixed or masstree; ycsb: masstree (or mixed) or hash");
DEFINE_string(mix, "full", "tpcc: full, or new-order-payment (51 % and 49 %)");
DEFINE_uint32(warehouses, 0, "tpcc: scale; 0: one per session");
DEFINE_uint32(remote_percent, 1, "tpcc: % of order lines from other warehouses");
DEFINE_bool(small, false, "tpcc: a hundredth of the rows of each warehouse; for tests");
DEFINE_uint64(rows, 100'000, "ycsb: rows to load, of ten fields of 100 bytes");
DEFINE_double(theta, 0.99, "ycsb: skew of the Zipf distribution, 0 (uniform) to below 1");
DEFINE_uint32(ops_per_txn, 1, "ycsb: operations in one transaction");

namespace experiments {
namespace {

constexpr auto kInvalid = foedus::ErrorCode::kInvalidArgument;

foedus::Status fill_ycsb(std::string_view workload_name, Task& task) {
  const auto workload = workload_named(workload_name);
  if (!workload) return failed(kInvalid, "--driver: workloads are ycsb-A .. ycsb-F");
  task.driver = Task::Driver::kYcsb;
  task.ycsb.workload = *workload;
  task.ycsb.rows = FLAGS_rows;
  task.ycsb.theta = FLAGS_theta;
  task.ycsb.ops_per_txn = FLAGS_ops_per_txn;
  task.ycsb.storage = FLAGS_storage == "hash" ? TableKind::kHash : TableKind::kOrdered;
  return {};
}

foedus::Status fill_tpcc(Task& task) {
  if (FLAGS_storage == "hash") return failed(kInvalid, "--storage hash is for ycsb");
  if (FLAGS_mix != "full" && FLAGS_mix != "new-order-payment") {
    return failed(kInvalid, "--mix must be full or new-order-payment");
  }
  if (FLAGS_remote_percent > 100) return failed(kInvalid, "--remote-percent must be 0 .. 100");
  task.driver = Task::Driver::kTpcc;
  task.scale.warehouses = FLAGS_warehouses != 0 ? FLAGS_warehouses : FLAGS_sessions;
  if (FLAGS_small) {
    task.scale.items /= 100;
    task.scale.customers_per_district /= 100;
    task.scale.orders /= 100;
  }
  task.storage = FLAGS_storage == "mixed" ? tpcc::StorageChoice::kMixed
                                          : tpcc::StorageChoice::kOrdered;
  task.plan.mix = FLAGS_mix == "full" ? tpcc::kFullMix : tpcc::kNewOrderPaymentMix;
  task.plan.remote_percent = FLAGS_remote_percent;
  task.plan.watches_durability = log_is_on();
  return tpcc::check_scale(task.scale);
}

foedus::Result<Task> task_of_flags() {
  if (FLAGS_dir.empty()) return failed(kInvalid, "--dir is missing: where may both sides write?");
  if (FLAGS_rounds == 0) return failed(kInvalid, "--rounds must be 1 or more");
  if (FLAGS_storage != "mixed" && FLAGS_storage != "masstree" && FLAGS_storage != "hash") {
    return failed(kInvalid, "--storage must be mixed, masstree or hash");
  }
  Task task;
  task.plan.sessions = task.ycsb.sessions = FLAGS_sessions;
  task.plan.seed = task.ycsb.seed = FLAGS_seed;
  if (FLAGS_driver == "check") {
    task.driver = Task::Driver::kCheck;
  } else if (FLAGS_driver == "tpcc") {
    FOEDUS_CHECK(fill_tpcc(task));
  } else if (FLAGS_driver.starts_with("ycsb-")) {
    FOEDUS_CHECK(fill_ycsb(std::string_view(FLAGS_driver).substr(5), task));
  } else {
    return failed(kInvalid, "--driver must be tpcc, ycsb-A .. ycsb-F, or check");
  }
  return task;
}

// A side's folder must not hold a database already: the load starts from nothing.
foedus::Result<Place> empty_place(const std::string& name) {
  const std::filesystem::path dir = std::filesystem::path(FLAGS_dir) / name;
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (!error && !std::filesystem::is_empty(dir, error) && !error) {
    return failed(kInvalid, "%s is not empty: remove it first", dir.c_str());
  }
  if (error) {
    return foedus::Status::system_error(foedus::ErrorCode::kIoError, dir, error.value());
  }
  return Place{.dir = dir, .sync = durability_is_sync()};
}

foedus::Result<std::unique_ptr<Side>> open_side(const std::string& name, const Task& task) {
  auto* const open = name == "foedus"                ? open_foedus_side
                     : name == "lmdb"                ? open_lmdb_side
                     : name == "rocksdb-optimistic"  ? open_rocksdb_optimistic_side
                     : name == "rocksdb-pessimistic" ? open_rocksdb_pessimistic_side
                     : name == "wiredtiger"          ? open_wiredtiger_side
                                                     : nullptr;
  if (open == nullptr) return failed(kInvalid, "--peer %s is not known", name.c_str());
  FOEDUS_TRY(const Place place, empty_place(name));
  return open(place, task);
}

foedus::Status check_peer(const Task& task) {
  FOEDUS_TRY(const std::unique_ptr<Side> side, open_side(FLAGS_peer, task));
  FOEDUS_CHECK(side->check());
  JsonObject line = begin_line("peers");
  line.add("conforms", true);
  print_line(line);
  return {};
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(parse_command_line(argc, argv, "peers --driver D --peer P --dir X ..."));
  FOEDUS_TRY(const Task task, task_of_flags());
  if (task.driver == Task::Driver::kCheck) return check_peer(task);
  if (FLAGS_peer == "foedus") return failed(kInvalid, "--peer foedus goes with --driver check");
  FOEDUS_TRY(const std::unique_ptr<Side> peer, open_side(FLAGS_peer, task));
  FOEDUS_TRY(const std::unique_ptr<Side> ours, open_side("foedus", task));
  FOEDUS_CHECK(peer->load());
  FOEDUS_CHECK(ours->load());
  Comparison comparison(*ours, *peer);
  FOEDUS_CHECK(comparison.run(FLAGS_rounds, FLAGS_seconds, FLAGS_seed));
  JsonObject line = begin_line("peers");
  line.add("driver", FLAGS_driver);
  line.add("peer", FLAGS_peer);
  comparison.add_to(line);
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments

int main(int argc, char** argv) {
  const foedus::Status status = experiments::run(argc, argv);
  if (status.is_ok()) return 0;
  LOG(ERROR) << "peers: " << status.message();
  return 1;
}
