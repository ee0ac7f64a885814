#pragma once
// engine_of(): returns the engine of a database, for tests that inspect it.

#include "foedus-core/engine/engine.h"
#include "foedus/database.h"

namespace foedus::testing {

namespace internal {

// Access checks do not hold for the arguments of an explicit instantiation (C++20 13.9.3), so the
// product needs no friend for tests.
template <auto kMember>
struct EngineOfDatabase {
  friend engine::Engine& engine_behind(Database& database) { return *(database.*kMember); }
};
engine::Engine& engine_behind(Database& database);
template struct EngineOfDatabase<&Database::engine_>;

}  // namespace internal

inline engine::Engine& engine_of(Database& database) { return internal::engine_behind(database); }

}  // namespace foedus::testing
