#pragma once
// Rows and keys of YCSB: ten fields of 100 bytes under a key of 8 bytes.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "experiments/common/random.h"

namespace experiments {

inline constexpr std::uint32_t kFields = 10;
inline constexpr std::uint32_t kFieldBytes = 100;
inline constexpr std::uint32_t kRowBytes = kFields * kFieldBytes;
inline constexpr std::size_t kKeyBytes = 8;
// Above every key, as the end of a range.
inline constexpr std::string_view kAboveAllKeys = "\xff\xff\xff\xff\xff\xff\xff\xff\xff";

using RowBuffer = std::array<std::byte, kRowBytes>;
using FieldBuffer = std::array<char, kFieldBytes>;

// A bijection (the finalizer of MurmurHash3), so that two ids never share a key.
constexpr std::uint64_t hashed_id(std::uint64_t id) {
  id ^= id >> 33;
  id *= 0xff51afd7ed558ccdu;
  id ^= id >> 33;
  id *= 0xc4ceb9fe1a85ec53u;
  return id ^ (id >> 33);
}

// The key of row `id`: big-endian, of the id itself where the order of insertion is to be the order
// of keys, else of its hash.
class YcsbKey {
 public:
  YcsbKey() = default;
  YcsbKey(std::uint64_t id, bool is_ordered)
      : bytes_(big_endian(is_ordered ? id : hashed_id(id))) {}
  std::string_view view() const {
    return {reinterpret_cast<const char*>(&bytes_), sizeof(bytes_)};
  }

 private:
  static std::uint64_t big_endian(std::uint64_t value) {
    if constexpr (std::endian::native == std::endian::little) return __builtin_bswap64(value);
    return value;
  }
  std::uint64_t bytes_ = 0;
};

inline void fill_random(Random& random, char* out, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(out + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
}

// Touches every byte and can tell a changed order, at the cost of a rotation for each 8 bytes. Each
// call maps `checksum` one to one (an odd factor): what was folded before is never forgotten, so
// that two sessions whose last rows are the same ones still differ.
inline std::uint64_t folded(std::uint64_t checksum, const void* bytes, std::size_t count) {
  constexpr std::size_t kLanes = 4;  // apart from each other, so that none waits for another
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  const char* const from = static_cast<const char*>(bytes);
  std::uint64_t lanes[kLanes] = {};
  std::size_t at = 0;
  for (; at + sizeof(lanes) <= count; at += sizeof(lanes)) {
    std::uint64_t words[kLanes];
    std::memcpy(words, from + at, sizeof(words));
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = std::rotl(lanes[i], 5) ^ words[i];
  }
  std::uint64_t rest[kLanes] = {};
  std::memcpy(rest, from + at, count - at);
  std::uint64_t row = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    row = std::rotl(row, 5) ^ lanes[i] ^ std::rotl(rest[i], 1);
  }
  return (checksum ^ row) * kOdd;
}

}  // namespace experiments
