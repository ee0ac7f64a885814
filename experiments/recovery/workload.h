#pragma once
// Workload: the workers that read and update rows, and their throughput in windows of 100 ms.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/text.h"
#include "experiments/common/throughput_samples.h"
#include "experiments/common/worker_threads.h"
#include "experiments/recovery/rows.h"
#include "foedus/key.h"

namespace experiments::recovery {

inline constexpr auto kWindow = std::chrono::milliseconds(100);

// Eight bytes for every row.
inline foedus::Key row_key(std::uint64_t id) {
  return foedus::key(foedus::big_endian<std::uint64_t>(id));
}

inline foedus::Status read_row(FoedusTxn& txn, const FoedusTable& table, std::uint64_t id,
                               Row& row) {
  return txn.get(table, {id, row_key(id)}, bytes_of(row));
}

inline foedus::Status write_field(FoedusTxn& txn, const FoedusTable& table, const Field& field) {
  return txn.write_at(table, {field.row, row_key(field.row)},
                      static_cast<std::uint32_t>(field.place * sizeof(Field)), payload_of(field));
}

class Workload {
 public:
  // `is_over`: told the transactions per second of the window that has passed.
  using IsOver = std::function<bool(double txn_per_s)>;

  Workload(FoedusBackend& backend, const FoedusTable& table, const Shape& shape, Phase phase)
      : backend_(backend), table_(table), live_(shape.workers) {
    for (std::uint32_t i = 0; i < shape.workers; ++i) sequences_.emplace_back(shape, i, phase);
  }

  // Goes on with the operations from where the last run ended.
  foedus::Status run(const IsOver& is_over) {
    using Clock = std::chrono::steady_clock;
    stop_.store(false, std::memory_order_relaxed);  // order: threads are started after it
    WorkerThreads threads(
        static_cast<std::uint32_t>(sequences_.size()),
        [&](std::uint32_t number, WorkerThreads::Gate& gate) { return work(number, gate); });
    threads.wait_until_started();
    auto begin = Clock::now();
    std::uint64_t before = sum_of(live_);
    for (bool over = false; !over && !threads.has_failed();) {
      std::this_thread::sleep_for(kWindow);
      const auto end = Clock::now();
      const std::uint64_t now = sum_of(live_);
      over = is_over(static_cast<double>(now - before) /
                     std::chrono::duration<double>(end - begin).count());
      begin = end;
      before = now;
    }
    stop_.store(true, std::memory_order_relaxed);  // order: a wish to stop, some time
    return threads.join();
  }

  // Operations of a worker so far: all of them are committed while there is no run.
  std::uint64_t count(std::uint32_t worker) const { return sequences_[worker].count(); }

 private:
  foedus::Status work(std::uint32_t number, WorkerThreads::Gate& gate) {
    FOEDUS_TRY(FoedusWorker worker, backend_.new_worker());
    Sequence& sequence = sequences_[number];
    Row row;
    gate.arrive_and_wait();
    while (!stop_.load(std::memory_order_relaxed)) {  // order: see run()
      const Operation operation = sequence.next();
      if (operation.is_update) {
        const Field field = make_field(operation.row, operation.place, sequence.count());
        FOEDUS_CHECK(
            worker.transact([&](FoedusTxn& txn) { return write_field(txn, table_, field); }));
      } else {
        FOEDUS_CHECK(worker.read_only(
            [&](FoedusTxn& txn) { return read_row(txn, table_, operation.row, row); }));
      }
      live_[number].txns.fetch_add(1, std::memory_order_relaxed);  // order: a statistic
    }
    return {};
  }

  FoedusBackend& backend_;
  const FoedusTable table_;
  std::vector<LiveCount> live_;
  std::vector<Sequence> sequences_;  // each of its worker only, while there is a run
  std::atomic<bool> stop_{false};
};

}  // namespace experiments::recovery
