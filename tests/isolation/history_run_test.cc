// ctest-labels: concurrency
// ctest-timeout: 120
// Short runs of both workloads have no anomaly. They are in this process, so that sanitizers see
// all.
#include <gtest/gtest.h>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/isolation/run.h"
#include "tests/testing/test_database.h"

namespace foedus::isolation::history_run_test {
namespace {

void expect_no_anomaly(Workload workload, std::uint32_t sessions, std::uint32_t socs) {
  const testing::TestDirectory directory;
  RunOptions options;
  options.dir = directory.path() + "/db";
  options.workload = workload;
  options.forks = false;
  options.sessions = sessions;
  options.socs = socs;
  options.txns = 40'000;
  options.seconds = 6;
  options.txns_per_window = 4'000;
  options.keys = 400;
  options.slots = 8;
  options.memory_bytes = 192u << 20;
  options.seed = testing::test_seed(base::system_seed());
  Checker checker;
  const RunResult result = testing::must(run_history(options, &checker));
  for (const Anomaly& anomaly : checker.anomalies()) {
    ADD_FAILURE() << anomaly.name << ": " << anomaly.text.substr(0, 4'000);
  }
  EXPECT_GT(checker.stats().writers, 1'000u);
  EXPECT_GT(checker.stats().readers, 100u);
  EXPECT_GT(checker.stats().snapshots, 50u);
  std::printf("%llu transactions, %llu gleans\n",
              static_cast<unsigned long long>(checker.stats().txns),
              static_cast<unsigned long long>(result.gleans));
}

TEST(HistoryRunTest, registers_of_four_sessions) { expect_no_anomaly(Workload::kRegister, 4, 2); }
TEST(HistoryRunTest, lists_of_four_sessions) { expect_no_anomaly(Workload::kList, 4, 2); }

}  // namespace
}  // namespace foedus::isolation::history_run_test
