// The order of keys built by foedus/key.h is the order of their parts.
#include "foedus/key.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"

namespace foedus::key_test {
namespace {

// `values` ascend; so must their keys, each pair compared.
template <typename T>
void expect_ascending(const std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      const Key a = key(values[i]);
      const Key b = key(values[j]);
      EXPECT_EQ(a.view() < b.view(), i < j) << i << " " << j;
      EXPECT_EQ(a.view() == b.view(), i == j) << i << " " << j;
    }
  }
}

// A type for values from INT64_MIN to UINT64_MAX.
__extension__ using Wide = __int128;

// Calls `use` with `value` as each integer type that holds it.
template <typename Use>
void in_every_type(Wide value, const Use& use) {
  const auto in = [&]<typename T>(T) {
    using Limits = std::numeric_limits<T>;
    if (value >= Wide{Limits::min()} && value <= Wide{Limits::max()}) use(static_cast<T>(value));
  };
  in(bool{});
  in(char{});
  in(char8_t{});
  in(wchar_t{});
  in(std::int8_t{});
  in(std::uint8_t{});
  in(std::int16_t{});
  in(std::uint16_t{});
  in(std::int32_t{});
  in(std::uint32_t{});
  in(0L);
  in(0UL);
  in(0LL);
  in(0ULL);
}

// Returns the key of an integer, in the last of the types that hold it.
std::string key_of(Wide value) {
  std::string bytes;
  in_every_type(value, [&](auto part) { bytes = key(part).view(); });
  return bytes;
}

std::vector<std::string> keys_of(const std::vector<Wide>& values) {
  std::vector<std::string> keys;
  for (const Wide value : values) keys.push_back(key_of(value));
  return keys;
}

// Returns every power of two and its neighbours, with both signs: all lengths, and their limits.
std::vector<Wide> border_integers() {
  std::set<Wide> values = {0};
  for (int bit = 0; bit <= 64; ++bit) {
    for (Wide near = -2; near <= 2; ++near) {
      for (const Wide value : {(Wide{1} << bit) + near, -(Wide{1} << bit) + near}) {
        if (value >= Wide{INT64_MIN} && value <= Wide{UINT64_MAX}) values.insert(value);
      }
    }
  }
  return {values.begin(), values.end()};
}

TEST(KeyTest, an_integer_is_one_key_in_every_type) {
  for (const Wide value : border_integers()) {
    const std::string bytes = key_of(value);
    in_every_type(value, [&](auto part) {
      EXPECT_EQ(key(part).view(), bytes) << "in " << sizeof(part) << " bytes";
    });
  }
  enum class Level : std::uint16_t { kOne = 1 };
  enum Old { kOldOne = 1 };
  EXPECT_TRUE(key(1) == key(1u) && key(1) == key(1ull) && key(1) == key(std::int8_t{1}));
  EXPECT_TRUE(key(1) == key(true) && key(1) == key(Level::kOne) && key(1) == key(kOldOne));
}

TEST(KeyTest, integers_ascend_from_the_least_to_the_largest_of_all_types) {
  const std::vector<Wide> values = border_integers();
  ASSERT_EQ(values.front(), Wide{INT64_MIN});
  ASSERT_EQ(values.back(), Wide{UINT64_MAX});
  const std::vector<std::string> keys = keys_of(values);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j) {
      ASSERT_EQ(keys[i] < keys[j], i < j) << i << " " << j;
      ASSERT_EQ(keys[i] == keys[j], i == j) << i << " " << j;
    }
  }
}

// Otherwise the part after an integer could be taken for its end.
TEST(KeyTest, no_integer_is_a_prefix_of_another) {
  const std::vector<std::string> keys = keys_of(border_integers());
  for (const std::string& a : keys) {
    for (const std::string& b : keys) ASSERT_EQ(b.starts_with(a), &a == &b);
  }
}

// Property: random integers of all lengths compare as their values do.
TEST(KeyTest, random_integers_compare_as_their_values_do) {
  base::Random random(testing::test_seed(7));
  const auto any = [&] {
    const Wide value = static_cast<Wide>(random.next() >> random.below(64));
    return random.below(2) == 0 && value <= Wide{INT64_MAX} ? -value : value;
  };
  for (int i = 0; i < 100'000; ++i) {
    const Wide a = any();
    const Wide b = any();
    ASSERT_EQ(key_of(a) < key_of(b), a < b);
    ASSERT_EQ(key_of(a) == key_of(b), a == b);
  }
}

