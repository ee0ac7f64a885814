// ctest-labels: concurrency

// Goal: each workload follows YCSB, and reads return the written values. Method: tiny runs on
// std::map, whose counters and contents are checked afterwards.

#include "experiments/ycsb/ycsb_driver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/experiments/map_backend.h"

namespace experiments::ycsb_driver_test {
namespace {

YcsbConfig tiny(char name) {
  YcsbConfig config;
  config.workload = *workload_named({&name, 1});
  config.rows = 500;
  config.seed = 7;
  return config;
}

TEST(WorkloadTest, shares_are_those_of_the_name) {
  for (const Workload& workload : kWorkloads) {
    std::uint64_t counts[kOpKinds] = {};
    unsigned percent = 0;
    constexpr int kPicks = 200'000;
    Random random(99);
    for (int i = 0; i < kPicks; ++i) ++counts[static_cast<std::size_t>(workload.pick(random))];
    for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
      EXPECT_NEAR(static_cast<double>(counts[kind]) / kPicks, workload.percent[kind] / 100.0, 0.005)
          << workload.name << " " << to_string(static_cast<OpKind>(kind));
      percent += workload.percent[kind];
    }
    EXPECT_EQ(percent, 100u) << workload.name;
  }
}

TEST(WorkloadTest, names_are_a_to_f) {
  EXPECT_EQ(workload_named("f")->name, 'F');
  EXPECT_TRUE(workload_named("D")->reads_latest);
  EXPECT_FALSE(workload_named("G"));
  EXPECT_FALSE(workload_named(""));
  EXPECT_FALSE(workload_named("AB"));
}

TEST(YcsbKeyTest, hashed_ids_are_distinct_and_ordered_ones_are_in_order) {
  std::set<std::string> hashed;
  std::string last;
  for (std::uint64_t id = 0; id < 10'000; ++id) {
    hashed.emplace(YcsbKey(id, false).view());
    const YcsbKey ordered(id, true);
    EXPECT_LT(last, ordered.view());
    EXPECT_LT(ordered.view(), kAboveAllKeys);
    last = ordered.view();
  }
  EXPECT_EQ(hashed.size(), 10'000u);
}

TEST(YcsbRowTest, checksum_remembers_what_came_before_many_rows) {
  RowBuffer row;
  Random bytes(7);
  fill_random(bytes, reinterpret_cast<char*>(row.data()), row.size());
  std::uint64_t one = folded(0, row.data(), row.size());
  std::uint64_t other = folded(one, row.data(), row.size());
  for (int i = 0; i < 200; ++i) {
    EXPECT_NE(one, other) << "after " << i << " rows";
    one = folded(one, row.data(), row.size());
    other = folded(other, row.data(), row.size());
  }
}

// Each of four threads acknowledges its ids; the end must reach the number of all ids, without gaps
// on the way.
TEST(InsertSequenceTest, end_meets_the_last_id_whatever_the_order_of_threads) {
  constexpr std::uint64_t kFirst = 10;
  constexpr std::uint64_t kEach = 50'000;
  InsertSequence sequence(kFirst);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < kEach; ++n) {
        const std::uint64_t id = sequence.draw();
        EXPECT_GE(id, sequence.newest_end());  // not acknowledged yet
        sequence.acknowledge(id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sequence.newest_end(), kFirst + 4 * kEach);
}

TEST(InsertSequenceTest, end_waits_for_the_gap) {
  InsertSequence sequence(0);
  const std::uint64_t first = sequence.draw();
  sequence.acknowledge(sequence.draw());
  EXPECT_EQ(sequence.newest_end(), 0u);
  sequence.acknowledge(first);
  EXPECT_EQ(sequence.newest_end(), 2u);
}

class YcsbRunTest : public testing::TestWithParam<std::tuple<char, std::uint32_t>> {};

TEST_P(YcsbRunTest, does_its_operations_and_leaves_whole_rows) {
  const auto [name, ops_per_txn] = GetParam();
  YcsbConfig config = tiny(name);
  config.ops_per_txn = ops_per_txn;
  MapBackend backend;
  auto driver = YcsbDriver<MapBackend>::open(backend, config);
  ASSERT_TRUE(driver.is_ok()) << driver.status().message();
  const foedus::Status loaded = (*driver)->load();
  ASSERT_TRUE(loaded.is_ok()) << loaded.message();
  const auto& rows = backend.store().tables.front().by_key;
  ASSERT_EQ(rows.size(), config.rows);
  const auto before = rows;

  std::uint64_t commits = 0;
  for (int round = 0; round < 2; ++round) {
    auto result = (*driver)->run(0.05);
    ASSERT_TRUE(result.is_ok()) << result.status().message();
    EXPECT_GT(result->txns, 0u);
    EXPECT_EQ(result->ops, result->txns * ops_per_txn);
    EXPECT_EQ(result->counters.commits, result->txns);
    EXPECT_NE(result->checksum, 0u);
    EXPECT_EQ(result->latency.contains("mixed"), ops_per_txn > 1);
    EXPECT_EQ(result->rows_scanned > 0, name == 'E');
    commits += result->txns;
  }
  EXPECT_GT(commits, 0u);
  for (const auto& [key, row] : rows) ASSERT_EQ(row.size(), kRowBytes);
  EXPECT_EQ(rows.size() > config.rows, config.workload.share(OpKind::kInsert) != 0);
  EXPECT_EQ(rows == before, name == 'C');
}

INSTANTIATE_TEST_SUITE_P(AllWorkloads, YcsbRunTest,
                         testing::Combine(testing::Values('A', 'B', 'C', 'D', 'E', 'F'),
                                          testing::Values(1u, 10u)));

TEST(YcsbUpdateTest, overwrites_one_field) {
  MapBackend backend;
  YcsbConfig config = tiny('A');
  config.rows = 1;
  config.sessions = 1;
  auto driver = YcsbDriver<MapBackend>::open(backend, config);
  ASSERT_TRUE(driver.is_ok());
  ASSERT_TRUE((*driver)->load().is_ok());
  const Zipf zipf(1, 0);
  InsertSequence inserts(1);
  const auto& rows = backend.store().tables.front().by_key;
  auto table = backend.open_table({.name = "usertable"});
  config.workload = {'U', {0, 100, 0, 0, 0}};
  YcsbSession<MapBackend> session(backend, *table, *backend.new_worker(), config, zipf, inserts, 3);
  for (int i = 0; i < 50; ++i) {
    const std::string before = rows.begin()->second;
    ASSERT_TRUE(session.run_txn().is_ok());
    const std::string& after = rows.begin()->second;
    std::set<std::size_t> changed;
    for (std::size_t at = 0; at < before.size(); ++at) {
      if (before[at] != after[at]) changed.insert(at / kFieldBytes);
    }
    EXPECT_EQ(changed.size(), 1u);
  }
}

TEST(YcsbDriverTest, refuses_what_does_not_go_together) {
  MapBackend backend;
  YcsbConfig config = tiny('E');
  config.storage = TableKind::kHash;
  EXPECT_EQ(YcsbDriver<MapBackend>::open(backend, config).code(),
            foedus::ErrorCode::kInvalidArgument);
  config = tiny('A');
  config.theta = 1;
  EXPECT_EQ(YcsbDriver<MapBackend>::open(backend, config).code(),
            foedus::ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace experiments::ycsb_driver_test
