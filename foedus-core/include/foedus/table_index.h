#pragma once
// Index and UniqueIndex: the definitions of the indexes of a table, see foedus/table.h.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "foedus/key.h"
#include "foedus/status.h"
#include "foedus/table_storages.h"

namespace foedus {

// The name of an index, a string literal: 1 to 62 bytes, no '.'. With the name of its table and a
// dot it is the name of a storage, of at most kMaxStorageNameBytes bytes.
template <std::size_t N>
struct IndexName {
  consteval IndexName(const char (&name)[N]) {  // NOLINT: Index<"by_city", …>
    std::copy_n(name, N, text);
  }
  constexpr std::string_view view() const { return {text, N - 1}; }
  char text[N] = {};
};

// An index of a table. `kExtractor` gives the columns of a row: it is a pointer to a member, a
// function, or a lambda without captures, that takes a const RowType&. It returns
//   a part of a key         an index of one column: what key() takes, or an array of char, which is
//                           a string up to its first zero byte
//   a std::tuple of parts   an index of several columns; std::tie() copies nothing
//   a std::optional of one of these    no entry where it is empty
//   a range of one of these            an entry for each different element, perhaps none
// It depends on the row alone, returns the same each time, and may return views of the row. In a
// header, it is not a lambda, which has another type in each source that includes the header.
//
// Entries are keys of a Master-Tree, which takes a page of memory for each eight bytes that two
// keys have in common at their begin. For long strings of which many are equal, index a few of
// their first bytes, or a hash: the rows that find() returns can be compared.
//
// The columns of an index are recorded by kind, not by what they mean. So **a changed extractor
// needs a new name of the index**: under the old name, rows of before would keep their entries.
template <IndexName kName, auto kExtractor>
struct Index {
  static constexpr std::string_view name() { return kName.view(); }
  static constexpr bool kIsUnique = false;
  template <typename RowType>
  static constexpr bool kTakes = std::is_invocable_v<decltype((kExtractor)), const RowType&>;
  template <typename RowType>
  static decltype(auto) extract(const RowType& row) {
    return std::invoke(kExtractor, row);
  }
};

// An index that has at most one row for one value of its columns: a row that would be a second one
// is refused with kAlreadyExists. Rows without an entry are not limited.
template <IndexName kName, auto kExtractor>
struct UniqueIndex : Index<kName, kExtractor> {
  static constexpr bool kIsUnique = true;
};

// A bound of a range that does not bound it.
inline constexpr std::tuple<> kUnbounded;

namespace internal {

template <typename T>
inline constexpr bool kIsText = std::is_convertible_v<const T&, std::string_view>;
template <typename T>
inline constexpr bool kIsTuple = false;
template <typename... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr std::size_t kFixedBytes = 0;
template <typename T>
inline constexpr std::size_t kFixedBytes<BigEndian<T>> = sizeof(T);

// Returns the kind of a part of a key, or '\0' for a type that is none. Parts of one kind have the
// same bytes in all types. The letters are written to the database.
template <typename T>
consteval char part_kind() {
  if constexpr (std::is_same_v<T, foedus::Key>) {
    return '\0';
  } else if constexpr (std::is_enum_v<T> || (std::integral<T> && sizeof(T) <= 8)) {
    return 'i';
  } else if constexpr (std::floating_point<T> && sizeof(T) <= sizeof(double)) {
    return 'f';
  } else if constexpr (kIsText<T>) {
    return 's';
  } else if constexpr (kFixedBytes<T> != 0) {
    return static_cast<char>('0' + kFixedBytes<T>);
  } else {
    return '\0';
  }
}

// The kinds of columns as text that lives as long as the program.
template <typename Columns>
constexpr std::string_view kinds_of() {
  return {Columns::kKinds.data(), Columns::kKinds.size()};
}

// The parts of a value, in their order: those of a tuple are its elements.
template <typename T>
struct Columns {
  using Types = std::tuple<T>;
  static constexpr std::size_t kCount = 1;
  static constexpr bool kAreParts = part_kind<T>() != '\0';
  static constexpr std::array<char, 1> kKinds = {part_kind<T>()};
};
template <typename... T>
struct Columns<std::tuple<T...>> {
  using Types = std::tuple<std::remove_cvref_t<T>...>;
  static constexpr std::size_t kCount = sizeof...(T);
  static constexpr bool kAreParts = ((part_kind<std::remove_cvref_t<T>>() != '\0') && ...);
  static constexpr std::array<char, sizeof...(T)> kKinds = {part_kind<std::remove_cvref_t<T>>()...};
};

template <typename T>
std::string_view text_of(const T& part) {
  if constexpr (std::is_bounded_array_v<T>) {
    const std::string_view whole(part, std::extent_v<T>);
    return whole.substr(0, whole.find('\0'));
  } else {
    return part;
  }
}

template <typename T>
void append_part(foedus::Key* key, const T& part) {
  if constexpr (kIsText<T>) {
    key->append(text_of(part));
  } else {
    key->append(part);
  }
}

template <typename T>
void append_parts(foedus::Key* key, const T& value) {
  if constexpr (kIsTuple<T>) {
    std::apply([&](const auto&... part) { (append_part(key, part), ...); }, value);
  } else {
    append_part(key, value);
  }
}

// What the extractor of an index returns: how many entries, and of which columns.
template <typename Result>
struct Extracted {
  using Value = Result;
};
template <typename T>
struct Extracted<std::optional<T>> {
  using Value = T;
};
template <typename T>
requires(std::ranges::input_range<const T> && !kIsText<T>) struct Extracted<T> {
  using Value = std::ranges::range_value_t<const T>;
};

template <typename Definition, typename RowType>
struct IndexColumns {
  using Returned =
      std::remove_cvref_t<decltype(Definition::extract(std::declval<const RowType&>()))>;
  using Value = std::remove_cvref_t<typename Extracted<Returned>::Value>;
  using Parts = Columns<Value>;
  static constexpr bool kAreParts = Parts::kAreParts && Parts::kCount != 0;

