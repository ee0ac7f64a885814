#pragma once
// What a process has open: numbers of databases, and slots of their sessions. It outlives all
// databases: a handle or a transaction that is used too late is looked up here (E30).
//
//   E32 The number of a database is given once in a process, and is never 0.
//
// Any thread. Of a child of fork() too: its parent's databases stay in the list, as open.

#include <cstdint>
#include <optional>
#include <string>

#include "foedus-core/engine/session_slot.h"

namespace foedus::engine {

// Returns the number of the database in `path`, which is open from now on. Throws std::bad_alloc.
std::uint64_t enter_database(const std::string& path);
// The database is closed from now on. `number` 0: does nothing.
void leave_database(std::uint64_t number) noexcept;
// Returns the path of the database of that number if it is open.
std::optional<std::string> path_of_database(std::uint64_t number);

// Returns a slot that no session uses, in state kHeld. Throws std::bad_alloc.
SessionSlot* lease_slot(std::uint64_t database, EngineSession* session);
// The session of `slot` is gone. REQUIRES: no transaction is open there.
void return_slot(SessionSlot* slot) noexcept;

}  // namespace foedus::engine
