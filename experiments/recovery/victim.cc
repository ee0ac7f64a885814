#include "experiments/recovery/victim.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "experiments/common/options.h"
#include "experiments/common/progress.h"
#include "experiments/recovery/workload.h"

namespace experiments::recovery {

namespace {

constexpr std::uint64_t kRowsPerLoadTxn = 100;

foedus::Status load_range(FoedusBackend& backend, const FoedusTable& table, std::uint64_t begin,
                          std::uint64_t end, Progress& progress) {
  FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
  for (std::uint64_t first = begin; first < end; first += kRowsPerLoadTxn) {
    const std::uint64_t batch_end = std::min(first + kRowsPerLoadTxn, end);
    FOEDUS_CHECK(worker.transact([&](FoedusTxn& txn) -> foedus::Status {
      for (std::uint64_t id = first; id < batch_end; ++id) {
        const Row row = make_row(id);
        FOEDUS_CHECK(txn.insert(table, {id, row_key(id)}, payload_of(row)));
      }
      return {};
    }));
    progress.add(batch_end - first);
  }
  return {};
}

// Returns the log at which writers are stopped, with the options of the flags.
foedus::Result<std::uint64_t> load(const Shape& shape, TableKind storage) {
  foedus::Options options = foedus_options_by_flags();
  set_gleans_by_flags("on", &options);
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, durability_by_flags()));
  FOEDUS_TRY(const FoedusTable table, open_rows(backend, shape, storage));
  {
    Progress progress("load", shape.rows);
    FOEDUS_CHECK(run_workers(shape.workers, [&](std::uint32_t worker) {
      return load_range(backend, table, shape.rows * worker / shape.workers,
                        shape.rows * (worker + 1) / shape.workers, progress);
    }));
  }
  FOEDUS_CHECK(backend.database().glean().status());
  const std::uint64_t bound = backend.database().effective_options().options.glean.log_bytes_max;
  FOEDUS_CHECK(backend.close());
  return bound;
}

foedus::Status write_all(int pipe, const VictimReport& report) {
  const ssize_t written = ::write(pipe, &report, sizeof(report));  // less than PIPE_BUF: at once
  if (written == static_cast<ssize_t>(sizeof(report))) return {};
  return failed(foedus::ErrorCode::kIoError, "the pipe to the parent: errno %d", errno);
}

}  // namespace

foedus::Result<FoedusTable> open_rows(FoedusBackend& backend, const Shape& shape,
                                      TableKind storage) {
  return backend.open_table({.name = "rows", .kind = storage, .records = shape.rows});
}

foedus::Status run_victim(const Shape& shape, const VictimPlan& plan, int pipe) {
  FOEDUS_TRY(const std::uint64_t bound, load(shape, plan.storage));
  const std::uint64_t tail_bytes = plan.tail_bytes == 0 ? bound : plan.tail_bytes;
  foedus::Options options = foedus_options_by_flags();
  set_gleans_by_flags("off", &options);
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, durability_by_flags()));
  FOEDUS_TRY(const FoedusTable table, open_rows(backend, shape, plan.storage));

  const double warm_windows = plan.warm_seconds / std::chrono::duration<double>(kWindow).count();
  double windows = 0;
  Workload warm(backend, table, shape, Phase::kWarm);
  FOEDUS_CHECK(warm.run([&](double) { return ++windows >= warm_windows; }));

  std::vector<double> txn_per_s;
  Workload workload(backend, table, shape, Phase::kBefore);
  FOEDUS_CHECK(workload.run([&](double window) {
    txn_per_s.push_back(window);
    return backend.database().stats().log_bytes_behind >= tail_bytes;
  }));
  FOEDUS_CHECK(backend.wait_durable());

  VictimReport report{};
  std::vector<double> later(txn_per_s.begin() + static_cast<std::ptrdiff_t>(txn_per_s.size() / 2),
                            txn_per_s.end());
  std::sort(later.begin(), later.end());
  report.txn_per_s = later[later.size() / 2];
  report.tail_bytes = backend.database().stats().log_bytes_behind;
  report.snapshot = backend.database().stats().snapshot;
  for (std::uint32_t i = 0; i < shape.workers; ++i) report.counts[i] = workload.count(i);
  FOEDUS_CHECK(write_all(pipe, report));
  return workload.run([](double) { return false; });
}

}  // namespace experiments::recovery