// Databases have these bytes, so they may not change.
TEST(KeyTest, bytes_are_those_of_the_format) {
  using namespace std::string_literals;
  EXPECT_EQ(key(0).view(), "\x80"s);
  EXPECT_EQ(key(1).view(), "\x81\x01"s);
  EXPECT_EQ(key(255).view(), "\x81\xff"s);
  EXPECT_EQ(key(256).view(), "\x82\x01\x00"s);
  EXPECT_EQ(key(UINT64_MAX).view(), "\x88\xff\xff\xff\xff\xff\xff\xff\xff"s);
  EXPECT_EQ(key(-1).view(), "\x7f\xfe"s);
  EXPECT_EQ(key(-255).view(), "\x7f\x00"s);
  EXPECT_EQ(key(-256).view(), "\x7e\xfe\xff"s);
  EXPECT_EQ(key(INT64_MIN).view(), "\x78\x7f\xff\xff\xff\xff\xff\xff\xff"s);
  EXPECT_EQ(key(1.0).view(), "\xbf\xf0\x00\x00\x00\x00\x00\x00"s);
  EXPECT_EQ(key(-1.0).view(), "\x40\x0f\xff\xff\xff\xff\xff\xff"s);
  EXPECT_EQ(key("a\0b"s).view(), "a\0\xff"s + "b\0\0"s);
  EXPECT_EQ(key(big_endian<std::uint32_t>(0x01020304u)).view(), "\x01\x02\x03\x04"s);
  EXPECT_EQ(key(-1, "a", BigEndian<std::uint16_t>{2}).view(), "\x7f\xfe"s + "a\0\0\0\x02"s);
}

// A type that could be mistaken for another one is no part of a key, and no row.
template <typename T>
concept IsPart = requires(T part) {
  key(part);
};
template <typename T>
concept IsRow = requires(T row) {
  as_payload(row);
};
struct PlainPair {
  int first;
  int second;
};

TEST(KeyTest, pointers_and_wider_integers_are_no_parts) {
  EXPECT_TRUE(IsPart<bool> && IsPart<char> && IsPart<const char*> && IsPart<std::string>);
  EXPECT_FALSE(IsPart<int*> || IsPart<const void*> || IsPart<std::nullptr_t>);
  EXPECT_FALSE(IsPart<Wide> || IsPart<long double>);
}

template <typename T>
concept IsLastPartOfAPrefix = requires(T part) {
  key_prefix(1, part);
};

// Its bytes would be encoded as a string.
TEST(KeyTest, a_key_is_no_part_of_a_key) {
  EXPECT_FALSE(IsPart<Key> || IsPart<const Key&> || IsPart<std::tuple<Key>>);
  EXPECT_FALSE((IsLastPartOfAPrefix<Key> || IsLastPartOfAPrefix<std::tuple<int, Key>>));
  EXPECT_TRUE((IsPart<std::tuple<int, std::string>>)&&IsLastPartOfAPrefix<std::string_view>);
}

TEST(KeyTest, pointers_and_views_are_no_rows) {
  EXPECT_TRUE(IsRow<int> && IsRow<PlainPair> && (IsRow<std::array<char, 8>>));
  EXPECT_FALSE(IsRow<int*> || IsRow<std::span<const std::byte>> || IsRow<std::string_view>);
  EXPECT_FALSE(IsRow<std::string>);
}

template <typename T>
void expect_fixed_width_ascends() {
  using Limits = std::numeric_limits<T>;
  expect_ascending(
      std::vector<BigEndian<T>>{{0}, {1}, {100}, {Limits::max() / 2}, {Limits::max()}});
  EXPECT_EQ(key(BigEndian<T>{1}, BigEndian<T>{0}).size(), 2 * sizeof(T));
}

TEST(KeyTest, integers_of_fixed_width_ascend_in_their_width) {
  expect_fixed_width_ascends<std::uint8_t>();
  expect_fixed_width_ascends<std::uint16_t>();
  expect_fixed_width_ascends<std::uint32_t>();
  expect_fixed_width_ascends<std::uint64_t>();
}

template <typename Width, typename T>
concept IsBigEndian = requires(T value) {
  big_endian<Width>(value);
};
template <typename T>
concept IsBigEndianOfItsOwnWidth = requires(T value) {
  big_endian(value);
};

