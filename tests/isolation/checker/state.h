#pragma once
// The state of the checker for records and sequences: their versions in the order of TIDs.
//
//   I8  versions[0] precedes the windows that are still kept, or is the record's initial state; the
//       others follow by TID. Those from window_begin on are of the open window.
//   I9  Every write makes a state that the record never had before, except for absence: values are
//       unique, and so are counters to which unique deltas are added. So a state that was read
//       identifies its version; an absence is one of the absent versions.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/isolation/history.h"

namespace foedus::isolation {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};
inline constexpr unsigned kOrdinalBits = 24;

inline std::uint64_t mix(std::uint64_t left, std::uint64_t right) {
  std::uint64_t x = left * 0x9e3779b97f4a7c15u + right;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}

// The content of a record. A register is (a, b, c); for a list, a is the digest of its values in
// order and b their number.
struct RecordState {
  bool present = false;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;

  bool operator==(const RecordState&) const = default;
  std::uint64_t digest() const { return mix(mix(mix(present ? 3 : 5, a), b), c); }

  static constexpr std::uint64_t kEmptyList = 0x6c69737469736c74u;
  static RecordState initial(const StorageLine& storage);
  static RecordState observed(Shape shape, bool present, std::span<const std::uint64_t> words);
  // Applies a write.
  void apply(const Op& op);
};

struct Version {
  RecordState state;
  std::uint64_t tid = 0;        // epoch and ordinal; 0: initial
  std::uint64_t txn = 0;        // id of the writer
  std::uint32_t node = kNone;   // the writer in the open window
  std::uint64_t begin_max = 0;  // latest begin of its writer and of those before it in the window
  std::uint64_t end_min = ~std::uint64_t{0};  // earliest end of its writer and of those after it

  std::uint64_t epoch() const { return tid >> kOrdinalBits; }
};

struct KeyState {
  std::uint32_t storage = 0;
  std::uint64_t key = 0;
  std::vector<Version> versions;
  std::uint32_t window_begin = 1;

  std::uint32_t base() const { return window_begin - 1; }
  std::uint32_t last() const { return static_cast<std::uint32_t>(versions.size() - 1); }
};

// A value of a sequence. Values are ordered by TID, ties by session, then by the order of the
// writer's calls.
struct Element {
  std::uint64_t value;
  std::uint64_t tid;
  std::uint64_t txn;
  std::uint32_t session;
  std::uint32_t node;  // the writer in the open window; kNone: it was there before

  bool is_before(const Element& other) const {
    return tid != other.tid ? tid < other.tid : session < other.session;
  }
};

// A sequence. Within an epoch, values of the open window may precede some that were there already.
struct SequenceState {
  std::uint32_t storage = 0;
  std::vector<Element> elements;
  std::size_t window_begin = 0;  // the first of the open window
  std::size_t old_end = 0;       // after the last one that is not
};

inline bool is_write(OpKind kind) { return kind >= OpKind::kPut && kind != OpKind::kPush; }
// Returns whether a write needs the record to be there.
inline bool needs_presence(OpKind kind) {
  return kind == OpKind::kUpdate || kind == OpKind::kWrite || kind == OpKind::kAdd ||
         kind == OpKind::kErase;
}

// The part of its range that a range operation has covered: all, or up to the last row if there
// were as many rows as the limit.
struct Covered {
  std::uint64_t low;
  std::uint64_t high;
  bool holds(std::uint64_t key) const { return key >= low && key < high; }
};
Covered covered_by(const Op& range);

std::string describe(Shape shape, const RecordState& state);

}  // namespace foedus::isolation
