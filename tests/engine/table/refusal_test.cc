// A write of a table that fails leaves no half of a row: a refusal changes nothing, and a failure
// after the first write ends the transaction.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/table/people.h"
#include "tests/testing/test_database.h"

namespace foedus::table_refusal_test {
namespace {

using testing::from;
using testing::keys_of;
using testing::must;
using testing::People;
using testing::Person;
using testing::TestDatabase;

// Has its unique index last, so that other entries would be written before it.
using Crowd = Table<std::uint64_t, Person, testing::ByCity, testing::ByClub, testing::ByPassport>;

TEST(TableRefusalTest, a_refusal_by_a_unique_index_changes_nothing_and_names_it) {
  TestDatabase db;
  const Crowd crowd = must(Crowd::open(*db, "crowd"));
  must(db->transact([&](Txn& txn) -> Status {
    must(crowd.insert(txn, 1, from("Rome", 1950, 7, {1})));
    must(crowd.insert(txn, 2, from("Rome", 1951, 8, {2})));
    const Person taken = from("Oslo", 1, 7, {3, 4});
    const auto change = [](Person& person) { person = from("Oslo", 1, 7, {3, 4}); };
    for (const Status& refused :
         {crowd.insert(txn, 3, taken), crowd.put(txn, 3, taken), crowd.put(txn, 2, taken),
          crowd.update(txn, 2, taken), crowd.modify(txn, 2, change)}) {
      EXPECT_EQ(refused.code(), ErrorCode::kAlreadyExists);
      EXPECT_EQ(refused.storage(), "crowd");
      EXPECT_NE(refused.message().find("index 'by_passport' of table 'crowd'"), std::string::npos)
          << refused.message();
    }
    must(crowd.check(txn));
    return {};  // commits
  }));
  must(db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(keys_of(crowd.scan(txn)), "1 2 ");
    EXPECT_EQ(must(crowd.get(txn, 2)).passport, 8U);
    EXPECT_EQ(keys_of(crowd.find_all<"by_club">(txn)), "1 2 ");
    must(crowd.put(txn, 1, from("Bern", 1950, 7)));  // its own value
    must(crowd.erase(txn, 1));
    must(crowd.insert(txn, 3, from("Rome", 1950, 7)));  // free again, in one transaction
    return crowd.check(txn);
  }));
}

using Twice = Table<int, Person, UniqueIndex<"born", &Person::born>, testing::ByPassport>;

TEST(TableRefusalTest, a_refusal_by_the_second_unique_index_frees_the_value_of_the_first) {
  TestDatabase db;
  const Twice twice = must(Twice::open(*db, "twice"));
  must(db->transact([&](Txn& txn) -> Status {
    must(twice.insert(txn, 1, from("", 1901, 1)));
    must(twice.insert(txn, 2, from("", 1902, 2)));
    for (const Status& refused :
         {twice.insert(txn, 3, from("", 1903, 1)), twice.put(txn, 2, from("", 1904, 1))}) {
      EXPECT_NE(refused.message().find("index 'by_passport'"), std::string::npos);
    }
    must(twice.insert(txn, 4, from("", 1903, 3)));
    must(twice.insert(txn, 5, from("", 1904, 4)));
    return twice.check(txn);
  }));
}

using Tags = Table<std::string, std::string,
                   Index<"tag", [](const std::string& row) { return std::string_view(row); }>>;
using OneTag =
    Table<std::string, std::string,
          UniqueIndex<"one_tag", [](const std::string& row) { return std::string_view(row); }>>;

