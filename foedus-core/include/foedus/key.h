#pragma once
// key(parts…): builds a key. Keys compare, byte by byte, as their parts do, one after another.
//
//   integers, bool, enums   by value, whatever the type: key(1), key(1u), key(1ull), key(true) and
//                           the key of an enumerator with value 1 are one key. From INT64_MIN to
//                           UINT64_MAX, negative numbers first; 1 to 9 bytes, few for small ones
//   double, float           by value; a float is the double of its value, so 0.1f is not 0.1. -0.0
//                           and 0.0 are two keys, -0.0 the lesser. All NaNs, whatever their sign
//                           and payload, are one key, above infinity. 8 bytes
//   strings                 by their bytes; a prefix of a string sorts before the string, whatever
//                           parts follow either of them
//   big_endian<U>(x)        an unsigned integer in exactly sizeof(U) bytes
//   std::tuple              its elements
//
// Give one column one kind of part: integers, floating-point numbers, strings, or big_endian() of
// one width. Parts of two kinds have no order, and a value has another key in each kind: key(1) is
// not key(1.0), and not key(big_endian<std::uint32_t>(1u)). A look-up by the wrong kind finds
// nothing.
//
// The compiler refuses parts whose keys would mislead: pointers, integers over 8 bytes, long
// double, and a Key as a part of a key.
//
// key_prefix(parts…) builds the common beginning of a range of keys, for Txn::scan_prefix().
// foedus/key_decode.h turns keys back into parts. Raw byte strings (std::string_view) may be keys,
// too: key() is a convenience, not a requirement.
//
// The bytes are stored in databases, and do not change between versions:
//   integer      one byte 0x80 + n, then the n significant bytes of the value, the most significant
//                first; zero has none. Negative: one byte 0x80 - n, then the n significant bytes of
//                the magnitude, inverted. (As FoundationDB's tuple layer, with another first byte.)
//   double       IEEE 754 bits, the most significant byte first; the sign bit is inverted if it is
//                clear, else all bits are. The bits of every NaN are taken as 7ff8000000000000
//   string       its bytes, of which 00 becomes 00 ff; then 00 00
//   big_endian   its bytes, the most significant first

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ranges>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "foedus/options.h"

// Lets clang warn if a view outlives its key.
#if defined(__clang__)
#define FOEDUS_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define FOEDUS_LIFETIMEBOUND
#endif

namespace foedus {

template <typename T>
concept FixedWidth = std::unsigned_integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8;

// A part of a key that takes sizeof(T) bytes for any value. Made by big_endian().
template <FixedWidth T>
struct BigEndian {
  T value = 0;
  friend auto operator<=>(const BigEndian&, const BigEndian&) = default;
};

// Makes a part that has the same width in all keys of a column: 1, 2, 4 or 8 bytes, raw and in
// order. Use one width for one column: unlike other integers, equal values of two widths are two
// keys. Name the width; the argument is unsigned and not wider:
//     key(big_endian<std::uint64_t>(id))     // 8 bytes: one slice of a Master-Tree
//     key(BigEndian<std::uint16_t>{7})       // a constant
template <FixedWidth Width, FixedWidth T>
requires(sizeof(T) <= sizeof(Width)) constexpr BigEndian<Width> big_endian(T value) {
  return {value};
}

// A key under construction, and its bytes. Lives on the stack; a copy takes only the bytes in use.
// Each append() returns the key: Key().append(1).append("name") is key(1, "name").
class Key {
 public:
  Key() = default;
  Key(const Key& other) : bytes_(other.bytes_) { std::memcpy(data_, other.data_, bytes_); }
  Key& operator=(const Key& other) {
    bytes_ = other.bytes_;
    std::memmove(data_, other.data_, bytes_);
    return *this;
  }

