#pragma once
// A TPC-C database that loads in milliseconds, and a run of it over any store.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "experiments/tpcc/acks.h"
#include "experiments/tpcc/consistency.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/run.h"

namespace experiments::tpcc {

inline constexpr std::uint64_t kTinySeed = 20'151;

inline Scale tiny_scale(std::uint32_t warehouses = 2) {
  return {.warehouses = warehouses,
          .districts = 3,
          .customers_per_district = 30,
          .items = 100,
          .orders = 30};
}

template <Backend B>
Population<B> load_tiny(B& backend, StorageChoice storage) {
  auto loaded = populate(backend, tiny_scale(), storage, kTinySeed, date_now(), 2);
  EXPECT_TRUE(loaded.is_ok()) << loaded.status().message();
  return loaded.is_ok() ? std::move(loaded).value() : Population<B>{};
}

template <Backend B>
RunPlan tiny_plan(const Population<B>& population) {
  RunPlan plan;
  plan.sessions = 2;
  plan.seconds = 0.5;
  plan.remote_percent = 10;
  plan.seed = kTinySeed;
  plan.last_name_constant = population.load.last_name_constant;
  return plan;
}

// Loads, checks, runs the full mix with acks, checks again, verifies the acks.
template <Backend B>
void run_tiny(B& backend, StorageChoice storage, const std::string& ack_path) {
  std::remove(ack_path.c_str());
  const Population<B> population = load_tiny(backend, storage);
  ASSERT_GT(population.load.data_bytes, 0u);
  foedus::Status checked = check_consistency(backend, population.tables, 2);
  ASSERT_TRUE(checked.is_ok()) << checked.message();

  RunPlan plan = tiny_plan(population);
  plan.ack_path = ack_path;
  auto result = Run<B>(backend, population.tables, plan).run();
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  for (std::size_t type = 0; type < kTxnTypes; ++type) {
    EXPECT_GT(result->commits[type], 0u) << kTxnTypeNames[type];
    EXPECT_EQ(result->latency[type].count(), result->commits[type]) << kTxnTypeNames[type];
  }
  checked = check_consistency(backend, population.tables, 2);
  EXPECT_TRUE(checked.is_ok()) << checked.message();

  const auto acks = verify_acks<B>(backend, population.tables, ack_path);
  ASSERT_TRUE(acks.is_ok()) << acks.status().message();
  EXPECT_EQ(*acks, result->commits[static_cast<std::size_t>(TxnType::kNewOrder)]);
  std::remove(ack_path.c_str());
}

}  // namespace experiments::tpcc
