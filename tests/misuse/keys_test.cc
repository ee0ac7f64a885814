// Mistakes with keys: integers of another type, strings as prefixes, columns of another kind.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/testing/test_database.h"

namespace foedus::keys_test {
namespace {

using testing::must;
using testing::TestDatabase;

class KeyMistakesTest : public ::testing::Test {
 protected:
  void put(const Key& key) {
    must(db_->transact([&](Txn& txn) { return txn.put(tree_, key, "row"); }));
  }
  bool has(const Key& key) {
    return must(db_->transact([&](Txn& txn) { return txn.contains(tree_, key); }));
  }
  std::vector<std::string> names(Scan rows) {
    std::vector<std::string> found;
    for (const Row& row : rows) {
      found.push_back(std::get<0>(must(decode<std::string, std::uint32_t>(row.key))));
    }
    EXPECT_FALSE(rows.failure().has_value());
    return found;
  }
  std::vector<std::string> names_from(std::string_view low, std::string_view high) {
    return must(db_->transact([&](Txn& txn) -> Result<std::vector<std::string>> {
      return names(txn.scan(tree_, low, high));
    }));
  }
  std::vector<std::string> names_with(std::string_view prefix) {
    return must(db_->transact([&](Txn& txn) -> Result<std::vector<std::string>> {
      return names(txn.scan_prefix(tree_, prefix));
    }));
  }

  TestDatabase db_;
  Masstree tree_ = must(db_->open_masstree("tree"));
};

// A program that searches a number does not think of the type of a literal or variable.
TEST_F(KeyMistakesTest, a_number_is_found_in_whatever_type_it_is_looked_for) {
  enum class Number : std::uint8_t { kOne = 1 };
  put(key(1));
  EXPECT_TRUE(has(key(1u)) && has(key(1ull)) && has(key(std::int8_t{1})) && has(key(true)));
  EXPECT_TRUE(has(key(Number::kOne)) && has(key(std::size_t{1})));
  put(key(std::uint64_t{77}, "name"));
  EXPECT_TRUE(has(key(77, "name")));
  EXPECT_FALSE(has(key(-1)));
}

TEST_F(KeyMistakesTest, bounds_of_another_integer_type_are_those_of_the_values) {
  for (std::uint64_t i = 0; i < 1'000; ++i) put(key("n", i));
  const auto in = [&](const Key& low, const Key& high) { return names_from(low, high).size(); };
  EXPECT_EQ(in(key("n", 10), key("n", 300)), 290u);
  EXPECT_EQ(in(key("n", -5), key("n", std::int16_t{256})), 256u);
  EXPECT_EQ(in(key("n", 0), key("n", INT64_MAX)), 1'000u);
}

// A string of a key has an end; a prefix has none.
TEST_F(KeyMistakesTest, the_key_of_a_beginning_is_not_the_beginning_of_keys) {
  for (const char* name : {"Paderborn", "Par", "Paris", "Parma", "Pasadena"}) put(key(name, 7u));
  EXPECT_EQ(names_with(key("Par")), (std::vector<std::string>{"Par"})) << "rows of this name";
  const std::vector<std::string> all = {"Par", "Paris", "Parma"};
  EXPECT_EQ(names_with(key_prefix("Par")), all);
  EXPECT_EQ(names_from(key_prefix("Par"), prefix_end(key_prefix("Par"))), all);
  EXPECT_EQ(names_from(key("Par"), key("Pas")), all) << "both strings end";
  EXPECT_TRUE(names_from(key("Par"), key("Par")).empty());
}

// There is no byte above 0xff, and a zero byte at the end of a prefix does not end a string.
TEST_F(KeyMistakesTest, a_prefix_may_end_with_any_byte) {
  const std::string high = "a\xff";
  const std::string zero("a\0", 2);
  for (const std::string& name : {high, high + "x", zero, zero + "x"}) put(key(name, 7u));
  put(key("a", 7u));
  put(key("b", 7u));
  EXPECT_EQ(names_with(key_prefix(high)), (std::vector<std::string>{high, high + "x"}));
  EXPECT_EQ(names_with(key_prefix(zero)), (std::vector<std::string>{zero, zero + "x"}));
  EXPECT_EQ(names_with(key_prefix("\xff")), std::vector<std::string>());
}

template <typename... Parts>
concept IsKey = requires(Parts... parts) {
  key(parts...);
};
template <typename... Columns>
concept IsDecoded = requires(std::string_view bytes) {
  decode<Columns...>(bytes);
};
template <typename Width, typename T>
concept IsFixed = requires(T value) {
  big_endian<Width>(value);
};

TEST_F(KeyMistakesTest, parts_that_would_be_another_key_do_not_compile) {
  EXPECT_TRUE((IsKey<int, std::string, double>));
  EXPECT_FALSE((IsKey<Key, int>)) << "its bytes would be encoded twice";
  EXPECT_FALSE((IsKey<int*> || IsKey<std::nullptr_t> || IsKey<long double>));
  EXPECT_TRUE((IsFixed<std::uint64_t, std::uint32_t>));
  EXPECT_FALSE((IsFixed<std::uint32_t, std::uint64_t> || IsFixed<std::uint32_t, int>));
  EXPECT_TRUE((IsDecoded<int, std::string>));
  EXPECT_FALSE((IsDecoded<std::string_view>)) << "an escaped byte has no place to be seen";
}

// The text names the part that has another type.
TEST_F(KeyMistakesTest, a_key_of_other_columns_is_refused_with_part_and_byte) {
  const auto text = [](const auto& decoded) {
    EXPECT_EQ(decoded.code(), ErrorCode::kInvalidArgument);
    return decoded.status().message();
  };
  const auto expect = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  const Key row = key(70'000, "Paris");
  // The bytes of the integer are taken for the beginning of the string.
  expect(text(decode<std::string, int>(row)), "part 2 at byte 11 of a key of 11 bytes");
  expect(text(decode<std::uint16_t, std::string>(row)), "70000 is not in 0 .. 65535");
  expect(text(decode<int>(row)), "part 2 at byte 4");
  expect(text(decode<int, std::string, int>(row)), "part 3 at byte 11");
  expect(text(decode<int, std::string>(key_prefix(70'000, "Par"))), "part 2 at byte 4");
}

// Eight bytes of any kind are a double, and any bytes before 00 00 are a string.
TEST_F(KeyMistakesTest, some_keys_of_other_columns_cannot_be_told) {
  EXPECT_TRUE((decode<double, std::string>(key(70'000, "Paris")).is_ok()));
  EXPECT_TRUE((decode<std::string>(key(70'000, "Paris")).is_ok()));
}

// A remaining mistake: a key of another kind of part is another key.
TEST_F(KeyMistakesTest, a_number_of_another_kind_is_another_key) {
  put(key(1));
  EXPECT_FALSE(has(key(1.0)));
  EXPECT_FALSE(has(key("1")));
  EXPECT_FALSE(has(key(big_endian<std::uint32_t>(1u))));
  put(key(big_endian<std::uint32_t>(1u)));
  EXPECT_TRUE(has(key(big_endian<std::uint32_t>(std::uint8_t{1}))));
  EXPECT_FALSE(has(key(big_endian<std::uint64_t>(1u))));
}

}  // namespace
}  // namespace foedus::keys_test
