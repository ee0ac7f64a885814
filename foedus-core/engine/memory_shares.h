#pragma once
// MemoryShares: how Options::memory_bytes is divided.
//
//     | gleaner | page cache | own ring | log buffers and sets ──► ◄── volatile pages |
//                                                     moves as needed
//
//   E29 The bounds of all parts together are memory_bytes: each gets all of its own whatever the
//       others have taken, so that how full it is says what it can still get. What log buffers and
//       the sets of transactions need beyond what is set aside for them is taken off the bound of
//       volatile pages, while these have not grown into it, and returns there. What volatile pages
//       do not use of their own is lent to the page cache (P19), once recovery needs none of it: it
//       stays within their bound, so the sum is the same at every moment, and how full they are is
//       told without it. They get it back while they grow. For log buffers and sets a quarter of
//       the bound of volatile pages is left where these have not grown into it.

#include <cstdint>

#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

// The log buffer of the engine's own session, which logs DDL only.
constexpr std::uint64_t kOwnRingBytes = 64u << 10;

struct MemoryShares {
  std::uint64_t session_bytes = 0;       // set aside for log buffers and sets
  std::uint64_t page_bytes = 0;          // bound of volatile pages
  std::uint64_t page_bytes_left = 0;     // it never falls below
  std::uint32_t sessions_on_demand = 0;  // that transact() makes before its callers wait
};

// Log whose records, with what they are sorted by, find room in `memory_bytes`; and its inverse.
constexpr std::uint64_t log_bytes_held_in(std::uint64_t memory_bytes) {
  return memory_bytes / 8 * 3;
}
constexpr std::uint64_t memory_bytes_to_hold(std::uint64_t log_bytes) { return log_bytes / 3 * 8; }

// REQUIRES: `options` are checked; memory_bytes and, but for Logging::kNone, glean are filled in.
// kInvalidArgument: there is no room for one log buffer.
Result<MemoryShares> share_memory(const Options& options);

}  // namespace foedus::engine
