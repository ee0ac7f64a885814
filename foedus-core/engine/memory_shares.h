#pragma once
// MemoryShares: how Options::memory_bytes is divided.
//
//     | gleaner | page cache | own ring | rings of sessions ──► ◄── volatile pages |
//                                                  moves this way only ──►
//
//   E29 The bounds of all parts together are memory_bytes: each gets all of its own whatever the
//       others have taken, so that how full it is says what it can still get. None gives memory
//       back before the database is closed. What sessions beyond those that memory is set aside for
//       need is taken off the bound of volatile pages, while these have not grown into it.

#include <cstdint>

#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

// The log buffer of the engine's own session, which logs DDL only.
constexpr std::uint64_t kOwnRingBytes = 64u << 10;

struct MemoryShares {
  std::uint32_t sessions = 0;         // that memory is set aside for
  std::uint64_t page_bytes = 0;       // bound of volatile pages with so many sessions
  std::uint64_t page_bytes_left = 0;  // it never falls below
};

// REQUIRES: `options` are checked; memory_bytes and, but for Logging::kNone, glean are filled in.
// kInvalidArgument: there is no room for one session.
Result<MemoryShares> share_memory(const Options& options);

}  // namespace foedus::engine
