#pragma once
// The measured run: all terminals at once for some seconds, and what they did.

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/common/progress.h"
#include "experiments/common/throughput_samples.h"
#include "experiments/common/worker_threads.h"
#include "experiments/tpcc/durability_watch.h"
#include "experiments/tpcc/terminal.h"

namespace experiments::tpcc {

struct RunPlan {
  std::uint32_t sessions = 1;
  double seconds = 10;
  double kill_after_s = 0;  // 0: never
  Mix mix = kFullMix;
  std::uint32_t remote_percent = 1;
  std::uint64_t seed = 1;
  std::uint32_t last_name_constant = 0;  // of the load
  bool watches_durability = true;
  std::string ack_path;  // empty: no acks
};

struct RunResult {
  double seconds = 0;
  double stall_ms_max = 0;  // longest time below half of the median throughput
  Counters counters;
  std::array<std::uint64_t, kTxnTypes> commits{};
  std::array<Histogram, kTxnTypes> latency;
  std::array<Histogram, kTxnTypes> durable_latency;

  void add(const RunResult& other) {
    counters.add(other.counters);
    for (std::size_t i = 0; i < kTxnTypes; ++i) {
      commits[i] += other.commits[i];
      latency[i].merge(other.latency[i]);
      durable_latency[i].merge(other.durable_latency[i]);
    }
  }
};

inline std::uint64_t steady_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

template <Backend B>
class Run {
 public:
  Run(B& backend, const Tables<B>& tables, const RunPlan& plan)
      : backend_(backend), tables_(tables), plan_(plan), live_(plan.sessions) {}

  foedus::Result<RunResult> run() {
    Random random(plan_.seed, ~std::uint64_t{0});
    const InputSource source(tables_.scale, run_constants(random, plan_.last_name_constant),
                             plan_.remote_percent);
    if (!plan_.ack_path.empty()) {
      FOEDUS_TRY(AckFile file, AckFile::open(plan_.ack_path));
      ack_file_.emplace(std::move(file));
    }
    WorkerThreads threads(plan_.sessions, [&](std::uint32_t worker, WorkerThreads::Gate& gate) {
      return work(source, worker, gate);
    });
    threads.wait_until_started();
    ThroughputSamples samples;
    const double seconds = supervise(threads, &samples);
    FOEDUS_CHECK(threads.join());
    sum_.seconds = seconds;
    sum_.stall_ms_max = samples.stall_ms_max();
    return std::move(sum_);
  }

 private:
  // One commit in so many is asked when it becomes durable.
  static constexpr std::uint64_t kSampleInterval = 16;

  foedus::Status work(const InputSource& source, std::uint32_t number, WorkerThreads::Gate& gate) {
    FOEDUS_TRY(typename B::Worker worker, backend_.new_worker());
    Terminal<B> terminal(std::move(worker), tables_, source, plan_.mix, Random(plan_.seed, number),
                         home_warehouses(number, plan_.sessions, tables_.scale.warehouses), number);
    FOEDUS_CHECK(terminal.prepare());
    DurabilityWatch watch(ack_file_.has_value() ? &*ack_file_ : nullptr);
    RunResult result;
    gate.arrive_and_wait();

    std::uint64_t txns = 0;
    std::uint64_t start = steady_ns();
    while (!stop_.load(std::memory_order_relaxed)) {  // order: a wish to stop, some time
      const TxnType type = terminal.draw();
      const auto index = static_cast<std::size_t>(type);
      foedus::Status status = terminal.run(type);
      const std::uint64_t end = steady_ns();
      if (status.is_ok()) {
        ++result.commits[index];
        result.latency[index].add(end - start);
        if (plan_.watches_durability) note_commit(terminal, watch, type, txns, start);
      } else if (status.code() != foedus::ErrorCode::kRolledBack) {
        return status;
      }
      if (!watch.is_empty()) FOEDUS_CHECK(watch.poll(backend_.durable_token(), end));
      start = end;
      live_[number].txns.store(++txns, std::memory_order_relaxed);  // order: for the eye
    }
    FOEDUS_CHECK(drain(watch));
    result.counters = terminal.worker().counters();
    result.durable_latency = watch.latency();
    const std::lock_guard guard(mutex_);
    sum_.add(result);
    return {};
  }

  void note_commit(Terminal<B>& terminal, DurabilityWatch& watch, TxnType type, std::uint64_t txns,
                   std::uint64_t start) {
    const bool is_writer = type != TxnType::kOrderStatus && type != TxnType::kStockLevel;
    if (!is_writer) return;
    const std::uint64_t token = backend_.last_commit_token(terminal.worker());
    if (type == TxnType::kNewOrder) watch.add_ack(token, terminal.last_order());
    if (txns % kSampleInterval == 0) watch.add_sample(type, token, start);
  }

  foedus::Status drain(DurabilityWatch& watch) {
    if (watch.is_empty()) return {};
    FOEDUS_CHECK(backend_.wait_durable());
    FOEDUS_CHECK(watch.poll(backend_.durable_token(), steady_ns()));
    if (watch.is_empty()) return {};
    return failed(foedus::ErrorCode::kCorruption,
                  "commits are above the durable token after wait_durable()");
  }

  // Until time is over or a worker has failed. Returns the seconds it took.
  double supervise(const WorkerThreads& threads, ThroughputSamples* samples) {
    constexpr auto kGlance = std::chrono::milliseconds(20);
    const std::uint64_t start = steady_ns();
    Progress progress("run", static_cast<std::uint64_t>(plan_.seconds * 1000));
    double seconds = 0;
    samples->add(start, 0);
    while (seconds < plan_.seconds && !threads.has_failed()) {
      std::this_thread::sleep_for(kGlance);
      const std::uint64_t now = steady_ns();
      const std::uint64_t txns = sum_of(live_);
      samples->add(now, txns);
      seconds = static_cast<double>(now - start) * 1e-9;
      if (plan_.kill_after_s > 0 && seconds >= plan_.kill_after_s) ::kill(::getpid(), SIGKILL);
      progress.set(static_cast<std::uint64_t>(seconds * 1000),
                   text("%.0f txn/s", static_cast<double>(txns) / seconds));
    }
    stop_.store(true, std::memory_order_relaxed);  // order: see work()
    return static_cast<double>(steady_ns() - start) * 1e-9;
  }

  B& backend_;
  const Tables<B>& tables_;
  const RunPlan& plan_;
  std::optional<AckFile> ack_file_;
  std::vector<LiveCount> live_;
  alignas(64) std::atomic<bool> stop_{false};

  alignas(64) std::mutex mutex_;  // guards sum_ until all threads are joined
  RunResult sum_;
};

}  // namespace experiments::tpcc
