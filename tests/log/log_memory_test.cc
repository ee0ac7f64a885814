// ctest-program: own
// ctest-labels: memory
// The heap is spent at any place of the steps in which a logger begins a segment.
#include "tests/faults/memory_faults.h"
#include "tests/log/change_consumer.h"

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

// Method: of each call, each allocation fails once, in turn; then the call succeeds.
TEST(LogMemoryTest, an_allocation_that_fails_in_a_reader_of_changes_loses_none) {
  FailingDevice device;
  ChangeRun run(&device, 2, 64u << 10);
  ASSERT_OK(run.open_and_start());
  for (std::uint32_t soc = 0; soc < 2; ++soc) run.session(soc);
  for (std::uint64_t i = 0; i < 60; ++i) {
    ASSERT_OK(run.sessions[i % 2]->commit(i, 3'000));
    if (i % 9 == 0) run.runtime.run_for(12'000);
  }
  ASSERT_OK(run.wait(run.clock->current()));
  const auto reader = ChangeReader::open(run.log.get(), Epoch());
  ASSERT_OK(reader);
  std::vector<Seen> seen;
  std::uint64_t failures = 0;
  for (bool has_changes = true; has_changes && !HasFailure();) {
    for (std::uint64_t call = 0;; ++call) {
      faults::arm(Source::kHeap, call, false);
      const auto batch = (*reader)->next();
      faults::disarm();
      if (!batch.is_ok()) {
        ASSERT_EQ(batch.status().code(), ErrorCode::kOutOfMemory);
        ++failures;
        continue;
      }
      for (const Change& change : batch->changes) {
        seen.push_back({batch->epoch.number(), change.record->index()});
      }
      has_changes = !batch->changes.empty();
      break;
    }
  }
  EXPECT_GT(failures, 50u);
  expect_seen(seen, expected(run, Epoch(Epoch::kMax)));
}

}  // namespace
}  // namespace foedus::log::testing::log_memory_test
