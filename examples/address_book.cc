// An address book: a table whose rows are found by number, by city and by email.
//
// Table keeps the indexes in the transaction that changes the row. So a row and its entries come
// and go together, and two threads cannot give one email to two contacts. An index that is added to
// the definition later is filled when the table is opened.

#include <foedus/foedus.h>
#include <foedus/table.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace {

struct Contact {
  std::string name;
  std::string city;
  std::string email;
};

}  // namespace

// A struct of numbers needs no codec. Here, key() and decode() make a short one: for rows of up to
// 1,024 bytes.
template <>
struct foedus::Codec<Contact> {
  static void encode(const Contact& contact, std::string* payload) {
    payload->append(foedus::key(contact.name, contact.city, contact.email).view());
  }
  static foedus::Result<Contact> decode(std::string_view payload) {
    FOEDUS_TRY(auto parts, foedus::decode<std::string, std::string, std::string>(payload));
    auto& [name, city, email] = parts;
    return Contact{std::move(name), std::move(city), std::move(email)};
  }
};

namespace {

// The columns of an index are what its extractor returns: by city, and in a city by name.
using Contacts = foedus::Table<
    std::uint64_t, Contact,
    foedus::Index<"by_city",
                  [](const Contact& contact) { return std::tie(contact.city, contact.name); }>,
    foedus::UniqueIndex<"by_email", &Contact::email>>;

foedus::Status fill(foedus::Database& db, const Contacts& contacts) {
  return db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_CHECK(contacts.put(txn, 1, {"Ada", "London", "ada@example.org"}));
    FOEDUS_CHECK(contacts.put(txn, 2, {"Grace", "New York", "grace@example.org"}));
    FOEDUS_CHECK(contacts.put(txn, 3, {"Charles", "London", "charles@example.org"}));
    return contacts.put(txn, 4, {"Edsger", "Nuenen", "edsger@example.org"});
  });
}

// Returns the contacts of a city, in the order of their names.
foedus::Result<std::string> in_city(foedus::Database& db, const Contacts& contacts,
                                    std::string_view city) {
  return db.transact([&](foedus::Txn& txn) -> foedus::Result<std::string> {
    std::string names(city);  // printed by the caller: this function may run more than once
    auto rows = contacts.find<"by_city">(txn, city);
    for (const auto& [number, contact] : rows) names += " " + contact.name;
    if (auto failure = rows.failure()) return *failure;
    return names;
  });
}

foedus::Status run(const std::string& dir) {
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir}));
  FOEDUS_TRY(const Contacts contacts, Contacts::open(db, "contacts"));
  FOEDUS_CHECK(fill(db, contacts));
  FOEDUS_TRY(const std::string before, in_city(db, contacts, "London"));

  // The entries of by_city move with the row; that of by_email stays as it is.
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_TRY(const auto found, contacts.find_unique<"by_email">(txn, "grace@example.org"));
    return contacts.modify(txn, found.key, [](Contact& contact) { contact.city = "London"; });
  }));
  FOEDUS_TRY(const std::string after, in_city(db, contacts, "London"));
  std::printf("%s\n%s\n", before.c_str(), after.c_str());

  const foedus::Status taken = db.transact([&](foedus::Txn& txn) {
    return contacts.insert(txn, 5, {"Augusta", "London", "ada@example.org"});
  });
  std::printf("%s\n", taken.code() == foedus::ErrorCode::kAlreadyExists ? "the email is taken"
                                                                        : "a second Ada");
  // Compares rows and indexes in a snapshot.
  return db.snapshot([&](foedus::Txn& txn) { return contacts.check(txn); });
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc > 1 ? argv[1] : "address_book");
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.is_ok() ? 0 : 1;
}

// prints:
//   London Ada Charles
//   London Ada Charles Grace
//   the email is taken
