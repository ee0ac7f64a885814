#pragma once
// The partition stage (paper §7.2) divides each storage among the reducers of a glean.
//
//   G70 Partition i belongs to SOC i mod the number of SOCs. Boundaries weigh two things. A page
//       counts one if the SOC of its partition changed it last. A partition of s times its even
//       share costs s * s / 2 even shares, and s is at most 2. So pages that only one SOC changes
//       stay there unless other reducers would be idle.
//   G71 The same samples give the same boundaries, in whatever order they come.

#include <cstdint>
#include <vector>

#include "foedus-core/storage/base/page_sample.h"
#include "foedus-core/storage_meta/storage_meta.h"

namespace foedus::gleaner {

// Returns `partitions` - 1 boundaries, ascending, not aligned to pages yet. Without samples, ranges
// have equal lengths. A sequential storage is in a single partition, chosen by its id.
std::vector<std::uint64_t> choose_boundaries(const storage_meta::StorageMeta& meta,
                                             std::vector<storage::PageSample> samples,
                                             std::uint32_t partitions, std::uint32_t socs);

}  // namespace foedus::gleaner
