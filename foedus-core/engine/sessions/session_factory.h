#pragma once
// SessionFactory: makes sessions with their log buffers, and takes the memory of these from
// SessionMemory or the budget.

#include <cstdint>
#include <memory>

#include "foedus-core/base/memory_budget.h"
#include "foedus-core/engine/sessions/session.h"
#include "foedus-core/engine/setup/session_memory.h"
#include "foedus-core/log/log.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

class SessionFactory {
 public:
  struct Parts {
    EngineSession::Parts session;            // parts that all sessions share
    log::Log* log = nullptr;                 // null: Logging::kNone
    const SnapshotCaches* caches = nullptr;  // null: Logging::kNone
    base::MemoryBudget* budget = nullptr;
    SessionMemory* memory = nullptr;
  };
  // Further parts of the sessions of users.
  struct UserParts {
    WriteThrottle* throttle = nullptr;  // null: Logging::kNone
    TxnWatch* watch = nullptr;          // null: transactions are not revoked
  };
  explicit SessionFactory(const Parts& parts) : parts_(parts), options_(*parts.session.options) {}
  SessionFactory(const SessionFactory&) = delete;
  SessionFactory& operator=(const SessionFactory&) = delete;

  // Called once, before the first session of a user is made.
  void set_user_parts(const UserParts& parts);

  // Makes session `number` on SOC `soc`. `turn`: number of sessions that were made there before,
  // which decides on the logger. kOutOfMemory: no memory for another log buffer. Throws
  // std::bad_alloc.
  Result<std::unique_ptr<EngineSession>> make_user(std::uint32_t number, std::uint32_t soc,
                                                   std::uint32_t turn);
  // Makes the engine's own session, which logs DDL for all threads and runs no transaction.
  Result<std::unique_ptr<EngineSession>> make_own();
  // Makes one of the sessions of Unapplied: those that apply rows of the log's tail, and, with
  // index Unapplied::kSessions, one that only searches. They log nothing.
  Result<std::unique_ptr<EngineSession>> make_applier(std::uint32_t index);

 private:
  // Makes a session, which is not attached to the log yet. The session's destructor gives the log
  // buffer's bytes back to shape.memory; if no session is made, the caller does.
  Result<std::unique_ptr<EngineSession>> make(const SessionShape& shape);
  // Attaches the session's log buffer to the logger of its shape. Throws std::bad_alloc.
  void attach(const SessionShape& shape, EngineSession* session);

  Parts parts_;
  const Options& options_;
};

}  // namespace foedus::engine
