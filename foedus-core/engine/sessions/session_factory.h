#pragma once
// SessionFactory: makes sessions, with their log buffers and the memory that is counted for them.

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
    EngineSession::Parts session;            // what all sessions have
    log::Log* log = nullptr;                 // null: Logging::kNone
    const SnapshotCaches* caches = nullptr;  // null: likewise
    base::MemoryBudget* budget = nullptr;
    SessionMemory* memory = nullptr;
  };
  // What the sessions of users need besides.
  struct UserParts {
    WriteThrottle* throttle = nullptr;  // null: Logging::kNone
    TxnWatch* watch = nullptr;          // null: transactions are not revoked
  };
  explicit SessionFactory(const Parts& parts) : parts_(parts), options_(*parts.session.options) {}
  SessionFactory(const SessionFactory&) = delete;
  SessionFactory& operator=(const SessionFactory&) = delete;

  // Called once, before the first session of a user is made.
  void set_user_parts(const UserParts& parts);

  // Makes session `number` of `soc`, where `turn` others were made before. kOutOfMemory: there is
  // no room for another one. Throws std::bad_alloc.
  Result<std::unique_ptr<EngineSession>> make_user(std::uint32_t number, std::uint32_t soc,
                                                   std::uint32_t turn);
  // Makes the session that logs DDL, for any thread, and reads nothing.
  Result<std::unique_ptr<EngineSession>> make_own();
  // Makes one of the sessions that apply rows of a log's tail, which log nothing. `index` is below
  // Unapplied::kSessions + 1.
  Result<std::unique_ptr<EngineSession>> make_applier(std::uint32_t index);

 private:
  Result<std::unique_ptr<EngineSession>> make(const SessionShape& shape);

  Parts parts_;
  const Options& options_;
};

}  // namespace foedus::engine
