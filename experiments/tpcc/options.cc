#include "experiments/tpcc/options.h"

#include <gflags/gflags.h>

#include <algorithm>

#include "experiments/common/options.h"

DEFINE_uint32(warehouses, 0, "scale; 0: those of the database, or one per session");
DEFINE_bool(small, false, "a hundredth of the rows of each warehouse; for tests, not TPC-C");
DEFINE_string(storage, "mixed", "mixed: arrays, sequential and Master-Trees; masstree: all trees");
DEFINE_string(mix, "full", "full: all five transactions; new-order-payment: 51 % and 49 %");
DEFINE_uint32(remote_percent, 1, "% of order lines from other warehouses; payments: 15-fold");
DEFINE_bool(load, false, "load if the database is empty");
DEFINE_bool(run, false, "run the mix for --seconds");
DEFINE_bool(check, false, "check consistency before and after the run");
DEFINE_int64(reserve_bytes, -1,
             "memory to back before the run; -1: 100 MB per session and second, none with --small");
DEFINE_double(kill_after, 0, "SIGKILL this process after so many seconds of the run; 0: never");
DEFINE_string(ack_file, "", "append each new-order here once it is durable");
DEFINE_string(verify_acks, "", "first check that all orders in this ack file are there");

namespace experiments::tpcc {

foedus::Status check_flags() {
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_dir.empty()) return failed(code, "--dir is missing: where is the database?");
  if (FLAGS_storage != "mixed" && FLAGS_storage != "masstree") {
    return failed(code, "--storage must be mixed or masstree");
  }
  if (FLAGS_mix != "full" && FLAGS_mix != "new-order-payment") {
    return failed(code, "--mix must be full or new-order-payment");
  }
  if (FLAGS_remote_percent > 100) return failed(code, "--remote-percent must be 0 .. 100");
  if (FLAGS_kill_after < 0) return failed(code, "--kill-after must not be negative");
  if (FLAGS_kill_after > 0 && !phases_by_flags().runs) {
    return failed(code, "--kill-after goes with a run");
  }
  if (!FLAGS_ack_file.empty() && !log_is_on()) {
    return failed(code, "--ack-file goes with --log on: nothing else becomes durable");
  }
  return check_scale(scale_by_flags());
}

Phases phases_by_flags() {
  if (!FLAGS_load && !FLAGS_run && !FLAGS_check) {
    return {.loads_if_empty = true, .checks = true, .runs = true};
  }
  return {.loads_if_empty = FLAGS_load, .checks = FLAGS_check, .runs = FLAGS_run};
}

Scale scale_by_flags() {
  Scale scale;
  scale.warehouses = FLAGS_warehouses != 0 ? FLAGS_warehouses : FLAGS_sessions;
  if (!FLAGS_small) return scale;
  scale.items /= 100;
  scale.customers_per_district /= 100;
  scale.orders /= 100;
  return scale;
}

StorageChoice storage_by_flags() {
  return FLAGS_storage == "mixed" ? StorageChoice::kMixed : StorageChoice::kOrdered;
}

RunPlan plan_by_flags(const LoadRow& load) {
  RunPlan plan;
  plan.sessions = FLAGS_sessions;
  plan.kill_after_s = FLAGS_kill_after;
  plan.seconds = std::max(FLAGS_seconds, FLAGS_kill_after + 1);
  if (FLAGS_kill_after == 0) plan.seconds = FLAGS_seconds;
  plan.mix = FLAGS_mix == "full" ? kFullMix : kNewOrderPaymentMix;
  plan.remote_percent = FLAGS_remote_percent;
  plan.seed = FLAGS_seed;
  plan.last_name_constant = load.last_name_constant;
  plan.watches_durability = log_is_on();
  plan.ack_path = FLAGS_ack_file;
  return plan;
}

std::uint64_t reserve_bytes_by_flags() {
  constexpr double kBytesPerSessionSecond = 100e6;  // of orders and their lines
  if (FLAGS_reserve_bytes >= 0) return static_cast<std::uint64_t>(FLAGS_reserve_bytes);
  if (FLAGS_small) return 0;
  return static_cast<std::uint64_t>(FLAGS_sessions * FLAGS_seconds * kBytesPerSessionSecond);
}

foedus::Status check_population_by_flags(const LoadRow& load) {
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_warehouses != 0 && FLAGS_warehouses != load.scale.warehouses) {
    return failed(code, "the database has %u warehouses, --warehouses is %u", load.scale.warehouses,
                  FLAGS_warehouses);
  }
  if (scale_by_flags().items != load.scale.items) {
    return failed(code, "the database was loaded with another --small");
  }
  if (storage_by_flags() == load.storage) return {};
  return failed(code, "the database was loaded with another --storage");
}

}  // namespace experiments::tpcc
