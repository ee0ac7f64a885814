// A table behaves as a std::map of rows, and its indexes as multimaps that are made of that map.
//
// Method: random operations in two transactions, of which the second begins and commits while the
// first is open. If the first one commits as well, then its operations, repeated on the model after
// those of the second, give the same results.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/engine/table/people.h"
#include "tests/testing/test_database.h"

namespace foedus::table_model_test {
namespace {

using testing::from;
using testing::keys_of;
using testing::must;
using testing::People;
using testing::Person;
using testing::TestDatabase;

using Model = std::map<std::uint64_t, Person>;

constexpr const char* kCities[] = {"", "Bern", "Berlin", "Rome", "Romeo and Jul"};
constexpr std::uint64_t kKeys = 40;
constexpr std::uint32_t kPassports = 60;

enum class Kind {
  kInsert,
  kPut,
  kUpdate,
  kErase,
  kModify,
  kGet,
  kFindCity,
  kFindRange,
  kFindPrefix,
  kFindClub,
  kFindPassport,
  kScan,
  kCount
};

struct Operation {
  Kind kind;
  std::uint64_t key;
  Person person;
  ScanOptions options;
};

Operation random_operation(base::Random* random) {
  Operation operation{static_cast<Kind>(random->below(static_cast<std::uint64_t>(Kind::kCount))),
                      random->below(kKeys),
                      from(kCities[random->below(5)], static_cast<std::int32_t>(random->below(3))),
                      {}};
  operation.person.passport =
      random->below(2) == 0 ? 0 : static_cast<std::uint32_t>(random->below(kPassports));
  for (std::uint8_t& club : operation.person.clubs) {
    club = static_cast<std::uint8_t>(random->below(4));
  }
  if (random->below(3) == 0) operation.options.limit = random->below(5);
  operation.options.reverse = random->below(2) == 0;
  return operation;
}

std::string city_of(const Person& person) {
  return {person.city, std::find(person.city, std::end(person.city), '\0')};
}

std::string described(const Person& person) {
  return city_of(person) + std::to_string(person.passport);
}

std::string code_of(const Status& status) { return std::string(to_string(status.code())); }

std::string run(const People& people, Txn& txn, const Operation& operation) {
  const auto& [kind, key, person, options] = operation;
  switch (kind) {
    case Kind::kInsert:
      return code_of(people.insert(txn, key, person));
    case Kind::kPut:
      return code_of(people.put(txn, key, person));
    case Kind::kUpdate:
      return code_of(people.update(txn, key, person));
    case Kind::kErase:
      return code_of(people.erase(txn, key));
    case Kind::kModify:
      return code_of(people.modify(txn, key, [&](Person& old) { old.clubs = person.clubs; }));
    case Kind::kGet: {
      const Result<Person> row = people.get(txn, key);
      return row.is_ok() ? described(*row) : code_of(row.status());
    }
    case Kind::kFindCity:
      return keys_of(people.find<"by_city">(txn, person.city, options));
    case Kind::kFindRange:
      return keys_of(
          people.find_range<"by_city">(txn, std::tie(person.city, person.born), "Romeo", options));
    case Kind::kFindPrefix:
      return keys_of(
          people.find_prefix<"by_city">(txn, std::string(person.city, 2).c_str(), options));
    case Kind::kFindClub:
      return keys_of(people.find<"by_club">(txn, person.clubs[0], options));
    case Kind::kFindPassport: {
      const auto found = people.find_unique<"by_passport">(txn, person.passport);
      return found.is_ok() ? std::to_string(found->key) : code_of(found.status());
    }
    default:
      return keys_of(people.scan(txn, key, key + 10, options));
  }
}

// Returns the keys of a multimap's values whose key is chosen, in the order of the options.
template <typename Entries, typename Choose>
std::string chosen(const Entries& entries, const ScanOptions& options, const Choose& is_chosen) {
  std::vector<std::uint64_t> keys;
  for (const auto& [columns, key] : entries) {
    if (is_chosen(columns)) keys.push_back(key);
  }
  if (options.reverse) std::reverse(keys.begin(), keys.end());
  if (keys.size() > options.limit) keys.resize(options.limit);
  std::string text;
  for (const std::uint64_t key : keys) text += std::to_string(key) + " ";
  return text;
}

using CityAndYear = std::pair<std::string, std::int32_t>;

std::string written(Model* model, const Operation& operation, bool may_be_new, bool may_be_old) {
  const bool is_old = model->count(operation.key) != 0;
  if (is_old && !may_be_old) return "already_exists";
  if (!is_old && !may_be_new) return "not_found";
  for (const auto& [key, person] : *model) {
    if (key != operation.key && person.passport != 0 &&
        person.passport == operation.person.passport) {
      return "already_exists";
    }
  }
  (*model)[operation.key] = operation.person;
  return "ok";
}

std::string found(const Model& model, const Operation& operation) {
  const auto& [kind, at, wanted, options] = operation;
  std::multimap<CityAndYear, std::uint64_t> by_city;
  std::multimap<std::uint8_t, std::uint64_t> by_club;
  std::multimap<std::uint64_t, std::uint64_t> by_key;
  for (const auto& [key, person] : model) {
    by_city.emplace(CityAndYear(city_of(person), person.born), key);
    by_key.emplace(key, key);
    auto clubs = testing::clubs_of(person);
    std::sort(clubs.begin(), clubs.end());
    clubs.erase(std::unique(clubs.begin(), clubs.end()), clubs.end());
    for (const std::uint8_t club : clubs) by_club.emplace(club, key);
  }
  const std::string city = city_of(wanted);
  if (kind == Kind::kFindClub) {
    return chosen(by_club, options, [&](std::uint8_t club) { return club == wanted.clubs[0]; });
  }
  if (kind == Kind::kScan) {
    return chosen(by_key, options,
                  [low = at](std::uint64_t key) { return key >= low && key < low + 10; });
  }
  return chosen(by_city, options, [&, which = kind](const CityAndYear& columns) {
    if (which == Kind::kFindCity) return columns.first == city;
    if (which == Kind::kFindPrefix) return columns.first.starts_with(city.substr(0, 2));
    return columns >= CityAndYear(city, wanted.born) && columns.first < "Romeo";
  });
}

std::string repeat(Model* model, const Operation& operation) {
  const auto row = model->find(operation.key);
  switch (operation.kind) {
    case Kind::kInsert:
      return written(model, operation, true, false);
    case Kind::kPut:
      return written(model, operation, true, true);
    case Kind::kUpdate:
      return written(model, operation, false, true);
    case Kind::kErase:
      if (row == model->end()) return "not_found";
      model->erase(row);
      return "ok";
    case Kind::kModify:
      if (row == model->end()) return "not_found";
      row->second.clubs = operation.person.clubs;
      return "ok";
    case Kind::kGet:
      if (row == model->end()) return "not_found";
      return described(row->second);
    case Kind::kFindPassport:
      for (const auto& [key, person] : *model) {
        const std::uint32_t wanted = operation.person.passport;
        if (wanted != 0 && person.passport == wanted) return std::to_string(key);
      }
      return "not_found";
    default:
      return found(*model, operation);
  }
}

// An open transaction and what it has done.
struct History {
  std::vector<std::pair<Operation, std::string>> steps;

