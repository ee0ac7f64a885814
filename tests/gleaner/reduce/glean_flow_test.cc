// Mappers and reducers from log records to streams: no record is lost, and streams do not depend on
// the run.
#include "tests/gleaner/reduce/glean_flow.h"

#include <gtest/gtest.h>

#include "tests/testing/test_database.h"

namespace foedus::gleaner::testing::glean_flow_test {
namespace {

Streamed stream_of(const Flow& flow, const PartitionTable& table, const RandomLog& log,
                   std::uint64_t* runs = nullptr) {
  GleanFlow glean(flow, &table, log.records);
  const Status status = glean.run();
  EXPECT_TRUE(status.is_ok()) << status.message();
  if (runs != nullptr) *runs += glean.runs();
  auto read = glean.read();
  EXPECT_TRUE(read.is_ok()) << read.status().message();
  return read.is_ok() ? *read : Streamed();
}

const log::LogRecord* log_of(const StreamedRecord& record) {
  return reinterpret_cast<const log::LogRecord*>(record.bytes.data());
}

void expect_order(const std::vector<StreamedRecord>& records) {
  for (std::size_t i = 1; i < records.size(); ++i) {
    const StreamedRecord& a = records[i - 1];
    const StreamedRecord& b = records[i];
    ASSERT_LE(a.storage, b.storage);
    if (a.storage != b.storage) continue;
    ASSERT_TRUE(is_before({a.position, log_of(a), a.session, a.sequence},
                          {b.position, log_of(b), b.session, b.sequence}));
  }
}

// The streams, applied to the earlier contents, have the effect of the log, although they have
// fewer records.
TEST(GleanFlowTest, streams_do_what_the_log_did) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const RandomLog log(seed, {});
    const PartitionTable table = RandomLog::table(1 + seed % 3, 40);
    Flow flow;
    flow.partitions = table.partitions();
    flow.reducer_bytes = 4u << 20;
    const Streamed streamed = stream_of(flow, table, log);
    Contents contents = log.before;
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < streamed.size(); ++i) {
      expect_order(streamed[i]);
      for (const StreamedRecord& record : streamed[i]) {
        apply(*log_of(record), &contents);
        const std::uint32_t index = table.index_of(page::StorageId{record.storage});
        ASSERT_EQ(table.storages()[index].partition_of(record.position), i);
        ++count;
      }
    }
    ASSERT_EQ(contents.size(), log.after.size());
    for (const auto& [place, payload] : log.after) {
      ASSERT_EQ(contents[place], payload) << place.first << " " << place.second;
    }
    EXPECT_LT(count, log.records.size() / 2);
    EXPECT_GT(count, 100u);
  }
}

// G22: any number of mappers, tiny memories, any interleaving, spilled or not.
TEST(GleanFlowTest, streams_are_the_same_however_they_came_about) {
  std::uint64_t runs = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    RandomLogOptions options;
    options.records = 6'000;
    options.keys = seed % 2 == 0 ? 40 : 2'000;
    const RandomLog log(seed, options);
    const PartitionTable table = RandomLog::table(1 + seed % 2, options.keys);
    Flow flow;
    flow.partitions = table.partitions();
    const Streamed expected = stream_of(flow, table, log);
    for (std::uint32_t mappers = 1; mappers <= 4; ++mappers) {
      flow.mappers = mappers;
      flow.reducer_bytes = ReducerOptions::kMemoryBytesMin;
      flow.seed = seed * 10 + mappers;
      EXPECT_TRUE(stream_of(flow, table, log, &runs) == expected) << mappers;
    }
  }
  EXPECT_GT(runs, 100u);
}

// Records are larger than a chunk of a run, up to the most that half of an inbox holds. A key has
// several of them, and parts of such a record are changed.
TEST(GleanFlowTest, streams_of_large_records_are_the_same_however_they_came_about) {
  std::uint64_t runs = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomLogOptions options;
    options.records = 2'000;
    options.keys = seed % 2 == 0 ? 40 : 600;
    options.payload_bytes_max = seed % 3 == 0 ? 20'000 : seed % 3 == 1 ? 6'000 : 45'000;
    const RandomLog log(seed, options);
    const PartitionTable table = RandomLog::table(1 + seed % 3, options.keys);
    Flow flow;
    flow.partitions = table.partitions();
    flow.reducer_bytes = 128u << 20;
    const Streamed expected = stream_of(flow, table, log);
    for (std::uint32_t mappers = 1; mappers <= 3; ++mappers) {
      flow.mappers = mappers;
      flow.reducer_bytes = ReducerOptions::kMemoryBytesMin;
      flow.seed = seed * 10 + mappers;
      EXPECT_TRUE(stream_of(flow, table, log, &runs) == expected) << mappers;
    }
  }
  EXPECT_GT(runs, 100u);
}

}  // namespace
}  // namespace foedus::gleaner::testing::glean_flow_test
