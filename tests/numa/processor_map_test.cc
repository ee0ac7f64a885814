#include "foedus-core/numa/processor_map.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace foedus::numa::processor_map_test {
namespace {

using Processors = std::vector<std::uint32_t>;

Processors first(std::uint32_t count) {
  Processors processors(count);
  std::iota(processors.begin(), processors.end(), 0u);
  return processors;
}

// Returns "0 1-3 4" for processors with SOCs 0, 1 to 3, 4.
std::string shown(const ProcessorMap& map, std::uint32_t processors) {
  std::string text;
  for (std::uint32_t processor = 0; processor < processors; ++processor) {
    const SocRange range = map.socs_of(processor);
    if (processor != 0) text += ' ';
    text += std::to_string(range.begin);
    if (range.end - range.begin > 1) text += '-' + std::to_string(range.end - 1);
  }
  return text;
}

TEST(ProcessorMapTest, emulated_socs_have_contiguous_blocks_of_processors) {
  EXPECT_EQ(shown(ProcessorMap::in_blocks(first(4), 1), 4), "0 0 0 0");
  EXPECT_EQ(shown(ProcessorMap::in_blocks(first(8), 2), 8), "0 0 0 0 1 1 1 1");
  EXPECT_EQ(shown(ProcessorMap::in_blocks(first(4), 4), 4), "0 1 2 3");
}

TEST(ProcessorMapTest, a_processor_has_several_of_more_socs_than_there_are_processors) {
  EXPECT_EQ(shown(ProcessorMap::in_blocks(first(1), 3), 1), "0-2");
  EXPECT_EQ(shown(ProcessorMap::in_blocks(first(2), 8), 2), "0-3 4-7");
  EXPECT_EQ(shown(ProcessorMap::in_blocks(first(2), 3), 2), "0 1-2");
}

// N8, for every size: each SOC has a processor, and processors share all of their SOCs or none.
TEST(ProcessorMapTest, blocks_cover_all_socs_in_order_and_are_of_one_size_but_for_one) {
  for (std::uint32_t processors = 1; processors <= 40; ++processors) {
    for (std::uint32_t socs = 1; socs <= 64; ++socs) {
      const ProcessorMap map = ProcessorMap::in_blocks(first(processors), socs);
      std::vector<std::uint32_t> processors_of(socs);
      SocRange before = map.socs_of(0);
      EXPECT_EQ(before.begin, 0u);
      for (std::uint32_t processor = 0; processor < processors; ++processor) {
        const SocRange range = map.socs_of(processor);
        ASSERT_LT(range.begin, range.end);
        ASSERT_LE(range.end, socs);
        const bool is_same = range.begin == before.begin && range.end == before.end;
        EXPECT_TRUE(is_same || range.begin == before.end) << processors << ' ' << socs;
        for (std::uint32_t soc = range.begin; soc < range.end; ++soc) ++processors_of[soc];
        before = range;
      }
      EXPECT_EQ(before.end, socs);
      for (const std::uint32_t count : processors_of) {
        EXPECT_GE(count, std::max(1u, processors / socs)) << processors << ' ' << socs;
        EXPECT_LE(count, (processors + socs - 1) / socs) << processors << ' ' << socs;
      }
    }
  }
}

TEST(ProcessorMapTest, a_processor_that_could_not_be_used_counts_as_the_next_lower_one) {
  const ProcessorMap map = ProcessorMap::in_blocks(Processors{2, 3, 6, 7}, 2);
  EXPECT_EQ(shown(map, 10), "0 0 0 0 0 0 1 1 1 1");
  EXPECT_EQ(map.socs_of(4'000).begin, 1u);
}

TEST(ProcessorMapTest, nodes_may_have_processors_in_any_order) {
  const std::vector<Processors> nodes = {{0, 2, 4}, {1, 3, 5}};
  EXPECT_EQ(shown(ProcessorMap::of_socs(nodes), 7), "0 1 0 1 0 1 1");
}

}  // namespace
}  // namespace foedus::numa::processor_map_test
