// Tables with secondary indexes, as README.md shows them.

#include <foedus/table.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "docs/code/pieces.h"

namespace docs {

namespace {

// clang-format off
struct Person { char city[24]; int born; char email[40]; };  // other types by a foedus::Codec
using People = foedus::Table<std::uint64_t, Person,
    foedus::Index<"by_city", [](const Person& p) { return std::tie(p.city, p.born); }>,
    foedus::UniqueIndex<"by_email", &Person::email>>;
// clang-format on

Person person_of(const char* city, int born, const char* email) {
  Person person{};
  std::strncpy(person.city, city, sizeof(person.city) - 1);
  std::strncpy(person.email, email, sizeof(person.email) - 1);
  person.born = born;
  return person;
}

}  // namespace

foedus::Status tables(const std::string& dir) {
  FOEDUS_TRY(auto db, open_small(dir));
  const Person person = person_of("Paris", 1815, "ada@example.org");
  FOEDUS_TRY(const People people, People::open(db, "people"));  // fills an index that is new
  std::vector<std::string> emails;
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_CHECK(people.insert(txn, 7, person));       // kAlreadyExists names the index
    auto rows = people.find<"by_city">(txn, "Paris");  // equal, a range, a prefix; in reverse
    emails.clear();
    for (const auto& [key, row] : rows) emails.push_back(row.email);
    return rows.failure().value_or(foedus::Status());
  }));
  FOEDUS_CHECK(expect(emails == std::vector<std::string>{"ada@example.org"}, "the index"));
  const auto taken = db.transact([&](foedus::Txn& txn) { return people.insert(txn, 8, person); });
  FOEDUS_CHECK(expect(taken.message().find("by_email") != std::string::npos, "the message"));
  return db.close();
}

}  // namespace docs