  // Returns the encoded bytes, valid until this object changes or is destroyed. A key that grew
  // beyond kMaxKeyBytes keeps its first kMaxKeyBytes + 1 bytes, so that the engine refuses it with
  // kTooLarge.
  std::string_view view() const FOEDUS_LIFETIMEBOUND { return {data_, bytes_}; }
  operator std::string_view() const FOEDUS_LIFETIMEBOUND { return view(); }  // NOLINT: on purpose
  std::size_t size() const { return bytes_; }
  friend bool operator==(const Key& a, const Key& b) { return a.view() == b.view(); }
  friend auto operator<=>(const Key& a, const Key& b) { return a.view() <=> b.view(); }

  // Takes bool, too. An overload for bool alone would accept every pointer, which converts to bool.
  template <std::integral T>
  requires(sizeof(T) <= 8) Key& append(T part) {
    std::uint64_t sign = 0;  // all ones if negative
    if constexpr (std::is_signed_v<T>) sign = static_cast<std::uint64_t>(std::int64_t{part} >> 63);
    const std::uint64_t magnitude = (static_cast<std::uint64_t>(part) ^ sign) - sign;
    const unsigned highest_bit = 63u ^ static_cast<unsigned>(std::countl_zero(magnitude | 1));
    const unsigned significant = highest_bit / 8 + (magnitude != 0 ? 1 : 0);
    const auto sign_of_tag = static_cast<unsigned>(sign);
    data_[bytes_] = static_cast<char>(0x80 + ((significant ^ sign_of_tag) - sign_of_tag));
    // Stores eight bytes, first the significant ones; the next part overwrites the others.
    store(bytes_ + 1, (magnitude ^ sign) << (56 - (highest_bit & 56)));
    return grow(1 + significant);
  }
  template <typename T>
  requires std::is_enum_v<T> Key& append(T part) {
    return append(static_cast<std::underlying_type_t<T>>(part));
  }
  template <std::floating_point T>
  requires(sizeof(T) <= sizeof(double)) Key& append(T part) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(part));
    // The test for a NaN looks at the bits: under compiler options such as -ffinite-math-only, the
    // compiler may drop the test part != part.
    if ((bits & ~kSign) > std::bit_cast<std::uint64_t>(kInfinity)) {
      bits = std::bit_cast<std::uint64_t>(kNan);
    }
    store(bytes_, (bits & kSign) != 0 ? ~bits : bits | kSign);
    return grow(sizeof(bits));
  }
  Key& append(std::string_view part) {
    append_escaped(part);
    return append_pair(0, 0);
  }
  Key& append(const char* part) { return append(std::string_view(part)); }
  Key& append(std::nullptr_t) = delete;
  // A key is no part of a key: its bytes would be encoded once more, as a string.
  Key& append(const Key&) = delete;
  template <typename T>
  Key& append(BigEndian<T> part) {
    store(bytes_, part.value);
    return grow(sizeof(T));
  }
  template <typename... Parts>
  Key& append(const std::tuple<Parts...>& parts) {
    std::apply([&](const auto&... part) { (append(part), ...); }, parts);
    return *this;
  }

  // Appends a last part; if it is a string, without the end mark. The result is then a prefix of
  // all keys whose string begins with `part`. A part of another kind is appended whole. In a tuple,
  // the last element is appended in this way, and the others whole.
  template <typename T>
  Key& append_prefix(const T& part) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return append_escaped(part);
    } else {
      return append(part);
    }
  }
  Key& append_prefix(const Key&) = delete;
  template <typename... Parts>
  Key& append_prefix(const std::tuple<Parts...>& parts) {
    [[maybe_unused]] std::size_t left = sizeof...(Parts);
    std::apply(
        [&](const auto&... part) { ((--left == 0 ? append_prefix(part) : append(part)), ...); },
        parts);
    return *this;
  }

  // Appends raw bytes without an end mark. They sort correctly only as the last part of a key, or
  // if all keys have equally many of them.
  Key& append_raw(const void* part, std::size_t part_bytes) {
    const std::size_t room = kBytesMax - bytes_;
    const std::size_t copied = part_bytes < room ? part_bytes : room;
    if (copied != 0) std::memcpy(data_ + bytes_, part, copied);
    bytes_ += copied;
    return *this;
  }

 private:
  static constexpr std::size_t kBytesMax = kMaxKeyBytes + 1;
  static constexpr std::size_t kPartMax = 9;  // the most bytes stored without a size check

  template <typename T>
  void store(std::size_t at, T value) {
    if constexpr (std::endian::native == std::endian::little) {
      if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
      if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
      if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
    }
    std::memcpy(data_ + at, &value, sizeof(value));
  }
  Key& grow(std::size_t part_bytes) {
    const std::size_t bytes = bytes_ + part_bytes;
    bytes_ = bytes < kBytesMax ? bytes : kBytesMax;
    return *this;
  }
  Key& append_pair(unsigned char first, unsigned char second) {
    data_[bytes_] = static_cast<char>(first);
    data_[bytes_ + 1] = static_cast<char>(second);
    return grow(2);
  }
  Key& append_escaped(std::string_view part) {
    std::size_t begin = 0;
    for (std::size_t at = part.find('\0'); at != std::string_view::npos;
         begin = at + 1, at = part.find('\0', begin)) {
      append_raw(part.data() + begin, at - begin);
      append_pair(0x00, 0xff);
    }
    return append_raw(part.data() + begin, part.size() - begin);
  }

  std::size_t bytes_ = 0;            // at most kBytesMax
  char data_[kBytesMax + kPartMax];  // uninitialized beyond bytes_, on purpose
};

