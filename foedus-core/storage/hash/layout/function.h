#pragma once
// The hash of a key: 64 bits. It decides where a key is in snapshots, so it is part of the format
// of this storage's pages and never changes. README.md describes it byte-exactly.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace foedus::storage::hash {

namespace internal {

inline constexpr std::uint64_t kMix0 = 0x9e3779b97f4a7c15u;
inline constexpr std::uint64_t kMix1 = 0xd6e8feb86659fd93u;
inline constexpr std::uint64_t kMix2 = 0xa0761d6478bd642fu;
inline constexpr std::uint64_t kMix3 = 0xe7037ed1a0b428dbu;

// Returns the xor of both halves of the 128-bit product.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <typename Word>
std::uint64_t load_word(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

}  // namespace internal

inline std::uint64_t hash_of(std::string_view key) {
  using internal::fold;
  const char* at = key.data();
  std::size_t left = key.size();
  const std::uint64_t size = key.size();
  std::uint64_t state = internal::kMix0 ^ fold(size ^ internal::kMix1, internal::kMix2);
  for (; left > 16; left -= 16, at += 16) {
    state = fold(internal::load_word<std::uint64_t>(at) ^ internal::kMix1,
                 internal::load_word<std::uint64_t>(at + 8) ^ state);
  }
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  if (left >= 8) {
    a = internal::load_word<std::uint64_t>(at);
    b = internal::load_word<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    a = internal::load_word<std::uint32_t>(at);
    b = internal::load_word<std::uint32_t>(at + left - 4);
  } else if (left != 0) {
    a = internal::load_word<std::uint8_t>(at);
    b = internal::load_word<std::uint8_t>(at + left / 2) << 8 |
        internal::load_word<std::uint8_t>(at + left - 1);
  }
  state = fold(a ^ internal::kMix2, b ^ state);
  return fold(state ^ internal::kMix3, size ^ internal::kMix0);
}

}  // namespace foedus::storage::hash
