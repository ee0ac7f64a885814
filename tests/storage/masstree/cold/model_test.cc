// Master-Trees of which parts are cold, after any mix of transactions, gleans and drops.
// ctest-labels: memory

#include "foedus-core/storage/masstree/install/install.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/cold/turns.h"

namespace foedus::storage::masstree::model_test {
namespace {

// Goal: the reads of every transaction, with its own writes over them, hold at its commit; in the
// end the storage equals a map. Method: sessions take turns in one thread, so that transactions and
// scans last over several gleans; snapshots are installed when they are composed or later. Keys
// share slices, end in zeroes, and are prefixes of one another.
class MasstreeColdModelTest : public MasstreeTurns {
 protected:
  explicit MasstreeColdModelTest(Gleaned::Install install = SimpleInstall::install)
      : MasstreeTurns(std::move(install)) {}
};

// The tests are repeated with installations that exchange runs of pages.
class MasstreeInstalledModelTest : public MasstreeColdModelTest {
 protected:
  MasstreeInstalledModelTest() : MasstreeColdModelTest(install) {}
};

TEST_F(MasstreeColdModelTest, equals_a_map_after_anything) {
  run(testing::test_seed(1), 12'000, 0);
}
TEST_F(MasstreeColdModelTest, equals_a_map_after_anything_else) {
  run(testing::test_seed(1) + 1, 12'000, 0);
}
TEST_F(MasstreeColdModelTest, equals_a_map_after_a_load) {
  run(testing::test_seed(1) + 2, 12'000, 6000);
}

TEST_F(MasstreeInstalledModelTest, equals_a_map_after_anything) {
  run(testing::test_seed(1) + 3, 12'000, 0);
}
TEST_F(MasstreeInstalledModelTest, equals_a_map_after_a_load) {
  run(testing::test_seed(1) + 4, 12'000, 6000);
}

}  // namespace
}  // namespace foedus::storage::masstree::model_test
