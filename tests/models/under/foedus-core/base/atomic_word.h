#pragma once
// Stands in for base/atomic_word.h where the engine's code runs under Relacy: the same names, and
// each call carries its site.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/models/harness/words.h"

namespace foedus::base {

template <typename T>
class AtomicWord {
  using Raw = std::conditional_t<
      sizeof(T) == 8, std::uint64_t,
      std::conditional_t<sizeof(T) == 4, std::uint32_t,
                         std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
  using Words = model::Words;
  using Kind = model::Kind;

 public:
  AtomicWord() : AtomicWord(T{}) {}
  explicit AtomicWord(T value) : raw_(raw_of(value)) { Words::all().create(this, raw_); }
  ~AtomicWord() { Words::all().destroy(this); }
  AtomicWord(const AtomicWord&) = delete;
  AtomicWord& operator=(const AtomicWord&) = delete;

  T load_relaxed_at(const model::Site& site) const { return load(site, rl::mo_relaxed); }
  T load_acquire_at(const model::Site& site) const { return load(site, rl::mo_acquire); }
  T load_seq_cst_at(const model::Site& site) const { return load(site, rl::mo_seq_cst); }
  void store_relaxed_at(const model::Site& site, T value) { store(site, value, rl::mo_relaxed); }
  void store_release_at(const model::Site& site, T value) { store(site, value, rl::mo_release); }
  void store_seq_cst_at(const model::Site& site, T value) { store(site, value, rl::mo_seq_cst); }
  T exchange_acq_rel_at(const model::Site& site, T value) {
    return change(site, rl::mo_acq_rel, [&](Raw) { return raw_of(value); });
  }
  T fetch_add_relaxed_at(const model::Site& site, T value) {
    return change(site, rl::mo_relaxed, [&](Raw old) { return static_cast<Raw>(old + value); });
  }
  T fetch_or_release_at(const model::Site& site, T value) {
    return change(site, rl::mo_release, [&](Raw old) { return static_cast<Raw>(old | value); });
  }
  T fetch_and_release_at(const model::Site& site, T value) {
    return change(site, rl::mo_release, [&](Raw old) { return static_cast<Raw>(old & value); });
  }
  bool compare_exchange_acq_rel_at(const model::Site& site, T& expected, T desired) {
    const rl::memory_order order =
        model::Sites::all().order_at(site, rl::mo_acq_rel, Kind::kExchange);
    const rl::memory_order failed = order == rl::mo_acq_rel ? rl::mo_acquire : rl::mo_relaxed;
    std::uint64_t seen = raw_of(expected);
    const bool done = word()->compare_exchange(rl::bool_t<false>(), seen, raw_of(desired), order,
                                               failed, MODEL_HERE);
    if (done) raw_ = raw_of(desired);
    expected = value_of(static_cast<Raw>(seen));
    return done;
  }

 private:
  static Raw raw_of(T value) {
    Raw raw;
    std::memcpy(&raw, &value, sizeof(raw));
    return raw;
  }
  static T value_of(Raw raw) {
    T value;
    std::memcpy(&value, &raw, sizeof(raw));
    return value;
  }
  Words::Word* word() const { return Words::all().get(this); }

  T load(const model::Site& site, rl::memory_order order) const {
    const auto now = model::Sites::all().order_at(site, order, Kind::kLoad);
    return value_of(static_cast<Raw>(word()->load(now, MODEL_HERE)));
  }
  void store(const model::Site& site, T value, rl::memory_order order) {
    const auto now = model::Sites::all().order_at(site, order, Kind::kStore);
    Words::all().store(word(), raw_of(value), now);
    raw_ = raw_of(value);
  }
  template <typename Change>
  T change(const model::Site& site, rl::memory_order order, Change&& changed) {
    const auto now = model::Sites::all().order_at(site, order, Kind::kExchange);
    rl::ctx().sched();
    const model::Indivisible indivisible;
    const Raw old = static_cast<Raw>(word()->debug_value());
    raw_ = changed(old);
    word()->exchange(raw_, now, MODEL_HERE);
    return value_of(old);
  }

