// Hash storages of which parts are cold, after any mix of transactions, gleans and drops; large
// payloads in snapshots.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/base/test_seed.h"
#include "tests/storage/hash/turns.h"

namespace foedus::storage::hash::cold_model_test {
namespace {

// Goal: the reads of every transaction, with its own writes over them, hold at its commit; in the
// end the storage equals a map. Method: sessions take turns in one thread, so that transactions
// last over several gleans; snapshots are installed when they are composed or later.
class HashColdModelTest : public HashTurns {
 protected:
  explicit HashColdModelTest(std::uint32_t fan_out_bits = 2) : HashTurns(fan_out_bits) {}
};

class ManyLevelsTest : public HashColdModelTest {
 protected:
  ManyLevelsTest() : HashColdModelTest(10) {}
};

TEST_F(HashColdModelTest, equals_a_map_after_anything) { run(testing::test_seed(1), 12'000); }
TEST_F(HashColdModelTest, equals_a_map_after_anything_else) {
  run(testing::test_seed(1) + 1, 12'000);
}
TEST_F(HashColdModelTest, equals_a_map_after_a_load) {
  load_model();
  run(testing::test_seed(1) + 2, 12'000);
}
TEST_F(ManyLevelsTest, equals_a_map_after_anything) { run(testing::test_seed(1) + 3, 12'000); }

TEST_F(HashColdModelTest, large_payloads_are_read_written_and_erased_in_snapshots) {
  const std::string large(10'000, 'L');
  const std::string larger(30'000, 'M');
  load(200);
  for (unsigned i = 0; i < 5; ++i) put_alone(0, "large" + std::to_string(i), large);
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, "large0"), large);
  EXPECT_EQ(volatile_pages(), 0u);
  begin(1);  // makes all of them volatile: their chains stay in snapshots
  for (unsigned i = 0; i < 200; ++i) ASSERT_TRUE(put(1, key_of(i), "x").is_ok());
  ASSERT_EQ(get(1, "large1"), large);
  ASSERT_TRUE(commit(1).is_ok());
  const std::uint64_t pages = volatile_pages();
  EXPECT_EQ(get_alone(1, "large1"), large);
  begin(2);
  ASSERT_TRUE(write_at(all_.session(2).ctx(), all_.control(), "large1", 9'000, "part").is_ok());
  ASSERT_TRUE(put(2, "large2", larger).is_ok());
  ASSERT_TRUE(put(2, "large3", "short").is_ok());
  ASSERT_TRUE(erase(2, "large4").is_ok());
  ASSERT_TRUE(commit(2).is_ok());
  EXPECT_EQ(volatile_pages(), pages + 3 + 8);
  std::string changed = large;
  changed.replace(9'000, 4, "part");
  for (unsigned round = 0; round < 2; ++round) {
    EXPECT_EQ(get_alone(3, "large0"), large);
    EXPECT_EQ(get_alone(3, "large1"), changed);
    EXPECT_EQ(get_alone(3, "large2"), larger);
    EXPECT_EQ(get_alone(3, "large3"), "short");
    EXPECT_EQ(get_alone(3, "large4"), std::nullopt);
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
  }
}

}  // namespace
}  // namespace foedus::storage::hash::cold_model_test
