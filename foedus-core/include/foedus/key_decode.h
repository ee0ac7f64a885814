#pragma once
// decode<T…>(bytes): turns a key that key(parts…) has built back into its parts. The caller names
// the types of the columns; a key does not say of which kinds its parts are.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "foedus/key.h"
#include "foedus/status.h"

namespace foedus {

namespace internal {

template <typename T>
inline constexpr bool kIsDecodable = std::same_as<T, std::remove_cv_t<T>> &&
                                     (std::is_enum_v<T> || (std::integral<T> && sizeof(T) <= 8) ||
                                      std::same_as<T, double> || std::same_as<T, float> ||
                                      std::same_as<T, std::string>);
template <typename T>
inline constexpr bool kIsDecodable<BigEndian<T>> = true;
template <typename... T>
inline constexpr bool kIsDecodable<std::tuple<T...>> = (kIsDecodable<T> && ...);

// Reads the parts of a key one after another. Each read() returns false if the next part is not of
// the given type. After that only finish() may be called, which returns the reason.
class KeyReader {
 public:
  explicit KeyReader(std::string_view bytes) : bytes_(bytes) {}

  template <std::integral T>
  bool read(T* part) {
    using Limits = std::numeric_limits<T>;
    std::uint64_t bits = 0;
    if (!read_integer(static_cast<std::int64_t>(Limits::min()),
                      static_cast<std::uint64_t>(Limits::max()), &bits)) {
      return false;
    }
    *part = static_cast<T>(bits);
    return true;
  }
  template <typename T>
  requires std::is_enum_v<T>
  bool read(T* part) {
    std::underlying_type_t<T> number{};
    if (!read(&number)) return false;
    *part = static_cast<T>(number);
    return true;
  }
  bool read(double* part);
  bool read(float* part);
  bool read(std::string* part);
  template <typename T>
  bool read(BigEndian<T>* part) {
    std::uint64_t bits = 0;
    if (!read_fixed(sizeof(T), &bits)) return false;
    part->value = static_cast<T>(bits);
    return true;
  }
  template <typename... T>
  bool read(std::tuple<T...>* parts) {
    return std::apply([&](T&... part) { return (read(&part) && ...); }, *parts);
  }

  // Returns the error of the read() that failed, or kInvalidArgument if bytes are left.
  Status finish() &&;

 private:
  // Reads an integer, and stores its value to *bits in two's complement. Fails if the value is not
  // in low .. high.
  bool read_integer(std::int64_t low, std::uint64_t high, std::uint64_t* bits);
  bool read_fixed(std::size_t part_bytes, std::uint64_t* bits);
  // Reads the IEEE 754 bits of a double without moving past it.
  bool look_at_double(std::uint64_t* bits);
  // Appends the next string to *part without moving past it. Returns null, and sets *end to the
  // byte after the end mark of the string. If the string is not valid, returns what is wrong.
  const char* look_at_string(std::string* part, std::size_t* end) const;
  std::uint64_t bits_at(std::size_t at, std::size_t count) const;
  bool end_part(std::size_t at);
  bool fail(const char* problem);

  std::string_view bytes_;
  std::size_t at_ = 0;     // begin of the next part
  std::size_t parts_ = 0;  // number of parts that were read
  Status failure_;
};

}  // namespace internal

// DecodablePart: a type that decode() can return. These are integers of any width, bool, enums,
// double, float, std::string, BigEndian, and tuples of them. std::string_view is not one of them: a
// key stores an extra byte after each zero byte of a string, so the string does not lie in one
// piece.
template <typename T>
concept DecodablePart = internal::kIsDecodable<T>;

// Returns the parts of a key as a tuple, even if it is one part:
//     FOEDUS_TRY(const auto columns, foedus::decode<std::uint32_t, std::string>(row.key));
//     const auto& [city, name] = columns;
// An integer may be read in any type that holds its value; an enum holds the values of its
// underlying type. A float is returned if it holds the key's number exactly. A BigEndian must have
// the same width as in the key. The result does not refer to `bytes`.
//
// kInvalidArgument if `bytes` are not exactly these parts. The message names the part (the first is
// part 1; each element of a tuple counts as a part) and the byte at which it begins (the first is
// byte 0). Cases:
//   the next part is of another kind, or the key ends within it, or its string does not end
//   the type does not hold the number
//   bytes are left after the last part
// key() of the result has the same bytes as the key. A type of another kind than the column's is
// often refused, but not always: the bytes of a double may also be those of an integer.
// kOutOfMemory if the process has no memory for a string. Any thread.
template <DecodablePart... T>
Result<std::tuple<T...>> decode(std::string_view bytes) {
  internal::KeyReader reader(bytes);
  std::tuple<T...> parts;
  reader.read(&parts);
  FOEDUS_CHECK(std::move(reader).finish());
  return parts;
}

}  // namespace foedus
