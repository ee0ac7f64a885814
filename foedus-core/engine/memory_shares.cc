#include "foedus-core/engine/memory_shares.h"

#include <algorithm>
#include <string>

namespace foedus::engine {

namespace {

constexpr std::uint64_t kSessionsWanted = 5;

}  // namespace

// A ring is megabytes, and most databases have few sessions: to set all of sessions_max aside would
// leave nothing to volatile pages by default.
Result<MemoryShares> share_memory(const Options& options) {
  std::uint64_t rest = options.memory_bytes;
  if (options.logging == Logging::kFiles) {
    rest -= options.glean.memory_bytes + options.glean.cache_bytes;
  }
  MemoryShares shares;
  shares.page_bytes_left = rest / 8;
  const std::uint64_t ring_bytes = options.log_buffer_bytes;
  const std::uint64_t most = std::min<std::uint64_t>(
      (rest - kOwnRingBytes - shares.page_bytes_left) / ring_bytes, options.sessions_max);
  if (most == 0) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "log_buffer_bytes (" + std::to_string(ring_bytes) +
                             ") leaves too little to volatile pages of the " +
                             std::to_string(rest) + " bytes of memory_bytes (" +
                             std::to_string(options.memory_bytes) +
                             ") that glean.cache_bytes and glean.memory_bytes have left");
  }
  const std::uint64_t few = std::clamp<std::uint64_t>(rest / 2 / ring_bytes, 1, kSessionsWanted);
  const std::uint64_t sessions = std::min(std::max(rest / 4 / ring_bytes, few), most);
  shares.sessions = static_cast<std::uint32_t>(sessions);
  shares.page_bytes = rest - kOwnRingBytes - sessions * ring_bytes;
  return shares;
}

}  // namespace foedus::engine
