// ctest-labels: concurrency
// TPC-C over the engine, tiny: consistent after load, after run, and when opened again.

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <string>

#include "experiments/common/foedus_backend.h"
#include "tests/experiments/tpcc_tiny.h"

namespace experiments::tpcc::tpcc_foedus_test {
namespace {

class TpccFoedusTest : public testing::TestWithParam<StorageChoice> {
 protected:
  TpccFoedusTest() : dir_(testing::TempDir() + "tpcc_foedus_test." + std::to_string(getpid())) {
    std::filesystem::remove_all(dir_);
  }
  ~TpccFoedusTest() override { std::filesystem::remove_all(dir_); }

  foedus::Result<FoedusBackend> open() {
    foedus::Options options;
    options.dir = dir_;
    options.memory_bytes = 256u << 20;
    options.log.buffer_bytes = 1u << 20;
    return FoedusBackend::open(options, foedus::Durability::kAsync);
  }

  const std::string dir_;
};

TEST_P(TpccFoedusTest, stays_consistent_through_run_and_reopening) {
  {
    auto backend = open();
    ASSERT_TRUE(backend.is_ok()) << backend.status().message();
    run_tiny(*backend, GetParam(), dir_ + ".acks");
    const foedus::Status closed = backend->close();
    ASSERT_TRUE(closed.is_ok()) << closed.message();
  }
  auto backend = open();
  ASSERT_TRUE(backend.is_ok()) << backend.status().message();
  auto population = find_population(*backend);
  ASSERT_TRUE(population.is_ok()) << population.status().message();
  ASSERT_TRUE(population->has_value());
  EXPECT_EQ((*population)->load.scale, tiny_scale());
  const foedus::Status checked = check_consistency(*backend, (*population)->tables, 2);
  EXPECT_TRUE(checked.is_ok()) << checked.message();
}

INSTANTIATE_TEST_SUITE_P(Storages, TpccFoedusTest,
                         testing::Values(StorageChoice::kMixed, StorageChoice::kOrdered),
                         [](const auto& parameter) {
                           return parameter.param == StorageChoice::kMixed ? "mixed" : "masstree";
                         });

}  // namespace
}  // namespace experiments::tpcc::tpcc_foedus_test
