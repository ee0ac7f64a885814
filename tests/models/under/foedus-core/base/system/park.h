#pragma once
// Stands in for base/system/park.h: the check of the word and the sleep are one step. No time
// passes that would end a sleep, so a lost wake is an execution that does not end. Sleeps and wakes
// order no other memory.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"

namespace foedus::base {

inline constexpr std::uint64_t kParkForever = ~std::uint64_t{0};

template <typename T>
void park(const AtomicWord<T>* word, T expected, std::uint64_t) {
  rl::ctx().sched();
  if (!model::Sleepers::all().fall_asleep(word, static_cast<std::uint32_t>(expected))) return;
  while (model::Sleepers::all().is_asleep()) rl::yield(1, MODEL_HERE);
}

template <typename T>
void unpark(const AtomicWord<T>* word) {
  rl::ctx().sched();
  model::Sleepers::all().wake_one(word);
}

}  // namespace foedus::base
