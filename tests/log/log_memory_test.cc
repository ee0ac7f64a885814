// ctest-program: own
// ctest-labels: memory
// The heap is spent at any place of the steps in which a logger begins a segment.
#include "tests/faults/memory_faults.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_memory_test {
namespace {

using ::foedus::faults::Source;

// Method: one allocation fails, each in turn, of those of the log and of the device.
TEST(LogMemoryTest, an_allocation_that_fails_while_a_segment_is_made_loses_nothing) {
  std::uint64_t failed = 1;
  for (std::uint64_t call = 0; failed != 0 && !HasFailure(); ++call) {
    SCOPED_TRACE("allocation " + std::to_string(call));
    FailingDevice device;
    History expected;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0);
      ASSERT_OK(run.commit_durably(session, 1, 1'000));
      run.log->roll_segments();
      faults::arm(Source::kHeap, call, false);
      run.runtime.run_for(50'000);
      faults::disarm();
      failed = faults::counter_of(Source::kHeap).failed;
      run.runtime.run_for(200'000);  // tries again
      ASSERT_OK(run.commit_durably(session, 2, 1'000));
      EXPECT_GE(run.log->segments().size(), 2u);
      ASSERT_OK(run.close());
      expected = run.history(1);
    }
    EXPECT_EQ(found_in(&device), expected);
  }
}

}  // namespace
}  // namespace foedus::log::testing::log_memory_test
