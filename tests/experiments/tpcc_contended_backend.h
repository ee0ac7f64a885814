#pragma once
// ContendedBackend: the std::map store with conflicts and late durability. Every third transaction
// is run, undone and run again, as after a conflict.

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "experiments/common/backend.h"
#include "tests/experiments/map_backend.h"

namespace experiments {

class ContendedBackend {
 public:
  using Table = MapBackend::Table;
  using Txn = MapBackend::Txn;

  class Worker {
   public:
    explicit Worker(MapWorker inner) : inner_(std::move(inner)) {}

    template <typename F>
    foedus::Status transact(F&& f) {
      if (++begun_ % 3 == 0) {
        const foedus::Status undone = inner_.transact([&](Txn& txn) {
          const foedus::Status status = f(txn);
          return status.is_ok() ? foedus::Status::rolled_back() : status;
        });
        if (undone.code() != foedus::ErrorCode::kRolledBack) return undone;
        ++undone_;
      }
      return inner_.transact(f);
    }
    template <typename F>
    foedus::Status read_only(F&& f) {
      return inner_.read_only(f);
    }
    Counters counters() const {
      Counters counters = inner_.counters();
      counters.rollbacks -= undone_;
      counters.conflicts["on_purpose"] = undone_;
      return counters;
    }
    std::uint64_t last_commit() const { return inner_.last_commit(); }

   private:
    MapWorker inner_;
    std::uint64_t begun_ = 0;
    std::uint64_t undone_ = 0;
  };

  foedus::Result<Table> open_table(const TableSpec& spec) { return inner_.open_table(spec); }
  foedus::Result<Worker> new_worker() {
    FOEDUS_TRY(MapWorker worker, inner_.new_worker());
    return Worker(std::move(worker));
  }
  std::uint64_t last_commit_token(Worker& worker) { return worker.last_commit(); }
  std::uint64_t durable_token() {
    if (++asked_ % 64 == 0) durable_ = inner_.durable_token();
    return durable_;
  }
  foedus::Status wait_durable() {
    durable_ = inner_.durable_token();
    return {};
  }
  std::string name() const { return "contended map"; }
  void fill_stats(StatsLine& line) { inner_.fill_stats(line); }

 private:
  MapBackend inner_;
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> durable_{0};
};

static_assert(Backend<ContendedBackend>);

}  // namespace experiments
