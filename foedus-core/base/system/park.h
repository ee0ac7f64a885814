#pragma once
// Parking: a thread sleeps until another thread has changed a word. It is the last stage of a wait
// for another thread, after spinning, and takes no processor.
//
// An exception to T2 (task.h), because such a wait is never for a task. The other thread is in
// a bounded piece of work, or runs a user's transaction; stepping tasks would not help it. In a
// runtime of one thread a wait of this kind would be one for the thread itself.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"

namespace foedus::base {

inline constexpr std::uint64_t kParkForever = ~std::uint64_t{0};

namespace internal {
void park(const void* word, std::uint32_t expected, std::uint64_t timeout_us);
void unpark(const void* word);
}  // namespace internal

// Sleeps until unpark(word), at most `timeout_us`. Returns at once if the lower half of the word is
// not that of `expected`: the system compares and puts the thread to sleep in one step. May return
// early for no reason.
template <typename T>
void park(const AtomicWord<T>* word, T expected, std::uint64_t timeout_us) {
  internal::park(word, static_cast<std::uint32_t>(expected), timeout_us);
}

// Wakes one thread that is parked at the word, if there is one. Does not read the word, which may
// have ended; another word at that address then sees a wake for no reason.
template <typename T>
void unpark(const AtomicWord<T>* word) {
  internal::unpark(word);
}

}  // namespace foedus::base