// 2 bytes end a string in a key.
TEST(TableRefusalTest, an_entry_over_the_limit_of_keys_is_refused_by_name) {
  TestDatabase db;
  const Tags tags = must(Tags::open(*db, "tags"));
  const OneTag one_tag = must(OneTag::open(*db, "one"));
  must(db->transact([&](Txn& txn) -> Status {
    const std::string key(22, 'k');  // 24 bytes
    must(tags.insert(txn, key, std::string(998, 'x')));
    must(one_tag.insert(txn, key, std::string(1'022, 'x')));
    for (const Status& refused :
         {tags.insert(txn, "another" + std::string(15, 'k'), std::string(999, 'x')),
          tags.update(txn, key, std::string(5'000, 'x')),
          tags.modify(txn, key, [](std::string& row) { row += "x"; })}) {
      EXPECT_EQ(refused.code(), ErrorCode::kTooLarge);
      EXPECT_NE(refused.message().find("index 'tag' of table 'tags'"), std::string::npos)
          << refused.message();
    }
    EXPECT_NE(one_tag.put(txn, key, std::string(1'023, 'x')).message().find("'one_tag'"),
              std::string::npos);
    EXPECT_EQ(tags.insert(txn, std::string(1'023, 'k'), "").code(), ErrorCode::kTooLarge);
    EXPECT_EQ(must(tags.get(txn, key)).size(), 998U);
    must(one_tag.check(txn));
    return tags.check(txn);
  }));
}

using Words = Table<int, std::string, Index<"word", [](const std::string& row) {
                      std::vector<std::string> words;
                      for (const char c : row)
                        words.push_back(c + row.substr(0, 2) + std::string(890, c));
                      return words;
                    }>>;

// The log buffer takes the row and some of its entries, but not all.
TEST(TableRefusalTest, a_failure_half_way_rolls_the_transaction_back) {
  TestDatabase db;
  const Words words = must(Words::open(*db, "words"));
  std::string large;
  for (int c = 1; c < 256; ++c) large += static_cast<char>(c);
  const auto write = [&](Txn& txn) {
    int writes = 0;
    Status status;
    while (status.is_ok()) {
      ++writes;
      status = words.insert(txn, writes, static_cast<char>(writes) + large);
    }
    EXPECT_EQ(status.code(), ErrorCode::kTooLarge) << status.message();
    EXPECT_NE(status.message().find("rolled back"), std::string::npos) << status.message();
    EXPECT_GT(writes, 1);
    EXPECT_EQ(words.get(txn, 1).code(), ErrorCode::kClosed);
  };
  const Status ended = db->transact([&](Txn& txn) -> Status {
    write(txn);
    return {};
  });
  EXPECT_EQ(ended.code(), ErrorCode::kRolledBack);
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  write(txn);
  EXPECT_EQ(txn.commit().code(), ErrorCode::kClosed);
  must(db->transact([&](Txn& after) -> Status {
    EXPECT_EQ(keys_of(words.scan(after)), "");
    must(words.insert(after, 1, "ab"));
    return words.check(after);
  }));
}

TEST(TableRefusalTest, a_row_that_cannot_be_decoded_is_not_overwritten) {
  TestDatabase db;
  const People people = must(People::open(*db, "people"));
  const Masstree rows = must(db->open_masstree("people"));
  must(db->transact([&](Txn& txn) -> Status {
    must(txn.put(rows, key(5), "short"));
    for (const Status& failed : {people.get(txn, 5).status(), people.put(txn, 5, Person()),
                                 people.erase(txn, 5), people.modify(txn, 5, [](Person&) {})}) {
      EXPECT_EQ(failed.code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(failed.storage(), "people");
    }
    EXPECT_NE(keys_of(people.scan(txn)).find("5 bytes"), std::string::npos);
    EXPECT_EQ(people.check(txn).code(), ErrorCode::kInvalidArgument);
    return {};
  }));
}

// Changes past the table, each found by check() and by an operation that meets it.
TEST(TableRefusalTest, a_difference_of_rows_and_indexes_is_named) {
  TestDatabase db;
  const People people = must(People::open(*db, "people"));
  const Masstree rows = must(db->open_masstree("people"));
  const Masstree by_club = must(db->open_masstree("people.by_club"));
  const Masstree by_passport = must(db->open_masstree("people.by_passport"));
  const auto difference = [&](const auto& change) {
    std::string text;
    const Status done = db->transact([&](Txn& txn) -> Status {
      must(people.put(txn, 1, from("Rome", 1950, 7, {3})));
      must(people.put(txn, 2, from("Rome", 1950, 8, {4})));
      must(change(txn));
      const Status found = people.check(txn);
      EXPECT_EQ(found.code(), ErrorCode::kCorruption);
      text = found.message();
      return Status::rolled_back();
    });
    EXPECT_EQ(done.code(), ErrorCode::kRolledBack);
    return text;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(difference([&](Txn& txn) { return txn.erase(by_club, key(3, 1)); }),
      "index 'by_club' of table 'people' lacks an entry of the row");
  has(difference([&](Txn& txn) { return txn.put(by_club, key(9, 1), ""); }),
      "'by_club' of table 'people' has an entry that the row does not have");
  has(difference([&](Txn& txn) { return txn.put(by_club, key(9, 6), ""); }),
      "'by_club' of table 'people' has an entry without its row");
  has(difference([&](Txn& txn) { return txn.put(by_passport, key(7), key(2)); }),
      "'by_passport' of table 'people' has the entry of the row for another one");
  has(difference([&](Txn& txn) -> Status {
        FOEDUS_CHECK(txn.erase(rows, key(2)));
        EXPECT_EQ(keys_of(people.find<"by_club">(txn, 4)).find("corruption"), 0U);
        EXPECT_EQ(people.find_unique<"by_passport">(txn, 8).code(), ErrorCode::kCorruption);
        return {};
      }),
      "has an entry without its row");
  has(difference([&](Txn& txn) { return txn.put(by_club, "\x81", ""); }), "without its row");
}

TEST(TableRefusalTest, a_write_that_misses_an_entry_ends_the_transaction) {
  TestDatabase db;
  const People people = must(People::open(*db, "people"));
  const Masstree by_club = must(db->open_masstree("people.by_club"));
  must(db->transact([&](Txn& txn) { return people.put(txn, 1, from("Rome", 0, 0, {3})); }));
  must(db->transact([&](Txn& txn) { return txn.erase(by_club, key(3, 1)); }));
  const Status ended = db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(people.erase(txn, 1).code(), ErrorCode::kCorruption);
    return {};
  });
  EXPECT_EQ(ended.code(), ErrorCode::kRolledBack);
  must(db->transact([&](Txn& txn) { return people.get(txn, 1).status(); }));
}

}  // namespace
}  // namespace foedus::table_refusal_test
