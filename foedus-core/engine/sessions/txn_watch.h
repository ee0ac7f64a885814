#pragma once
// TxnWatch: revokes transactions that are open for longer than Options::transaction_timeout_us, so
// that a forgotten transaction does not hold locks, pages and a snapshot for ever.
//
// The time counts from the task's first look at the transaction. So it is never too short, and at
// most as much too long as the time between two looks.
//
// While a revoked transaction is in an operation, it is not rolled back. A later step of the task
// rolls it back, after the operation has returned, or the owner does when it ends the transaction
// (E36).

#include <cstdint>
#include <mutex>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/sessions/session_pool.h"
#include "foedus-core/engine/setup/operator_log.h"

namespace foedus::engine {

class TxnWatch final : public base::Task {
 public:
  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    const SessionPool* sessions = nullptr;
    const OperatorLog* operator_log = nullptr;
  };
  explicit TxnWatch(const Parts& parts)
      : parts_(parts),
        timeout_us_(parts.options->transaction_timeout_us),
        seen_(parts.options->sessions_max) {}

  // Ends the revoked transaction of `session`: rolls it back unless the task has done so, and
  // clears the flags of its turn. Does nothing if the transaction was not revoked. Called by the
  // thread that owns the transaction.
  void end_revoked(EngineSession* session);

  const char* name() const override { return "foedus-watch"; }
  std::uint64_t step() override;

 private:
  struct Seen {
    std::uint64_t turn = 0;
    std::uint64_t since_us = 0;  // time of the first look at that turn
  };
  void look_at(EngineSession* session, std::uint64_t now_us);

  const Parts parts_;
  const std::uint64_t timeout_us_;
  std::vector<Seen> seen_;   // by session; used by step() alone
  std::mutex ending_mutex_;  // held while a revoked transaction is rolled back
};

}  // namespace foedus::engine
