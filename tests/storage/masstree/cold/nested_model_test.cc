// Master-Trees of which parts are cold, while other sessions take turns within calls.

#include "foedus-core/storage/masstree/install/install.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/cold/turns.h"

namespace foedus::storage::masstree::nested_model_test {
namespace {

// Goal: the properties of masstree_cold_model_test hold if sessions and the gleaner interleave
// between two steps of a call. Method: at sync points without a lock other sessions write, commit,
// scan and glean, nested twice. There is one thread, so that a seed is a run.
class MasstreeNestedModelTest : public MasstreeTurns {
 protected:
  explicit MasstreeNestedModelTest(Gleaned::Install install = SimpleInstall::install)
      : MasstreeTurns(std::move(install)) {
    options_.writes_parts = true;
    options_.nests_one_in = 6;
  }
};

// The tests are repeated with installations that exchange runs of pages.
class MasstreeNestedInstallTest : public MasstreeNestedModelTest {
 protected:
  MasstreeNestedInstallTest() : MasstreeNestedModelTest(install) {}
};

TEST_F(MasstreeNestedModelTest, equals_a_map_after_anything) {
  run(testing::test_seed(1), 6000, 0);
}
TEST_F(MasstreeNestedModelTest, equals_a_map_after_large_payloads_and_erased_runs) {
  options_.has_large_payloads = true;
  options_.writes_runs = true;
  run(testing::test_seed(1) + 1, 6000, 0);
}
TEST_F(MasstreeNestedModelTest, equals_a_map_after_a_load_without_pages) {
  options_.spends_pages = true;
  options_.writes_runs = true;
  run(testing::test_seed(1) + 2, 6000, 2000);
}
TEST_F(MasstreeNestedModelTest, equals_a_map_in_crowded_slices_without_pages) {
  options_.spends_pages = true;
  run_crowded(testing::test_seed(1) + 3, 12'000);
}

TEST_F(MasstreeNestedInstallTest, equals_a_map_after_large_payloads) {
  options_.has_large_payloads = true;
  run(testing::test_seed(1) + 4, 6000, 0);
}
TEST_F(MasstreeNestedInstallTest, equals_a_map_after_a_load_and_erased_runs) {
  options_.writes_runs = true;
  run(testing::test_seed(1) + 5, 6000, 2000);
}
TEST_F(MasstreeNestedInstallTest, equals_a_map_in_crowded_slices_without_pages) {
  options_.spends_pages = true;
  options_.writes_runs = true;
  run_crowded(testing::test_seed(1) + 6, 12'000);
}

}  // namespace
}  // namespace foedus::storage::masstree::nested_model_test
