// Layers of a delta stay few, whichever operation makes them (M51): each takes a page, and stays
// until all rows have left.

#include <gtest/gtest.h>

#include <string>

#include "tests/storage/masstree/delta/tree_fixture.h"

namespace foedus::storage::masstree::layers_test {
namespace {

class DeltaLayersTest : public DeltaTreeTest {
 protected:
  static constexpr unsigned kPairs = 3'000;  // of keys that need a layer
  // A sixteenth of the pages of 64 MiB, and those that are being made.
  static constexpr std::uint64_t kLayersMax = (64u << 20) / 4096 / 16 + 1;

  static std::string name(unsigned pair, unsigned i) {
    return key_of(pair) + (i == 0 ? "one" : "another");
  }
  void load_pairs() {
    for (unsigned pair = 0; pair < kPairs; ++pair) {
      put_alone(0, name(pair, 0), "1");
      put_alone(0, name(pair, 1), "2");
    }
    open_delta();
  }
  std::uint64_t layers() {
    return delta()->layers.load_relaxed();  // order: relaxed, a statistic
  }
};

TEST_F(DeltaLayersTest, puts_make_few_layers) {
  load_pairs();
  for (unsigned pair = 0; pair < kPairs; ++pair) {
    put_alone(0, name(pair, 0), "new 1");
    put_alone(0, name(pair, 1), "new 2");
  }
  EXPECT_LE(layers(), kLayersMax);
}

TEST_F(DeltaLayersTest, reads_that_lock_make_few_layers) {
  load_pairs();
  for (unsigned pair = 0; pair < kPairs; ++pair) {
    begin(0);
    for (unsigned i = 0; i < 2; ++i) {
      const WholeRead got = read_whole([&](occ::ReadRange* range) {
        return get_for_update(ctx(0), control(), name(pair, i), range);
      });
      ASSERT_TRUE(got.status.is_ok()) << got.status.message();
    }
    expect_commit(0);
    if (pair % 100 == 0) all_.all().pass_epochs();
  }
  EXPECT_LE(layers(), kLayersMax);
  // No row was put, so an installation frees the delta's pages.
  for (int i = 0; i < 2; ++i) all_.glean();
  EXPECT_LE(delta_pages(), 1u);
}

}  // namespace
}  // namespace foedus::storage::masstree::layers_test
