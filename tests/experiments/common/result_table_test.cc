// The table of a result: first what is asked for, then the rest with units, without what is zero.

#include "experiments/common/result_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace experiments::result_table_test {
namespace {

JsonObject latency(double us) {
  JsonObject object;
  return object.add("count", 12'345u).add("p50", us).add("p99", 2 * us).add("p999", 3 * us);
}

// Returns the line of a table that begins with `label`, without spaces at its begin; empty: none.
std::string row_of(const std::string& table, const std::string& label) {
  const std::size_t at = table.find("\n  " + label);
  if (at == std::string::npos) return {};
  const std::size_t begin = table.find_first_not_of(" \n", at);
  return table.substr(begin, table.find('\n', begin) - begin);
}

TEST(ResultTableTest, throughput_and_latencies_come_first) {
  JsonObject line;
  JsonObject by_type;
  by_type.add("new_order", latency(5.25)).add("payment", latency(1.5));
  line.add("experiment", "tpcc").add("warehouses", 2).add("latency_us", by_type);
  line.add("txn_per_s", 154'519.482);
  const std::string table = result_table(line);
  EXPECT_LT(table.find("transactions"), table.find("latency, us"));
  EXPECT_LT(table.find("latency, us"), table.find("warehouses"));
  EXPECT_EQ(row_of(table, "transactions"), "transactions             154,519/s");
  EXPECT_EQ(row_of(table, "  new order"),
            "new order                      5.25         10.5         15.8       12,345");
  EXPECT_NE(row_of(table, "  payment"), "");
}

TEST(ResultTableTest, values_have_the_unit_of_their_name) {
  JsonObject line;
  line.add("log_bytes", 3u << 20).add("waited_share", 0.125).add("open_seconds", 0.25);
  line.add("stall_ms_max", 40.0).add("consistent", true).add("store", "foedus");
  line.add("commits", std::map<std::string, std::uint64_t>{{"a_b", 1'000'000}, {"c", 0}});
  const std::string table = result_table(line);
  EXPECT_EQ(row_of(table, "log"), "log                      3 MiB");
  EXPECT_EQ(row_of(table, "waited"), "waited                   12.5 %");
  EXPECT_EQ(row_of(table, "open"), "open                     0.25 s");
  EXPECT_EQ(row_of(table, "longest stall"), "longest stall            40 ms");
  EXPECT_EQ(row_of(table, "consistent"), "consistent               yes");
  EXPECT_EQ(row_of(table, "store"), "store                    foedus");
  EXPECT_EQ(row_of(table, "commits"), "commits                  a b 1,000,000");
}

TEST(ResultTableTest, what_is_zero_or_a_detail_is_left_out) {
  JsonObject line;
  line.add("gleans", 0u).add("txn_per_s", 0.0).add("write_amplification", 0.0);
  line.add("cache_hits", 7u)
      .add_raw("gleaner_cpu_s", "null")
      .add("durable_latency_us", JsonObject());
  const std::string table = result_table(line);
  for (const char* const label : {"gleans", "transactions", "cache", "gleaner", "durable"}) {
    EXPECT_EQ(row_of(table, label), "") << table;
  }
}

TEST(ResultTableTest, latencies_of_one_kind_are_one_row) {
  JsonObject line;
  line.add("durable_latency_us", latency(7'274));
  EXPECT_NE(result_table(line).find("       7,274       14,548       21,822       12,345"),
            std::string::npos);
}

}  // namespace
}  // namespace experiments::result_table_test
