// ctest-program: own
// ctest-labels: memory
// ctest-timeout: 900
// System calls of the device layer that fail, are interrupted, are cut short, or end the process,
// at every place of a database's life.
//
// Goal: an interrupted or short call has no effect. A failure is reported with its errno, no
// acknowledged transaction is lost, none is there in part, reads go on, and after a lack of space
// the same database goes on. Method: the calls of a whole life are counted over real files. Then
// the life is repeated with call 0, 1, 2, ... hit, alone or with all later calls that change
// something. A seed (FOEDUS_SEED; printed, another one each time) selects some of them, spread over
// the life; all with FOEDUS_FAULTS=all.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/faults/device_faults.h"
#include "tests/faults/life.h"
#include "tests/testing/test_database.h"

namespace foedus::faults::device_test {
namespace {

constexpr std::uint64_t kSelected = 100;  // of each fault

bool wants_all() {
  const char* const faults = std::getenv("FOEDUS_FAULTS");
  return faults != nullptr && std::strcmp(faults, "all") == 0;
}

struct Trial {
  Fault fault;
  std::uint64_t call;
  bool is_sticky;
};

bool ends_process(Fault fault) { return fault >= Fault::kEndBefore; }

// An interrupted sync is a failed one (V2), so the call that needed it may report it.
bool may_fail_with(Fault fault, const Status& status) {
  switch (fault) {
    case Fault::kShort:
      return false;
    case Fault::kInterrupted:
      return status.error_number() == EINTR;
    case Fault::kIoError:
      return status.error_number() == EIO;
    case Fault::kNoSpace:
      return status.error_number() == ENOSPC || status.error_number() == EIO;
    default:
      return false;
  }
}

class DeviceTest : public ::testing::TestWithParam<Fault> {
 protected:
  DeviceTest() {
    void* const shared = mmap(nullptr, sizeof(Life::Rows), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(shared, MAP_FAILED);
    rows_ = new (shared) Life::Rows;
  }
  ~DeviceTest() override { munmap(rows_, sizeof(Life::Rows)); }

  // Leads a life with one fault. Returns the number of calls.
  std::uint64_t lead(const Trial& trial) {
    *rows_ = {};
    const testing::TestDirectory directory;
    const std::string path = directory.path() + "/db";
    std::uint64_t number = 0;
    if (ends_process(trial.fault)) {
      const pid_t child = fork();
      if (child == 0) {
        live(path, trial);
        _exit(HasFailure() ? 1 : 0);
      }
      int result = 0;
      waitpid(child, &result, 0);
      EXPECT_TRUE(WIFEXITED(result)) << result;
      const int code = WEXITSTATUS(result);
      EXPECT_TRUE(code == kEnded || code == 0) << code;  // 0: fewer calls this time
    } else {
      number = live(path, trial);
    }
    is_counting = false;
    Life after(path, rows_, nullptr);
    if (after.open().is_ok()) after.check();
    after.abandon();
    return number;
  }

 private:
  std::uint64_t live(const std::string& path, const Trial& trial) {
    Life life(path, rows_, [&](const Status& status) {
      return failed != 0 && may_fail_with(trial.fault, status);
    });
    arm(trial.fault, trial.call, trial.is_sticky);
    for (int i = 0; i < kPhases && !HasFailure(); ++i) {
      const auto phase = static_cast<Phase>(i);
      SCOPED_TRACE(kPhaseNames[static_cast<std::size_t>(i)]);
      const Status status = life.run(phase);
      if (status.is_ok()) continue;
      if (life.has_storages()) life.check_reads();
      disarm();
      go_on(&life, status);
      if (phase == Phase::kClose && life.is_open()) life.abandon();
    }
    disarm();
    life.abandon();
    return calls;
  }

  // Lets the life go on: after a lack of space in the same database, otherwise after another open.
  void go_on(Life* life, const Status& why) {
    if (why.code() != ErrorCode::kOutOfSpace) life->abandon();
    if (!life->is_open() && !life->open().is_ok()) return;
    Status status;
    for (int i = 0; i < 100; ++i) {
      status = life->create();
      if (status.is_ok()) status = life->write(1);
      if (status.is_ok()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << status.message();
  }

  Life::Rows* rows_;
};

TEST_P(DeviceTest, a_call_that_is_struck_loses_nothing) {
  const Fault what = GetParam();
  const std::uint64_t number = lead({Fault::kShort, kNever, false});
  const bool may_stick = what == Fault::kIoError || what == Fault::kNoSpace;
  const std::uint64_t seed = testing::test_seed(base::system_seed());
  base::Random random(seed + static_cast<std::uint64_t>(what));
  std::uint64_t tried = 0;
  const std::uint64_t selected = wants_all() ? number : kSelected;
  for (std::uint64_t i = 0; i < selected && !HasFailure(); ++i) {
    // One call of each part of the life is chosen. The last calls of one life need not be made in
    // the next.
    const std::uint64_t call = wants_all() ? i : (i * number + random.below(number)) / selected;
    const bool sticks = random.below(2) == 0;
    for (const bool sticky : {false, true}) {
      if (sticky && !may_stick) continue;
      if (!wants_all() && may_stick && sticky != sticks) continue;
      SCOPED_TRACE(std::string(kFaultNames[static_cast<std::size_t>(what)]) + " at call " +
                   std::to_string(call) + (sticky ? " and later" : ""));
      lead({what, call, sticky});
      ++tried;
    }
  }
  std::printf("%s: %lu calls, %lu trials\n", kFaultNames[static_cast<std::size_t>(what)], number,
              tried);
}

INSTANTIATE_TEST_SUITE_P(Faults, DeviceTest,
                         ::testing::Values(Fault::kInterrupted, Fault::kShort, Fault::kIoError,
                                           Fault::kNoSpace, Fault::kEndBefore, Fault::kEndMiddle,
                                           Fault::kEndAfter),
                         [](const auto& of) {
                           std::string name = kFaultNames[static_cast<std::size_t>(of.param)];
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace foedus::faults::device_test