// A truncated or signed argument would be another number, and an implicit width would change with
// the type of a variable.
TEST(KeyTest, a_fixed_width_is_named_and_holds_its_argument) {
  EXPECT_TRUE((IsBigEndian<std::uint32_t, std::uint8_t> && IsBigEndian<std::uint64_t, unsigned>));
  EXPECT_EQ(key(big_endian<std::uint64_t>(7u)), key(big_endian<std::uint64_t>(7ull)));
  EXPECT_FALSE((IsBigEndian<std::uint32_t, std::uint64_t> || IsBigEndian<std::uint32_t, int>));
  EXPECT_FALSE((IsBigEndian<std::int32_t, std::uint8_t> || IsBigEndian<bool, bool>));
  EXPECT_FALSE(IsBigEndianOfItsOwnWidth<std::uint32_t>);
}

template <typename T>
void expect_floats_ascend() {
  using Limits = std::numeric_limits<T>;
  expect_ascending(std::vector<T>{-Limits::infinity(), Limits::lowest(), T(-2.5), T(-1),
                                  -Limits::min(), -Limits::denorm_min(), T(-0.0), T(0.0),
                                  Limits::denorm_min(), Limits::min(), T(1), T(1.5), Limits::max(),
                                  Limits::infinity(), Limits::quiet_NaN()});
}

TEST(KeyTest, doubles_and_floats_ascend_with_nan_last) {
  expect_floats_ascend<double>();
  expect_floats_ascend<float>();
}

