#pragma once
// key(parts…): builds a key whose byte order is the order of the parts, compared one after the
// other.
//
//   unsigned integers   big-endian, in the width of their type (key(3u) has 4 bytes)
//   signed integers     the same with the sign bit flipped
//   double, float       IEEE bits, sign-adjusted; -0.0 and 0.0 are two keys, -0.0 the lesser; all
//                       NaNs, whatever their sign and payload, are one key, above infinity
//   bool, enum          as their integer
//   strings             0x00 becomes 0x00 0xff, and 0x00 0x00 ends the string, so that a prefix
//                       sorts first and whatever follows it does not matter
//   std::tuple          its elements
//
// The type of a part is part of the encoding: use one type for one column. Raw byte strings may be
// used as keys as they are (std::string_view); key() is a convenience, not a requirement.

#include <array>
#include <bit>
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

namespace foedus {

// A key under construction, and its bytes. Lives on the stack; copies only the bytes in use.
class Key {
 public:
  Key() = default;
  Key(const Key& other) : bytes_(other.bytes_) { std::memcpy(data_, other.data_, stored()); }
  Key& operator=(const Key& other) {
    bytes_ = other.bytes_;
    std::memmove(data_, other.data_, stored());
    return *this;
  }

  // The encoded bytes; valid while this object is. A key that grew beyond kMaxKeyBytes keeps its
  // first bytes and one more than is allowed, so that the engine refuses it with kTooLarge.
  std::string_view view() const { return {data_, stored()}; }
  operator std::string_view() const { return view(); }  // NOLINT: implicit on purpose
  std::size_t size() const { return stored(); }

  // bool, too: not a function for bool alone, which every pointer would convert to.
  template <std::unsigned_integral T>
  requires(sizeof(T) <= 8) Key& append(T part) {
    if constexpr (sizeof(T) > 1 && std::endian::native == std::endian::little) {
      part = byte_swapped(part);
    }
    append_raw(&part, sizeof(part));
    return *this;
  }
  template <std::signed_integral T>
  requires(sizeof(T) <= 8) Key& append(T part) {
    using Unsigned = std::make_unsigned_t<T>;
    constexpr Unsigned kSign = Unsigned{1} << (sizeof(T) * 8 - 1);
    return append(static_cast<Unsigned>(static_cast<Unsigned>(part) ^ kSign));
  }
  Key& append(double part) { return append_float<std::uint64_t>(part); }
  Key& append(float part) { return append_float<std::uint32_t>(part); }
  template <typename T>
  requires std::is_enum_v<T> Key& append(T part) {
    return append(static_cast<std::underlying_type_t<T>>(part));
  }
  Key& append(std::string_view part) {
    constexpr char kZero[2] = {0, static_cast<char>(0xff)};
    constexpr char kEnd[2] = {0, 0};
    std::size_t begin = 0;
    for (std::size_t at = part.find('\0'); at != std::string_view::npos;
         begin = at + 1, at = part.find('\0', begin)) {
      append_raw(part.data() + begin, at - begin);
      append_raw(kZero, sizeof(kZero));
    }
    append_raw(part.data() + begin, part.size() - begin);
    append_raw(kEnd, sizeof(kEnd));
    return *this;
  }
  Key& append(const char* part) { return append(std::string_view(part)); }
  Key& append(std::nullptr_t) = delete;
  template <typename... Parts>
  Key& append(const std::tuple<Parts...>& parts) {
    std::apply([this](const auto&... part) { (append(part), ...); }, parts);
    return *this;
  }
  // Bytes as they are, with no end mark: their order is right only as the last part of a key, or if
  // all keys have as many of them.
  Key& append_raw(const void* part, std::size_t part_bytes) {
    const std::size_t room = bytes_ < sizeof(data_) ? sizeof(data_) - bytes_ : 0;
    std::memcpy(data_ + stored(), part, part_bytes < room ? part_bytes : room);
    bytes_ += part_bytes;
    return *this;
  }

 private:
  template <typename T>
  static constexpr T byte_swapped(T value) {
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  }
  template <typename Bits, typename T>
  Key& append_float(T part) {
    constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
    constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
    constexpr Bits kNan = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
    Bits bits = std::bit_cast<Bits>(part);
    // Not by part != part, which a program compiled for finite numbers only may leave out.
    if ((bits & ~kSign) > kInfinity) bits = kNan;
    return append(static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign));
  }
  std::size_t stored() const { return bytes_ < sizeof(data_) ? bytes_ : sizeof(data_); }

  std::size_t bytes_ = 0;
  char data_[kMaxKeyBytes + 1];  // uninitialized beyond bytes_, on purpose
};

template <typename T>
concept KeyPart = requires(Key key, const T& part) {
  key.append(part);
};

template <KeyPart... Parts>
Key key(const Parts&... parts) {
  Key result;
  (result.append(parts), ...);
  return result;
}

// A type whose own bytes are the row: trivially copyable, and neither a pointer nor a view (a span,
// say), of which a copy would keep an address.
template <typename T>
concept PlainRow =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::ranges::view<T>;

// The bytes of a value, as a payload. Valid while `value` is.
template <PlainRow T>
std::string_view as_payload(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// A payload as a value: a copy of its first sizeof(T) bytes. REQUIRES: payload.size() >= sizeof(T).
template <PlainRow T>
T view_as(std::string_view payload) {
  T value;
  std::memcpy(&value, payload.data(), sizeof(T));
  return value;
}

}  // namespace foedus
