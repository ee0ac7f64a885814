// A directory whose process ended before any commit was durable has nothing to glean.
// ctest-labels: concurrency crash
#include <gtest/gtest.h>

#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/log.h"
#include "gleaner/directory_glean.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::gleaner::first_epoch_test {
namespace {

TEST(FirstEpochTest, of_a_killed_process_is_nothing_to_glean) {
  const testing::TestDirectory directory;
  {
    testing::ManualRuntime runtime(1);
    const auto device = device::FileDevice::open(directory.path(), Facility::kTry).value();
    epoch::EpochClock clock(&runtime, Epoch(1), 4, 10'000);
    const auto log = log::Log::open(device.get(), &runtime, {.loggers = 1}, {}).value();
    testing::must(log->start(&clock));
  }
  const Status status = glean_directory(directory.path(), {.sink = {}}).status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound) << status.message();
  EXPECT_NE(status.message().find("holds no commit"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace foedus::gleaner::first_epoch_test
