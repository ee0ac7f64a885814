#pragma once
// MemoryShares: how Options::memory_bytes is divided.
//
//     | gleaner | page cache | own ring | log buffers and sets ──► ◄── volatile pages |
//                                                     moves as needed
//
//   E29 The bounds of all parts together are memory_bytes. Each part gets all of its own whatever
//       the others have taken: its fill level says what it can still get. Log buffers and the sets
//       of transactions may need more than is set aside for them. That is taken off the bound of
//       volatile pages, while these have not grown into it, and returns there. Volatile pages lend
//       what they do not use to the page cache (P19), once recovery needs none of it. Lent memory
//       stays within their bound, so that the sum never changes, and does not count as in use. They
//       get it back while they grow. Lending leaves a quarter of their bound to log buffers and
//       sets, where pages have not grown into it.

#include <cstdint>

#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

// The log buffer of the engine's own session, which logs DDL only.
constexpr std::uint64_t kOwnRingBytes = 64u << 10;

struct MemoryShares {
  std::uint64_t session_bytes = 0;       // set aside for log buffers and sets
  std::uint64_t page_bytes = 0;          // bound of volatile pages
  std::uint64_t page_bytes_left = 0;     // page_bytes never falls below it
  std::uint32_t sessions_on_demand = 0;  // that transact() makes before its callers wait
};

// Returns how much log, with its sort keys, finds room in `memory_bytes`; its inverse follows.
constexpr std::uint64_t log_bytes_held_in(std::uint64_t memory_bytes) {
  return memory_bytes / 8 * 3;
}
constexpr std::uint64_t memory_bytes_to_hold(std::uint64_t log_bytes) { return log_bytes / 3 * 8; }

// Divides memory_bytes. kInvalidArgument: there is no room for one log buffer. REQUIRES: `options`
// are checked; memory_bytes and, but for Logging::kNone, glean are filled in.
Result<MemoryShares> share_memory(const Options& options);

}  // namespace foedus::engine
