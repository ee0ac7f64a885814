// ctest-labels: memory
// ctest-timeout: 300
// Power failures at every kind of moment, over a simulated device and one thread, many on one
// directory. The database must come back as after some transaction that is no older than the last
// one reported durable. A seed repeats a run exactly; FOEDUS_TEST_SEED gives one.
#include <cstdlib>

#include "tests/engine/crash/crash_steps.h"

namespace foedus::crash_test {
namespace {

using testing::change_until_power_fails;
using testing::expect_prefix;
using testing::FailingDevice;
using testing::Life;
using testing::ModelTxn;

void run_seed(std::uint64_t seed) {
  SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
  FailingDevice device;
  base::Random random(seed);
  std::vector<ModelTxn> txns;
  const bool gleans = seed % 3 != 0;  // while it is open; opening gleans always
  for (int crash = 0; crash < 4; ++crash) {
    SCOPED_TRACE("crash " + std::to_string(crash));
    std::size_t durable = 0;
    {
      Life life(&device, random.next());
      if (random.below(3) == 0) device.lose_power_after(random.below(80));
      durable = change_until_power_fails(&life, device, gleans ? 12 : 0, &random, &txns, [&] {
        device.lose_power_after(random.below(gleans ? 250 : 60));
      });
    }
    const std::uint64_t how = random.below(4);
    device.crash_power(how == 0   ? FailingDevice::kDropAll
                       : how == 1 ? FailingDevice::kKeepAll
                                  : random.next());
    Life after(&device, random.next());
    ASSERT_NO_FATAL_FAILURE(expect_prefix(&after, &txns, durable));
  }
}

TEST(CrashTest, database_is_a_prefix_that_holds_every_acknowledged_transaction) {
  const char* const given = std::getenv("FOEDUS_TEST_SEED");
  if (given != nullptr) return run_seed(std::strtoull(given, nullptr, 10));
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    run_seed(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace foedus::crash_test
