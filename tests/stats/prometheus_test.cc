// The text for Prometheus has each number of Stats, in the form that its parser takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "foedus-core/stats/fields.h"
#include "foedus/stats.h"

namespace foedus::prometheus_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PrometheusTest, each_number_of_the_statistics_has_a_field) {
  std::ifstream file(std::string(std::getenv("FOEDUS_SOURCE_DIR")) +
                     "/foedus-core/include/foedus/stats.h");
  std::set<std::string> members;
  std::string line;
  while (std::getline(file, line) && line != "struct Stats {") {
  }
  const std::regex number("  std::uint64_t (\\w+) = 0;.*");
  while (std::getline(file, line) && line != "};") {
    if (std::smatch match; std::regex_match(line, match, number)) members.insert(match[1]);
  }
  std::set<std::string> fields;
  for (const auto& field : stats::kFields) fields.emplace(field.name);
  EXPECT_EQ(fields, members);
  EXPECT_GT(members.size(), 20u);
}

TEST(PrometheusTest, each_histogram_of_the_statistics_has_a_field) {
  std::ifstream file(std::string(std::getenv("FOEDUS_SOURCE_DIR")) +
                     "/foedus-core/include/foedus/stats.h");
  std::string line;
  std::set<std::string> members;
  const std::regex histogram("  Histogram (\\w+);");
  while (std::getline(file, line)) {
    if (std::smatch match; std::regex_match(line, match, histogram)) members.insert(match[1]);
  }
  std::set<std::string> fields;
  for (const auto& field : stats::kHistograms) fields.emplace(field.name);
  EXPECT_EQ(fields, members);
}

TEST(PrometheusTest, each_line_is_a_sample_of_the_metric_before_it) {
  Stats of;
  of.commits = ~std::uint64_t{0};
  of.storages.resize(2);
  of.storages[0].name = "accounts";
  of.storages[1].name = "a \"b\" \\ \n\xff";
  std::istringstream text(to_prometheus(of));
  const std::regex help("# HELP (foedus_[a-z_]+) [^\\\\]+\\.");
  const std::regex type("# TYPE (foedus_[a-z_]+) (counter|gauge|histogram)");
  const std::regex sample(
      "(foedus_[a-z_]+?)(_bucket|_sum|_count)?(\\{[a-z]+=\"([^\"\\\\]|\\\\[\"\\\\])*\""
      "(,[a-z]+=\"([^\"\\\\]|\\\\[\"\\\\])*\")*\\})? [0-9]+(\\.[0-9]{6}|\\.[0-9]{9})?");
  std::set<std::string> metrics;
  std::string metric;
  bool is_histogram = false;
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      metric = match[1];
      EXPECT_TRUE(metrics.insert(metric).second) << line;
    } else if (std::regex_match(line, match, type)) {
      EXPECT_EQ(match[1], metric);
      EXPECT_EQ(metric.ends_with("_total"), match[2] == "counter") << line;
      is_histogram = match[2] == "histogram";
    } else {
      ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_EQ(match[1], metric);
      EXPECT_EQ(match[2].matched, is_histogram) << line;
    }
  }
  EXPECT_GT(metrics.size(), 25u);
}

TEST(PrometheusTest, a_metric_says_how_much_of_what) {
  Stats of;
  of.commits = ~std::uint64_t{0};
  of.glean_cpu_us = 12'000'345;
  of.conflicts[static_cast<std::size_t>(ConflictReason::kRetryBound)] = 7;
  of.current_epoch = Epoch(9);
  of.tiers.ssd_bytes = 4096;
  of.storages.resize(1);
  of.storages[0].name = "a\n";
  of.storages[0].volatile_pages = 3;
  const std::string text = to_prometheus(of);
  EXPECT_THAT(text, HasSubstr("\nfoedus_commits_total 18446744073709551615\n"));
  EXPECT_THAT(text, HasSubstr("\nfoedus_glean_cpu_seconds_total 12.000345\n"));
  EXPECT_THAT(text, HasSubstr("\nfoedus_conflicts_total{reason=\"retry_bound\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("\nfoedus_epoch{state=\"current\"} 9\n"));
  EXPECT_THAT(text, HasSubstr("\nfoedus_tier_bytes{tier=\"ssd\"} 4096\n"));
  EXPECT_THAT(text, HasSubstr("\nfoedus_storage_volatile_pages{storage=\"a\\\\x0a\"} 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("unknown_reason")));
}

// Goal: buckets are cumulative, a value equal to a border is in its bucket, and values below the
// first border or above the last one are there, too.
TEST(PrometheusTest, a_histogram_has_cumulative_buckets_in_seconds) {
  Stats of;
  for (const std::uint64_t ns : {std::uint64_t{1}, std::uint64_t{1'024}, std::uint64_t{1'025},
                                 std::uint64_t{1} << 37, ~std::uint64_t{0}}) {
    ++of.transaction_ns.buckets[Histogram::bucket_of(ns)];
    ++of.transaction_ns.count;
  }
  of.transaction_ns.sum = 3'000'000'042;
  of.transact_tries.buckets[Histogram::bucket_of(3)] = of.transact_tries.count = 7;
  of.transact_tries.sum = 21;
  const std::string text = to_prometheus(of);
  EXPECT_THAT(text, HasSubstr("# TYPE foedus_transaction_seconds histogram\n"
                              "foedus_transaction_seconds_bucket{le=\"0.000000256\"} 1\n"
                              "foedus_transaction_seconds_bucket{le=\"0.000000512\"} 1\n"
                              "foedus_transaction_seconds_bucket{le=\"0.000001024\"} 2\n"
                              "foedus_transaction_seconds_bucket{le=\"0.000002048\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("foedus_transaction_seconds_bucket{le=\"137.438953472\"} 4\n"
                              "foedus_transaction_seconds_bucket{le=\"+Inf\"} 5\n"
                              "foedus_transaction_seconds_sum 3.000000042\n"
                              "foedus_transaction_seconds_count 5\n"));
  EXPECT_THAT(text, HasSubstr("foedus_transact_tries_bucket{le=\"1\"} 0\n"
                              "foedus_transact_tries_bucket{le=\"2\"} 0\n"
                              "foedus_transact_tries_bucket{le=\"4\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("foedus_transact_tries_bucket{le=\"1024\"} 7\n"
                              "foedus_transact_tries_bucket{le=\"+Inf\"} 7\n"
                              "foedus_transact_tries_sum 21\n"
                              "foedus_transact_tries_count 7\n"));
}

}  // namespace
}  // namespace foedus::prometheus_test
