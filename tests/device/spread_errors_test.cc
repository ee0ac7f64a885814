// ctest-labels: crash memory
// SpreadDevice where a call of one of its directories fails: the change fails, and is done again
// later.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/device/spread/directory_mark.h"
#include "foedus-core/device/spread/spread_device.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/test_database.h"

namespace foedus::device::spread_errors_test {
namespace {

using testing::Call;
using testing::FailingDevice;
using testing::must;

constexpr std::string_view kLog0 = "log-0-00000001";
constexpr std::string_view kLog2 = "log-2-00000001";

std::unique_ptr<SpreadDevice> spread_over(FailingDevice* main, std::vector<Device*> others) {
  return must(SpreadDevice::make(main, std::move(others), 1));
}

// Makes a file, synced, with an unsynced name.
Status put(Device* device, std::string_view name) {
  FOEDUS_TRY(const auto file, device->open(name, Access::kCreate));
  FOEDUS_CHECK(file->write_at(0, "x", 1));
  return file->sync();
}

class SpreadErrorsTest : public ::testing::Test {
 protected:
  FailingDevice main{"/main"};
  FailingDevice a{"/a"};
  FailingDevice b{"/b"};
};

// V13: a change fails if a mark cannot be written, and a failed one is tried again. Method: each
// call of the first change fails.
TEST_F(SpreadErrorsTest, nothing_changes_if_a_mark_cannot_be_written) {
  using Change = Status (*)(SpreadDevice*);
  must(put(&main, "log-5-00000001"));
  for (const Change change :
       {Change([](SpreadDevice* device) { return device->remove("log-5-00000001"); }),
        Change([](SpreadDevice* device) {
          return device->rename("log-5-00000001", "log-6-00000001");
        }),
        Change([](SpreadDevice* device) { return put(device, "log-4-00000001"); })}) {
    for (const Call call : {Call::kCreate, Call::kWrite, Call::kSync, Call::kSyncDirectory}) {
      for (const bool is_main : {true, false}) {
        bool has_failed = true;
        for (std::uint64_t skip = 0; has_failed; ++skip) {
          SCOPED_TRACE(skip);
          const auto main_copy = main.copy();
          const auto a_copy = a.copy();
          const auto spread = spread_over(main_copy.get(), {a_copy.get()});
          FailingDevice& failing = is_main ? *main_copy : *a_copy;
          const std::uint64_t before = failing.calls(call);
          failing.fail(call, skip, EIO);
          const Status changed = change(spread.get());
          has_failed = failing.calls(call) - before > skip;
          EXPECT_EQ(changed.code(), has_failed ? ErrorCode::kIoError : ErrorCode::kOk);
          failing.clear_faults();
          must(put(spread.get(), "log-7-00000001"));
          EXPECT_TRUE(main_copy->exists(std::string(kMarkName)));
          EXPECT_TRUE(a_copy->exists(std::string(kMarkName)));
        }
      }
    }
  }
}

// V12: a change in another directory than that of the name is durable, or fails.
TEST_F(SpreadErrorsTest, a_change_elsewhere_that_fails_is_an_error) {
  must(put(spread_over(&main, {&a, &b}).get(), kLog0));
  const auto spread = spread_over(&main, {&b, &a});
  must(put(spread.get(), "savepoint"));
  a.fail(Call::kRemove, 0, EIO);
  EXPECT_EQ(spread->remove(kLog0).code(), ErrorCode::kIoError);
  a.fail(Call::kRename, 0, EIO);
  EXPECT_EQ(spread->rename(kLog0, kLog2).code(), ErrorCode::kIoError);
  // It is not known whether the main directory has the new name.
  main.fail(Call::kOpen, 1, EIO);
  EXPECT_EQ(spread->rename(kLog0, kLog2).code(), ErrorCode::kIoError);
  EXPECT_TRUE(a.exists(std::string(kLog0)));
  a.fail(Call::kSyncDirectory, 0, EIO);
  EXPECT_EQ(spread->rename(kLog0, kLog2).code(), ErrorCode::kIoError);
  a.fail(Call::kSyncDirectory, 0, EIO);
  EXPECT_EQ(spread->remove(kLog2).code(), ErrorCode::kIoError);
}

}  // namespace
}  // namespace foedus::device::spread_errors_test
