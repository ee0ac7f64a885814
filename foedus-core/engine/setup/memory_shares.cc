#include "foedus-core/engine/setup/memory_shares.h"

#include <algorithm>
#include <string>

#include "foedus-core/page/session_pages.h"

namespace foedus::engine {

namespace {

// Bytes that are set aside for the sets of one session's transactions.
constexpr std::uint64_t kSetsBytes = 256u << 10;
constexpr std::uint64_t kStockBytes = page::SessionPages::kStockPages * page::kPageBytes;
constexpr std::uint64_t kSessionsOnDemandMin = 4;

}  // namespace

Result<MemoryShares> share_memory(const Options& options) {
  std::uint64_t rest = options.memory_bytes;
  if (options.log.kind == Logging::kFiles) {
    rest -= options.glean.memory_bytes + options.pages.cache_bytes;
  }
  MemoryShares shares;
  shares.page_bytes_left = rest / 8;
  const std::uint64_t ring_bytes = options.log.buffer_bytes;
  const std::uint64_t least = ring_bytes + rest / 16;  // one full log buffer, and some small ones
  if (least > rest - kOwnRingBytes - shares.page_bytes_left) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "log.buffer_bytes (" + std::to_string(ring_bytes) +
                             ") leaves too little to volatile pages of the " +
                             std::to_string(rest) + " bytes of memory_bytes (" +
                             std::to_string(options.memory_bytes) +
                             ") that pages.cache_bytes and glean.memory_bytes have left");
  }
  const std::uint64_t most = options.sessions_max * (ring_bytes + kSetsBytes);
  shares.session_bytes = std::max(std::min(rest / 4, most), least);
  shares.page_bytes = rest - kOwnRingBytes - shares.session_bytes;
  // An idle session keeps up to kStockBytes of free pages. The sessions that transact() makes keep
  // at most a sixteenth of page_bytes together, except that a few are always allowed.
  const std::uint64_t stocks = std::max(shares.page_bytes / 16 / kStockBytes, kSessionsOnDemandMin);
  shares.sessions_on_demand =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(stocks, options.sessions_max));
  return shares;
}

}  // namespace foedus::engine