namespace internal {
template <typename T>
inline constexpr bool kIsKeyPart = requires(Key key, const T& part) {
  key.append(part);
};
template <typename... Parts>
inline constexpr bool kIsKeyPart<std::tuple<Parts...>> = (kIsKeyPart<Parts> && ...);
}  // namespace internal

// KeyPart: a type that key() takes; see the beginning of this file.
template <typename T>
concept KeyPart = internal::kIsKeyPart<T>;

// Builds the key of these columns.
template <KeyPart... Parts>
Key key(const Parts&... parts) {
  Key result;
  (result.append(parts), ...);
  return result;
}

// Builds the bytes with which a key begins if its columns begin with these parts. If the last part
// is a string, the column may continue after it. So key_prefix(7, "Par") is a prefix of
// key(7, "Par"), key(7, "Paris") and key(7, "Paris", 3). key(7, "Par") is a prefix of the first
// one only, since its string has ended. If the last part is of another kind, the result is
// key(parts…).
template <KeyPart... Parts>
Key key_prefix(const Parts&... parts) {
  Key result;
  [[maybe_unused]] std::size_t left = sizeof...(Parts);
  ((--left == 0 ? result.append_prefix(parts) : result.append(parts)), ...);
  return result;
}

// Returns the least byte string above all byte strings that begin with `prefix`: the upper bound of
// a scan over them. `prefix` may have any bytes. If it is empty or has only bytes 0xff, there is no
// such bound: the result is empty, which Txn::scan() takes as above every key. If `prefix` is over
// kMaxKeyBytes, the result may be, too.
inline Key prefix_end(std::string_view prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) {
    prefix.remove_suffix(1);
  }
  Key end;
  if (prefix.empty()) return end;
  const char above = static_cast<char>(prefix.back() + 1);
  end.append_raw(prefix.data(), prefix.size() - 1).append_raw(&above, 1);
  return end;
}

// A type whose bytes are the row. It is trivially copyable. It is neither a pointer nor a view
// (such as a span): the row would hold an address instead of the data.
template <typename T>
concept PlainRow =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::ranges::view<T>;

// Returns the bytes of a value as a payload, valid while `value` is.
template <PlainRow T>
std::string_view as_payload(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// Returns a payload as a value: a copy of its first sizeof(T) bytes. REQUIRES: payload.size() >=
// sizeof(T).
template <PlainRow T>
T view_as(std::string_view payload) {
  T value;
  std::memcpy(&value, payload.data(), sizeof(T));
  return value;
}

}  // namespace foedus

#undef FOEDUS_LIFETIMEBOUND
