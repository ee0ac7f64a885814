// How much memory of volatile pages a glean makes free, by whether writers had to wait for it.
#include "foedus-core/engine/glean/drop_goal.h"

#include <gtest/gtest.h>

namespace foedus::engine::drop_goal_test {
namespace {

TEST(DropGoalTest, writers_that_wait_get_more_room_up_to_a_bound) {
  DropGoal goal;
  std::uint32_t before = 60;
  for (int glean = 0; glean < 4; ++glean) {
    goal.next(60, true, true);
    EXPECT_LT(goal.percent(), before);
    before = goal.percent();
  }
  EXPECT_EQ(before, 20u);
  for (int glean = 0; glean < 10; ++glean) goal.next(60, true, true);
  EXPECT_EQ(goal.percent(), 20u);
}

TEST(DropGoalTest, pages_stay_in_memory_when_writers_wait_no_more) {
  DropGoal goal;
  for (int glean = 0; glean < 4; ++glean) goal.next(60, true, true);
  goal.next(60, true, false);
  EXPECT_EQ(goal.percent(), 21u);
  for (int glean = 0; glean < 100; ++glean) goal.next(60, true, false);
  EXPECT_EQ(goal.percent(), 60u);
}

TEST(DropGoalTest, nothing_below_the_percentage_is_dropped_while_it_is_not_exceeded) {
  DropGoal goal;
  for (int glean = 0; glean < 4; ++glean) goal.next(60, true, true);
  goal.next(60, false, true);
  EXPECT_EQ(goal.percent(), 60u);
  goal.next(60, true, true);
  EXPECT_EQ(goal.percent(), 20u);
}

TEST(DropGoalTest, a_glean_begins_earlier_while_writers_wait) {
  DropGoal goal;
  EXPECT_EQ(goal.begin_percent(60), 60u);
  for (int glean = 0; glean < 10; ++glean) goal.next(60, true, true);
  EXPECT_EQ(goal.begin_percent(60), 40u) << "halfway to the 20 that are left";
  for (int glean = 0; glean < 100; ++glean) goal.next(60, true, false);
  EXPECT_EQ(goal.begin_percent(60), 60u);
}

TEST(DropGoalTest, zero_and_small_percentages_are_no_less_than_zero) {
  for (const std::uint32_t percent : {0u, 1u, 2u, 5u}) {
    DropGoal goal;
    for (int glean = 0; glean < 10; ++glean) goal.next(percent, true, true);
    EXPECT_EQ(goal.percent(), percent / 3);
  }
}

}  // namespace
}  // namespace foedus::engine::drop_goal_test
