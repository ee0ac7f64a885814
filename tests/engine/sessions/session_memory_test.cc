// ctest-program: own
// ctest-labels: memory
// The heap is spent at any place of the making of a session: the session's share of memory is given
// back, and only once.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/engine.h"
#include "tests/faults/memory_faults.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::session_memory_test {
namespace {

using testing::must;

class Sessions {
 public:
  Sessions() {
    Options options = testing::small_options("/failing");
    options.memory_bytes = 64u << 20;
    options.glean.memory_bytes = 16u << 20;
    options.pages.cache_bytes = 16u << 20;
    options.sessions_max = 1'000;
    engine_ = must(engine::Engine::open(options, {.runtime = &runtime_, .device = &device_}));
  }
  ~Sessions() { must(engine_->close()); }

  Status make_one() {
    return base::catching([&] { return engine_->take_session(); }).status();
  }
  // Makes sessions until there is no memory for another one. Returns their number.
  std::uint64_t make_all() {
    std::uint64_t count = 0;
    Status refused = make_one();
    for (; refused.is_ok(); refused = make_one()) ++count;
    EXPECT_EQ(refused.code(), ErrorCode::kOutOfMemory);
    return count;
  }

 private:
  testing::FailingDevice device_;
  testing::ManualRuntime runtime_{1};
  std::unique_ptr<engine::Engine> engine_;
};

// Goal: after failures there is memory for as many sessions as without them. Method: one allocation
// fails, each in turn and several times, until a session is made.
TEST(SessionMemoryTest, a_session_that_was_not_made_gives_its_memory_back_once) {
  const std::uint64_t sessions = Sessions().make_all();
  Sessions after_failures;
  constexpr std::uint64_t kTimes = 10;
  std::uint64_t failures = 0;
  for (bool is_made = false; !is_made; ++failures) {
    faults::arm(faults::Source::kHeap, failures / kTimes, false);
    const Status made = after_failures.make_one();
    faults::disarm();
    is_made = made.is_ok();
    ASSERT_TRUE(is_made || made.code() == ErrorCode::kOutOfMemory) << made.message();
  }
  EXPECT_GT(failures, 3 * kTimes);
  EXPECT_EQ(after_failures.make_all() + 1, sessions);
}

}  // namespace
}  // namespace foedus::session_memory_test
