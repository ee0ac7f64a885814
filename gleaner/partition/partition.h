#pragma once
// The partition stage (paper §7.2): where one storage is divided among the reducers of a glean.
//
//   G70 Partition i belongs to SOC i mod the number of SOCs. Boundaries weigh two things: a page
//       counts one if the SOC whose partition it falls into changed it last, and a partition of s
//       times its even share costs s * s / 2 even shares; more than twice is out of the question.
//       So what SOCs have to themselves stays there unless that leaves other reducers idle.
//   G71 The same samples give the same boundaries, in whatever order they come.

#include <cstdint>
#include <vector>

#include "foedus-core/storage_meta/storage_meta.h"

namespace foedus::gleaner {

// A page, or a record: a position (G1), and the SOC that changed it last.
struct PositionSample {
  std::uint64_t position;
  std::uint32_t soc;
};

// `partitions` less one boundaries, ascending, not aligned to pages yet. Without samples ranges of
// equal length; a sequential storage is all in one partition, which one differs by its id.
std::vector<std::uint64_t> choose_boundaries(const storage_meta::StorageMeta& meta,
                                             std::vector<PositionSample> samples,
                                             std::uint32_t partitions, std::uint32_t socs);

}  // namespace foedus::gleaner
