#pragma once
// The databases that a process has open, and the slots of their sessions. The list outlives all
// databases: a late use of a handle or a transaction is looked up here (E30).
//
//   E32 The number of a database is given once in a process, and is never 0.
//
// Any thread. In a child of fork(), its parent's databases stay in the list, as open.

#include <cstdint>
#include <optional>
#include <string>

#include "foedus-core/engine/sessions/session_slot.h"

namespace foedus::engine {

// Enters the database in `path`, which is open from now on. Returns its number. Throws
// std::bad_alloc.
std::uint64_t enter_database(const std::string& path);
// Removes the database, which is closed from now on. `number` 0: does nothing.
void leave_database(std::uint64_t number) noexcept;
// Returns the path of the database of that number if it is open.
std::optional<std::string> path_of_database(std::uint64_t number);

// Returns a slot that no session uses, in state kHeld. Throws std::bad_alloc.
SessionSlot* lease_slot(std::uint64_t database, EngineSession* session);
// Takes back the slot of a session that is gone. REQUIRES: no transaction is open there.
void return_slot(SessionSlot* slot) noexcept;

}  // namespace foedus::engine
