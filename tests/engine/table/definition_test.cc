// Opening a table makes what is missing and refuses what does not agree; drops take away what they
// name.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "foedus-core/table/definition_row.h"
#include "tests/engine/table/people.h"
#include "tests/testing/test_database.h"

namespace foedus::table_definition_test {
namespace {

using testing::ByCity;
using testing::ByClub;
using testing::ByPassport;
using testing::from;
using testing::keys_of;
using testing::must;
using testing::Person;
using testing::TestDatabase;

template <typename... Indexes>
using Crowd = Table<std::uint64_t, Person, Indexes...>;

// Returns the message with which a definition is refused.
template <typename AnyTable>
std::string refusal(TestDatabase& db, std::string_view name = "crowd") {
  const Status status = AnyTable::open(*db, name).status();
  EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << status.message();
  return status.message();
}

bool has_storage(TestDatabase& db, std::string_view name) {
  const auto storages = db->storages();
  return std::any_of(storages.begin(), storages.end(),
                     [&](const StorageInfo& storage) { return storage.name == name; });
}

void expect_has(const std::string& text, const char* part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(TableDefinitionTest, a_definition_that_does_not_agree_is_refused_by_name) {
  TestDatabase db;
  must(Crowd<ByCity, ByPassport>::open(*db, "crowd"));
  expect_has(refusal<Crowd<ByCity>>(db), "an index 'by_passport' that this definition of it lacks");
  expect_has(refusal<Crowd<ByCity, Index<"by_passport", testing::passport_of>>>(db),
             "index 'by_passport' of the table is unique over (integer), and this definition of it "
             "is not unique over (integer)");
  expect_has(refusal<Crowd<ByPassport, Index<"by_city", &Person::city>>>(db),
             "not unique over (string, integer), and this definition of it is not unique over "
             "(string)");
  using OtherKey = Table<std::tuple<std::string, BigEndian<std::uint32_t>>, Person, ByCity>;
  expect_has(refusal<OtherKey>(db), "keys of (integer), not of (string, big_endian of 4 bytes)");
  must(Crowd<ByPassport, ByCity>::open(*db, "crowd"));                       // in another order
  must(Table<std::int8_t, Person, ByPassport, ByCity>::open(*db, "crowd"));  // integers as well
}

TEST(TableDefinitionTest, a_name_that_is_taken_or_too_long_is_refused) {
  TestDatabase db;
  expect_has(refusal<Crowd<>>(db, ""), "empty");
  expect_has(refusal<Crowd<>>(db, "foedus.tables"), "choose another");
  must(Crowd<>::open(*db, std::string(64, 'n')));
  must(Crowd<ByCity>::open(*db, std::string(56, 'n')));
  expect_has(refusal<Crowd<ByCity>>(db, std::string(57, 'n')), "nnn.by_city' has 65 bytes");
  must(Crowd<ByCity>::open(*db, "crowd"));
  expect_has(refusal<Crowd<>>(db, "crowd.by_city"), "is an index of table 'crowd'");
  must(Crowd<>::open(*db, "crowd.by_club"));
  expect_has(refusal<Crowd<ByCity, ByClub>>(db), "'crowd.by_club' is not of the table");
  must(db->open_hash("hash"));
  expect_has(refusal<Crowd<>>(db, "hash"), "hash");
  must(Crowd<ByCity>::open(*db, "crowd"));  // as before
  EXPECT_FALSE(has_storage(db, std::string(57, 'n')));
}

TEST(TableDefinitionTest, a_handle_with_other_indexes_than_the_table_writes_nothing) {
  TestDatabase db;
  const auto before = must(Crowd<ByCity>::open(*db, "crowd"));
  const auto both = must(Crowd<ByCity, ByClub>::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) -> Status {
    must(both.insert(txn, 1, from("Rome", 0, 0, {3})));
    const Status refused = before.insert(txn, 2, from("Rome"));
    EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument);
    expect_has(refused.message(), "open the table again");
    EXPECT_EQ(before.erase(txn, 1).code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(keys_of(before.find<"by_city">(txn, "Rome")), "1 ");  // reads are right
    return {};
  }));
  must(drop_index(*db, "crowd", "by_club"));
  EXPECT_FALSE(has_storage(db, "crowd.by_club"));
  must(db->transact([&](Txn& txn) -> Status {
    must(before.insert(txn, 2, from("Rome")));  // its indexes are those of the table again
    EXPECT_EQ(both.insert(txn, 3, from("Rome")).code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(both.count<"by_club">(txn, 3).code(), ErrorCode::kNotSupported);
    EXPECT_EQ(both.count<"by_city">(txn, "Rome").value(), 2U);
    return before.check(txn);
  }));
  // The index is another one now, though it has the name.
  const auto again = must(Crowd<ByCity, ByClub>::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(both.insert(txn, 3, from("Rome")).code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(both.count<"by_club">(txn, 3).code(), ErrorCode::kNotSupported);
    EXPECT_EQ(again.count<"by_club">(txn, 3).value(), 1U);
    return again.check(txn);
  }));
}

// The transaction has read that there is no further index, and then there is one.
TEST(TableDefinitionTest, a_write_beside_the_adding_of_an_index_conflicts) {
  TestDatabase db;
  const auto before = must(Crowd<ByCity>::open(*db, "crowd"));
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  must(before.insert(txn, 1, from("Rome", 0, 0, {3})));
  must(Crowd<ByCity, ByClub>::open(*db, "crowd"));
  EXPECT_EQ(txn.commit().code(), ErrorCode::kConflict);
}

TEST(TableDefinitionTest, a_table_is_dropped_with_its_indexes) {
  TestDatabase db;
  const auto crowd = must(Crowd<ByCity>::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) { return crowd.insert(txn, 1, from("Rome")); }));
  must(drop_table(*db, "crowd"));
  EXPECT_FALSE(has_storage(db, "crowd"));
  EXPECT_FALSE(has_storage(db, "crowd.by_city"));
  EXPECT_EQ(drop_table(*db, "crowd").code(), ErrorCode::kNotFound);
  EXPECT_EQ(drop_index(*db, "crowd", "by_city").code(), ErrorCode::kNotFound);
  const Status late = db->transact([&](Txn& txn) { return crowd.insert(txn, 2, from("Rome")); });
  EXPECT_EQ(late.code(), ErrorCode::kNotFound);
  const auto again = must(Table<std::string, Person, ByCity>::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(must(again.count<"by_city">(txn, kUnbounded)), 0U);
    return again.insert(txn, "one", from("Rome"));
  }));
  EXPECT_EQ(drop_index(*db, "crowd", "by_club").code(), ErrorCode::kNotFound);
}

