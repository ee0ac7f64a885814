// A Master-Tree has the rows of a std::map, under random work and random installations.

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/install/fixture.h"

namespace foedus::storage::masstree::model_test {
namespace {

// Goal: trees of every shape, of several levels and layers, keep their rows and have no volatile
// page at rest. Method: payloads of up to a third of a page, and chains; work in changing places,
// before and after the snapshot, with transactions that are rolled back. After each installation,
// which may drop all, some or no pages, all rows are compared, and volatile pages must lead to
// pages of the new snapshot only.
class InstallModelTest : public MasstreeInstallTest, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr unsigned kKeys = 6'000;

  std::string key(std::uint64_t i) const {
    switch (i % 5) {
      case 0:
      case 1:
        return "a" + key_of(i).substr(1);
      case 2:
        return "b" + key_of(i / 40) + std::string(i % 40, 'x');
      case 3:
        return "c" + key_of(i / 1'000) + "----------------" + key_of(i);
      default:
        return "d" + key_of(i / 10) + "/" + std::to_string(i % 10);
    }
  }
  std::string payload() {
    const std::uint64_t kind = random_.below(20);
    const std::uint64_t bytes = kind == 0   ? 1'400 + random_.below(9'000)
                                : kind < 10 ? 700 + random_.below(700)
                                            : random_.below(100);
    return std::string(bytes, static_cast<char>('a' + random_.below(26)));
  }
  // Makes changes near one place.
  void work(unsigned changes, unsigned width) {
    const std::uint64_t begin_at = random_.below(kKeys - width);
    for (unsigned i = 0; i < changes; ++i) {
      const std::string name = key(begin_at + random_.below(width));
      if (random_.below(50) == 0) {
        begin(1);
        ASSERT_TRUE(write(1, name + "never", payload()).is_ok());
        all_.session(1).rollback();
      }
      if (random_.below(3) == 0 && rows_.contains(name)) {
        ASSERT_NO_FATAL_FAILURE(erase(name));
      } else {
        ASSERT_NO_FATAL_FAILURE(put(name, payload()));
      }
      if (i % 500 == 0) all_.all().pass_epochs();
    }
  }
  void erase_range() {
    const std::uint64_t begin_at = random_.below(kKeys);
    for (std::uint64_t i = begin_at; i < begin_at + kKeys / 4; ++i) {
      if (rows_.contains(key(i))) {
        ASSERT_NO_FATAL_FAILURE(erase(key(i)));
      }
    }
  }

  base::Random random_{testing::test_seed(1) * 100 + static_cast<std::uint64_t>(GetParam())};
};

TEST_P(InstallModelTest, rows_are_those_of_the_model) {
  ASSERT_NO_FATAL_FAILURE(work(2 * kKeys, kKeys - 1));
  for (unsigned round = 0; round < 25; ++round) {
    if (random_.below(4) == 0) {
      ASSERT_NO_FATAL_FAILURE(erase_range());
    }
    ASSERT_NO_FATAL_FAILURE(work(200, 1 + static_cast<unsigned>(random_.below(kKeys / 2))));
    all_.compose();
    // Changes after the snapshot: none, a few rows in one place, or some all over.
    const std::uint64_t kind = random_.below(3);
    if (kind != 0) {
      ASSERT_NO_FATAL_FAILURE(work(20, kind == 1 ? 30 : kKeys - 1));
    }
    // The install drops all pages, none, or some.
    const std::uint64_t limit = random_.below(3);
    const InstallCounts counts = limit == 0 ? all_.install() : all_.install(50 * (limit - 1));
    const MasstreeContents contents(&all_);
    ASSERT_TRUE(contents.rows == rows_) << round;
    const std::uint64_t trees = contents.borders + contents.interiors;
    ASSERT_EQ(counts.pages_kept, counts.has_passed_over ? volatile_pages() : trees);
    EXPECT_FALSE(counts.may_need_earlier);  // no lock is held
    ASSERT_NO_FATAL_FAILURE(all_.check_leads());
    verify_tree(all_.all().pool(), all_.control());
    if (kind == 0 && limit == 0) {
      EXPECT_EQ(volatile_pages(), 0u);
    }
  }
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, InstallModelTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace foedus::storage::masstree::model_test
