// The fill of pages, for several orders of keys.
#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::fill_test {
namespace {

class MasstreeFillTest : public MasstreeTest {
 protected:
  // Returns the share of the space in all border pages that records of 8-byte keys and this payload
  // take.
  double filled() {
    const masstree::Statistics found = verify();
    const std::uint64_t bytes =
        found.records * (masstree::footprint(0, masstree::capacity_for(kPayload.size())) + 16);
    return static_cast<double>(bytes) /
           static_cast<double>(found.border_pages * masstree::BorderPage::kBodyBytes);
  }
  static constexpr std::string_view kPayload = "a row of forty bytes, as order lines are";
};

TEST_F(MasstreeFillTest, ascending_keys_leave_full_pages) {
  fill(0, 0, 5000, 1, kPayload);
  EXPECT_GT(filled(), 0.9);
}

// For an appended key a page is copied byte by byte, but only if none of its records leads to a
// layer.
TEST_F(MasstreeFillTest, ascending_keys_behind_a_layer_keep_it) {
  begin(0);
  insert(0, key_of(0) + " and more", kPayload);
  insert(0, key_of(0) + " and something else", kPayload);
  ASSERT_TRUE(commit(0).is_ok());
  fill(0, 1, 500, 1, kPayload);
  EXPECT_EQ(verify().records, 501u);
}

TEST_F(MasstreeFillTest, descending_keys_leave_full_pages) {
  for (unsigned i = 5000; i-- > 0;) fill(0, i, i + 1, 1, kPayload);
  EXPECT_GT(filled(), 0.9);
}

// Goal: pages are full after ten ascending runs that lie between one another's keys, as the orders
// of ten districts do. A boundary at the new key would leave half of each page empty.
TEST_F(MasstreeFillTest, keys_that_ascend_in_front_of_others_leave_full_pages) {
  for (unsigned run = 0; run < 10; ++run) fill(0, run * 10000, run * 10000 + 20, 1, kPayload);
  for (unsigned i = 20; i < 1000; ++i) {
    for (unsigned run = 0; run < 10; ++run) {
      fill(0, run * 10000 + i, run * 10000 + i + 1, 1, kPayload);
    }
  }
  EXPECT_GT(filled(), 0.8);
}

// Random order is known to fill about two thirds.
TEST_F(MasstreeFillTest, random_keys_leave_pages_more_than_half_full) {
  std::uint64_t state = 1;
  for (unsigned i = 0; i < 5000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto key = static_cast<unsigned>((state >> 33) % 10'000'000);
    fill(0, key, key + 1, 1, kPayload);
  }
  EXPECT_GT(filled(), 0.55);
}

}  // namespace
}  // namespace foedus::testing::fill_test