TEST(KeyTest, a_float_is_the_double_of_its_value) {
  EXPECT_EQ(key(1.0f), key(1.0));
  EXPECT_EQ(key(0.1f), key(static_cast<double>(0.1f)));
  EXPECT_EQ(key(std::numeric_limits<float>::denorm_min()), key(0x1p-149));
  EXPECT_EQ(key(-std::numeric_limits<float>::infinity()),
            key(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(key(std::numeric_limits<float>::quiet_NaN()),
            key(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_NE(key(1.0), key(1)) << "another kind of part";
}

// Goal: the NaN of 0.0 / 0.0, which has its sign bit set on x86-64, is found at the same end and
// under the same key as every other one.
template <typename T, typename Bits>
void expect_one_nan() {
  using Limits = std::numeric_limits<T>;
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const Bits quiet = std::bit_cast<Bits>(Limits::quiet_NaN());
  const Bits least = std::bit_cast<Bits>(Limits::infinity()) + 1;
  for (const Bits bits : {quiet, quiet | kSign, least, least | kSign, ~kSign, ~Bits{0}}) {
    const T nan = std::bit_cast<T>(bits);
    EXPECT_EQ(key(nan).view(), key(Limits::quiet_NaN()).view()) << bits;
    EXPECT_GT(key(nan).view(), key(Limits::infinity()).view()) << bits;
  }
}

TEST(KeyTest, all_nans_are_one_key_above_infinity) {
  expect_one_nan<double, std::uint64_t>();
  expect_one_nan<float, std::uint32_t>();
}

// They are equal as numbers, but a search for one of them finds only that one.
TEST(KeyTest, zeros_of_both_signs_are_two_keys) {
  EXPECT_LT(key(-0.0).view(), key(0.0).view());
  EXPECT_LT(key(-0.0f).view(), key(0.0f).view());
}

TEST(KeyTest, bools_and_enums_ascend_as_their_integers) {
  enum class Color : std::int16_t { kRed = -3, kGreen = 0, kBlue = 9 };
  expect_ascending(std::vector<Color>{Color::kRed, Color::kGreen, Color::kBlue});
  EXPECT_LT(key(false).view(), key(true).view());
}

TEST(KeyTest, strings_ascend_also_with_zeros_inside_and_as_prefixes) {
  using namespace std::string_literals;
  expect_ascending(std::vector<std::string>{""s, "\0"s, "\0\0"s, "\0\x01"s, "\0\xff"s, "\x01"s,
                                            "a"s, "a\0"s, "a\0b"s, "a\x01"s, "ab"s, "b"s, "\xff"s,
                                            "\xff\xff"s});
  EXPECT_EQ(key("abc").view(), key(std::string("abc")).view());
  EXPECT_EQ(key(std::string_view()), key("")) << "a view of nothing has no address";
}

// Parts after a string must not change how the string compares.
TEST(KeyTest, a_prefix_sorts_first_whatever_follows_it) {
  EXPECT_LT(key("a", 0xffffffffu).view(), key("aa", 0u).view());
  EXPECT_LT(key("a", std::string("\xff")).view(), key(std::string("a\0", 2), "").view());
}

TEST(KeyTest, parts_are_compared_one_after_the_other) {
  EXPECT_LT(key(1u, 9u).view(), key(2u, 0u).view());
  EXPECT_LT(key(-1, "z").view(), key(0, "a").view());
  EXPECT_EQ(key(std::tuple(1u, "a")).view(), key(1u, "a").view());
}

using Row = std::tuple<std::string, std::int32_t, double, std::string, std::uint64_t, float,
                       BigEndian<std::uint16_t>, std::tuple<std::string, bool>>;

std::string random_text(base::Random* random) {
  std::string text(random->below(4), '\0');
  for (char& c : text) {
    c = "\0\x01"
        "ab\xff"[random->below(5)];
  }
  return text;
}

// Returns a row of a small domain, so that the first columns are often equal.
Row random_row(base::Random* random) {
  const auto number = [&] { return static_cast<std::int32_t>(random->below(5)) - 2; };
  return {random_text(random),
          number() * 200,
          number() * 0.5 + 0.25,
          random_text(random),
          std::uint64_t{1} << random->below(64),
          static_cast<float>(number()) + 0.5f,
          {static_cast<std::uint16_t>(random->below(3) * 255)},
          {random_text(random), random->below(2) == 0}};
}

// Property: keys of random rows compare as std::tuple does.
TEST(KeyTest, rows_compare_as_std_tuple_does) {
  base::Random random(testing::test_seed(4));
  for (int i = 0; i < 200'000; ++i) {
    Row a = random_row(&random);
    const Row b = random_row(&random);
    if (random.below(2) == 0) std::get<0>(a) = std::get<0>(b);
    if (random.below(2) == 0) std::get<1>(a) = std::get<1>(b);
    if (random.below(2) == 0) std::get<3>(a) = std::get<3>(b);
    ASSERT_EQ(key(a).view() < key(b).view(), a < b);
    ASSERT_EQ(key(a).view() == key(b).view(), a == b);
  }
}

TEST(KeyPrefixTest, is_a_beginning_of_the_keys_whose_string_begins_so) {
  using namespace std::string_literals;
  EXPECT_EQ(key_prefix("Par").view(), "Par");
  EXPECT_TRUE(key(7, "Par").view().starts_with(key_prefix(7, "Par")));
  EXPECT_TRUE(key(7, "Paris", 3).view().starts_with(key_prefix(7, "Par")));
  EXPECT_FALSE(key(7, "Paris").view().starts_with(key(7, "Par"))) << "its string has ended";
  EXPECT_EQ(key_prefix("a\0"s).view(), "a\0\xff"s) << "a zero byte at the end is no end";
}

TEST(KeyPrefixTest, of_another_last_part_is_the_key) {
  EXPECT_EQ(key_prefix(7), key(7));
  EXPECT_EQ(key_prefix("Par", 7), key("Par", 7));
  EXPECT_EQ(key_prefix("Par", 1.5, BigEndian<std::uint8_t>{3}),
            key("Par", 1.5, BigEndian<std::uint8_t>{3}));
  EXPECT_EQ(key_prefix("Par", std::tuple<>()), key("Par"));
  EXPECT_EQ(key_prefix().size(), 0u);
}

TEST(KeyPrefixTest, of_a_tuple_is_that_of_its_elements) {
  EXPECT_EQ(key_prefix(std::tuple(7, "Par")), key_prefix(7, "Par"));
  EXPECT_EQ(key_prefix(7, std::tuple("Par", std::tuple(std::string("is")))),
            key_prefix(7, "Par", "is"));
}

// Property: a key begins with the prefix if and only if its columns do.
TEST(KeyPrefixTest, begins_exactly_the_keys_that_it_is_meant_for) {
  base::Random random(testing::test_seed(5));
  std::uint64_t matches = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::tuple row(random_text(&random), random.below(3), random_text(&random), 1.5);
    const auto& [first, second, third, last] = row;
    const std::string text = random_text(&random);
    const std::uint64_t number = random.below(3);
    const Key bytes = key(row);
    ASSERT_EQ(bytes.view().starts_with(key_prefix(text)), first.starts_with(text));
    ASSERT_EQ(bytes.view().starts_with(key_prefix(first, number)), second == number);
    const bool is_match = second == number && third.starts_with(text);
    ASSERT_EQ(bytes.view().starts_with(key_prefix(first, number, text)), is_match);
    matches += is_match ? 1 : 0;
  }
  EXPECT_GT(matches, 10'000u);
}

// Property: `prefix_end` separates the strings with the prefix from all above them, also for bytes
// without a neighbour above.
TEST(PrefixEndTest, is_above_exactly_the_strings_that_begin_so_and_those_below) {
  base::Random random(testing::test_seed(6));
  const auto any = [&] {
    std::string text(random.below(5), '\0');
    for (char& c : text) {
      c = "\0\x01\x7f\x80\xfe\xff"[random.below(6)];
    }
    return text;
  };
  for (int i = 0; i < 200'000; ++i) {
    const std::string prefix = any();
    const std::string text = any();
    const Key end = prefix_end(prefix);
    const bool is_within = text >= prefix && (end.size() == 0 || text < end.view());
    ASSERT_EQ(text.starts_with(prefix), is_within);
  }
}

TEST(PrefixEndTest, is_the_least_string_above) {
  using namespace std::string_literals;
  EXPECT_EQ(prefix_end("Par").view(), "Pas");
  EXPECT_EQ(prefix_end("a\xff\xff"s).view(), "b");
  EXPECT_EQ(prefix_end("a\x7f"s).view(), "a\x80"s);
  EXPECT_EQ(prefix_end("\0"s).view(), "\x01"s);
  EXPECT_EQ(prefix_end("\xff\xff"s).view(), "") << "there is none";
  EXPECT_EQ(prefix_end("").view(), "") << "every string begins so";
}

TEST(PrefixEndTest, of_a_long_prefix_is_as_long) {
  const std::string longest(kMaxKeyBytes, 'x');
  EXPECT_EQ(prefix_end(longest).view(), longest.substr(1) + "y");
  EXPECT_EQ(prefix_end(longest + "xx").size(), kMaxKeyBytes + 1) << "which the engine refuses";
  EXPECT_EQ(prefix_end("x" + std::string(2'000, '\xff')).view(), "y");
}

TEST(KeyTest, one_that_is_too_long_keeps_one_byte_more_than_is_allowed) {
  Key exact;
  exact.append_raw(std::string(kMaxKeyBytes, 'x').data(), kMaxKeyBytes);
  EXPECT_EQ(exact.size(), kMaxKeyBytes);
  Key longer = exact;
  longer.append(std::uint64_t{1}).append("more");
  EXPECT_EQ(longer.size(), kMaxKeyBytes + 1);
  EXPECT_EQ(longer.view().substr(0, kMaxKeyBytes), exact.view());
}

// Parts of every kind are stored whole at the end of the space, and cut beyond it.
TEST(KeyTest, parts_that_end_beyond_the_limit_are_cut) {
  const auto append_all = [](Key* to) {
    to->append(UINT64_MAX).append(INT64_MIN).append(-2.5).append("text");
    to->append(big_endian<std::uint64_t>(UINT64_MAX)).append(std::string(3, '\0'));
  };
  Key parts;
  append_all(&parts);
  for (std::size_t room = 0; room <= parts.size() + 2; ++room) {
    const std::string filling(kMaxKeyBytes - room, 'x');
    Key cut;
    cut.append_raw(filling.data(), filling.size());
    append_all(&cut);
    const std::string whole = filling + std::string(parts.view());
    EXPECT_EQ(cut.view(), std::string_view(whole).substr(0, kMaxKeyBytes + 1)) << room;
  }
}

TEST(KeyTest, copies_have_the_same_bytes) {
  const Key original = key("name", 7u);
  Key copy = original;
  EXPECT_EQ(copy.view(), original.view());
  copy = key(1u);
  EXPECT_EQ(copy.view(), key(1u).view());
  const Key& same = copy;
  copy = same;
  EXPECT_EQ(copy.view(), key(1u).view());
}

TEST(PayloadTest, a_value_comes_back_from_its_bytes) {
  struct Account {
    std::int64_t cents;
    std::uint32_t flags;
    std::uint32_t branch;
  };
  const Account account{-250, 3, 9};
  const std::string stored(as_payload(account));
  const Account read = view_as<Account>(stored);
  EXPECT_EQ(read.cents, -250);
  EXPECT_EQ(read.branch, 9u);
}

}  // namespace
}  // namespace foedus::key_test
