#pragma once
// MemoryShares: how Options::memory_bytes is divided.
//
//     | gleaner | page cache | own ring | log buffers and sets ──► ◄── volatile pages |
//                                                     moves as needed
//
//   E29 The bounds of all parts together are memory_bytes. A part can use all of its own bound,
//       whatever the others have taken. So its fill level tells how much it can still get. Log
//       buffers and the sets of transactions may need more than is set aside for them. The excess
//       is taken off the bound of volatile pages, as far as pages have not grown into it, and later
//       given back to that bound. Volatile pages lend the memory that they do not use to the page
//       cache (P19), once recovery needs none of it. Lent memory stays within the bound of volatile
//       pages, so that the sum of the bounds never changes. It does not count as in use. Volatile
//       pages get it back as they grow. Lending commits none of the last quarter of their bound:
//       log buffers and sets can take this quarter, as far as pages have not grown into it.

#include <cstdint>

#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

// Bytes of the log buffer of the engine's own session, which logs DDL only.
constexpr std::uint64_t kOwnRingBytes = 64u << 10;

struct MemoryShares {
  std::uint64_t session_bytes = 0;       // set aside for log buffers and sets
  std::uint64_t page_bytes = 0;          // bound of volatile pages
  std::uint64_t page_bytes_left = 0;     // the bound of volatile pages never falls below it
  std::uint32_t sessions_on_demand = 0;  // most sessions that transact() makes; then callers wait
};

// Returns how many bytes of log, with their sort keys, fit into `memory_bytes` of the gleaner.
// memory_bytes_to_hold() is the inverse.
constexpr std::uint64_t log_bytes_held_in(std::uint64_t memory_bytes) {
  return memory_bytes / 8 * 3;
}
constexpr std::uint64_t memory_bytes_to_hold(std::uint64_t log_bytes) { return log_bytes / 3 * 8; }

// Divides memory_bytes. kInvalidArgument: one full log buffer leaves too little to volatile pages.
// REQUIRES: `options` are checked and memory_bytes is filled in; so is `glean`, unless the database
// has Logging::kNone.
Result<MemoryShares> share_memory(const Options& options);

}  // namespace foedus::engine