  Raw raw_;  // the newest value, for copies of a whole line
};

inline void fence_seq_cst_at(const model::Site& site) { model::fence(site, rl::mo_seq_cst); }
inline void fence_reader_at(const model::Site& site) { model::fence(site, rl::mo_acquire); }
inline void fence_writer_at(const model::Site& site) { model::fence(site, rl::mo_release); }

// The builtin under page::DualPagePointer: two words change together. The processor locks the line,
// so no other access of either word comes in between; loads of one half stay loads of one word. The
// builtin is also a full fence.
__extension__ using TwoWords = unsigned __int128;
inline bool compare_exchange_16_at(const model::Site& site, void* at, TwoWords expected,
                                   TwoWords desired) {
  const auto order = model::Sites::all().order_at(site, rl::mo_seq_cst, model::Kind::kExchange);
  const auto each = order == rl::mo_seq_cst ? rl::mo_acq_rel : order;
  const auto full_fence = [&] {
    if (order == rl::mo_seq_cst) rl::atomic_thread_fence(rl::mo_seq_cst, MODEL_HERE);
  };
  model::Words::Word* const low = model::Words::all().get(at);
  model::Words::Word* const high = model::Words::all().get(static_cast<char*>(at) + 8);
  const auto low_of = [](TwoWords both) { return static_cast<std::uint64_t>(both); };
  const auto high_of = [](TwoWords both) { return static_cast<std::uint64_t>(both >> 64); };
  rl::ctx().sched();
  const model::Indivisible indivisible;
  full_fence();
  const bool is_same =
      low->debug_value() == low_of(expected) && high->debug_value() == high_of(expected);
  // An unchanged half counts as a read only, so that a later load gets less order.
  const auto change = [&](model::Words::Word* half, std::uint64_t now) {
    std::uint64_t seen = half->debug_value();
    if (is_same && now != seen) {
      half->exchange(now, each, MODEL_HERE);
    } else {
      seen = ~seen;
      half->compare_exchange(rl::bool_t<false>(), seen, now, each,
                             each == rl::mo_acq_rel ? rl::mo_acquire : rl::mo_relaxed, MODEL_HERE);
    }
  };
  change(low, low_of(desired));
  change(high, high_of(desired));
  full_fence();
  return is_same;
}

inline void cpu_pause() {}
inline void prefetch_line(const void*) {}
inline void prefetch_lines(const void*, std::size_t) {}
inline void prefetch_lines_early(const void*, std::size_t) {}

// B2: copies relaxed words of adopted memory. REQUIRES: multiples of 8.
inline void racy_copy(void* to, const void* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    char* const target = static_cast<char*>(to) + i;
    const char* const source = static_cast<const char*>(from) + i;
    std::uint64_t value;
    std::memcpy(&value, source, 8);
    auto* const read = model::Words::all().find(source);
    if (read != nullptr) value = read->load(rl::mo_relaxed, MODEL_HERE);
    auto* const written = model::Words::all().find(target);
    if (written != nullptr) model::Words::all().store(written, value, rl::mo_relaxed);
    std::memcpy(target, &value, 8);
  }
}
inline void racy_read(void* to, const void* from, std::size_t bytes) { racy_copy(to, from, bytes); }
inline void racy_write(void* to, const void* from, std::size_t bytes) {
  racy_copy(to, from, bytes);
}

}  // namespace foedus::base

// Each call carries its place.
#define MODEL_SITE(access) (::model::Site{__FILE__, __func__, access, __LINE__})
#define load_relaxed() load_relaxed_at(MODEL_SITE("load_relaxed"))
#define load_acquire() load_acquire_at(MODEL_SITE("load_acquire"))
#define load_seq_cst() load_seq_cst_at(MODEL_SITE("load_seq_cst"))
#define store_relaxed(...) store_relaxed_at(MODEL_SITE("store_relaxed"), __VA_ARGS__)
#define store_release(...) store_release_at(MODEL_SITE("store_release"), __VA_ARGS__)
#define store_seq_cst(...) store_seq_cst_at(MODEL_SITE("store_seq_cst"), __VA_ARGS__)
#define exchange_acq_rel(...) exchange_acq_rel_at(MODEL_SITE("exchange_acq_rel"), __VA_ARGS__)
#define fetch_add_relaxed(...) fetch_add_relaxed_at(MODEL_SITE("fetch_add_relaxed"), __VA_ARGS__)
#define fetch_or_release(...) fetch_or_release_at(MODEL_SITE("fetch_or_release"), __VA_ARGS__)
#define fetch_and_release(...) fetch_and_release_at(MODEL_SITE("fetch_and_release"), __VA_ARGS__)
#define compare_exchange_acq_rel(...) \
  compare_exchange_acq_rel_at(MODEL_SITE("compare_exchange_acq_rel"), __VA_ARGS__)
#define fence_seq_cst() fence_seq_cst_at(MODEL_SITE("fence_seq_cst"))
#define fence_reader() fence_reader_at(MODEL_SITE("fence_reader"))
#define fence_writer() fence_writer_at(MODEL_SITE("fence_writer"))
#define __sync_bool_compare_and_swap(...) \
  ::foedus::base::compare_exchange_16_at(MODEL_SITE("compare_and_swap"), __VA_ARGS__)
