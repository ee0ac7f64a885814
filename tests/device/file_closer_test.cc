// V16: the task closes all files, and a wait ends when it has done so.
#include "foedus-core/device/file_closer.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/testing/at_sync_point.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::device::file_closer_test {
namespace {

using foedus::testing::AtSyncPoint;
using foedus::testing::FailingDevice;

constexpr std::uint64_t kFileBytes = 4096;

// Makes `count` open files without names.
OpenFiles make_nameless(FailingDevice* device, unsigned first, unsigned count) {
  OpenFiles files;
  for (unsigned i = first; i < first + count; ++i) {
    const std::string name = "f" + std::to_string(i);
    files.push_back(std::move(device->open(name, Access::kCreate)).value());
    EXPECT_TRUE(files.back()->preallocate(kFileBytes).is_ok());
    EXPECT_TRUE(device->remove(name).is_ok());
  }
  return files;
}

TEST(FileCloserTest, what_is_waited_for_has_given_its_room_back) {
  FailingDevice device;
  const auto runtime = base::make_thread_runtime();
  FileCloser closer(runtime.get());
  closer.wait();  // no file to wait for
  for (unsigned round = 0; round < 20; ++round) {
    closer.close(make_nameless(&device, 10 * round, 3));
    closer.close(make_nameless(&device, 10 * round + 3, 2));
    closer.close({});
    closer.wait();
    ASSERT_EQ(device.used_bytes(), 0u);
  }
}

TEST(FileCloserTest, the_one_that_is_being_closed_is_waited_for) {
  FailingDevice device;
  const auto runtime = base::make_thread_runtime();
  FileCloser closer(runtime.get());
  AtSyncPoint at("file_closer:close", [&] { runtime->pause(20'000); });
  closer.close(make_nameless(&device, 0, 1));
  while (at.runs() == 0) runtime->pause(100);
  closer.wait();
  EXPECT_EQ(device.used_bytes(), 0u);
}

TEST(FileCloserTest, each_step_closes_one) {
  FailingDevice device;
  foedus::testing::ManualRuntime runtime;
  FileCloser closer(&runtime);
  closer.close(make_nameless(&device, 0, 3));
  EXPECT_EQ(device.used_bytes(), 3 * kFileBytes);
  EXPECT_EQ(closer.step(), 0u);
  EXPECT_EQ(device.used_bytes(), 2 * kFileBytes);
  EXPECT_EQ(closer.step(), 0u);
  EXPECT_EQ(closer.step(), 0u);
  EXPECT_EQ(device.used_bytes(), 0u);
  EXPECT_EQ(closer.step(), base::Task::kUntilNotified);
}

TEST(FileCloserTest, what_comes_while_one_is_closed_is_waited_for) {
  FailingDevice device;
  const auto runtime = base::make_thread_runtime();
  FileCloser closer(runtime.get());
  AtSyncPoint at("file_closer:close", [&] { closer.close(make_nameless(&device, 5, 2)); });
  closer.close(make_nameless(&device, 0, 1));
  while (at.runs() == 0) runtime->pause(100);
  closer.wait();
  EXPECT_EQ(device.used_bytes(), 0u);
}

TEST(FileCloserTest, what_is_left_is_closed_when_it_goes) {
  FailingDevice device;
  foedus::testing::ManualRuntime runtime;
  {
    FileCloser closer(&runtime);
    closer.close(make_nameless(&device, 0, 3));
  }
  EXPECT_EQ(device.used_bytes(), 0u);
}

}  // namespace
}  // namespace foedus::device::file_closer_test
