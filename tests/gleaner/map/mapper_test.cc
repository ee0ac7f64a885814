// Records that a mapper ships, and records that it refuses.
#include "gleaner/map/mapper.h"

#include <gtest/gtest.h>

#include "foedus/options.h"
#include "tests/gleaner/reduce/glean_flow.h"

namespace foedus::gleaner::testing::mapper_test {
namespace {

using log::LogRecordType;

LoggedRecord put_of(std::uint32_t storage, std::uint64_t epoch, const std::string& key,
                    std::uint64_t sequence, std::size_t payload_bytes = 8) {
  return {1, sequence,
          make_record(LogRecordType::kPut, storage,
                      tid_of(epoch, static_cast<std::uint32_t>(sequence)), key, 0,
                      std::string(payload_bytes, 'p'))};
}

struct Mapped {
  Status status;
  MapperCounts counts;
  std::size_t streamed = 0;
};

Mapped map(const std::vector<LoggedRecord>& records, Flow flow = {}) {
  const PartitionTable table = RandomLog::table(1, 10);
  GleanFlow glean(flow, &table, records);
  Mapped mapped{glean.run(), glean.mappers[0]->counts(), 0};
  if (mapped.status.is_ok()) mapped.streamed = (*glean.read())[0].size();
  return mapped;
}

TEST(MapperTest, epochs_outside_of_the_glean_are_left_out) {
  std::vector<LoggedRecord> records;
  for (std::uint64_t epoch = kCoveredEpoch - 1; epoch <= kNewestEpoch + 2; ++epoch) {
    records.push_back(put_of(kHashId, epoch, "key" + std::to_string(epoch), epoch));
  }
  const Mapped mapped = map(records);
  ASSERT_TRUE(mapped.status.is_ok());
  EXPECT_EQ(mapped.counts.read, records.size());
  EXPECT_EQ(mapped.counts.shipped, kNewestEpoch - kCoveredEpoch);
  EXPECT_EQ(mapped.streamed, kNewestEpoch - kCoveredEpoch);
}

TEST(MapperTest, dropped_storages_and_records_of_the_catalog_are_left_out) {
  const std::vector<LoggedRecord> records = {
      put_of(kDroppedId, 11, "key", 0), put_of(kHashId, 11, "key", 1),
      {1, 2, make_record(LogRecordType::kDropStorage, kDroppedId, tid_of(12, 0), "name", 0, "")},
      {1, 3, make_record(LogRecordType::kCreateStorage, kHashId, tid_of(11, 0), "name", 0, "")}};
  const Mapped mapped = map(records);
  ASSERT_TRUE(mapped.status.is_ok());
  EXPECT_EQ(mapped.counts.shipped, 1u);
}

TEST(MapperTest, a_storage_that_never_was_is_corruption_unless_its_epoch_is_outside) {
  EXPECT_TRUE(map({put_of(kIdEnd, kNewestEpoch + 1, "key", 0)}).status.is_ok());
  EXPECT_EQ(map({put_of(kIdEnd, kNewestEpoch, "key", 0)}).status.code(), ErrorCode::kCorruption);
}

// Goal: a record that no storage of its kind logs is refused before it is used. Method: each record
// comes twice, so that their histories would be folded.
TEST(MapperTest, records_of_a_shape_that_their_storage_cannot_log_are_corruption) {
  const auto map_twice = [](LogRecordType type, std::uint32_t storage, const std::string& key,
                            const std::string& payload) {
    return map({{1, 0, make_record(type, storage, tid_of(11, 0), key, 0, payload)},
                {1, 1, make_record(type, storage, tid_of(11, 1), key, 0, payload)}})
        .status.code();
  };
  EXPECT_EQ(map_twice(LogRecordType::kPut, kArrayId, index_key(5), "p"), ErrorCode::kOk);
  EXPECT_EQ(map_twice(LogRecordType::kAppend, kSequentialId, "", "p"), ErrorCode::kOk);
  EXPECT_EQ(map_twice(LogRecordType::kPut, kArrayId, "index", "p"), ErrorCode::kCorruption);
  EXPECT_EQ(map_twice(LogRecordType::kErase, kArrayId, index_key(5), ""), ErrorCode::kCorruption);
  EXPECT_EQ(map_twice(LogRecordType::kPut, kSequentialId, "", "p"), ErrorCode::kCorruption);
  EXPECT_EQ(map_twice(LogRecordType::kAppend, kSequentialId, "key", "p"), ErrorCode::kCorruption);
  const std::string long_key(kMaxKeyBytes + 1, 'k');
  for (const std::uint32_t storage : {kHashId, kMasstreeId}) {
    EXPECT_EQ(map_twice(LogRecordType::kErase, storage, "key", ""), ErrorCode::kOk);
    EXPECT_EQ(map_twice(LogRecordType::kIncrement, storage, "key", "8 bytes."), ErrorCode::kOk);
    EXPECT_EQ(map_twice(LogRecordType::kIncrement, storage, "key", "four"), ErrorCode::kCorruption);
    EXPECT_EQ(map_twice(LogRecordType::kAppend, storage, "key", "p"), ErrorCode::kCorruption);
    EXPECT_EQ(map_twice(LogRecordType::kErase, storage, "key", "p"), ErrorCode::kCorruption);
    EXPECT_EQ(map_twice(LogRecordType::kPut, storage, long_key, "p"), ErrorCode::kCorruption);
    EXPECT_EQ(map_twice(LogRecordType{99}, storage, "key", "p"), ErrorCode::kCorruption);
  }
}

TEST(MapperTest, a_record_larger_than_a_block_has_its_own) {
  Flow flow;
  flow.reducer_bytes = 12u << 20;
  std::vector<LoggedRecord> records;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::size_t bytes = i == 20 ? 4u << 20 : i % 7 == 0 ? 5'000 : 100;
    records.push_back(put_of(kMasstreeId, 11, "key" + std::to_string(i), i, bytes));
  }
  const Mapped mapped = map(records, flow);
  ASSERT_TRUE(mapped.status.is_ok()) << mapped.status.message();
  EXPECT_EQ(mapped.streamed, 50u);
}

TEST(MapperTest, a_record_that_no_inbox_can_hold_is_refused) {
  Flow flow;
  flow.reducer_bytes = ReducerOptions::kMemoryBytesMin;
  const Mapped mapped = map({put_of(kHashId, 11, "key", 0, 70'000)}, flow);
  EXPECT_EQ(mapped.status.code(), ErrorCode::kTooLarge);
}

// A mapper with inboxes that no reducer reads.
class OneMapper {
 public:
  explicit OneMapper(const std::vector<LoggedRecord>& records)
      : source_(pointers_to(records)),
        memory_(2 * kInboxBytes),
        inboxes_{Inbox(&runtime, memory_.data(), kInboxBytes, 2),
                 Inbox(&runtime, memory_.data() + kInboxBytes, kInboxBytes, 2)},
        mapper(&runtime, &finished, &table_, &source_, {&inboxes_[0], &inboxes_[1]},
               {.covered = Epoch(kCoveredEpoch), .newest = Epoch(kNewestEpoch)}) {}

  Inbox& inbox(int i) { return inboxes_[i]; }
  // Returns a record of the i-th partition; the second one has half of the indexes.
  static LoggedRecord of_partition(int i, std::uint64_t epoch, std::uint64_t sequence) {
    return put_of(kArrayId, epoch, index_key(i == 0 ? 0 : 9), sequence, 500);
  }

 private:
  static constexpr std::uint64_t kInboxBytes = 64u << 10;
  static std::vector<const LoggedRecord*> pointers_to(const std::vector<LoggedRecord>& records) {
    std::vector<const LoggedRecord*> pointers;
    for (const LoggedRecord& record : records) pointers.push_back(&record);
    return pointers;
  }

 public:
  WakesCounted runtime;
  base::WaitPoint finished;

 private:
  const PartitionTable table_ = RandomLog::table(2, 10);
  ListSource source_;
  base::LineVector<char> memory_;
  Inbox inboxes_[2];

 public:
  Mapper mapper;
};

// Reserves the rest of the open half, and seals it.
void fill(Inbox* inbox) {
  for (;;) {
    const Result<char*> block = inbox->try_reserve(64);
    ASSERT_TRUE(block.is_ok());
    if (*block == nullptr) return;
    inbox->announce(64);
  }
}

class Waker : public base::Task {
 public:
  const char* name() const override { return "waker"; }
  std::uint64_t step() override { return kUntilNotified; }
};

// G11: a mapper has few records for an inbox, and reads many that are for none.
TEST(MapperTest, a_block_that_others_wait_for_is_announced_before_it_is_full) {
  std::vector<LoggedRecord> records = {OneMapper::of_partition(0, 11, 0)};
  while (records.size() < 20'000) {
    records.push_back(OneMapper::of_partition(0, kNewestEpoch + 1, records.size()));
  }
  OneMapper one(records);
  Waker waker;
  one.inbox(0).set_consumer(&waker);
  one.runtime.start(&waker);
  one.mapper.step();
  fill(&one.inbox(0));
  EXPECT_FALSE(one.inbox(0).take().has_value());
  one.mapper.step();
  EXPECT_TRUE(one.inbox(0).take().has_value());
  EXPECT_FALSE(one.mapper.is_done());
  one.runtime.stop(&waker);
}

// Takes the half of one inbox once the half of another one, for which it waits, is complete.
class TakesInTurn : public base::Task {
 public:
  TakesInTurn(Inbox* first, Inbox* second) : first_(first), second_(second) {}
  const char* name() const override { return "takes in turn"; }
  std::uint64_t step() override {
    if (!has_first) {
      fill(first_);
      has_first = first_->take().has_value();
    }
    // The second half is taken in any case, so that the test ends.
    second_->take();
    return kUntilNotified;
  }
  bool has_first = false;

 private:
  Inbox* const first_;
  Inbox* const second_;
};

// G11: two mappers, each of which waits for the inbox of which the other one has a block, would
// wait for ever.
TEST(MapperTest, a_mapper_that_waits_for_room_has_no_block_anywhere) {
  std::vector<LoggedRecord> records = {OneMapper::of_partition(1, 11, 0)};
  while (records.size() < 200) {
    records.push_back(OneMapper::of_partition(0, 11, records.size()));
  }
  OneMapper one(records);
  TakesInTurn consumer(&one.inbox(1), &one.inbox(0));
  Waker waker;
  one.inbox(0).set_consumer(&consumer);
  one.inbox(1).set_consumer(&waker);
  one.runtime.start(&waker);
  one.runtime.start(&consumer);
  one.mapper.step();
  EXPECT_TRUE(consumer.has_first);
  one.runtime.stop(&consumer);
  one.runtime.stop(&waker);
}

// A glean whose progress is not asked for waits without a limit.
TEST(MapperTest, its_end_wakes_the_thread_that_waits_for_it) {
  OneMapper one({OneMapper::of_partition(0, 11, 0)});
  Waker waker;
  one.inbox(0).set_consumer(&waker);
  one.inbox(1).set_consumer(&waker);
  one.runtime.start(&waker);
  while (!one.mapper.is_done()) {
    EXPECT_EQ(one.runtime.wakes_of(&one.finished), 0u);
    one.mapper.step();
  }
  EXPECT_EQ(one.runtime.wakes_of(&one.finished), 1u);
  one.runtime.stop(&waker);
}

TEST(MapperTest, an_error_of_the_source_ends_it_and_the_reducers_too) {
  const PartitionTable table = RandomLog::table(2, 10);
  Flow flow;
  flow.partitions = 2;
  flow.mappers = 2;
  const std::vector<LoggedRecord> records = {put_of(kHashId, 11, "key", 0)};
  GleanFlow glean(flow, &table, records);
  glean.sources[1]->fail_at_end(Status::error(ErrorCode::kCorruption, "a torn segment"));
  EXPECT_EQ(glean.run().code(), ErrorCode::kCorruption);
  EXPECT_TRUE(glean.reducers[0]->status().is_ok());
  EXPECT_TRUE(glean.mappers[0]->status().is_ok());
}

}  // namespace
}  // namespace foedus::gleaner::testing::mapper_test
