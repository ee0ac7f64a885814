#pragma once
// Codec<T>: how a table (foedus/table.h) stores a value of type T as the payload of a row.
//
// A PlainRow, such as a struct of numbers, is stored as its bytes, and a std::string as it is. For
// any other type, specialize the template:
//
//     template <>
//     struct foedus::Codec<Person> {
//       static void encode(const Person& person, std::string* payload);  // appends its bytes
//       static foedus::Result<Person> decode(std::string_view payload);
//     };
//
// encode() gets an empty string. decode() returns an error, as a rule kCorruption, for bytes that
// are no such value; operations on the row then return that error. decode(encode(x)) has to give a
// value with the same entries in all indexes as x. Payloads of earlier versions of the program stay
// in the database: a type that will change needs a codec that tells its versions apart.

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "foedus/key.h"
#include "foedus/status.h"

namespace foedus {

template <typename T>
struct Codec {
  static constexpr bool kIsDefault = true;
  static void encode(const T& value, std::string* payload) {
    if constexpr (PlainRow<T>) payload->append(as_payload(value));
  }
  static Result<T> decode(std::string_view payload) {
    if constexpr (PlainRow<T>) {
      if (payload.size() == sizeof(T)) return view_as<T>(payload);
      return Status::error(ErrorCode::kInvalidArgument,
                           "the row has " + std::to_string(payload.size()) +
                               " bytes, its type has " + std::to_string(sizeof(T)) +
                               "; read it with the type that wrote it");
    } else {
      return ErrorCode::kInvalidArgument;  // never runs: no table of such rows compiles
    }
  }
};

template <>
struct Codec<std::string> {
  static void encode(const std::string& value, std::string* payload) { payload->append(value); }
  static Result<std::string> decode(std::string_view payload) { return std::string(payload); }
};

namespace internal {

template <typename T>
concept DefaultCodec = requires {
  Codec<T>::kIsDefault;
};
template <typename T>
inline constexpr bool kHasCodec = PlainRow<T>;
template <typename T>
requires(!DefaultCodec<T>) inline constexpr bool kHasCodec<T> = requires(const T& value,
                                                                         std::string* payload,
                                                                         std::string_view bytes) {
  Codec<T>::encode(value, payload);
  { Codec<T>::decode(bytes) } -> std::same_as<Result<T>>;
};

// Returns the payload of a row: the bytes of `row` itself where these are stored as they are, else
// those that its codec appends to *buffer.
template <typename T>
std::string_view encoded(const T& row, std::string* buffer) {
  if constexpr (DefaultCodec<T> && PlainRow<T>) {
    return as_payload(row);
  } else if constexpr (std::same_as<T, std::string>) {
    return row;
  } else {
    buffer->clear();
    Codec<T>::encode(row, buffer);
    return *buffer;
  }
}

}  // namespace internal

}  // namespace foedus
