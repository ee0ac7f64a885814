// foedus/key_decode.h returns the parts of a key, or an error that names the fault.
#include "foedus/key_decode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"

namespace foedus::key_decode_test {
namespace {

using namespace std::string_literals;

template <typename... T>
std::tuple<T...> must_decode(std::string_view bytes) {
  Result<std::tuple<T...>> decoded = decode<T...>(bytes);
  EXPECT_TRUE(decoded.is_ok()) << decoded.status().message();
  return decoded.is_ok() ? *decoded : std::tuple<T...>();
}

// Returns the text of a refusal.
template <typename... T>
std::string refusal(std::string_view bytes) {
  const Result<std::tuple<T...>> decoded = decode<T...>(bytes);
  EXPECT_EQ(decoded.code(), ErrorCode::kInvalidArgument);
  return decoded.status().message();
}

template <typename... T>
void expect_refused(std::string_view bytes, std::string_view problem) {
  const std::string text = refusal<T...>(bytes);
  EXPECT_NE(text.find(problem), std::string::npos) << text;
}

enum class Level : std::int8_t { kLow = -1, kHigh = 100 };

TEST(KeyDecodeTest, the_columns_of_a_key_come_back) {
  const Key bytes = key(7u, "Paris", -3, 2.5, true, Level::kHigh, big_endian<std::uint64_t>(9u));
  const auto columns =
      must_decode<std::uint32_t, std::string, int, double, bool, Level, BigEndian<std::uint64_t>>(
          bytes);
  const auto& [number, city, offset, weight, is_open, level, fixed] = columns;
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(city, "Paris");
  EXPECT_EQ(offset, -3);
  EXPECT_EQ(weight, 2.5);
  EXPECT_TRUE(is_open);
  EXPECT_EQ(level, Level::kHigh);
  EXPECT_EQ(fixed.value, 9u);
}

TEST(KeyDecodeTest, one_column_is_a_tuple_and_none_is_an_empty_one) {
  EXPECT_EQ(must_decode<int>(key(5)), std::tuple(5));
  EXPECT_EQ(must_decode<>(key()), std::tuple());
}

TEST(KeyDecodeTest, tuples_in_tuples_come_back) {
  using Inner = std::tuple<std::string, std::tuple<int>>;
  const Inner inner("x", 8);
  EXPECT_EQ((must_decode<int, Inner, bool>(key(1, inner, false))), std::tuple(1, inner, false));
  EXPECT_EQ((must_decode<int, std::string, int, bool>(key(1, inner, false))),
            std::tuple(1, "x"s, 8, false))
      << "its elements are parts of the key as others";
}

// A view cannot point to a string whose zero bytes are escaped.
TEST(KeyDecodeTest, what_cannot_be_given_back_is_refused_by_the_compiler) {
  EXPECT_TRUE(DecodablePart<char> && DecodablePart<Level> && DecodablePart<float>);
  EXPECT_TRUE((DecodablePart<std::tuple<int, BigEndian<std::uint8_t>, std::string>>));
  EXPECT_FALSE(DecodablePart<std::string_view> || DecodablePart<const char*>);
  EXPECT_FALSE(DecodablePart<const int> || DecodablePart<int&> || DecodablePart<long double>);
  EXPECT_FALSE((DecodablePart<std::tuple<int, std::string_view>> || DecodablePart<Key>));
}

// Checks the limits of each type, and the values next to them outside.
template <typename T>
void expect_range() {
  using Limits = std::numeric_limits<T>;
  __extension__ using Wide = __int128;
  const auto bytes_of = [](Wide value) {
    return value < 0 ? key(static_cast<std::int64_t>(value))
                     : key(static_cast<std::uint64_t>(value));
  };
  for (const Wide value : {Wide{Limits::min()}, Wide{0}, Wide{1}, Wide{Limits::max()}}) {
    EXPECT_EQ(std::get<0>(must_decode<T>(bytes_of(value))), static_cast<T>(value));
  }
  const std::string range =
      " is not in " + std::to_string(Limits::min()) + " .. " + std::to_string(Limits::max());
  for (const Wide value : {Wide{Limits::min()} - 1, Wide{Limits::max()} + 1}) {
    if (value < Wide{INT64_MIN} || value > Wide{UINT64_MAX}) continue;
    const std::string text = value < 0 ? std::to_string(static_cast<std::int64_t>(value))
                                       : std::to_string(static_cast<std::uint64_t>(value));
    expect_refused<T>(bytes_of(value), "part 1 at byte 0 of a key of " +
                                           std::to_string(bytes_of(value).size()) +
                                           " bytes: " + text + range);
  }
}

TEST(KeyDecodeTest, an_integer_comes_back_in_every_type_that_holds_it) {
  expect_range<bool>();
  expect_range<char>();
  expect_range<std::int8_t>();
  expect_range<std::uint8_t>();
  expect_range<std::int16_t>();
  expect_range<std::uint16_t>();
  expect_range<std::int32_t>();
  expect_range<std::uint32_t>();
  expect_range<std::int64_t>();
  expect_range<std::uint64_t>();
  expect_refused<Level>(key(128), "128 is not in -128 .. 127");
}

TEST(KeyDecodeTest, a_float_comes_back_if_the_number_is_one) {
  using Limits = std::numeric_limits<float>;
  for (const float value :
       {0.0f, -0.0f, 0.1f, -2.5f, Limits::max(), Limits::lowest(), Limits::denorm_min(),
        Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    const auto [back] = must_decode<float>(key(value));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(back), std::bit_cast<std::uint32_t>(value)) << value;
  }
  expect_refused<float>(key(0.1), "0.10000000000000001 is not a float");
  expect_refused<float>(key(1e300), "1.0000000000000001e+300 is not a float");
  expect_refused<float>(key(-1e300), "is not a float");
  expect_refused<float>(key(1e-300), "is not a float");
}

// Goal: a refusal names the fault, its byte and its part. Method: each kind of damage once.
TEST(KeyDecodeTest, a_refusal_names_part_and_byte) {
  const std::string bytes(key(300, "Par").view());
  EXPECT_EQ((refusal<int, int>(bytes)),
            "invalid_argument at key 0x82012c5061720000: part 2 at byte 3 of a key of 8 bytes: no "
            "integer begins with this byte");
  expect_refused<int>(bytes, "part 2 at byte 3 of a key of 8 bytes: no part was asked for");
  expect_refused<>(bytes, "part 1 at byte 0 of a key of 8 bytes: no part was asked for");
  expect_refused<int, std::string, int>(bytes,
                                        "part 3 at byte 8 of a key of 8 bytes: the key ends");
  expect_refused<std::tuple<int, std::string>, int>(bytes, "part 3 at byte 8");
  expect_refused<int, double>(bytes, "part 2 at byte 3 of a key of 8 bytes: the key ends within");
  expect_refused<BigEndian<std::uint64_t>, BigEndian<std::uint8_t>>(bytes, "part 2 at byte 8");
}

TEST(KeyDecodeTest, bytes_that_key_does_not_write_are_refused) {
  expect_refused<int>(""s, "the key ends before an integer");
  expect_refused<int>("\x77"s, "no integer begins with this byte");
  expect_refused<std::uint64_t>("\x89\1\1\1\1\1\1\1\1\1"s, "no integer begins with this byte");
  expect_refused<int>("\x82\x01"s, "the key ends within an integer");
  expect_refused<int>("\x81\x00"s, "an integer with an idle byte in front");
  expect_refused<int>("\x82\x00\x05"s, "an integer with an idle byte in front");
  expect_refused<int>("\x7e\xff\x05"s, "an integer with an idle byte in front");
  expect_refused<std::int64_t>("\x78\xff\xff\xff\xff\xff\xff\xff\xff"s, "an idle byte");
  expect_refused<std::int64_t>("\x78\x7f\xff\xff\xff\xff\xff\xff\xfe"s, "below INT64_MIN");
  expect_refused<std::int64_t>("\x78\0\0\0\0\0\0\0\0"s, "below INT64_MIN");
  expect_refused<std::string>("Par"s, "the string does not end");
  expect_refused<std::string>("Par\0"s, "the string does not end");
  expect_refused<std::string>("Par\0\xff"s, "the string does not end");
  expect_refused<std::string>("Par\0is\0\0"s, "is followed by neither 0x00 nor 0xff");
  expect_refused<double>("1234567"s, "the key ends within a double");
  expect_refused<double>(std::string(8, '\xff'), "a NaN that key() does not write");
  expect_refused<float>(std::string(8, '\0'), "a NaN that key() does not write");
}

using Row = std::tuple<std::string, std::int64_t, double, std::uint64_t, std::string, float, bool,
                       Level, BigEndian<std::uint16_t>, std::tuple<std::int16_t, std::string>>;

Row random_row(base::Random* random) {
  const auto text = [&] {
    std::string result(random->below(5), '\0');
    for (char& c : result) c = "\0\x01z\xfe\xff"[random->below(5)];
    return result;
  };
  const auto number = [&] { return random->next() >> random->below(64); };
  const auto sign = [&] { return random->below(2) == 0 ? 1 : -1; };
  return {text(),
          static_cast<std::int64_t>(number() >> 1) * sign(),
          static_cast<double>(number()) * sign(),
          number(),
          text(),
          static_cast<float>(number() >> 40),
          random->below(2) == 0,
          static_cast<Level>(random->below(256) - 128),
          {static_cast<std::uint16_t>(number())},
          {static_cast<std::int16_t>(number()), text()}};
}

// Property: random rows are decoded. No prefix of their keys is a key, and none with one more byte.
TEST(KeyDecodeTest, random_rows_come_back_and_their_parts_do_not) {
  base::Random random(testing::test_seed(1));
  for (int i = 0; i < 10'000; ++i) {
    const Row row = random_row(&random);
    const Key bytes = key(row);
    const Result<std::tuple<Row>> decoded = decode<Row>(bytes);
    ASSERT_TRUE(decoded.is_ok()) << decoded.status().message();
    ASSERT_EQ(std::get<0>(*decoded), row);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_EQ(decode<Row>(bytes.view().substr(0, size)).code(), ErrorCode::kInvalidArgument);
    }
    for (const char more : {'\0', '\x80', '\xff'}) {
      const std::string longer = std::string(bytes.view()) + more;
      ASSERT_EQ(decode<Row>(longer).code(), ErrorCode::kInvalidArgument);
    }
  }
}

template <typename... T>
bool expect_same_key(std::string_view bytes) {
  const Result<std::tuple<T...>> decoded = decode<T...>(bytes);
  if (!decoded.is_ok()) {
    EXPECT_EQ(decoded.code(), ErrorCode::kInvalidArgument);
    return false;
  }
  EXPECT_EQ(key(*decoded).view(), bytes);
  return true;
}

// Property: any bytes are refused, or are exactly the key of what they are decoded to.
TEST(KeyDecodeTest, any_bytes_are_refused_or_are_the_key_of_their_parts) {
  base::Random random(testing::test_seed(2));
  std::uint64_t decoded = 0;
  for (int i = 0; i < 150'000; ++i) {
    std::string bytes(random.below(20), '\0');
    for (char& c : bytes) {
      c = random.below(3) == 0 ? static_cast<char>(random.next())
                               : "\0\xff\x01\x7f\x80\x81\x7e\x78\x88"[random.below(9)];
    }
    decoded += expect_same_key<std::int64_t>(bytes) ? 1 : 0;
    decoded += expect_same_key<std::uint8_t, std::int64_t>(bytes) ? 1 : 0;
    decoded += expect_same_key<std::string>(bytes) ? 1 : 0;
    decoded += expect_same_key<bool, std::string, Level>(bytes) ? 1 : 0;
    decoded += expect_same_key<double>(bytes) ? 1 : 0;
    decoded += expect_same_key<float, float>(bytes) ? 1 : 0;
    decoded += expect_same_key<BigEndian<std::uint32_t>, std::string>(bytes) ? 1 : 0;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(decoded, 5'000u) << "too few to say anything";
}

}  // namespace
}  // namespace foedus::key_decode_test
