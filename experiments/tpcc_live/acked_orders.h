#pragma once
// AckedOrders: the new-orders that earlier starts of the program acknowledged, a file for each
// start. OrderCheck looks for them in the recovered database, beside the running transactions: what
// an ack says of an order never changes afterwards.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/tpcc/acks.h"
#include "experiments/tpcc_live/live_lines.h"

namespace experiments::tpcc {

class AckedOrders {
 public:
  static foedus::Result<AckedOrders> find(const std::string& dir) {
    AckedOrders found;
    found.dir_ = dir;
    while (std::filesystem::exists(found.next_path())) {
      FOEDUS_TRY(const std::vector<Ack> acks, read_acks(found.next_path()));
      found.acks_.insert(found.acks_.end(), acks.begin(), acks.end());
      ++found.files_;
    }
    return found;
  }

  const std::vector<Ack>& acks() const { return acks_; }
  // The file of the acks of this start.
  std::string next_path() const { return dir_ + "/acks." + std::to_string(files_); }

 private:
  std::string dir_;
  std::uint32_t files_ = 0;
  std::vector<Ack> acks_;
};

class OrderCheck {
 public:
  // Begins the check on a thread of its own; without acks there is none. All arguments outlive it.
  OrderCheck(FoedusBackend& backend, const Tables<FoedusBackend>& tables, const AckedOrders& acked,
             const LiveLines& lines) {
    if (acked.acks().empty()) return;
    thread_ = std::thread([&] {
      const foedus::Status status = check(backend, tables, acked.acks(), lines);
      if (!status.is_ok())
        lines.event("check_failed", JsonObject().add("message", status.message()));
    });
  }
  OrderCheck(const OrderCheck&) = delete;
  OrderCheck& operator=(const OrderCheck&) = delete;
  ~OrderCheck() {
    is_stopping_.store(true, std::memory_order_relaxed);  // order: a wish to stop, some time
    if (thread_.joinable()) thread_.join();
  }

 private:
  foedus::Status check(FoedusBackend& backend, const Tables<FoedusBackend>& tables,
                       const std::vector<Ack>& acks, const LiveLines& lines) const {
    FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
    std::uint64_t lost = 0;
    for (const Ack& ack : acks) {
      if (is_stopping_.load(std::memory_order_relaxed)) return {};  // order: see ~OrderCheck()
      const foedus::Status found = worker.read_only(
          [&](FoedusTxn& txn) { return verify_ack<FoedusBackend>(txn, tables, ack); });
      if (found.code() == foedus::ErrorCode::kCorruption) {
        ++lost;
      } else if (!found.is_ok()) {
        return found;
      }
    }
    JsonObject members;
    members.add("acknowledged", acks.size());
    members.add("recovered", acks.size() - lost);
    members.add("lost", lost);
    lines.event("checked", members);
    return {};
  }

  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace experiments::tpcc
