#pragma once
// The partition stage (paper §7.2): where one storage is divided among the reducers of a glean.
//
//   G70 Partition i belongs to SOC i mod the number of SOCs. Boundaries are chosen so that as many
//       pages as possible were last changed by the SOC whose partition they fall into, as long as no
//       partition has more than twice its even share of them: a gleaner whose reducers are all on
//       one SOC would use one core, which costs more than what lies on the wrong SOC.
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
