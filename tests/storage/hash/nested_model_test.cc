// Hash storages of which parts are cold, while other sessions take turns within calls.

#include "tests/base/test_seed.h"
#include "tests/storage/hash/turns.h"

namespace foedus::storage::hash::nested_model_test {
namespace {

// Goal: the properties of hash_cold_model_test hold if sessions and the gleaner interleave between
// two steps of a call. Method: at sync points without a lock other sessions write, commit and
// glean, nested twice. There is one thread, so that a seed is a run.
class HashNestedModelTest : public HashTurns {
 protected:
  explicit HashNestedModelTest(std::uint32_t fan_out_bits = 2) : HashTurns(fan_out_bits) {
    options_.writes_parts = true;
    options_.nests_one_in = 20;
  }
};

class ManyNestedLevelsTest : public HashNestedModelTest {
 protected:
  ManyNestedLevelsTest() : HashNestedModelTest(10) {}
};

TEST_F(HashNestedModelTest, equals_a_map_after_anything) { run(testing::test_seed(1), 8000); }
TEST_F(HashNestedModelTest, equals_a_map_after_large_payloads_and_erased_runs) {
  options_.has_large_payloads = true;
  options_.writes_runs = true;
  run(testing::test_seed(1) + 1, 8000);
}
TEST_F(HashNestedModelTest, equals_a_map_after_a_load_without_pages) {
  options_.spends_pages = true;
  load_model();
  run(testing::test_seed(1) + 2, 8000);
}
TEST_F(ManyNestedLevelsTest, equals_a_map_after_anything_without_pages) {
  options_.spends_pages = true;
  run(testing::test_seed(1) + 3, 8000);
}

}  // namespace
}  // namespace foedus::storage::hash::nested_model_test
