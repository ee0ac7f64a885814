// A table's operations do what foedus/table.h says, and its indexes follow.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/engine/table/people.h"
#include "tests/testing/test_database.h"

namespace foedus::table_test {

// A row that its bytes alone are not: a name, and words.
struct Page {
  std::string name;
  std::vector<std::string> words;
};

}  // namespace foedus::table_test

template <>
struct foedus::Codec<foedus::table_test::Page> {
  static void encode(const foedus::table_test::Page& page, std::string* payload) {
    payload->append(page.name).push_back('\n');
    for (const std::string& word : page.words) payload->append(word).push_back('\n');
  }
  static foedus::Result<foedus::table_test::Page> decode(std::string_view payload) {
    foedus::table_test::Page page;
    std::vector<std::string> lines;
    for (std::size_t end = payload.find('\n'); end != std::string_view::npos;
         payload.remove_prefix(end + 1), end = payload.find('\n')) {
      lines.emplace_back(payload.substr(0, end));
    }
    if (!payload.empty() || lines.empty()) {
      return foedus::Status::error(foedus::ErrorCode::kCorruption, "no page");
    }
    page.name = lines.front();
    page.words.assign(lines.begin() + 1, lines.end());
    return page;
  }
};

namespace foedus::table_test {
namespace {

using testing::from;
using testing::keys_of;
using testing::must;
using testing::People;
using testing::Person;
using testing::TestDatabase;

class TableTest : public ::testing::Test {
 protected:
  // Runs a function of (Txn&) that returns nothing.
  template <typename Function>
  void in_txn(const Function& function) {
    must(db_->transact([&](Txn& txn) -> Status {
      function(txn);
      return {};
    }));
  }
  TestDatabase db_;
  People people_ = must(People::open(*db_, "people"));
};

TEST_F(TableTest, rows_are_written_and_read_by_key) {
  in_txn([&](Txn& txn) {
    EXPECT_EQ(people_.get(txn, 1).code(), ErrorCode::kNotFound);
    EXPECT_EQ(people_.update(txn, 1, from("Rome")).code(), ErrorCode::kNotFound);
    EXPECT_EQ(people_.erase(txn, 1).code(), ErrorCode::kNotFound);
    must(people_.insert(txn, 1, from("Rome", 1950)));
    EXPECT_EQ(people_.insert(txn, 1, from("Oslo")).code(), ErrorCode::kAlreadyExists);
    must(people_.put(txn, 2, from("Oslo", 1960)));
    must(people_.put(txn, 1, from("Bern", 1970)));
    must(people_.update(txn, 2, from("Rome", 1980)));
    must(people_.modify(txn, 2, [](Person& person) { person.born += 5; }));
  });
  in_txn([&](Txn& txn) {
    EXPECT_STREQ(must(people_.get(txn, 1)).city, "Bern");
    EXPECT_EQ(must(people_.get(txn, 2)).born, 1985);
    EXPECT_TRUE(must(people_.contains(txn, 2)));
    EXPECT_FALSE(must(people_.contains(txn, 3)));
    EXPECT_EQ(keys_of(people_.find_all<"by_city">(txn)), "1 2 ");
    must(people_.check(txn));
    must(people_.erase(txn, 1));
    EXPECT_EQ(keys_of(people_.find_all<"by_city">(txn)), "2 ");
    must(people_.check(txn));
  });
}

TEST_F(TableTest, a_function_of_modify_that_fails_writes_nothing) {
  in_txn([&](Txn& txn) {
    must(people_.insert(txn, 1, from("Rome", 1950)));
    const auto refuses = [](Person& person) -> Status {
      person = from("Oslo");
      return Status::error(ErrorCode::kInvalidArgument, "not so");
    };
    EXPECT_EQ(people_.modify(txn, 1, refuses).code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(people_.modify(txn, 2, refuses).code(), ErrorCode::kNotFound);
    EXPECT_EQ(keys_of(people_.find<"by_city">(txn, "Rome")), "1 ");
    must(people_.check(txn));
  });
}

TEST_F(TableTest, an_index_returns_rows_by_equality_range_and_prefix) {
  in_txn([&](Txn& txn) {
    must(people_.insert(txn, 1, from("Rome", 1990)));
    must(people_.insert(txn, 2, from("Rome", 1970)));
    must(people_.insert(txn, 3, from("Rom", 1980)));
    must(people_.insert(txn, 4, from("Paris", 1980)));
    must(people_.insert(txn, 5, from("Rome", 1970)));
  });
  in_txn([&](Txn& txn) {
    EXPECT_EQ(keys_of(people_.find<"by_city">(txn, "Rome")), "2 5 1 ");
    EXPECT_EQ(keys_of(people_.find<"by_city">(txn, std::string("Rom"))), "3 ");
    EXPECT_EQ(keys_of(people_.find<"by_city">(txn, std::tuple("Rome", 1970))), "2 5 ");
    EXPECT_EQ(keys_of(people_.find<"by_city">(txn, "Rome", {.limit = 2, .reverse = true})), "1 5 ");
    EXPECT_EQ(keys_of(people_.find_prefix<"by_city">(txn, "Ro")), "3 2 5 1 ");
    EXPECT_EQ(keys_of(people_.find_range<"by_city">(txn, "Paris", "Rome")), "4 3 ");
    EXPECT_EQ(keys_of(people_.find_range<"by_city">(txn, std::tuple("Rome", 1971), kUnbounded)),
              "1 ");
    EXPECT_EQ(keys_of(people_.find_range<"by_city">(txn, kUnbounded, std::tuple("Rome", 1971))),
              "4 3 2 5 ");
    EXPECT_EQ(must(people_.count<"by_city">(txn, "Rome")), 3U);
    EXPECT_EQ(must(people_.count_range<"by_city">(txn, kUnbounded, "Rome")), 2U);
    EXPECT_EQ(must(people_.count<"by_city">(txn, kUnbounded)), 5U);
    EXPECT_EQ(keys_of(people_.scan(txn)), "1 2 3 4 5 ");
    EXPECT_EQ(keys_of(people_.scan(txn, 2, 4)), "2 3 ");
    EXPECT_EQ(keys_of(people_.scan(txn, 4, kUnbounded, {.reverse = true})), "5 4 ");
  });
}

TEST_F(TableTest, a_row_has_no_one_or_several_entries) {
  in_txn([&](Txn& txn) {
    must(people_.insert(txn, 1, from("", 0, 77, {3, 5, 3})));
    must(people_.insert(txn, 2, from("", 0, 0, {5})));
    must(people_.insert(txn, 3, from("", 0, 0)));
    EXPECT_EQ(keys_of(people_.find_all<"by_club">(txn)), "1 1 2 ");
    EXPECT_EQ(keys_of(people_.find<"by_club">(txn, 5)), "1 2 ");
    EXPECT_EQ(must(people_.find_unique<"by_passport">(txn, 77u)).key, 1U);
    EXPECT_EQ(people_.find_unique<"by_passport">(txn, 0u).code(), ErrorCode::kNotFound);
    must(people_.check(txn));
    must(people_.put(txn, 1, from("", 0, 0, {5, 9})));
    EXPECT_EQ(keys_of(people_.find_all<"by_club">(txn)), "1 2 1 ");
    EXPECT_EQ(people_.find_unique<"by_passport">(txn, 77u).code(), ErrorCode::kNotFound);
    must(people_.check(txn));
  });
}

TEST_F(TableTest, a_number_is_looked_for_by_its_column) {
  in_txn([&](Txn& txn) {
    Person tall;
    tall.height = 2;
    must(people_.insert(txn, 1, tall));
    EXPECT_EQ(keys_of(people_.find<"by_height">(txn, 2)), "1 ");
    EXPECT_EQ(keys_of(people_.find<"by_height">(txn, 2.0f)), "1 ");
    EXPECT_EQ(keys_of(people_.find_range<"by_height">(txn, 1, 2.5)), "1 ");
  });
}

// An array of char without a zero byte is all of the string.
TEST_F(TableTest, a_full_array_of_char_is_a_string) {
  in_txn([&](Txn& txn) {
    must(people_.insert(txn, 1, from("twelve bytes")));
    EXPECT_EQ(keys_of(people_.find<"by_city">(txn, "twelve bytes")), "1 ");
  });
}

using Pages = Table < std::tuple<std::string, std::int32_t>, Page, Index < "by_word",
      [](const Page& page) -> const auto& {
  return page.words;
}
>, UniqueIndex < "by_name", &Page::name >> ;

TEST_F(TableTest, rows_of_a_codec_have_keys_of_several_parts) {
  const Pages pages = must(Pages::open(*db_, "pages"));
  const std::string long_word(300, 'w');
  in_txn([&](Txn& txn) {
    must(pages.insert(txn, {"b", -1}, {"one", {"apple", long_word, std::string("a\0b", 3)}}));
    must(pages.insert(txn, {"b", 1}, {"two", std::vector<std::string>(40, "many")}));
    must(pages.insert(txn, {"a", 7}, {std::string(900, 'n'), {"apple", "", long_word}}));
  });
  in_txn([&](Txn& txn) {
    EXPECT_EQ(must(pages.get(txn, {"b", -1})).words.back(), std::string("a\0b", 3));
    const Pages::Entry found = must(pages.find_unique<"by_name">(txn, "two"));
    EXPECT_EQ(found.key, std::tuple("b", 1));
    std::string keys;
    auto rows = pages.find<"by_word">(txn, "apple");
    for (const auto& [key, row] : rows) keys += std::get<0>(key) + row.name.front();
    EXPECT_EQ(keys, "anbo");
    EXPECT_EQ(must(pages.count<"by_word">(txn, long_word)), 2U);
    EXPECT_EQ(must(pages.count<"by_word">(txn, "many")), 1U);
    auto scanned = pages.scan_prefix(txn, "b");
    EXPECT_EQ(std::get<1>(scanned.begin()->key), -1);
    must(pages.check(txn));
  });
}

TEST_F(TableTest, a_table_of_strings_needs_no_index) {
  using Texts = Table<std::string, std::string>;
  const Texts texts = must(Texts::open(*db_, "texts"));
  in_txn([&](Txn& txn) {
    must(texts.insert(txn, "k", "one"));
    EXPECT_EQ(texts.insert(txn, "k", "two").code(), ErrorCode::kAlreadyExists);
    must(texts.put(txn, "k", "three"));
    must(texts.update(txn, "k", std::string(5'000, 'x')));
    must(texts.modify(txn, "k", [](std::string& text) { text += "y"; }));
    EXPECT_EQ(must(texts.get(txn, "k")).size(), 5'001U);
    EXPECT_EQ(texts.update(txn, "l", "").code(), ErrorCode::kNotFound);
    must(texts.check(txn));
    must(texts.erase(txn, "k"));
    EXPECT_EQ(texts.erase(txn, "k").code(), ErrorCode::kNotFound);
  });
}

// Long rows are found by an index, too, each after a shorter one.
TEST_F(TableTest, an_index_leads_to_rows_of_any_length) {
  using Texts = Table<int, std::string, Index<"by_size", &std::string::size>>;
  const Texts texts = must(Texts::open(*db_, "texts"));
  in_txn([&](Txn& txn) {
    for (const int bytes : {5'000, 0, 300, 240, 241}) {
      must(texts.insert(txn, bytes, std::string(static_cast<std::size_t>(bytes), 'x')));
    }
    auto rows = texts.find_all<"by_size">(txn);
    int seen = 0;
    for (const auto& [key, row] : rows) {
      EXPECT_EQ(row.size(), static_cast<std::size_t>(key));
      ++seen;
    }
    EXPECT_EQ(seen, 5);
  });
}

TEST_F(TableTest, rows_and_indexes_survive_a_restart) {
  in_txn([&](Txn& txn) { must(people_.insert(txn, 1, from("Rome", 1950, 9))); });
  db_.reopen();
  people_ = must(People::open(*db_, "people"));
  in_txn([&](Txn& txn) {
    EXPECT_EQ(keys_of(people_.find<"by_city">(txn, "Rome")), "1 ");
    EXPECT_EQ(people_.insert(txn, 2, from("", 0, 9)).code(), ErrorCode::kAlreadyExists);
    must(people_.check(txn));
  });
}

}  // namespace
}  // namespace foedus::table_test
