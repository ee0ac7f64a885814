#pragma once
// YcsbDriver: loads the table of a backend and measures a workload on it, as often as asked.
//
//   open() ──► load() ──► run() ──► run() ...
//
// Inserts of one run stay for the next: a driver is of one database and one workload.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/common/backend.h"
#include "experiments/common/progress.h"
#include "experiments/common/text.h"
#include "experiments/common/throughput_samples.h"
#include "experiments/common/worker_threads.h"
#include "experiments/ycsb/ycsb_session.h"

namespace experiments {

template <Backend B>
class YcsbDriver {
 public:
  // kInvalidArgument: values that do not go together.
  static foedus::Status check(const YcsbConfig& config) {
    constexpr auto kInvalid = foedus::ErrorCode::kInvalidArgument;
    if (!Zipf::is_valid(config.rows, config.theta)) {
      return failed(kInvalid, "rows must be 1 or more and theta in [0, 1), not %g", config.theta);
    }
    if (config.ops_per_txn < 1 || config.ops_per_txn > 1000) {
      return failed(kInvalid, "operations per transaction must be 1 .. 1000");
    }
    if (config.storage == TableKind::kHash && config.workload.share(OpKind::kScan) != 0) {
      return failed(kInvalid, "workload %c scans: it needs masstree", config.workload.name);
    }
    return {};
  }

  // `backend` must outlive the driver.
  static foedus::Result<std::unique_ptr<YcsbDriver>> open(B& backend, const YcsbConfig& config) {
    FOEDUS_CHECK(check(config));
    FOEDUS_TRY(auto table, backend.open_table(
        {.name = "usertable", .kind = config.storage, .records = config.rows, .row_bytes = 0}));
    return std::unique_ptr<YcsbDriver>(new YcsbDriver(backend, table, config));
  }

  // Inserts rows 0 .. rows-1, shared out to the sessions in ranges of ids.
  foedus::Status load() {
    Progress progress("load " + backend_.name(), config_.rows);
    FOEDUS_CHECK(run_workers(config_.sessions, [&](std::uint32_t worker) {
      const std::uint64_t begin = config_.rows * worker / config_.sessions;
      const std::uint64_t end = config_.rows * (worker + 1) / config_.sessions;
      return load_range(begin, end, progress);
    }));
    return backend_.wait_durable();
  }

  // Runs the workload for about that long and returns what all sessions did.
  foedus::Result<YcsbResult> run(double seconds) {
    using Clock = std::chrono::steady_clock;
    YcsbResult total;
    std::mutex total_mutex;
    std::atomic<bool> is_over{false};
    std::vector<LiveCount> live(config_.sessions);
    ++runs_;
    WorkerThreads threads(
        config_.sessions, [&](std::uint32_t worker, WorkerThreads::Gate& gate) -> foedus::Status {
          FOEDUS_TRY(auto session_worker, backend_.new_worker());
          // On the heap: the histograms would fill half of a small stack.
          const auto session = std::make_unique<YcsbSession<B>>(
              backend_, table_, std::move(session_worker), config_, zipf_, inserts_,
              runs_ * config_.sessions + worker);
          gate.arrive_and_wait();
          std::uint64_t txns = 0;
          while (!is_over.load(std::memory_order_relaxed)) {
            FOEDUS_CHECK(session->run_txn());
            live[worker].txns.store(++txns, std::memory_order_relaxed);  // order: a statistic
          }
          const std::lock_guard guard(total_mutex);
          total.add(session->result());
          return {};
        });
    threads.wait_until_started();
    const auto start = Clock::now();
    const auto deadline =
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    ThroughputSamples samples;
    samples.add(0, 0);
    while (Clock::now() < deadline && !threads.has_failed()) {
      std::this_thread::sleep_until(
          std::min(deadline, Clock::now() + std::chrono::milliseconds(20)));
      const std::chrono::nanoseconds since = Clock::now() - start;
      samples.add(static_cast<std::uint64_t>(since.count()), sum_of(live));
    }
    is_over.store(true, std::memory_order_relaxed);  // order: a hint; join() orders the rest
    FOEDUS_CHECK(threads.join());
    total.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    total.stall_ms_max = samples.stall_ms_max();
    return total;
  }

 private:
  static constexpr std::uint64_t kRowsPerLoadTxn = 100;

  YcsbDriver(B& backend, typename B::Table table, const YcsbConfig& config)
      : backend_(backend),
        table_(table),
        config_(config),
        zipf_(config.rows, config.theta),
        inserts_(config.rows) {}

  foedus::Status load_range(std::uint64_t begin, std::uint64_t end, Progress& progress) {
    FOEDUS_TRY(auto worker, backend_.new_worker());
    for (std::uint64_t id = begin; id < end; id += kRowsPerLoadTxn) {
      const std::uint64_t batch_end = std::min(id + kRowsPerLoadTxn, end);
      FOEDUS_CHECK(worker.transact([&](typename B::Txn& txn) {
        return load_batch(txn, id, batch_end);
      }));
      progress.add(batch_end - id);
    }
    return {};
  }

  foedus::Status load_batch(typename B::Txn& txn, std::uint64_t begin, std::uint64_t end) {
    char row[kRowBytes];
    for (std::uint64_t id = begin; id < end; ++id) {
      Random bytes(config_.seed, id);
      fill_random(bytes, row, sizeof(row));
      const YcsbKey key(id, config_.ordered_keys);
      FOEDUS_CHECK(txn.insert(table_, {.index = id, .bytes = key.view()}, {row, sizeof(row)}));
    }
    return {};
  }

  B& backend_;
  const typename B::Table table_;
  const YcsbConfig config_;
  const Zipf zipf_;
  InsertSequence inserts_;
  std::uint64_t runs_ = 0;
};

}  // namespace experiments
