// Histogram of foedus/stats.h.
#include <algorithm>
#include <cmath>

#include "foedus/stats.h"

namespace foedus {

std::uint64_t Histogram::quantile(double part) const {
  if (count == 0) return 0;
  const double inside = std::min(1.0, std::max(0.0, part));  // 0 if `part` is not a number
  const double wanted = std::ceil(inside * static_cast<double>(count));
  std::uint64_t left = std::clamp(static_cast<std::uint64_t>(wanted), std::uint64_t{1}, count);
  std::uint64_t lower = 0;
  for (std::size_t bucket = 0; bucket + 1 < kBuckets; ++bucket) {
    const std::uint64_t upper = upper_bound(bucket);
    if (buckets[bucket] >= left) return lower + (upper - lower + 1) / 2;
    left -= buckets[bucket];
    lower = upper;
  }
  return lower;
}

}  // namespace foedus
