// Spilling reducers: joined runs, large records, full and damaged devices.
#include "gleaner/reduce/reducer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

#include "tests/gleaner/reduce/glean_flow.h"

namespace foedus::gleaner::testing::reducer_test {
namespace {

Flow small_flow() {
  Flow flow;
  flow.mappers = 2;
  flow.reducer_bytes = ReducerOptions::kMemoryBytesMin;
  return flow;
}

RandomLog long_log() {
  RandomLogOptions options;
  options.records = 12'000;
  options.keys = 5'000;
  return RandomLog(3, options);
}

TEST(ReducerTest, runs_are_joined_when_there_are_too_many_and_the_stream_is_the_same) {
  RandomLogOptions options;
  options.records = 20'000;
  options.keys = 10'000;
  options.payload_bytes_max = 300;
  const RandomLog log(4, options);
  const PartitionTable table = RandomLog::table(1, options.keys);
  GleanFlow in_memory({}, &table, log.records);
  ASSERT_TRUE(in_memory.run().is_ok());
  EXPECT_EQ(in_memory.runs(), 0u);
  GleanFlow spilled(small_flow(), &table, log.records);
  ASSERT_TRUE(spilled.run().is_ok());
  EXPECT_GT(spilled.runs(), spilled.device.names().size() + 8);
  EXPECT_LE(spilled.device.names().size(), 8u);
  EXPECT_TRUE(*spilled.read() == *in_memory.read());
}

// A glean whose progress is not asked for waits without a limit.
TEST(ReducerTest, its_end_wakes_the_thread_that_waits_for_it) {
  const RandomLog log = long_log();
  const PartitionTable table = RandomLog::table(2, 5'000);
  Flow flow = small_flow();
  flow.partitions = 2;
  GleanFlow glean(flow, &table, log.records);
  ASSERT_TRUE(glean.run().is_ok());
  EXPECT_EQ(glean.wakes(), glean.mappers.size() + glean.reducers.size());
}

// Goal: G19. Method: the log fills 1.1 to 3.4 halves of an inbox, in different orders of steps. So
// it ends before and after the middle of a half, beside a half that is held, spilled, or about to
// be, with and without runs.
TEST(ReducerTest, a_half_is_spilled_only_if_the_next_one_needs_it) {
  const RandomLog log = long_log();
  const PartitionTable table = RandomLog::table(1, 5'000);
  Flow flow;
  flow.mappers = 2;
  flow.reducer_bytes = 64u << 20;
  GleanFlow in_memory(flow, &table, log.records);
  ASSERT_TRUE(in_memory.run().is_ok());
  std::uint64_t bytes = 0;
  for (const auto& mapper : in_memory.mappers) bytes += mapper->counts().shipped_bytes;
  const auto expected = in_memory.read();
  for (const std::uint64_t tenths : {11u, 13u, 16u, 19u, 23u, 26u, 29u, 34u}) {
    flow.reducer_bytes = 2 * (bytes * 10 / tenths) * 4 / 3 / 64 * 64;  // a quarter is for items
    ASSERT_GE(flow.reducer_bytes, ReducerOptions::kMemoryBytesMin);
    for (flow.seed = 1; flow.seed <= 4; ++flow.seed) {
      GleanFlow glean(flow, &table, log.records);
      ASSERT_TRUE(glean.run().is_ok());
      // The limit is the middle, including the waste of blocks.
      const std::uint64_t spilled = tenths % 10 <= 3 ? tenths / 10 - 1 : tenths / 10;
      EXPECT_LE(glean.runs(), spilled) << tenths << ", " << flow.seed;
      EXPECT_TRUE(*glean.read() == *expected) << tenths << ", " << flow.seed;
    }
  }
}

// An item can name less memory than a large machine may give to gleans.
TEST(ReducerTest, memory_beyond_what_an_item_can_name_is_not_used) {
  const std::uint64_t bytes = SortItem::kMemoryBytesMax + (1u << 20);
  void* const memory =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  {
    foedus::testing::FailingDevice device;
    foedus::testing::ManualRuntime runtime;
    base::WaitPoint finished;
    ReducerOptions options;
    options.memory = static_cast<char*>(memory);
    options.memory_bytes = bytes;
    const PartitionTable table = RandomLog::table(1, 10);
    Reducer reducer(&runtime, &finished, &device, &table, options);
    EXPECT_EQ(reducer.inbox()->half_bytes(), SortItem::kMemoryBytesMax / 8 * 3);
  }
  EXPECT_EQ(::munmap(memory, bytes), 0);
}

// G14: neither a run nor a stream has a record that a later put in it supersedes.
TEST(ReducerTest, only_what_a_later_put_or_erasure_supersedes_is_left_out) {
  std::vector<LoggedRecord> records;
  const auto add = [&records](log::LogRecordType type, std::uint64_t epoch, std::size_t bytes) {
    const std::uint64_t i = records.size();
    records.push_back({1, i,
                       make_record(type, kHashId, tid_of(epoch, static_cast<std::uint32_t>(i)),
                                   "key", 0, std::string(bytes, 'x'))});
  };
  for (int i = 0; i < 100; ++i) add(log::LogRecordType::kPut, 11, 4'000);
  for (int i = 0; i < 100; ++i) add(log::LogRecordType::kWriteAt, 12, 4);
  const PartitionTable table = RandomLog::table(1, 10);
  GleanFlow in_memory({}, &table, records);
  ASSERT_TRUE(in_memory.run().is_ok());
  EXPECT_EQ((*in_memory.read())[0].size(), 1u);
  EXPECT_EQ(in_memory.reducers[0]->records_streamed(), 1u);
  Flow flow = small_flow();
  flow.mappers = 1;
  GleanFlow spilled(flow, &table, records);
  ASSERT_TRUE(spilled.run().is_ok());
  EXPECT_GT(spilled.runs(), 5u);
  EXPECT_EQ((*spilled.read())[0].size(), 1u);
  // The superseded records are all but one of each run, and the unspilled ones.
  EXPECT_GT(spilled.reducers[0]->counts().superseded, 60u);
}

TEST(ReducerTest, runs_are_gone_when_it_is) {
  const RandomLog log = long_log();
  const PartitionTable table = RandomLog::table(1, 5'000);
  GleanFlow flow(small_flow(), &table, log.records);
  ASSERT_TRUE(flow.run().is_ok());
  EXPECT_FALSE(flow.device.names().empty());
  for (const std::string& name : flow.device.names()) EXPECT_TRUE(parse_run_name(name));
  flow.reducers.clear();
  EXPECT_TRUE(flow.device.names().empty());
}

TEST(ReducerTest, large_records_are_spilled_and_read_back) {
  std::vector<LoggedRecord> records;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const std::string payload(i % 10 == 0 ? 4u << 20 : 300'000 * (i % 4),
                              static_cast<char>('a' + i));
    records.push_back({1, i,
                       make_record(log::LogRecordType::kPut, kMasstreeId,
                                   tid_of(11, static_cast<std::uint32_t>(i)),
                                   "key" + std::to_string(i % 20), 0, payload)});
  }
  const PartitionTable table = RandomLog::table(1, 10);
  Flow flow;
  flow.reducer_bytes = 12u << 20;
  GleanFlow spilled(flow, &table, records);
  Status status = spilled.run();
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_GT(spilled.runs(), 1u);
  flow.reducer_bytes = 128u << 20;
  GleanFlow in_memory(flow, &table, records);
  ASSERT_TRUE(in_memory.run().is_ok());
  const auto expected = in_memory.read();
  ASSERT_EQ((*expected)[0].size(), 20u);
  EXPECT_TRUE(*spilled.read() == *expected);
}

TEST(ReducerTest, a_full_device_is_out_of_space_and_leaves_no_file) {
  const RandomLog log = long_log();
  const PartitionTable table = RandomLog::table(2, 5'000);
  Flow flow = small_flow();
  flow.partitions = 2;
  for (const std::uint64_t capacity : {0u, 5'000u, 100'000u, 300'000u}) {
    GleanFlow glean(flow, &table, log.records);
    glean.device.set_capacity(capacity);
    const Status status = glean.run();
    EXPECT_EQ(status.code(), ErrorCode::kOutOfSpace) << status.message();
    for (const auto& mapper : glean.mappers) {
      const bool is_told = mapper->status().is_ok() ||
                           mapper->status().code() == ErrorCode::kClosed;
      EXPECT_TRUE(is_told) << mapper->status().message();
    }
    glean.reducers.clear();
    EXPECT_TRUE(glean.device.names().empty());
  }
}

TEST(ReducerTest, every_failing_call_ends_the_glean_with_its_error) {
  using foedus::testing::Call;
  const RandomLog log = long_log();
  const PartitionTable table = RandomLog::table(1, 5'000);
  for (const Call call : {Call::kCreate, Call::kWrite, Call::kOpen, Call::kRead, Call::kSize}) {
    for (const std::uint64_t skip : {0u, 3u}) {
      GleanFlow glean(small_flow(), &table, log.records);
      glean.device.fail(call, skip, EIO);
      Status status = glean.run();
      if (status.is_ok()) status = glean.read().status();
      EXPECT_EQ(status.code(), ErrorCode::kIoError) << static_cast<int>(call) << " " << skip;
    }
  }
}

TEST(ReducerTest, a_damaged_run_is_corruption) {
  const RandomLog log = long_log();
  const PartitionTable table = RandomLog::table(1, 5'000);
  GleanFlow glean(small_flow(), &table, log.records);
  ASSERT_TRUE(glean.run().is_ok());
  const std::string name = glean.device.names().front();
  glean.device.flip_bit(name, glean.device.size_of(name) - 4'000, 3);
  EXPECT_EQ(glean.read().status().code(), ErrorCode::kCorruption);
}

TEST(ReducerTest, a_stream_that_is_not_read_is_skipped) {
  const RandomLog log = long_log();
  const PartitionTable table = RandomLog::table(1, 5'000);
  GleanFlow glean(small_flow(), &table, log.records);
  ASSERT_TRUE(glean.run().is_ok());
  std::vector<std::uint32_t> storages;
  for (;;) {
    const auto stream = glean.reducers[0]->next_storage();
    ASSERT_TRUE(stream.is_ok());
    if (!stream->has_value()) break;
    storages.push_back(static_cast<std::uint32_t>((*stream)->storage));
    ASSERT_NE((*stream)->records->next(), nullptr);
  }
  EXPECT_EQ(storages,
            (std::vector<std::uint32_t>{kArrayId, kHashId, kMasstreeId, kSequentialId}));
}

}  // namespace
}  // namespace foedus::gleaner::testing::reducer_test
