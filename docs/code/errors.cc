// The code of docs/pages/errors.md.

#include <string>
#include <string_view>

#include "docs/code/pieces.h"

namespace docs {

namespace {

std::string told;

// Where an application decides what a failure means for it.
void report(const foedus::Status& status) { told = status.message(); }

foedus::Result<int> age_of(foedus::Database& db, foedus::Masstree users, std::string_view name) {
  const auto age = db.transact([&](foedus::Txn& txn) { return txn.get_as<int>(users, name); });
  if (age.code() == foedus::ErrorCode::kNotFound) return -1;  // an answer, not a failure
  if (!age) report(age.status());  // code, storage, what happened, what to do
  return age;
}

}  // namespace

foedus::Status errors(const std::string& dir) {
  FOEDUS_TRY(auto db, open_small(dir));
  FOEDUS_TRY(auto users, db.open_masstree("users"));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) { return txn.put(users, "ada", "36 years"); }));
  FOEDUS_TRY(const int unknown, age_of(db, users, "nobody"));
  FOEDUS_CHECK(expect(unknown == -1, "a missing key"));
  const auto wrong = age_of(db, users, "ada");
  FOEDUS_CHECK(expect(wrong.code() == foedus::ErrorCode::kInvalidArgument, "a row of 8 bytes"));
  FOEDUS_CHECK(expect(told.find("'users' at key \"ada\": the payload has") != std::string::npos,
                      "the message"));
  return db.close();
}

}  // namespace docs
