// ctest-labels: concurrency crash
// ctest-timeout: 120
// Short runs whose processes are killed at random moments: the history goes on in the next one, and
// has no anomaly.
#include <gtest/gtest.h>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/isolation/run.h"
#include "tests/testing/test_database.h"

namespace foedus::isolation::history_crash_test {
namespace {

void expect_no_anomaly(Workload workload) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not follow threads into a child";
#endif
  const testing::TestDirectory directory;
  RunOptions options;
  options.dir = directory.path() + "/db";
  options.workload = workload;
  options.sessions = 4;
  options.socs = 2;
  options.txns = 30'000;
  options.txns_per_window = 3'000;
  options.crashes = 4;
  options.crash_ms_max = 500;
  options.keys = 400;
  options.slots = 8;
  options.memory_bytes = 192u << 20;
  options.seed = testing::test_seed(base::system_seed());
  Checker checker;
  const RunResult result = testing::must(run_history(options, &checker));
  for (const Anomaly& anomaly : checker.anomalies()) {
    ADD_FAILURE() << anomaly.name << ": " << anomaly.text.substr(0, 4'000);
  }
  EXPECT_EQ(checker.stats().crashes, 4u);
  EXPECT_EQ(result.processes, 5u);
  EXPECT_GT(checker.stats().writers, 1'000u);
}

TEST(HistoryCrashTest, registers_survive_kills) { expect_no_anomaly(Workload::kRegister); }
TEST(HistoryCrashTest, lists_survive_kills) { expect_no_anomaly(Workload::kList); }

}  // namespace
}  // namespace foedus::isolation::history_crash_test
