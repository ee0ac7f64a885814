#pragma once
// Steps that tests of power failures share: transactions that become durable, transactions until
// the power fails, and the check of the database afterwards.

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "tests/engine/crash/crash_life.h"

namespace foedus::testing {

// Commits `transactions` transactions and waits until they are durable.
inline void write(Life* life, std::vector<ModelTxn>* txns, int transactions) {
  Ticket ticket;
  for (int i = 0; i < transactions; ++i) {
    ModelTxn change;
    must(life->step(txns->size(), &change, &ticket));
    txns->push_back(std::move(change));
  }
  if (transactions > 0) must(ticket.wait_durable());
}

// Returns how the n-th crash treats unsynced sectors.
inline std::uint64_t how_to_crash(std::uint64_t n) {
  return n % 3 == 0 ? FailingDevice::kDropAll : n % 3 == 1 ? FailingDevice::kKeepAll : n;
}

// Opens the database, which is as after `txns`, and changes it at random until the power of `disk`
// fails, 60 times at most. A glean follows one of `steps_per_glean` changes (0: none). Returns how
// many of `txns` are known to be durable. `disk` is a device, or several at once; `arm` lets its
// power fail some time after the database is open.
template <typename Disk>
std::size_t change_until_power_fails(Life* life, const Disk& disk, std::uint64_t steps_per_glean,
                                     base::Random* random, std::vector<ModelTxn>* txns,
                                     const std::function<void()>& arm) {
  std::size_t durable = txns->size();
  if (!life->open().is_ok()) return durable;
  EXPECT_EQ(difference(life->read(), model_of(*txns)), "");
  if (!disk.has_lost_power()) arm();
  std::vector<Epoch> epochs(txns->size(), Epoch(0));
  for (int i = 0; i < 60 && !disk.has_lost_power(); ++i) {
    ModelTxn change;
    Ticket ticket;
    if (!life->step(txns->size(), &change, &ticket).is_ok()) break;
    txns->push_back(std::move(change));
    epochs.push_back(ticket.epoch());
    if (random->below(3) == 0) life->run_for(random->below(3000));
    if (steps_per_glean != 0 && random->below(steps_per_glean) == 0) {
      static_cast<void>(life->glean().is_ok());
    }
    while (durable < epochs.size() && epochs[durable] <= life->durable()) ++durable;
  }
  return durable;
}

// Checks that after a crash the database opens as after the first of `txns`, `durable` of them or
// more. Removes the others from `txns`.
inline void expect_prefix(Life* life, std::vector<ModelTxn>* txns, std::size_t durable) {
  const Status opened = life->open();
  ASSERT_TRUE(opened.is_ok()) << opened.message();
  const Model found = life->read();
  std::size_t kept = 0;
  for (const std::string& entry : found.log) kept += entry.starts_with("end of ") ? 1 : 0;
  EXPECT_GE(kept, durable) << "an acknowledged transaction was lost";
  ASSERT_LE(kept, txns->size());
  txns->resize(kept);
  ASSERT_EQ(difference(found, model_of(*txns)), "") << "not the state after transaction " << kept;
}

}  // namespace foedus::testing
