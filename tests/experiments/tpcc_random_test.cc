// Random numbers, names, keys and the deck follow the specification.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "experiments/tpcc/deck.h"
#include "experiments/tpcc/inputs.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/random_text.h"

namespace experiments::tpcc::tpcc_random_test {
namespace {

constexpr std::uint64_t kSeed = 511;

// Values with few bits set are rare: not all of the 1000 are seen, but the ends of the range are.
TEST(TpccRandomTest, nurand_stays_in_its_range_and_reaches_both_ends) {
  Random random(kSeed);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t value = nurand(random, kNurandLastName, 123, 0, 999);
    ASSERT_LE(value, 999u);
    seen.insert(value);
  }
  EXPECT_GT(seen.size(), 950u);
  EXPECT_EQ(*seen.begin(), 0u);
  EXPECT_EQ(*seen.rbegin(), 999u);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint32_t value = nurand(random, kNurandItem, 7911, 1, 100'000);
    ASSERT_GE(value, 1u);
    ASSERT_LE(value, 100'000u);
  }
}

// Half of all draws have any given bit of A set by each of its two sources: values with many bits
// set are far more frequent than a uniform draw would make them.
TEST(TpccRandomTest, nurand_is_not_uniform) {
  Random random(kSeed);
  std::vector<int> counts(1000);
  for (int i = 0; i < 100'000; ++i) ++counts[nurand(random, kNurandLastName, 0, 0, 999)];
  EXPECT_GT(*std::max_element(counts.begin(), counts.end()), 500);
}

TEST(TpccRandomTest, run_constant_differs_from_that_of_the_load_as_clause_2161_wants) {
  Random random(kSeed);
  for (std::uint32_t load = 0; load <= kNurandLastName; ++load) {
    const std::uint32_t run = run_constants(random, load).last_name;
    const std::uint32_t delta = std::max(load, run) - std::min(load, run);
    EXPECT_TRUE(delta >= 65 && delta <= 119 && delta != 96 && delta != 112) << load << " " << run;
  }
}

TEST(TpccRandomTest, last_names_are_the_syllables_of_the_digits) {
  char name[16];
  make_last_name(0, name);
  EXPECT_EQ(text_of(name), "BARBARBAR");
  make_last_name(371, name);
  EXPECT_EQ(text_of(name), "PRICALLYOUGHT");
  make_last_name(777, name);
  EXPECT_EQ(text_of(name), "CALLYCALLYCALLY");
}

TEST(TpccRandomTest, one_item_in_ten_is_original) {
  Random random(kSeed);
  int originals = 0;
  for (int i = 0; i < 10'000; ++i) {
    char data[50];
    make_item_data(random, data);
    if (is_original(data)) ++originals;
  }
  EXPECT_NEAR(originals, 1000, 150);
}

TEST(TpccKeysTest, bytes_of_order_line_keys_are_ordered_as_their_parts) {
  std::string before;
  for (const std::uint32_t w : {1u, 255u, 256u, 65'535u}) {
    for (const std::uint32_t d : {1u, 2u, 10u}) {
      for (const std::uint32_t o : {1u, 255u, 256u, 70'000u, 4'000'000'000u}) {
        for (const std::uint32_t ol : {1u, 2u, 15u}) {
          const PackedKey key = order_line_key(w, d, o, ol);
          EXPECT_GT(key.bytes(), before);
          EXPECT_EQ(key.bytes().size(), 8u);
          EXPECT_EQ(order_of(key.bytes()), o);
          before = key.bytes();
        }
      }
    }
  }
}

TEST(TpccKeysTest, orders_of_one_customer_lie_together_and_ascend) {
  const PackedKey first = order_by_customer_key(3, 10, 4095, 1);
  const PackedKey last = order_by_customer_key(3, 10, 4095, 4'000'000'000u);
  EXPECT_LT(order_by_customer_key(3, 10, 4094, 4'000'000'000u).bytes(), first.bytes());
  EXPECT_LT(first.bytes(), last.bytes());
  EXPECT_LT(last.bytes(), order_by_customer_key(4, 1, 1, 1).bytes());
  EXPECT_EQ(order_of_customer_index(last.bytes()), 4'000'000'000u);
}

TEST(TpccKeysTest, names_are_ordered_by_last_then_first_and_bounded_by_their_last_name) {
  const NameKey a = NameKey::of(1, 2, "BAR", "Zoe", 7);
  const NameKey b = NameKey::of(1, 2, "BARBAR", "Adam", 8);
  const NameKey c = NameKey::of(1, 2, "BARBAR", "Adamo", 3);
  EXPECT_LT(a.bytes(), b.bytes());
  EXPECT_LT(b.bytes(), c.bytes());
  EXPECT_EQ(NameKey::customer_of(c.bytes()), 3u);
  EXPECT_LT(a.bytes(), NameKey::high(1, 2, "BAR").bytes());
  EXPECT_LT(NameKey::high(1, 2, "BAR").bytes(), b.bytes());
  EXPECT_LE(NameKey::low(1, 2, "BARBAR").bytes(), b.bytes());
  EXPECT_LT(c.bytes(), NameKey::high(1, 2, "BARBAR").bytes());
}

TEST(TpccDeckTest, each_pack_has_exactly_the_mix) {
  for (const Mix& mix : {kFullMix, kNewOrderPaymentMix}) {
    Random random(kSeed);
    Deck deck(mix);
    for (int pack = 0; pack < 10; ++pack) {
      Mix drawn{};
      for (std::size_t i = 0; i < Deck::kCards; ++i) {
        ++drawn[static_cast<std::size_t>(deck.draw(random))];
      }
      EXPECT_EQ(drawn, mix);
    }
  }
}

TEST(TpccInputsTest, shares_of_remote_rolled_back_and_by_name_are_those_of_the_specification) {
  constexpr int kDraws = 40'000;
  const Scale scale{.warehouses = 10};
  Random random(kSeed);
  const InputSource source(scale, load_constants(random), 1);
  int lines = 0, remote_lines = 0, unused = 0, remote_payments = 0, by_name = 0;
  for (int i = 0; i < kDraws; ++i) {
    const NewOrderInput order = source.new_order(random, 4, 1);
    for (std::uint32_t line = 0; line < order.line_count; ++line) {
      ++lines;
      if (order.lines[line].supply_w != 4) ++remote_lines;
      if (order.lines[line].i_id > scale.items) ++unused;
    }
    const PaymentInput payment = source.payment(random, 4, 1);
    if (payment.customer.w != 4) ++remote_payments;
    if (payment.customer.c == 0) ++by_name;
  }
  EXPECT_NEAR(lines, kDraws * 10, kDraws / 4);
  EXPECT_NEAR(remote_lines, lines / 100, lines / 500);
  EXPECT_NEAR(unused, kDraws / 100, kDraws / 400);
  EXPECT_NEAR(remote_payments, kDraws * 15 / 100, kDraws / 100);
  EXPECT_NEAR(by_name, kDraws * 60 / 100, kDraws / 100);
}

TEST(TpccInputsTest, remote_payments_end_at_hundred_percent) {
  const Scale scale{.warehouses = 2};
  Random random(kSeed);
  const InputSource source(scale, load_constants(random), 7);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(source.payment(random, 1, 1).customer.w, 2u);
}

}  // namespace
}  // namespace experiments::tpcc::tpcc_random_test
