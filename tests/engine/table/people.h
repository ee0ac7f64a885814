#pragma once
// A table with indexes of several kinds, for the tests of this folder.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "foedus/table.h"

namespace foedus::testing {

struct Person {
  char city[12] = {};
  std::int32_t born = 0;
  std::uint32_t passport = 0;  // 0: none
  std::array<std::uint8_t, 3> clubs = {};
  double height = 0;
};

inline auto city_and_year(const Person& person) { return std::tie(person.city, person.born); }
inline std::optional<std::uint32_t> passport_of(const Person& person) {
  if (person.passport == 0) return std::nullopt;
  return person.passport;
}
inline std::vector<std::uint8_t> clubs_of(const Person& person) {
  std::vector<std::uint8_t> clubs;
  for (const std::uint8_t club : person.clubs) {
    if (club != 0) clubs.push_back(club);
  }
  return clubs;
}

using ByCity = Index<"by_city", city_and_year>;
using ByPassport = UniqueIndex<"by_passport", passport_of>;
using ByClub = Index<"by_club", clubs_of>;
using ByHeight = Index<"by_height", &Person::height>;
using People = Table<std::uint64_t, Person, ByCity, ByPassport, ByClub, ByHeight>;

// Rows with these fields and no others.
inline Person from(std::string_view city, std::int32_t born = 0, std::uint32_t passport = 0,
                   std::array<std::uint8_t, 3> clubs = {}) {
  Person person;
  city.copy(person.city, sizeof(person.city));
  person.born = born;
  person.passport = passport;
  person.clubs = clubs;
  return person;
}

// Returns the keys of rows, and then the failure if there is one.
template <typename Rows>
std::string keys_of(Rows rows) {
  std::string keys;
  for (const auto& [key, row] : rows) keys += std::to_string(key) + " ";
  if (auto failure = rows.failure()) keys += failure->message();
  return keys;
}

}  // namespace foedus::testing
