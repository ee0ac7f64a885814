// ctest-labels: memory
// ctest-timeout: 300
// Power failures at every kind of moment, over a simulated device and one thread: the database must
// come back as it was after some transaction that is no older than the last one reported durable,
// again and again on one directory. A seed repeats a run exactly; FOEDUS_TEST_SEED gives one.
#include <cstdlib>

#include "tests/engine/crash_life.h"

namespace foedus {
namespace {

using testing::difference;
using testing::FailingDevice;
using testing::Life;
using testing::Model;
using testing::model_of;
using testing::ModelTxn;

void run_seed(std::uint64_t seed) {
  SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
  FailingDevice device;
  base::Random random(seed);
  std::vector<ModelTxn> txns;
  const bool gleans = seed % 3 != 0;  // while it is open; opening gleans always
  for (int crash = 0; crash < 4; ++crash) {
    std::size_t acknowledged = 0;
    std::vector<Epoch> epochs(txns.size(), Epoch(0));
    {
      Life life(&device, random.next());
      if (random.below(3) == 0) device.lose_power_after(random.below(80));
      if (life.open().is_ok()) {
        const Model found = life.read();
        EXPECT_EQ(difference(found, model_of(txns)), "") << "after crash " << crash;
        if (!device.has_lost_power()) device.lose_power_after(random.below(gleans ? 250 : 60));
        for (int i = 0; i < 60 && !device.has_lost_power(); ++i) {
          ModelTxn change;
          Ticket ticket;
          if (!life.step(txns.size(), &change, &ticket).is_ok()) break;
          txns.push_back(std::move(change));
          epochs.push_back(ticket.epoch());
          if (random.below(3) == 0) life.run_for(random.below(3000));
          if (gleans && random.below(12) == 0) static_cast<void>(life.glean().is_ok());
          while (acknowledged < epochs.size() && epochs[acknowledged] <= life.durable()) {
            ++acknowledged;
          }
        }
      } else {
        acknowledged = txns.size();
      }
    }
    const std::uint64_t how = random.below(4);
    device.crash_power(how == 0   ? FailingDevice::kDropAll
                       : how == 1 ? FailingDevice::kKeepAll
                                  : random.next());
    // What came back decides how many transactions there were.
    Life after(&device, random.next());
    const Status opened = after.open();
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    const Model found = after.read();
    std::size_t kept = 0;
    for (const std::string& entry : found.log) kept += entry.starts_with("end of ") ? 1 : 0;
    EXPECT_GE(kept, acknowledged) << "an acknowledged transaction was lost";
    ASSERT_LE(kept, txns.size());
    txns.resize(kept);
    ASSERT_EQ(difference(found, model_of(txns)), "") << "not the state after transaction " << kept;
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
}  // namespace foedus
