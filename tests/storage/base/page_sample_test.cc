// PageSamples: a sample of bounded size, spread evenly over all added pages. It bounds the memory
// of a glean for a database of any size.
#include "foedus-core/storage/base/page_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace foedus::storage::page_sample_test {
namespace {

std::vector<PageSample> sample_of(std::size_t samples_max, std::uint64_t pages) {
  PageSamples samples(samples_max);
  for (std::uint64_t page = 0; page < pages; ++page) {
    if (samples.is_next_taken()) samples.add(page, static_cast<std::uint32_t>(page % 7));
  }
  return samples.take();
}

TEST(PageSamplesTest, few_pages_are_all_in) {
  const std::vector<PageSample> sample = sample_of(64, 63);
  ASSERT_EQ(sample.size(), 63u);
  for (std::uint64_t i = 0; i < sample.size(); ++i) {
    EXPECT_EQ(sample[i].position, i);
    EXPECT_EQ(sample[i].soc, i % 7);
  }
}

TEST(PageSamplesTest, of_any_number_of_pages_a_bounded_number_is_in) {
  for (const std::uint64_t pages : {64u, 65u, 127u, 128u, 1000u, 4096u, 1'000'003u}) {
    const std::vector<PageSample> sample = sample_of(64, pages);
    EXPECT_GE(sample.size(), 32u) << pages;
    EXPECT_LT(sample.size(), 64u) << pages;
  }
}

TEST(PageSamplesTest, what_is_in_stands_at_even_distances_to_the_end) {
  const std::uint64_t pages = 1'000'003;
  const std::vector<PageSample> sample = sample_of(64, pages);
  const std::uint64_t distance = sample[1].position - sample[0].position;
  for (std::size_t i = 1; i < sample.size(); ++i) {
    EXPECT_EQ(sample[i].position - sample[i - 1].position, distance) << i;
  }
  EXPECT_LT(sample.front().position, distance);
  EXPECT_GE(sample.back().position + distance, pages);
}

TEST(PageSamplesTest, several_samples_are_one_as_dense_as_the_sparsest) {
  PageSamples all(64);
  std::uint64_t page = 0;
  for (const std::uint64_t pages : {1'000u, 50'000u, 10u, 20'000u}) {
    PageSamples some(64);
    for (const std::uint64_t end = page + pages; page < end; ++page) {
      if (some.is_next_taken()) some.add(page, 0);
    }
    all.add_all(std::move(some));
  }
  const std::vector<PageSample> sample = all.take();
  EXPECT_GE(sample.size(), 24u);
  EXPECT_LT(sample.size(), 64u);
  const auto before = [&](std::uint64_t end) {
    return std::ranges::count_if(sample, [&](const PageSample& s) { return s.position < end; });
  };
  EXPECT_LE(before(1'000), 1);
  EXPECT_NEAR(static_cast<double>(before(51'000)) / static_cast<double>(sample.size()),
              51'000.0 / 71'010.0, 0.1);
}

TEST(PageSamplesTest, taking_leaves_no_memory_behind) {
  PageSamples samples(1024);
  for (std::uint64_t page = 0; page < 100'000; ++page) {
    if (samples.is_next_taken()) samples.add(page, 0);
  }
  EXPECT_LE(samples.take().capacity(), 1024u);
}

}  // namespace
}  // namespace foedus::storage::page_sample_test
