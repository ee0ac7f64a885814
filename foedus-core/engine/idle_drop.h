#pragma once
// IdleDrop: when volatile pages make room for cached ones although no glean is due.
//
//   E49 Only gleans drop volatile pages, and only writers make gleans due. Where a load is followed
//       by reads of more than memory holds, what was written last would stay, read or not, and the
//       cache (E29) be as small as that leaves it. So pages that nothing used since the last look
//       are dropped, one for each that the cache had to let go meanwhile. A look visits all pages
//       that are volatile: it waits until a share of their number was let go, for each of which the
//       cache has read, or will, what takes far longer than to visit one.

#include <algorithm>
#include <cstdint>

namespace foedus::engine {

class IdleDrop {
 public:
  static constexpr std::uint64_t kLookUs = 1'000'000;

  // How many pages to drop now; 0 mostly. `evictions`: of the cache, so far. `pages`: volatile ones
  // in use.
  std::uint64_t due(std::uint64_t now_us, std::uint64_t evictions, std::uint64_t pages) {
    if (now_us - last_us_ < kLookUs) return 0;
    const std::uint64_t wanted = evictions - evictions_;
    if (wanted == 0 || wanted < pages / kPagesPerEviction) return 0;
    last_us_ = now_us;
    evictions_ = evictions;
    return std::min(wanted, pages);
  }

 private:
  static constexpr std::uint64_t kPagesPerEviction = 16;

  std::uint64_t last_us_ = 0;
  std::uint64_t evictions_ = 0;  // by then
};

}  // namespace foedus::engine
