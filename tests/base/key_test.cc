// The order of keys built by foedus/key.h is the order of their parts.
#include "foedus/key.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "foedus-core/base/clock.h"
#include "tests/base/test_seed.h"

namespace foedus {
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

template <typename T>
void expect_integers_ascend() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {Limits::min(), static_cast<T>(Limits::min() + 1)};
  if constexpr (std::is_signed_v<T>) values.insert(values.end(), {T{-100}, T{-1}, T{0}});
  values.insert(values.end(), {T{2}, T{100}, static_cast<T>(Limits::max() - 1), Limits::max()});
  expect_ascending(values);
  EXPECT_EQ(key(T{2}).size(), sizeof(T));
}

TEST(Key, IntegersOfEveryWidthAscend) {
  expect_integers_ascend<std::uint8_t>();
  expect_integers_ascend<std::uint16_t>();
  expect_integers_ascend<std::uint32_t>();
  expect_integers_ascend<std::uint64_t>();
  expect_integers_ascend<std::int8_t>();
  expect_integers_ascend<std::int16_t>();
  expect_integers_ascend<std::int32_t>();
  expect_integers_ascend<std::int64_t>();
}

// What would be taken for something else is no part of a key, and no row.
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

TEST(Key, PointersAndWiderIntegersAreNoParts) {
  EXPECT_TRUE(IsPart<bool> && IsPart<char> && IsPart<const char*> && IsPart<std::string>);
  EXPECT_EQ(key(true).view(), std::string_view("\x01"));
  EXPECT_FALSE(IsPart<int*> || IsPart<const void*> || IsPart<std::nullptr_t>);
  __extension__ using Wide = __int128;
  EXPECT_FALSE(IsPart<Wide> || IsPart<long double>);
}

TEST(Key, PointersAndViewsAreNoRows) {
  EXPECT_TRUE(IsRow<int> && IsRow<PlainPair> && (IsRow<std::array<char, 8>>));
  EXPECT_FALSE(IsRow<int*> || IsRow<std::span<const std::byte>> || IsRow<std::string_view>);
  EXPECT_FALSE(IsRow<std::string>);
}

TEST(Key, UnsignedIntegersAreBigEndian) {
  EXPECT_EQ(key(0x01020304u).view(), std::string_view("\x01\x02\x03\x04"));
}

template <typename T>
void expect_floats_ascend() {
  using Limits = std::numeric_limits<T>;
  expect_ascending(std::vector<T>{-Limits::infinity(), Limits::lowest(), T(-2.5), T(-1),
                                  -Limits::min(), -Limits::denorm_min(), T(-0.0), T(0.0),
                                  Limits::denorm_min(), Limits::min(), T(1), T(1.5), Limits::max(),
                                  Limits::infinity(), Limits::quiet_NaN()});
}

TEST(Key, DoublesAndFloatsAscendWithNanLast) {
  expect_floats_ascend<double>();
  expect_floats_ascend<float>();
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

TEST(Key, AllNansAreOneKeyAboveInfinity) {
  expect_one_nan<double, std::uint64_t>();
  expect_one_nan<float, std::uint32_t>();
}

// They are equal as numbers: who looks for one of them finds only that one.
TEST(Key, ZerosOfBothSignsAreTwoKeys) {
  EXPECT_LT(key(-0.0).view(), key(0.0).view());
  EXPECT_LT(key(-0.0f).view(), key(0.0f).view());
}

TEST(Key, BoolsAndEnumsAscendAsTheirIntegers) {
  enum class Color : std::int16_t { kRed = -3, kGreen = 0, kBlue = 9 };
  expect_ascending(std::vector<Color>{Color::kRed, Color::kGreen, Color::kBlue});
  EXPECT_LT(key(false).view(), key(true).view());
  EXPECT_EQ(key(true).size(), 1u);
}

TEST(Key, StringsAscendAlsoWithZerosInsideAndAsPrefixes) {
  using namespace std::string_literals;
  expect_ascending(std::vector<std::string>{""s, "\0"s, "\0\0"s, "\0\x01"s, "\0\xff"s, "\x01"s,
                                            "a"s, "a\0"s, "a\0b"s, "a\x01"s, "ab"s, "b"s, "\xff"s,
                                            "\xff\xff"s});
  EXPECT_EQ(key("abc").view(), key(std::string("abc")).view());
}

// Whatever follows a string must not matter for how the string compares.
TEST(Key, APrefixSortsFirstWhateverFollowsIt) {
  EXPECT_LT(key("a", 0xffffffffu).view(), key("aa", 0u).view());
  EXPECT_LT(key("a", std::string("\xff")).view(), key(std::string("a\0", 2), "").view());
}

TEST(Key, PartsAreComparedOneAfterTheOther) {
  EXPECT_LT(key(1u, 9u).view(), key(2u, 0u).view());
  EXPECT_LT(key(-1, "z").view(), key(0, "a").view());
  EXPECT_EQ(key(std::tuple(1u, "a")).view(), key(1u, "a").view());
}

using Row = std::tuple<std::string, std::int32_t, double, std::string, std::uint16_t>;

Row random_row(base::Random* random) {
  const auto text = [&] {
    std::string result(random->below(4), '\0');
    for (char& c : result)
      c = "\0\x01"
          "ab\xff"[random->below(5)];
    return result;
  };
  const auto number = [&] { return static_cast<std::int32_t>(random->below(5)) - 2; };
  return {text(), number(), number() * 0.5 + 0.25, text(),
          static_cast<std::uint16_t>(random->below(3) * 255)};
}

// Property: keys of random rows from a small domain compare as std::tuple does.
TEST(Key, RowsCompareAsStdTupleDoes) {
  base::Random random(testing::test_seed(4));
  for (int i = 0; i < 100'000; ++i) {
    const Row a = random_row(&random);
    const Row b = random_row(&random);
    ASSERT_EQ(key(a).view() < key(b).view(), a < b);
    ASSERT_EQ(key(a).view() == key(b).view(), a == b);
  }
}

TEST(Key, OneThatIsTooLongKeepsOneByteMoreThanIsAllowed) {
  Key exact;
  exact.append_raw(std::string(kMaxKeyBytes, 'x').data(), kMaxKeyBytes);
  EXPECT_EQ(exact.size(), kMaxKeyBytes);
  Key longer = exact;
  longer.append(std::uint64_t{1}).append("more");
  EXPECT_EQ(longer.size(), kMaxKeyBytes + 1);
  EXPECT_EQ(longer.view().substr(0, kMaxKeyBytes), exact.view());
}

TEST(Key, CopiesHaveTheSameBytes) {
  const Key original = key("name", 7u);
  Key copy = original;
  EXPECT_EQ(copy.view(), original.view());
  copy = key(1u);
  EXPECT_EQ(copy.view(), key(1u).view());
  const Key& same = copy;
  copy = same;
  EXPECT_EQ(copy.view(), key(1u).view());
}

TEST(Payload, AValueComesBackFromItsBytes) {
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
}  // namespace foedus