  // Adds the entries of a row.
  static void add(std::size_t index, const RowType& row, IndexEntries* entries) {
    decltype(auto) extracted = Definition::extract(row);
    const auto add_one = [&](const Value& value) {
      foedus::Key key;
      append_parts(&key, value);
      entries->add(index, key.view());
    };
    if constexpr (kIsOptional<Returned>) {
      if (extracted.has_value()) add_one(*extracted);
    } else if constexpr (std::is_same_v<Value, Returned>) {
      add_one(extracted);
    } else {
      for (auto&& one : extracted) add_one(one);
    }
  }
};

// Says in one line what is wrong with the definition of an index.
template <typename Definition, typename RowType>
consteval bool check_index() {
  static_assert(Definition::name().size() >= 1 && Definition::name().size() <= 62 &&
                    Definition::name().find('.') == std::string_view::npos,
                "foedus: the name of an index has 1 to 62 bytes and no '.'");
  constexpr bool kTakes = Definition::template kTakes<RowType>;
  static_assert(kTakes,
                "foedus: the extractor of an index takes a const RowType&: a pointer to a member, "
                "a function, or a lambda without captures");
  if constexpr (kTakes) {
    static_assert(IndexColumns<Definition, RowType>::kAreParts,
                  "foedus: the extractor of an index returns a part of a key, a tuple of parts, or "
                  "an optional or a range of these");
    return IndexColumns<Definition, RowType>::kAreParts;
  } else {
    return false;
  }
}

// Appends a part that is looked for in a column. An integer that is looked for among floating-point
// numbers, or without big_endian() among such, is taken as one.
template <typename Column, typename T>
void append_looked_for(foedus::Key* key, const T& part) {
  constexpr char kColumn = part_kind<Column>();
  constexpr char kPart = part_kind<T>();
  if constexpr (kColumn == 'f' && (kPart == 'f' || kPart == 'i')) {
    key->append(static_cast<Column>(part));
  } else if constexpr (kFixedBytes<Column> != 0 && FixedWidth<T> &&
                       sizeof(T) <= kFixedBytes<Column>) {
    key->append(Column{part});
  } else {
    static_assert(kPart == kColumn,
                  "foedus: a part that is looked for has another kind than its column");
    if constexpr (kPart == kColumn) append_part(key, part);
  }
}

// Appends the part for column kAt, of kGiven parts that are looked for. With is_prefix, the last
// one has no end if it is a string.
template <typename Types, std::size_t kAt, std::size_t kGiven, typename T>
void append_at(foedus::Key* key, const T& part, bool is_prefix) {
  using Column = std::tuple_element_t<kAt, Types>;
  if constexpr (kAt + 1 == kGiven && part_kind<Column>() == 's' && kIsText<T>) {
    if (is_prefix) {
      key->append_prefix(text_of(part));
      return;
    }
  }
  append_looked_for<Column>(key, part);
}

template <typename Types, typename T, std::size_t... kAt>
void append_all([[maybe_unused]] foedus::Key* key, const T& given, [[maybe_unused]] bool is_prefix,
                std::index_sequence<kAt...>) {
  (append_at<Types, kAt, sizeof...(kAt)>(key, std::get<kAt>(given), is_prefix), ...);
}

// Returns the key of the leading columns that equal `given`, a part or a tuple of parts. With
// is_prefix, the last of these columns only begins with its part, if that is a string.
template <typename Types, typename T>
foedus::Key looked_for(const T& given, bool is_prefix = false) {
  foedus::Key key;
  constexpr std::size_t kGiven = Columns<T>::kCount;
  static_assert(kGiven <= std::tuple_size_v<Types>,
                "foedus: more parts are looked for than there are columns");
  if constexpr (kGiven <= std::tuple_size_v<Types>) {
    if constexpr (kIsTuple<T>) {
      append_all<Types>(&key, given, is_prefix, std::make_index_sequence<kGiven>());
    } else {
      append_at<Types, 0, 1>(&key, given, is_prefix);
    }
  }
  return key;
}

}  // namespace internal

}  // namespace foedus
