#pragma once
// Places: the named places of the engine that a process has reached, and the one where it is to
// die. The table lies in memory that outlives the process, so the next one can die at any of them.

#include <array>
#include <atomic>
#include <cstdint>

namespace foedus::kills {

// An empty table is all zeroes.
struct Places {
  static constexpr std::uint32_t kMax = 256;
  static constexpr std::uint32_t kNone = kMax;
  static constexpr std::size_t kNameBytes = 56;
  struct Place {
    char name[kNameBytes];
    std::atomic<std::uint64_t> passes;  // of the current process
  };
  std::array<Place, kMax> places;
  std::atomic<std::uint32_t> count;
  std::uint32_t target;         // kNone: die nowhere
  std::uint64_t target_passes;  // the pass at which it dies
};

// Lets this process note the places that it reaches, and die by SIGKILL at the target. Call it
// once.
void watch_places(Places* places);

}  // namespace foedus::kills
