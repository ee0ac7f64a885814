#pragma once
// Words: the shared words of the code under test, kept by Relacy. A word has its own size and place
// in memory, so that pages and lines have the layout of the engine; Relacy's state of a word is in
// a table by address.
//
//   X3  A word exists for Relacy from its constructor on, or from adopt() for words in raw memory.
//       Its first value is a store like any other: Relacy reports a read without an order after
//       that store as a read of an unwritten word.
//   X4  Making a word and ending it are plain accesses: each access to it must be ordered after the
//       one and before the other.
//   X5  Memory is the system's, not Relacy's: a leak of a model is no finding.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/models/harness/sites.h"

namespace model {

namespace internal {

// Relacy's own record of a word, which generic_atomic keeps to itself.
template <auto kMember>
struct Reach {
  friend rl::atomic_data* history_of(rl::generic_atomic<std::uint64_t, false>& word) {
    return word.*kMember;
  }
};
rl::atomic_data* history_of(rl::generic_atomic<std::uint64_t, false>& word);
template struct Reach<&rl::generic_atomic<std::uint64_t, false>::impl_>;

// Relacy follows C++11, where a thread's relaxed store continues its release sequence. In C++20 it
// ends the sequence: the newest value carries no more than the thread's last release fence.
template <rl::thread_id_t kThreads>
void end_release_sequence(rl::atomic_data* data) {
  auto& history = *static_cast<rl::atomic_data_impl<kThreads>*>(data);
  const auto& thread = *static_cast<rl::thread_info<kThreads>*>(rl::ctx().threadx_);
  auto& newest = history.history_[history.current_index_ % rl::atomic_history_size];
  for (rl::thread_id_t i = 0; i < kThreads; ++i) {
    newest.acq_rel_order_[i] = thread.release_fence_order_[i];
  }
}

}  // namespace internal

// Lets one thread make several steps without a switch in between.
class Indivisible {
 public:
  Indivisible() { rl::ctx().disable_preemption(); }
  ~Indivisible() { rl::ctx().enable_preemption(); }
  Indivisible(const Indivisible&) = delete;
  Indivisible& operator=(const Indivisible&) = delete;
};

// The parked threads, and their words (base/system/park.h).
class Sleepers {
 public:
  static Sleepers& all() {
    static Sleepers sleepers;
    return sleepers;
  }

  void begin() {
    for (const void*& word : words_) word = nullptr;
  }
  // Sleeps. Returns false if the lower half of the word has another value.
  inline bool fall_asleep(const void* word, std::uint32_t expected);
  bool is_asleep() const { return words_[rl::ctx().threadx_->index_] != nullptr; }
  void wake_one(const void* word) {
    for (const void*& sleeper : words_) {
      if (sleeper != word) continue;
      sleeper = nullptr;
      return;
    }
  }

 private:
  static constexpr std::size_t kThreadsMax = 8;

  const void* words_[kThreadsMax] = {};  // by thread; null: awake
};

class Words {
 public:
  using Word = rl::generic_atomic<std::uint64_t, false>;
  using Life = rl::var<int>;  // X4

  static Words& all() {
    static Words words;
    return words;
  }

  // The words of one execution, from its begin to its end.
  template <rl::thread_id_t kThreads>
  void begin() {
    SystemMemory::use();
    end_release_sequence_ = &internal::end_release_sequence<kThreads>;
    for (int i = 0; i < used_count_; ++i) places_[used_[i]].address = nullptr;
    used_count_ = 0;
    Sleepers::all().begin();
  }
  void end() {
    for (int i = 0; i < used_count_; ++i) {
      if (places_[used_[i]].is_alive) kill(&places_[used_[i]]);
    }
  }

  void create(const void* address, std::uint64_t value) {
    Place* const place = place_of(address, true);
    if (!place->is_alive) {
      new (place->memory) Word;
      new (place->life_memory) Life;
      place->is_alive = true;
    }
    (*place->life())(MODEL_HERE) = 1;
    const Indivisible indivisible;
    place->word()->store(value, rl::mo_relaxed, MODEL_HERE);
  }
  void store(Word* word, std::uint64_t value, rl::memory_order order) {
    word->store(value, order, MODEL_HERE);
    if (order == rl::mo_relaxed) end_release_sequence_(internal::history_of(*word));
  }
  void destroy(const void* address) {
    Place* const place = place_of(address, false);
    if (place == nullptr || !place->is_alive) return;
    (*place->life())(MODEL_HERE) = 0;
    kill(place);
  }
  // Returns the word, or null if the memory belongs to one thread.
  Word* find(const void* address) {
    Place* const place = place_of(address, false);
    if (place == nullptr || !place->is_alive) return nullptr;
    static_cast<void>((*place->life())(MODEL_HERE).load());
    return place->word();
  }
  Word* get(const void* address) {
    Word* const word = find(address);
    RL_ASSERT(word != nullptr);
    return word;
  }

 private:
  static constexpr std::size_t kPlaces = 8192;

  struct SystemMemory : rl::context {
    static void use() { rl::ctx().*(&SystemMemory::disable_alloc_) = 1; }
  };
  struct Place {
    const void* address = nullptr;
    bool is_alive = false;
    alignas(Word) char memory[sizeof(Word)];
    alignas(Life) char life_memory[sizeof(Life)];

    Word* word() { return std::launder(reinterpret_cast<Word*>(memory)); }
    Life* life() { return std::launder(reinterpret_cast<Life*>(life_memory)); }
  };

  static void kill(Place* place) {
    place->word()->~Word();
    place->life()->~Life();
    place->is_alive = false;
  }
  Place* place_of(const void* address, bool make) {
    std::size_t at = reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u >> 40;
    for (;; ++at) {
      Place& place = places_[at % kPlaces];
      if (place.address == address) return &place;
      if (place.address != nullptr) continue;
      if (!make) return nullptr;
      if (used_count_ == kPlaces / 2) std::abort();
      place.address = address;
      place.is_alive = false;
      used_[used_count_++] = static_cast<int>(at % kPlaces);
      return &place;
    }
  }

  Place places_[kPlaces];
  int used_[kPlaces / 2];
  int used_count_ = 0;
  void (*end_release_sequence_)(rl::atomic_data*) = nullptr;
};

inline bool Sleepers::fall_asleep(const void* word, std::uint32_t expected) {
  Words::Word* const looked_at = Words::all().get(word);
  const Indivisible indivisible;
  // An exchange that fails reads the newest value, as the system does, and orders nothing.
  const std::uint64_t newest = looked_at->debug_value();
  std::uint64_t seen = ~newest;
  looked_at->compare_exchange(rl::bool_t<false>(), seen, newest, rl::mo_relaxed, rl::mo_relaxed,
                              MODEL_HERE);
  const bool is_same = static_cast<std::uint32_t>(newest) == expected;
  if (is_same) words_[rl::ctx().threadx_->index_] = word;
  return is_same;
}

// Makes shared words of raw memory. REQUIRES: no thread of the model runs.
inline void adopt(void* memory, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<char*>(memory) + i, 8);
    Words::all().create(static_cast<char*>(memory) + i, value);
  }
}

inline void fence(const Site& site, rl::memory_order order) {
  const rl::memory_order now = Sites::all().order_at(site, order, Kind::kFence);
  if (now != rl::mo_relaxed) rl::atomic_thread_fence(now, MODEL_HERE);
}

}  // namespace model
