#pragma once
// engine_of(): the engine behind a database, for tests that look into it.

#include "foedus-core/engine/engine.h"
#include "foedus/database.h"

namespace foedus::testing {

namespace internal {

// Access checks do not hold for the arguments of an explicit instantiation (C++20 13.9.3): the
// product needs no friend for the sake of a test.
template <auto kMember>
struct EngineOfDatabase {
  friend engine::Engine& engine_behind(Database& database) { return *(database.*kMember); }
};
engine::Engine& engine_behind(Database& database);
template struct EngineOfDatabase<&Database::engine_>;

}  // namespace internal

inline engine::Engine& engine_of(Database& database) { return internal::engine_behind(database); }

}  // namespace foedus::testing
