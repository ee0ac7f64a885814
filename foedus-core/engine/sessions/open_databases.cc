#include "foedus-core/engine/sessions/open_databases.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/process.h"

namespace foedus::engine {

namespace {

struct OpenDatabases {
  std::mutex mutex;
  // Guarded by mutex.
  std::uint64_t last_number = 0;
  std::map<std::uint64_t, std::string> paths;  // directories of open databases, by number
  std::vector<std::unique_ptr<SessionSlot>> slots;
  std::vector<SessionSlot*> free_slots;  // capacity for all of `slots`: return_slot() cannot fail
};

// Returns the process's list. The list is never destroyed: destructors of static objects may close
// databases.
OpenDatabases& all() {
  static OpenDatabases& databases = *new OpenDatabases;
  [[maybe_unused]] static const bool registered = [] {
    base::at_fork([] { all().mutex.lock(); }, [] { all().mutex.unlock(); });
    return true;
  }();
  return databases;
}

}  // namespace

std::uint64_t enter_database(const std::string& path) {
  OpenDatabases& databases = all();
  const std::lock_guard lock(databases.mutex);
  databases.paths.emplace(databases.last_number + 1, path);
  return ++databases.last_number;
}

void leave_database(std::uint64_t number) noexcept {
  if (number == 0) return;
  OpenDatabases& databases = all();
  const std::lock_guard lock(databases.mutex);
  databases.paths.erase(number);
}

std::optional<std::string> path_of_database(std::uint64_t number) {
  OpenDatabases& databases = all();
  const std::lock_guard lock(databases.mutex);
  const auto found = databases.paths.find(number);
  if (found == databases.paths.end()) return std::nullopt;
  return found->second;
}

SessionSlot* lease_slot(std::uint64_t database, EngineSession* session) {
  OpenDatabases& databases = all();
  const std::lock_guard lock(databases.mutex);
  if (databases.free_slots.empty()) {
    databases.free_slots.reserve(databases.slots.size() + 1);
    databases.slots.push_back(std::make_unique<SessionSlot>());
    databases.free_slots.push_back(databases.slots.back().get());
  }
  SessionSlot* const slot = databases.free_slots.back();
  databases.free_slots.pop_back();
  slot->release(SessionState::kHeld);
  // order: relaxed thrice, a user gets the session from its engine only after this call.
  slot->session.store_relaxed(session);
  slot->generation.store_relaxed(base::process_generation());
  slot->inside.store_relaxed(0);
  // order: release: a Session or Ticket that finds the number of its database here finds that
  // database's session.
  slot->database.store_release(database);
  return slot;
}

void return_slot(SessionSlot* slot) noexcept {
  OpenDatabases& databases = all();
  const std::lock_guard lock(databases.mutex);
  FOEDUS_INVARIANT(slot->turn.load_relaxed() % 2 == 0);  // order: relaxed, the last user has gone
  slot->database.store_release(0);                       // order: release, as in lease_slot()
  slot->session.store_relaxed(nullptr);                  // order: relaxed, as in lease_slot()
  slot->release(SessionState::kClosed);
  databases.free_slots.push_back(slot);
}

}  // namespace foedus::engine
