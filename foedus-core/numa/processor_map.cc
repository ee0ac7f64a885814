#include "foedus-core/numa/processor_map.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"

namespace foedus::numa {

ProcessorMap::ProcessorMap(std::vector<Place> places)
    : processors_(static_cast<std::uint32_t>(places.size())) {
  FOEDUS_INVARIANT(!places.empty());
  std::ranges::sort(places, {}, &Place::processor);
  SocRange range = places.front().range;  // N9: of those below the lowest, too
  for (const Place& place : places) {
    ranges_.resize(place.processor, range);
    range = place.range;
    ranges_.push_back(range);
  }
}

ProcessorMap ProcessorMap::in_blocks(std::span<const std::uint32_t> processors,
                                     std::uint32_t socs) {
  FOEDUS_INVARIANT(socs != 0);
  const std::uint64_t count = processors.size();
  std::vector<Place> places;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto begin = static_cast<std::uint32_t>(i * socs / count);
    const auto end = static_cast<std::uint32_t>((i + 1) * socs / count);
    places.push_back({processors[i], {begin, std::max(end, begin + 1)}});
  }
  return ProcessorMap(std::move(places));
}

ProcessorMap ProcessorMap::of_socs(
    std::span<const std::vector<std::uint32_t>> processors_by_soc) {
  std::vector<Place> places;
  for (std::uint32_t soc = 0; soc < processors_by_soc.size(); ++soc) {
    FOEDUS_INVARIANT(!processors_by_soc[soc].empty(), soc);
    for (const std::uint32_t processor : processors_by_soc[soc]) {
      places.push_back({processor, {soc, soc + 1}});
    }
  }
  return ProcessorMap(std::move(places));
}

}  // namespace foedus::numa
