#pragma once
// ProcessorMap: which SOC a processor belongs to.
//
//     processors of the process    0 1 2 3 4 5 6 7       0           1
//     SOCs, emulated in blocks     0 0 0 0 1 1 1 1       0 1 2 3     4 5 6 7
//                                  more processors       more SOCs
//
//   N8  Every processor has one SOC, or several SOCs where there are more SOCs than processors.
//       Every SOC has a processor. Two processors have the same SOCs or no SOC in common.
//   N9  A processor that the process could not use when the map was made counts as the next lower
//       one that it could use. Below all of these, it counts as the lowest.

#include <cstdint>
#include <span>
#include <vector>

namespace foedus::numa {

// SOCs begin <= soc < end; at least one.
struct SocRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 1;

  bool contains(std::uint32_t soc) const { return begin <= soc && soc < end; }
};

class ProcessorMap {
 public:
  // Deals `processors` out to SOCs in contiguous blocks, whose sizes differ by one at most.
  // REQUIRES: `processors` is not empty and ascends; socs > 0.
  static ProcessorMap in_blocks(std::span<const std::uint32_t> processors, std::uint32_t socs);
  // Takes processors of real SOCs, by SOC. REQUIRES: no list is empty, each ascends, and no
  // processor is in two of them.
  static ProcessorMap of_socs(std::span<const std::vector<std::uint32_t>> processors_by_soc);

  // Returns how many processors the process could use when the map was made.
  std::uint32_t processors() const { return processors_; }

  SocRange socs_of(std::uint32_t processor) const {
    return processor < ranges_.size() ? ranges_[processor] : ranges_.back();  // N9
  }

 private:
  struct Place {
    std::uint32_t processor;
    SocRange range;
  };
  explicit ProcessorMap(std::vector<Place> places);

  std::uint32_t processors_;
  std::vector<SocRange> ranges_;  // by processor
};

}  // namespace foedus::numa
