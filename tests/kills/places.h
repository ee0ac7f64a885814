#pragma once
// Places: the named places of the engine that a process has come by, and the one where it is to
// die. The table lies in memory that outlives the process: so the next one can die at any of them.

#include <array>
#include <atomic>
#include <cstdint>

namespace foedus::kills {

// Zeroes are an empty one.
struct Places {
  static constexpr std::uint32_t kMax = 256;
  static constexpr std::uint32_t kNone = kMax;
  static constexpr std::size_t kNameBytes = 56;
  struct Place {
    char name[kNameBytes];
    std::atomic<std::uint64_t> passes;  // of the process at work
  };
  std::array<Place, kMax> places;
  std::atomic<std::uint32_t> count;
  std::uint32_t target;         // kNone: die nowhere
  std::uint64_t target_passes;  // dies when it comes by for the so manieth time
};

// From now on this process notes where it comes by, and dies by SIGKILL at the target. Once.
void watch_places(Places* places);

}  // namespace foedus::kills
