// How long a glean is expected to take, from those before and from what the running one has done.
#include "foedus-core/engine/pace/glean_pace.h"

#include <gtest/gtest.h>

namespace foedus::engine::glean_pace_test {
namespace {

constexpr GleanSize kSize = {.log_bytes = 64e6, .pages = 10'000, .volatile_pages = 100'000};
constexpr std::uint64_t kBegin = 1'000'000;

// Teaches gleans of kSize: 1 s of mapping, 2 s of composing, 0.5 s of installing.
void teach(GleanPace* pace) {
  GleanReport report;
  report.map_reduce_us = 1'000'000;
  report.compose_us = 2'000'000;
  report.install_us = 400'000;
  report.reclaim_us = 100'000;
  for (int i = 0; i < 30; ++i) pace->learn(kSize, report);
}

TEST(GleanPaceTest, a_glean_takes_what_those_before_took) {
  GleanPace pace;
  teach(&pace);
  EXPECT_NEAR(pace.us_of(kSize, kBegin), 3.5e6, 1);
  GleanSize half = kSize;
  half.log_bytes /= 2;
  half.pages /= 2;
  EXPECT_NEAR(pace.us_of(half, kBegin), 2e6, 1);
}

TEST(GleanPaceTest, what_is_next_to_nothing_teaches_nothing) {
  GleanPace pace;
  teach(&pace);
  GleanReport report;
  report.map_reduce_us = report.compose_us = report.install_us = 1'000'000;
  pace.learn({.log_bytes = 1'000, .pages = 3, .volatile_pages = 10}, report);
  EXPECT_NEAR(pace.us_of(kSize, kBegin), 3.5e6, 1);
}

TEST(GleanPaceTest, nothing_is_left_of_a_glean_that_does_not_run) {
  GleanPace pace;
  teach(&pace);
  EXPECT_FALSE(pace.is_running());
  EXPECT_EQ(pace.left(kBegin).share, 0);
  pace.begin(kSize, kBegin);
  EXPECT_TRUE(pace.is_running());
  EXPECT_EQ(pace.left(kBegin).share, 1);
  pace.end();
  EXPECT_EQ(pace.left(kBegin).us, 0);
}

TEST(GleanPaceTest, one_that_goes_as_expected_is_left_less_and_less_of) {
  GleanPace pace;
  teach(&pace);
  pace.begin(kSize, kBegin);
  pace.at({GleanStage::kMap, 32'000'000, 64'000'000}, kBegin + 500'000);
  GleanPace::Left left = pace.left(kBegin + 500'000);
  EXPECT_NEAR(left.us, 3e6, 10);
  EXPECT_NEAR(left.us_to_room, 2.5e6, 10);
  EXPECT_NEAR(left.share, 3 / 3.5, 1e-3);
  EXPECT_NEAR(left.slowness, 1, 1e-3);
  pace.at({GleanStage::kCompose, 0, 100}, kBegin + 1'000'000);
  pace.at({GleanStage::kCompose, 50, 100}, kBegin + 2'000'000);
  left = pace.left(kBegin + 2'000'000);
  EXPECT_NEAR(left.us, 1.5e6, 10);
  EXPECT_NEAR(left.us_to_room, 1e6, 10);
  pace.at({.stage = GleanStage::kInstall}, kBegin + 3'000'000);
  left = pace.left(kBegin + 3'100'000);
  EXPECT_NEAR(left.us, 0.4e6, 10);
  EXPECT_EQ(left.us_to_room, 0);
}

TEST(GleanPaceTest, one_that_is_slower_is_found_out_before_it_ends) {
  GleanPace pace;
  teach(&pace);
  pace.begin(kSize, kBegin);
  pace.at({GleanStage::kMap, 64'000'000, 64'000'000}, kBegin + 1'000'000);
  pace.at({GleanStage::kCompose, 0, 100}, kBegin + 1'000'000);
  pace.at({GleanStage::kCompose, 30, 100}, kBegin + 4'000'000);
  const GleanPace::Left left = pace.left(kBegin + 4'000'000);  // 10 s for all of that stage
  EXPECT_NEAR(left.us_to_room, 7e6, 10);
  EXPECT_GT(left.slowness, 3);
  EXPECT_NEAR(pace.us_of(kSize, kBegin + 4'000'000), 3.5e6 * left.slowness, 1);
}

// Runs a glean whose mapping reports half of its work, as sorting is not counted, and whose
// composing takes three times as long for its second half as for the first.
void run_with_a_course(GleanPace* pace, std::uint64_t begin_us) {
  pace->begin(kSize, begin_us);
  pace->at({GleanStage::kMap, 32'000'000, 64'000'000}, begin_us + 250'000);
  pace->at({GleanStage::kMap, 64'000'000, 64'000'000}, begin_us + 500'000);
  const std::uint64_t compose_us = begin_us + 1'000'000;
  pace->at({GleanStage::kCompose, 0, 100}, compose_us);
  pace->at({GleanStage::kCompose, 50, 100}, compose_us + 500'000);
  pace->at({GleanStage::kCompose, 100, 100}, compose_us + 2'000'000);
  pace->at({.stage = GleanStage::kInstall}, compose_us + 2'000'000);
  pace->end();
}

TEST(GleanPaceTest, a_stage_goes_as_it_went_before) {
  GleanPace pace;
  teach(&pace);
  for (std::uint64_t i = 0; i < 30; ++i) run_with_a_course(&pace, kBegin + 10'000'000 * i);
  const std::uint64_t begin_us = kBegin + 1'000'000'000;
  pace.begin(kSize, begin_us);
  pace.at({GleanStage::kMap, 32'000'000, 64'000'000}, begin_us + 250'000);
  EXPECT_NEAR(pace.left(begin_us + 250'000).us_to_room, 2.75e6, 10);
  pace.at({GleanStage::kMap, 64'000'000, 64'000'000}, begin_us + 500'000);
  EXPECT_NEAR(pace.left(begin_us + 500'000).us_to_room, 2.5e6, 10);
  EXPECT_NEAR(pace.left(begin_us + 900'000).us_to_room, 2.1e6, 10) << "nothing more is told";
  pace.at({GleanStage::kCompose, 50, 100}, begin_us + 1'000'000);
  EXPECT_NEAR(pace.left(begin_us + 1'000'000).us_to_room, 2e6, 10) << "its begin was not told";
  pace.begin(kSize, begin_us);
  pace.at({GleanStage::kCompose, 0, 100}, begin_us + 1'000'000);
  pace.at({GleanStage::kCompose, 50, 100}, begin_us + 1'500'000);
  const GleanPace::Left left = pace.left(begin_us + 1'500'000);
  EXPECT_NEAR(left.us_to_room, 1.5e6, 10);
  EXPECT_NEAR(left.slowness, 1, 0.01);
}

// The glean is twice as slow as the earlier ones, at each point.
TEST(GleanPaceTest, one_that_is_slower_goes_the_same_course) {
  GleanPace pace;
  teach(&pace);
  for (std::uint64_t i = 0; i < 30; ++i) run_with_a_course(&pace, kBegin + 10'000'000 * i);
  const std::uint64_t begin_us = kBegin + 1'000'000'000;
  pace.begin(kSize, begin_us);
  pace.at({GleanStage::kMap, 64'000'000, 64'000'000}, begin_us + 1'000'000);
  pace.at({GleanStage::kCompose, 0, 100}, begin_us + 2'000'000);
  pace.at({GleanStage::kCompose, 50, 100}, begin_us + 3'000'000);
  EXPECT_NEAR(pace.left(begin_us + 3'000'000).us_to_room, 3e6, 10);
}

TEST(GleanPaceTest, what_was_not_told_of_was_done_at_the_end) {
  GleanPace pace;
  teach(&pace);
  for (std::uint64_t i = 0; i < 30; ++i) {
    const std::uint64_t begin_us = kBegin + 10'000'000 * i;
    pace.begin(kSize, begin_us);
    pace.at({GleanStage::kMap, 48'000'000, 64'000'000}, begin_us + 400'000);
    pace.at({GleanStage::kCompose, 0, 100}, begin_us + 1'000'000);
    pace.end();
  }
  const std::uint64_t begin_us = kBegin + 1'000'000'000;
  pace.begin(kSize, begin_us);
  pace.at({GleanStage::kMap, 48'000'000, 64'000'000}, begin_us + 400'000);
  EXPECT_NEAR(pace.left(begin_us + 400'000).us_to_room, 2.6e6, 10);
}

// Stages end before they have reported much progress.
TEST(GleanPaceTest, a_short_stage_teaches_no_course) {
  GleanPace pace;
  teach(&pace);
  for (std::uint64_t i = 0; i < 30; ++i) {
    const std::uint64_t begin_us = kBegin + 10'000'000 * i;
    pace.begin(kSize, begin_us);
    pace.at({GleanStage::kMap, 64'000'000, 64'000'000}, begin_us + 1'000);
    pace.at({GleanStage::kCompose, 10, 100}, begin_us + 100'000);
    pace.at({.stage = GleanStage::kInstall}, begin_us + 2'000'000);
    pace.end();
  }
  const std::uint64_t begin_us = kBegin + 1'000'000'000;
  pace.begin(kSize, begin_us);
  pace.at({GleanStage::kMap, 32'000'000, 64'000'000}, begin_us + 500'000);
  EXPECT_NEAR(pace.left(begin_us + 500'000).us_to_room, 2.5e6, 10);
  pace.at({GleanStage::kCompose, 0, 100}, begin_us + 1'000'000);
  pace.at({GleanStage::kCompose, 50, 100}, begin_us + 2'000'000);
  EXPECT_NEAR(pace.left(begin_us + 2'000'000).us_to_room, 1e6, 10);
}

TEST(GleanPaceTest, one_that_tells_nothing_is_not_taken_to_go_on) {
  GleanPace pace;
  teach(&pace);
  pace.begin(kSize, kBegin);
  const GleanPace::Left left = pace.left(kBegin + 60'000'000);
  EXPECT_GE(left.us_to_room, 60e6);
  EXPECT_GE(left.share, 0.5);
}

}  // namespace
}  // namespace foedus::engine::glean_pace_test
