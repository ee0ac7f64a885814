// ctest-labels: crash
// An index that is added to a table with rows is complete before it is read, whatever happens
// meanwhile. An extractor calls `on_row`, by which tests act between two steps of the filling.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/table/people.h"
#include "tests/testing/test_database.h"

namespace foedus::table_fill_test {
namespace {

using testing::from;
using testing::keys_of;
using testing::must;
using testing::Person;
using testing::TestDatabase;

std::function<void(const Person&)> on_row;

std::string_view watched_city(const Person& person) {
  if (on_row) on_row(person);
  return std::string_view(person.city, 4);
}

using Before = Table<std::uint64_t, Person>;
using After = Table<std::uint64_t, Person, Index<"city", watched_city>,
                    UniqueIndex<"passport", testing::passport_of>>;

constexpr std::uint64_t kRows = 700;  // three batches

class TableFillTest : public ::testing::Test {
 protected:
  TableFillTest() {
    const Before before = must(Before::open(*db_, "crowd"));
    must(db_->transact([&](Txn& txn) -> Status {
      for (std::uint64_t row = 1; row <= kRows; ++row) FOEDUS_CHECK(before.put(txn, row, of(row)));
      return {};
    }));
  }
  ~TableFillTest() override { on_row = nullptr; }

  static Person of(std::uint64_t row) {
    return from(row % 2 == 0 ? "Rome" : "Oslo", static_cast<std::int32_t>(row),
                static_cast<std::uint32_t>(row));
  }
  void expect_complete(const After& after, std::uint64_t rows = kRows) {
    must(db_->transact([&](Txn& txn) -> Status {
      EXPECT_EQ(must(after.count<"city">(txn, kUnbounded)), rows);
      EXPECT_EQ(must(after.find_unique<"passport">(txn, 3u)).key, 3U);
      return after.check(txn);
    }));
  }
  // Opens the table in a process that kills itself at the row.
  void die_at(std::int32_t row) {
    must(db_->close());
    const pid_t child = fork();
    if (child == 0) {
      on_row = [row](const Person& person) {
        if (person.born == row) kill(getpid(), SIGKILL);
      };
      Result<Database> opened = Database::open(db_.options());
      if (opened.is_ok()) After::open(*opened, "crowd").status().message();
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    db_.open();
  }

  TestDatabase db_;
};

TEST_F(TableFillTest, an_index_of_a_table_with_rows_is_filled) {
  const After after = must(After::open(*db_, "crowd"));
  expect_complete(after);
  int extracted = 0;
  on_row = [&](const Person&) { ++extracted; };
  must(After::open(*db_, "crowd"));
  must(after.fill(*db_));
  EXPECT_EQ(extracted, 0);  // there is nothing to do
}

TEST_F(TableFillTest, an_index_that_is_not_complete_is_written_and_not_read) {
  const After after = must(After::open(*db_, "crowd", {.fills_indexes = false}));
  must(db_->transact([&](Txn& txn) -> Status {
    for (const Status& refused :
         {after.count<"city">(txn, "Rome").status(),
          after.find_unique<"passport">(txn, 3u).status(), after.check(txn)}) {
      EXPECT_EQ(refused.code(), ErrorCode::kNotSupported);
    }
    EXPECT_NE(keys_of(after.find_all<"city">(txn)).find("is not complete"), std::string::npos);
    must(after.erase(txn, 1));                          // whose entries are not there yet
    must(after.put(txn, 2, from("Bern", 2, 1)));        // the passport of row 1, which is gone
    must(after.insert(txn, kRows + 1, of(kRows + 1)));  // whose entries are there now
    EXPECT_EQ(after.insert(txn, 1, of(kRows + 1)).code(), ErrorCode::kAlreadyExists);
    return {};
  }));
  must(after.fill(*db_));
  expect_complete(after);
}

// Goal: what writers change ahead of the filling, behind it, and at it comes out right. Method: at
// some rows, another session changes rows near and far.
TEST_F(TableFillTest, others_write_while_an_index_is_filled) {
  const After after = must(After::open(*db_, "crowd", {.fills_indexes = false}));
  Session session = must(db_->new_session());
  std::uint64_t round = 0;
  std::uint64_t rows = kRows;
  bool acts = true;
  std::int32_t last = 0;  // a batch that conflicts runs again
  on_row = [&](const Person& person) {
    if (!acts || person.born % 16 != 5 || person.born <= last || round == 40) return;
    acts = false;  // the writes below extract, too
    last = person.born;
    const std::uint64_t here = static_cast<std::uint64_t>(person.born);
    const std::uint64_t others[] = {here, here + 1, (here + 350) % kRows + 1, here / 2 + 1};
    Txn txn = must(session.begin());
    const std::uint64_t at = others[round++ % 4];
    if (must(after.contains(txn, at)) && at != 3) {
      if (round % 3 == 0) {
        must(after.erase(txn, at));
        --rows;
      } else {
        must(after.put(txn, at, from("Bern", 1, static_cast<std::uint32_t>(10'000 + round))));
      }
    }
    must(after.insert(txn, 5'000 + round, of(5'000 + round)));
    ++rows;
    must(txn.commit());
    acts = true;
  };
  must(after.fill(*db_));
  on_row = nullptr;
  EXPECT_GT(round, 30U);
  expect_complete(after, rows);
}

#ifndef __SANITIZE_THREAD__  // it refuses threads in a child of a process that had some
TEST_F(TableFillTest, a_filling_that_was_killed_is_begun_again) {
  die_at(500);  // in the second batch
  EXPECT_EQ(Before::open(*db_, "crowd").code(), ErrorCode::kInvalidArgument);
  die_at(2);
  const After late = must(After::open(*db_, "crowd", {.fills_indexes = false}));
  must(db_->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(late.count<"city">(txn, "Rome").code(), ErrorCode::kNotSupported);
    return {};
  }));
  expect_complete(must(After::open(*db_, "crowd")));
}
#endif

TEST_F(TableFillTest, two_fillings_at_once_do_no_harm) {
  bool is_first = true;
  on_row = [&](const Person& person) {
    if (person.born != 300 || !is_first) return;
    is_first = false;
    std::thread([&] { must(After::open(*db_, "crowd")); }).join();
  };
  const After after = must(After::open(*db_, "crowd"));
  EXPECT_FALSE(is_first);
  expect_complete(after);
}

TEST_F(TableFillTest, a_unique_index_of_equal_rows_is_refused_and_removed) {
  const Before before = must(Before::open(*db_, "crowd"));
  must(db_->transact([&](Txn& txn) { return before.put(txn, 600, of(3)); }));
  const Status refused = After::open(*db_, "crowd").status();
  EXPECT_EQ(refused.code(), ErrorCode::kAlreadyExists);
  EXPECT_NE(refused.message().find("index 'passport' of table 'crowd' cannot be unique"),
            std::string::npos)
      << refused.message();
  must(Before::open(*db_, "crowd"));
  EXPECT_EQ(db_->storages().size(), 2U);  // the definitions and the rows
  // With the index in place, the rows can be mended and the index completed.
  const After after = must(After::open(*db_, "crowd", {.fills_indexes = false}));
  EXPECT_EQ(after.fill(*db_).code(), ErrorCode::kAlreadyExists);
  must(db_->transact([&](Txn& txn) { return after.put(txn, 600, of(600)); }));
  must(after.fill(*db_));
  expect_complete(after);
}

// Goal: of two rows with one value, the one that has no entry yet takes none away. Method: the
// first batch adds the entry of row 3; row 600 of the third batch gets another value meanwhile.
TEST_F(TableFillTest, equal_rows_that_are_mended_while_an_index_is_filled_keep_their_entries) {
  const Before before = must(Before::open(*db_, "crowd"));
  must(db_->transact([&](Txn& txn) { return before.put(txn, 600, of(3)); }));
  const After after = must(After::open(*db_, "crowd", {.fills_indexes = false}));
  Session session = must(db_->new_session());
  bool is_first = true;
  on_row = [&](const Person& person) {
    if (person.born != 400 || !is_first) return;
    is_first = false;
    Txn txn = must(session.begin());
    must(after.put(txn, 600, of(600)));
    must(txn.commit());
  };
  must(after.fill(*db_));
  EXPECT_FALSE(is_first);
  on_row = nullptr;
  expect_complete(after);
}

TEST_F(TableFillTest, a_row_whose_entry_is_too_large_is_named) {
  using Texts = Table<int, std::string>;
  using Found = Table<int, std::string,
                      Index<"text", [](const std::string& row) { return std::string_view(row); }>>;
  const Texts texts = must(Texts::open(*db_, "texts"));
  must(db_->transact([&](Txn& txn) { return texts.put(txn, 5, std::string(2'000, 'x')); }));
  const Status refused = Found::open(*db_, "texts").status();
  EXPECT_EQ(refused.code(), ErrorCode::kTooLarge);
  EXPECT_NE(refused.message().find("'text' of table 'texts'"), std::string::npos);
  must(Texts::open(*db_, "texts"));
}

TEST_F(TableFillTest, a_row_of_another_type_is_named) {
  using Numbers = Table<std::uint64_t, std::uint64_t,
                        Index<"self", [](const std::uint64_t& row) { return row; }>>;
  const Status refused = Numbers::open(*db_, "crowd").status();
  EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("its type has 8"), std::string::npos) << refused.message();
  EXPECT_EQ(refused.storage(), "crowd");
  must(Before::open(*db_, "crowd"));  // the index was removed again
}

// The least log buffer takes the entries of one row in one transaction, and not those of two.
TEST(TableFillLogTest, large_entries_are_filled_row_by_row) {
  using Texts = Table<int, std::string>;
  using Found = Table<int, std::string, Index<"text", [](const std::string& row) {
                        std::vector<std::string> words;
                        for (const char c : row) {
                          words.push_back(c + row.substr(0, 2) + std::string(890, c));
                        }
                        return words;
                      }>>;
  Options options = testing::small_options("");
  options.log.buffer_bytes = 64u << 10;
  TestDatabase db(options);
  const Texts texts = must(Texts::open(*db, "texts"));
  must(db->transact([&](Txn& txn) -> Status {
    for (int row = 0; row < 10; ++row) {
      FOEDUS_CHECK(texts.put(txn, row, std::to_string(10 + row) + "abcdefghijklmnopqrstuvwxyz"));
    }
    return {};
  }));
  const Found found = must(Found::open(*db, "texts"));
  must(db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(must(found.count<"text">(txn, kUnbounded)), 10U * 28U - 1U);  // "11": one word
    return found.check(txn);
  }));
}

TEST_F(TableFillTest, an_index_that_is_dropped_while_it_is_filled_ends_the_filling) {
  const After after = must(After::open(*db_, "crowd", {.fills_indexes = false}));
  bool is_first = true;
  on_row = [&](const Person& person) {
    if (person.born != 400 || !is_first) return;
    is_first = false;
    std::thread([&] { must(drop_index(*db_, "crowd", "city")); }).join();
  };
  EXPECT_EQ(after.fill(*db_).code(), ErrorCode::kInvalidArgument);
  on_row = nullptr;
  expect_complete(must(After::open(*db_, "crowd")));
}

}  // namespace
}  // namespace foedus::table_fill_test
