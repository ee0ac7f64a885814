// Workers that are bound to processors, and the member of the JSON line about pages.

#include "experiments/common/placement.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "experiments/common/options.h"

namespace experiments::placement_test {
namespace {

int processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  return CPU_COUNT(&set);
}

// Returns the processor of worker `worker` of `workers`, or -1 if it is bound to none.
int processor_of(std::uint32_t worker, std::uint32_t workers) {
  int processor = -1;
  std::thread([&] {
    const int before = processors_of_this_thread();
    bind_worker_by_flags(worker, workers);
    if (processors_of_this_thread() != before || before == 1) processor = sched_getcpu();
  }).join();
  return processor;
}

TEST(PlacementTest, workers_are_bound_only_if_asked_for) {
  if (processors_of_this_thread() == 1) GTEST_SKIP() << "there is one processor";
  EXPECT_EQ(processor_of(0, 2), -1);
}

TEST(PlacementTest, workers_are_bound_in_blocks_in_their_order) {
  const gflags::FlagSaver saver;
  FLAGS_bind = true;
  const int processors = processors_of_this_thread();
  const int first = processor_of(0, 2);
  EXPECT_GE(first, 0);
  if (processors == 1) GTEST_SKIP() << "there is one processor";
  EXPECT_GT(processor_of(1, 2), first);
  EXPECT_EQ(processor_of(1, 8) == first, processors < 8);
  EXPECT_EQ(processors_of_this_thread(), processors);
}

TEST(PlacementTest, touches_are_those_of_the_run_and_taken_pages_those_since_open) {
  foedus::Stats before;
  before.socs = {{.sessions = 1, .pages_taken_local = 10, .pages_touched_local = 100}, {}};
  foedus::Stats after;
  after.socs = {{.sessions = 2,
                 .pages_taken_local = 15,
                 .pages_taken_remote = 1,
                 .pages_touched_local = 130,
                 .pages_touched_remote = 4},
                {.sessions = 1, .pages_touched_remote = 7}};
  EXPECT_EQ(placement_between(before, after).text(),
            R"({"sessions": 3, "pages_taken_local": 15, "pages_taken_remote": 1, )"
            R"("pages_touched_local": 30, "pages_touched_remote": 11, "by_soc": [)"
            R"({"sessions": 2, "pages_taken_local": 15, "pages_taken_remote": 1, )"
            R"("pages_touched_local": 30, "pages_touched_remote": 4},)"
            R"({"sessions": 1, "pages_taken_local": 0, "pages_taken_remote": 0, )"
            R"("pages_touched_local": 0, "pages_touched_remote": 7}]})");
}

}  // namespace
}  // namespace experiments::placement_test
