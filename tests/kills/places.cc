#include "tests/kills/places.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::kills {

namespace {

// The place of a name in the program's text: equal names may lie at several addresses. A slot is
// written once, so a reader that finds its address there needs no lock.
struct Known {
  std::atomic<const char*> address;
  std::atomic<std::uint32_t> place;
};
constexpr std::size_t kSlots = 1024;
std::array<Known, kSlots> known;
std::mutex known_mutex;
Places* places_of_process = nullptr;

std::uint32_t note(const char* name) {
  Places& all = *places_of_process;
  // order: relaxed throughout, under known_mutex, or read by the parent of a dead process.
  const std::uint32_t count = all.count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (std::strncmp(all.places[i].name, name, Places::kNameBytes - 1) == 0) return i;
  }
  if (count == Places::kMax) return Places::kNone;
  std::strncpy(all.places[count].name, name, Places::kNameBytes - 1);
  all.count.store(count + 1, std::memory_order_relaxed);
  return count;
}

std::uint32_t place_of(const char* name) {
  const auto begin = (reinterpret_cast<std::uintptr_t>(name) * 0x9e3779b97f4a7c15u) >> 54;
  for (std::size_t i = 0; i < kSlots; ++i) {
    Known& slot = known[(begin + i) % kSlots];
    // order: acquire, pairs with the release below: the place is there.
    const char* const address = slot.address.load(std::memory_order_acquire);
    if (address == name) return slot.place.load(std::memory_order_relaxed);
    if (address != nullptr) continue;
    const std::lock_guard lock(known_mutex);
    if (slot.address.load(std::memory_order_relaxed) != nullptr) {
      --i;  // another thread was first: check this slot again
      continue;
    }
    const std::uint32_t place = note(name);
    slot.place.store(place, std::memory_order_relaxed);
    slot.address.store(name, std::memory_order_release);
    return place;
  }
  return Places::kNone;
}

void pass(const char* name) {
  Places& all = *places_of_process;
  const std::uint32_t place = place_of(name);
  if (place == Places::kNone) return;
  // order: relaxed, a count.
  const std::uint64_t passes = all.places[place].passes.fetch_add(1, std::memory_order_relaxed) + 1;
  if (place == all.target && passes == all.target_passes) kill(getpid(), SIGKILL);
}

}  // namespace

void watch_places(Places* places) {
  places_of_process = places;
  base::set_sync_point_hook(pass);
}

}  // namespace foedus::kills
