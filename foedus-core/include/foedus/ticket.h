#pragma once
// Ticket: returned by a commit, to wait for its durability. The transaction is serializable and
// visible at once. It survives a crash once its epoch is durable (paper §6.1), and only then should
// the outside world be told. The ticket of a read-only transaction has the newest epoch that the
// transaction has seen. The ticket of a snapshot transaction has the epoch that the snapshot
// covers, which is durable already.

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

  // Returns the epoch whose durability makes this commit durable; "no epoch" if there is nothing to
  // wait for.
  Epoch epoch() const { return epoch_; }

  // Returns true once a crash can no longer undo the commit. Never waits.
  bool is_durable() const;

  // Waits until the commit is durable, but at most `timeout_us` microseconds. Asks the clock to end
  // the epoch early. kTimeout: the commit is not durable yet. kIoError, kOutOfSpace, kOutOfMemory:
  // the log could not be written; a crash may undo the commit. Any thread. REQUIRES: the database
  // is open.
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  Status wait_durable(std::uint64_t timeout_us = kForever) const;

  // Calls `callback` once, with success or the error of wait_durable(). The call comes from a
  // thread of the engine, or from this thread if the result is known already. Without memory to
  // keep `callback`, this thread calls it with kOutOfMemory. `callback` must not block, because
  // callbacks of later commits wait for it. Exceptions of `callback` are caught, and reported to
  // Options::log_sink. An empty `callback` is not called. REQUIRES: the database is open. close()
  // makes the calls that remain; a close() within a callback returns kBusy.
  void on_durable(std::function<void(const Status&)> callback) const;

 private:
  internal::DurabilityWaits* waits_ = nullptr;  // null: durable by definition
  Epoch epoch_;
};

}  // namespace foedus
