#pragma once
// Ticket: what a commit returns. The transaction is serializable and visible at once; it survives a
// crash once its epoch is durable (paper §6.1), and only then should an outside world be told. A
// read-only transaction's ticket carries the newest epoch that it has seen; that of a snapshot
// transaction the epoch that the snapshot covers, durable already.

#include <cstdint>
#include <functional>

#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus {

namespace internal {
class DurabilityWaits;
}

class Ticket {
 public:
  Ticket() = default;
  Ticket(internal::DurabilityWaits* waits, Epoch epoch) : waits_(waits), epoch_(epoch) {}

  // The epoch whose durability makes this commit durable; "no epoch" if there is nothing to wait
  // for.
  Epoch epoch() const { return epoch_; }

  // True once a crash can no longer undo the commit. Never waits.
  bool is_durable() const;

  // Waits until it is durable, and asks the clock to hurry. `timeout_us`: microseconds, at most.
  // kTimeout: not yet. kIoError, kOutOfSpace, kOutOfMemory: the log could not be written; the
  // commit may be lost in a crash. Any thread. REQUIRES: the database is open.
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  Status wait_durable(std::uint64_t timeout_us = kForever) const;

  // Calls `callback` once, with success or the error of wait_durable(), from a thread of the engine
  // or, if it is durable already, from this one; also if there is no memory to keep it, with
  // kOutOfMemory. It must not block: callbacks of later commits wait for it. What it throws is
  // caught, and told to Options::log_sink. An empty one is not called. REQUIRES: the database is
  // open; close() calls what is left, and is kBusy within a callback.
  void on_durable(std::function<void(const Status&)> callback) const;

 private:
  internal::DurabilityWaits* waits_ = nullptr;  // null: durable by definition
  Epoch epoch_;
};

}  // namespace foedus
