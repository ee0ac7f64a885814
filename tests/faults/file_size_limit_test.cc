// A process that reaches its limit of the size of files (RLIMIT_FSIZE), whose signal ends an
// unprepared program.
//
// Goal: the engine returns kOutOfSpace, whichever thread reached the limit, and the program lives;
// it can read, and goes on once the limit is raised. Method: a child process, because the limit is
// of the process, with the default action of the signal.
// ctest-labels: memory
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tests/faults/life.h"
#include "tests/testing/test_database.h"

namespace foedus::faults::file_size_limit_test {
namespace {

void set_limit(rlim_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

bool is_out_of_space(const Status& status) { return status.code() == ErrorCode::kOutOfSpace; }

// Runs `function` in a child; false if a signal ended it or it found a failure.
template <typename Function>
bool lives(Function&& function) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_DFL);
    function();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int result = 0;
  waitpid(child, &result, 0);
  EXPECT_FALSE(WIFSIGNALED(result)) << "signal " << WTERMSIG(result);
  return WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

void expect_that_it_goes_on(Life* life) {
  Status status;
  for (int i = 0; i < 100; ++i) {
    status = life->write(1);
    if (status.is_ok()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << status.message();
}

TEST(FileSizeLimitTest, commits_at_the_limit_are_out_of_space_and_go_on_above_it) {
  EXPECT_TRUE(lives([] {
    const testing::TestDirectory directory;
    Life::Rows rows;
    Life life(directory.path() + "/db", &rows, is_out_of_space);
    ASSERT_TRUE(life.open().is_ok());
    ASSERT_TRUE(life.create().is_ok());
    ASSERT_TRUE(life.write(5).is_ok());
    set_limit(128u << 10);
    Status status;
    while (status.is_ok()) status = life.write(1);
    EXPECT_EQ(status.code(), ErrorCode::kOutOfSpace) << status.message();
    EXPECT_EQ(status.error_number(), EFBIG);
    life.check_reads();
    EXPECT_EQ(life.glean().code(), ErrorCode::kOutOfSpace);
    set_limit(RLIM_INFINITY);
    expect_that_it_goes_on(&life);
    EXPECT_TRUE(life.glean().is_ok());
    EXPECT_TRUE(life.close().is_ok());
    ASSERT_TRUE(life.open().is_ok());
    life.check();
    life.abandon();
  }));
}

TEST(FileSizeLimitTest, an_open_at_the_limit_is_out_of_space_and_succeeds_above_it) {
  EXPECT_TRUE(lives([] {
    const testing::TestDirectory directory;
    Life::Rows rows;
    Life life(directory.path() + "/db", &rows, is_out_of_space);
    set_limit(1);
    EXPECT_EQ(life.open().code(), ErrorCode::kOutOfSpace);
    set_limit(RLIM_INFINITY);
    ASSERT_TRUE(life.open().is_ok());
    ASSERT_TRUE(life.create().is_ok());
    ASSERT_TRUE(life.write(60).is_ok());
    ASSERT_TRUE(life.close().is_ok());
    set_limit(1);
    EXPECT_EQ(life.open().code(), ErrorCode::kOutOfSpace);
    set_limit(RLIM_INFINITY);
    ASSERT_TRUE(life.open().is_ok());
    life.check();
    life.abandon();
  }));
}

// Goal: a limit that is lowered between its check and the write does not end the program. Method:
// the signal is blocked in this thread and sent to the process, so that it ends the program if a
// thread of the engine takes it.
TEST(FileSizeLimitTest, no_thread_of_the_engine_takes_the_signal) {
  EXPECT_TRUE(lives([] {
    const testing::TestDirectory directory;
    Life::Rows rows;
    Life life(directory.path() + "/db", &rows, is_out_of_space);
    ASSERT_TRUE(life.open().is_ok());
    ASSERT_TRUE(life.create().is_ok());
    ASSERT_TRUE(life.write(2).is_ok());  // by now all threads run
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
    ASSERT_EQ(kill(getpid(), SIGXFSZ), 0);
    EXPECT_TRUE(life.write(2).is_ok());
    const timespec at_once{};
    EXPECT_EQ(sigtimedwait(&set, nullptr, &at_once), SIGXFSZ);
    life.abandon();
  }));
}

}  // namespace
}  // namespace foedus::faults::file_size_limit_test