// A crash leaves a drop between its steps: the mark is there, and some of the storages are.
TEST(TableDefinitionTest, a_drop_that_a_crash_has_ended_is_completed) {
  TestDatabase db;
  const auto change = [&](const auto& mark) {
    const Masstree definitions = must(db->open_masstree(table::kDefinitions));
    const auto crowd = must(Crowd<ByCity, ByClub>::open(*db, "crowd"));
    must(db->transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(crowd.put(txn, 1, from("Rome", 0, 0, {3})));
      FOEDUS_TRY(const std::string payload, txn.get(definitions, key("crowd")));
      FOEDUS_TRY(table::DefinitionRow row, table::decoded(payload));
      mark(&row);
      ++row.generation;
      return txn.put(definitions, key("crowd"), table::encoded(row));
    }));
    EXPECT_EQ(db->transact([&](Txn& txn) { return crowd.erase(txn, 1); }).code(),
              ErrorCode::kInvalidArgument);
    db.reopen();
  };
  change([](table::DefinitionRow* row) { row->find("by_city")->is_dropped = true; });
  must(Crowd<ByClub>::open(*db, "crowd"));
  EXPECT_FALSE(has_storage(db, "crowd.by_city"));
  change([](table::DefinitionRow* row) { row->find("by_city")->is_dropped = true; });
  const auto again = must(Crowd<ByCity, ByClub>::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) { return again.check(txn); }));
  change([](table::DefinitionRow* row) { row->is_dropped = true; });
  must(db->drop_storage("crowd.by_club"));
  const auto empty = must(Crowd<ByCity>::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(keys_of(empty.scan(txn)), "");
    return empty.check(txn);
  }));
}

TEST(TableDefinitionTest, a_damaged_definition_is_refused) {
  const auto refused = [](std::string_view payload) { return table::decoded(payload).code(); };
  table::DefinitionRow row{.generation = 3, .key_kinds = "i"};
  row.indexes.push_back({.name = "a", .kinds = "s", .is_complete = true, .added = 2});
  const std::string payload = table::encoded(row);
  EXPECT_TRUE(must(table::decoded(payload)).indexes.front().is_complete);
  for (std::size_t bytes = 0; bytes < payload.size(); ++bytes) {
    EXPECT_EQ(refused(payload.substr(0, bytes)), ErrorCode::kCorruption) << bytes;
  }
  EXPECT_EQ(refused(payload + "x"), ErrorCode::kCorruption);
  const std::string head = payload.substr(0, sizeof(table::DefinitionHead));
  EXPECT_EQ(refused(head + std::string(key(2).view())), ErrorCode::kWrongVersion);
}

TEST(TableDefinitionTest, storages_that_were_dropped_by_hand_are_noticed) {
  TestDatabase db;
  const auto crowd = must(Crowd<ByCity>::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) { return crowd.insert(txn, 1, from("Rome")); }));
  must(db->drop_storage("crowd.by_city"));
  const auto filled = must(Crowd<ByCity>::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(keys_of(filled.find<"by_city">(txn, "Rome")), "1 ");
    return filled.check(txn);
  }));
  must(db->drop_storage("crowd"));
  const Status missing = Crowd<ByCity>::open(*db, "crowd").status();
  EXPECT_EQ(missing.code(), ErrorCode::kCorruption);
  expect_has(missing.message(), "rows of the table are missing");
  must(drop_table(*db, "crowd"));
  must(Crowd<ByCity>::open(*db, "crowd"));
}

TEST(TableDefinitionTest, the_definition_is_no_part_of_a_transaction) {
  TestDatabase db;
  must(Crowd<ByCity>::open(*db, "crowd"));
  must(db->transact([&](Txn&) -> Status {
    EXPECT_EQ(Crowd<ByCity>::open(*db, "crowd").code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(drop_index(*db, "crowd", "by_city").code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(drop_table(*db, "crowd").code(), ErrorCode::kInvalidArgument);
    return {};
  }));
}

}  // namespace
}  // namespace foedus::table_definition_test