  void run_some(const People& people, Txn& txn, base::Random* random) {
    for (std::uint64_t left = random->below(6); left != 0; --left) {
      const Operation operation = random_operation(random);
      steps.emplace_back(operation, run(people, txn, operation));
    }
  }
  void repeat_on(Model* model) const {
    for (const auto& [operation, result] : steps) {
      EXPECT_EQ(result, repeat(model, operation)) << static_cast<int>(operation.kind);
    }
  }
};

TEST(TableModelTest, interleaved_transactions_are_those_of_a_map_one_after_the_other) {
  base::Random random(testing::test_seed(5));
  TestDatabase db;
  const People people = must(People::open(*db, "people"));
  Model model;
  int committed = 0;
  int conflicts = 0;
  {
    Session sessions[] = {must(db->new_session()), must(db->new_session())};
    for (int round = 0; round < 1'500 && !::testing::Test::HasFailure(); ++round) {
      History first;
      History second;
      Txn txn = must(sessions[0].begin());
      first.run_some(people, txn, &random);
      if (random.below(2) == 0) {
        Txn other = must(sessions[1].begin());
        second.run_some(people, other, &random);
        must(other.commit());
        second.repeat_on(&model);
      }
      first.run_some(people, txn, &random);
      const Result<Ticket> ticket = txn.commit();
      if (ticket.is_ok()) {
        first.repeat_on(&model);
        ++committed;
      } else {
        EXPECT_EQ(ticket.code(), ErrorCode::kConflict) << ticket.status().message();
        ++conflicts;
      }
      if (round % 500 == 250) must(db->glean());
    }
  }
  EXPECT_GT(committed, 300);
  EXPECT_GT(conflicts, 100);
  must(db->transact([&](Txn& txn) { return people.check(txn); }));
  must(db->snapshot([&](Txn& txn) { return people.check(txn); }));
}

}  // namespace
}  // namespace foedus::table_model_test
