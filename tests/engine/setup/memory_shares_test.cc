// E29: each part of memory_bytes gets all of its share whatever the others take. Log buffers take
// nothing from what the fill of volatile pages is measured against, and nothing takes theirs.
#include "foedus-core/engine/setup/memory_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/engine/setup/options_check.h"
#include "tests/testing/test_database.h"

namespace foedus::memory_shares_test {
namespace {

using engine::MemoryShares;
using testing::must;
using testing::TestDatabase;

constexpr std::uint64_t kMiB = 1u << 20;

Options options_for(std::uint64_t memory_bytes) {
  Options options;
  options.dir = "/none";
  options.memory_bytes = memory_bytes;
  options.glean.memory_bytes = std::max(memory_bytes / 8, 16 * kMiB);
  options.pages.cache_bytes = memory_bytes / 4;
  return options;
}

TEST(GleanTasksTest, there_are_more_of_them_where_there_are_more_processors) {
  const struct {
    std::uint32_t processors, socs, mappers, reducers;
  } cases[] = {{1, 1, 1, 2},   {2, 1, 1, 2},     {8, 1, 2, 3},      {64, 1, 11, 22},  {1, 4, 4, 4},
               {48, 2, 8, 16}, {240, 8, 40, 64}, {128, 64, 64, 64}, {100, 40, 40, 40}};
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.processors);
    Options options = options_for(1024 * kMiB);
    options.socs = expected.socs;
    ASSERT_TRUE(engine::fill_in_glean(&options, expected.processors).is_ok());
    EXPECT_EQ(options.glean.mappers, expected.mappers);
    EXPECT_EQ(options.glean.reducers, expected.reducers);
    EXPECT_EQ(options.glean.installers, expected.mappers);
  }
  Options given = options_for(1024 * kMiB);
  given.socs = 1;
  given.glean.mappers = 5;
  given.glean.reducers = 1;
  given.glean.installers = 3;
  ASSERT_TRUE(engine::fill_in_glean(&given, 64).is_ok());
  EXPECT_EQ(given.glean.mappers, 5u);
  EXPECT_EQ(given.glean.reducers, 1u);
  EXPECT_EQ(given.glean.installers, 3u);
}

// Goal: there is memory for the largest transaction and for pages, however little or much there is
// in all. Method: by default the gleaner has an eighth of memory, and the cache a quarter.
TEST(MemorySharesTest, all_parts_are_memory_bytes) {
  const struct {
    std::uint64_t memory_bytes;
    std::uint32_t sessions_on_demand;
  } cases[] = {{64 * kMiB, 4},    {128 * kMiB, 7},    {256 * kMiB, 14},    {512 * kMiB, 29},
               {1024 * kMiB, 59}, {4096 * kMiB, 128}, {16'384 * kMiB, 128}};
  for (const auto& [memory_bytes, sessions] : cases) {
    const Options options = options_for(memory_bytes);
    const MemoryShares shares = must(engine::share_memory(options));
    EXPECT_EQ(shares.sessions_on_demand, sessions) << memory_bytes;
    EXPECT_EQ(shares.page_bytes + shares.session_bytes + engine::kOwnRingBytes +
                  options.glean.memory_bytes + options.pages.cache_bytes,
              memory_bytes);
    EXPECT_GE(shares.session_bytes, options.log.buffer_bytes + 2 * kMiB);
    EXPECT_LE(shares.page_bytes_left, shares.page_bytes);
    EXPECT_GE(shares.page_bytes, memory_bytes / 5);
  }
}

TEST(MemorySharesTest, what_is_not_used_is_the_pages) {
  Options options = options_for(1024 * kMiB);
  options.sessions_max = 2;
  EXPECT_LE(must(engine::share_memory(options)).session_bytes, 60 * kMiB);
  options.sessions_max = 128;
  options.log.kind = Logging::kNone;
  const MemoryShares shares = must(engine::share_memory(options));
  EXPECT_EQ(shares.page_bytes + shares.session_bytes + engine::kOwnRingBytes, 1024 * kMiB);
}

TEST(MemorySharesTest, memory_for_no_log_buffer_is_refused_by_name) {
  Options options = options_for(64 * kMiB);
  options.log.buffer_bytes = 32 * kMiB;
  const Result<MemoryShares> shares = engine::share_memory(options);
  EXPECT_EQ(shares.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(shares.status().message().find("log.buffer_bytes"), std::string::npos);
}

// Goal: gleans free volatile pages also if log buffers have most of memory: a writer lacks memory
// only for a while. Method: of eight sessions one writes four times the size of memory; it requests
// no glean, and tries again.
TEST(MemorySharesTest, an_explicit_session_writes_more_than_there_is_memory_for) {
  Options options;
  options.memory_bytes = 256 * kMiB;
  options.glean.interval_us = 500'000;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  std::vector<Session> sessions;
  for (int i = 0; i < 8; ++i) sessions.push_back(must(db->new_session()));
  const std::string row(1'000, 'r');
  constexpr int kTriesMax = 6'000;
  int tries = 0;
  for (std::uint32_t i = 0; i < 100'000;) {
    Txn txn = must(sessions[0].begin());
    const Status put = txn.put(tree, key(i), row);
    if (put.is_ok()) {
      must(txn.commit().status());
      tries = 0;
      ++i;
      continue;
    }
    ASSERT_EQ(put.code(), ErrorCode::kOutOfMemory) << put.message();
    txn.rollback();
    ASSERT_LT(++tries, kTriesMax) << "row " << i << ": " << put.message();
    base::system_sleep_us(10'000);
  }
}

// Goal: a late thread gets its session and a large transaction, however much memory pages have
// taken. Method: volatile pages and the cache grow as far as they can. Then sessions are made until
// there is no memory for another; one of them writes as much as a transaction may.
TEST(MemorySharesTest, sessions_have_their_memory_however_much_pages_have_taken) {
  Options options;
  options.memory_bytes = 256 * kMiB;
  options.pages.volatile_percent = 90;
  options.sessions_max = 1'000;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  constexpr std::uint32_t kRows = 140'000;
  const std::string row(1'000, 'r');
  for (std::uint32_t i = 0; i < kRows; i += 20) {
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint32_t j = i; j < i + 20; ++j) FOEDUS_CHECK(txn.put(tree, key(j), row));
      return {};
    }));
  }
  must(db->glean());
  for (std::uint32_t i = 0; i < kRows; i += 1'000) {
    must(db->snapshot([&](Txn& txn) -> Status {
      std::uint32_t rows_read = 0;
      auto rows = txn.scan(tree, key(i), key(i + 1'000));
      for ([[maybe_unused]] const auto& row_read : rows) ++rows_read;
      EXPECT_EQ(rows_read, 1'000u);
      return {};
    }));
  }
  std::vector<Session> sessions;
  for (int i = 0; i < 16; ++i) sessions.push_back(must(db->new_session()));
  Txn large = must(sessions.back().begin());
  const std::string payload(1u << 20, 'p');
  for (std::uint32_t i = 0; i < 7; ++i) must(large.put(tree, key(kRows + i), payload));
  must(large.commit());
  Status refused;
  while (refused.is_ok() && sessions.size() < options.sessions_max) {
    Result<Session> more = db->new_session();
    refused = more.status();
    if (more.is_ok()) sessions.push_back(std::move(more).value());
  }
  ASSERT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_NE(refused.message().find("memory_bytes"), std::string::npos) << refused.message();
  sessions.pop_back();
  must(db->new_session());
}

}  // namespace
}  // namespace foedus::memory_shares_test
