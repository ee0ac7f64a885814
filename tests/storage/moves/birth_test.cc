#include "foedus-core/storage/moves/birth.h"

#include <gtest/gtest.h>

namespace foedus::storage::moves::birth_test {
namespace {

constexpr std::uint32_t kSession = 3;

TEST(BirthTest, a_page_that_is_not_born_concerns_transactions_of_every_epoch) {
  for (const std::uint64_t begin : {std::uint64_t{1}, Epoch::kMax / 2, Epoch::kMax / 2 + 2,
                                    Epoch::kMax - (std::uint64_t{1} << 24), Epoch::kMax}) {
    EXPECT_TRUE(kNotBorn.concerns(Epoch(begin), kSession)) << begin;
  }
}

TEST(BirthTest, a_page_concerns_transactions_that_began_in_its_epoch_or_before) {
  const Birth birth(Epoch(50), kSession);
  EXPECT_EQ(birth.epoch(), Epoch(50));
  EXPECT_EQ(birth.session(), kSession);
  for (const std::uint64_t begin : {49u, 50u}) {
    EXPECT_TRUE(birth.is_since(Epoch(begin)));
    EXPECT_TRUE(birth.concerns(Epoch(begin), kSession + 1));
    EXPECT_FALSE(birth.concerns(Epoch(begin), kSession));  // it moved its own writes
  }
  EXPECT_FALSE(birth.is_since(Epoch(51)));
  EXPECT_FALSE(birth.concerns(Epoch(51), kSession + 1));
  EXPECT_TRUE(Birth(Epoch(50), Birth::kSeveral).concerns(Epoch(50), kSession));
}

}  // namespace
}  // namespace foedus::storage::moves::birth_test
