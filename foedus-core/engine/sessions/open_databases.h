#pragma once
// The databases that a process has open, and the slots of their sessions. The list outlives all
// databases: so a handle or transaction that is used after its database has closed is refused
// (E30).
//
//   E32 Each open() in a process gets a database number of its own. It is never 0.
//
// Any thread. In a child of fork(), the parent's databases stay in the list, as if open. Calls
// refuse them by the generation of the process (E12).

#include <cstdint>
#include <optional>
#include <string>

#include "foedus-core/engine/sessions/session_slot.h"

namespace foedus::engine {

// Adds the database in directory `path` to the list. Returns its number. Throws std::bad_alloc.
std::uint64_t enter_database(const std::string& path);
// Removes the database from the list. `number` 0: does nothing.
void leave_database(std::uint64_t number) noexcept;
// Returns the path of the database of that number if it is open.
std::optional<std::string> path_of_database(std::uint64_t number);

// Returns a slot that no session uses, and makes it that of `session`, in state kHeld. Throws
// std::bad_alloc.
SessionSlot* lease_slot(std::uint64_t database, EngineSession* session);
// Takes back the slot of a session that is being destroyed, for another session. REQUIRES: no
// transaction is open in it.
void return_slot(SessionSlot* slot) noexcept;

}  // namespace foedus::engine
