// Measures the speed of records through a mapper, a sort, and a stream. It prints the figures and
// asserts only that all records came through: run it in a release build on an idle machine.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <optional>

#include "foedus-core/base/system/clock.h"
#include "tests/gleaner/reduce/glean_flow.h"

namespace foedus::gleaner::testing::map_speed_test {
namespace {

constexpr std::size_t kRecordBytes = 152;
constexpr std::uint64_t kRecords = 400'000;

// Records that follow one another, as in a segment.
class PackedSource : public RecordSource {
 public:
  explicit PackedSource(StorageKind kind) : bytes_(kRecords * kRecordBytes) {
    base::Random random(1);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      const std::string key = kind == StorageKind::kArray ? index_key(random.below(1u << 30))
                                                          : hex_of(random.next());
      const std::size_t payload = kRecordBytes - log::LogRecord::size_of(key.size(), 0);
      const std::string record =
          make_record(log::LogRecordType::kPut, 1, tid_of(11, static_cast<std::uint32_t>(i)), key,
                      0, std::string(payload, 'x'));
      std::memcpy(bytes_.data() + i * kRecordBytes, record.data(), kRecordBytes);
    }
  }

  bool next(SourceRecord* record) override {
    if (next_ == kRecords) return false;
    *record = {1, next_,
               reinterpret_cast<const log::LogRecord*>(bytes_.data() + next_ * kRecordBytes)};
    ++next_;
    return true;
  }

 private:
  static std::string hex_of(std::uint64_t number) {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
    return text;
  }

  base::LineVector<char> bytes_;
  std::uint64_t next_ = 0;
};

// Returns the processor time of this process, which has one thread, so that other work on the
// machine counts less.
std::uint64_t cpu_now_us() {
  return static_cast<std::uint64_t>(std::clock()) * 1'000'000 / CLOCKS_PER_SEC;
}

double millions_per_s(std::uint64_t records, std::uint64_t begin_us) {
  return static_cast<double>(records) / static_cast<double>(cpu_now_us() - begin_us + 1);
}

void measure(const char* name, StorageKind kind) {
  std::vector<StoragePartitions> storages = {{page::StorageId{1}, kind, {}}};
  const auto table = PartitionTable::make(1, storages, page::StorageId{2});
  ASSERT_TRUE(table.is_ok());
  PackedSource source(kind);
  base::LineVector<char> reduce_bytes(256u << 20);
  foedus::testing::ManualRuntime runtime;
  foedus::testing::FailingDevice device;
  base::WaitPoint finished;

  ReducerOptions reducer_options;
  reducer_options.memory = reduce_bytes.data();
  reducer_options.memory_bytes = reduce_bytes.size();
  Reducer reducer(&runtime, &finished, &device, &*table, reducer_options);
  MapperOptions options;
  options.newest = Epoch(kNewestEpoch);
  Mapper mapper(&runtime, &finished, &*table, &source, {reducer.inbox()}, options);
  std::uint64_t begin_us = cpu_now_us();
  while (!mapper.is_done()) mapper.step();
  const double mapped = millions_per_s(kRecords, begin_us);

  begin_us = cpu_now_us();
  while (!reducer.is_done()) reducer.step();
  const double sorted = millions_per_s(kRecords, begin_us);
  ASSERT_TRUE(reducer.status().is_ok()) << reducer.status().message();
  begin_us = cpu_now_us();
  std::uint64_t streamed = 0;
  const auto stream = reducer.next_storage();
  ASSERT_TRUE(stream.is_ok() && stream->has_value());
  while ((*stream)->records->next() != nullptr) ++streamed;
  ASSERT_TRUE((*stream)->records->status().is_ok());
  const double given = millions_per_s(streamed, begin_us);
  EXPECT_GT(streamed, kRecords * 99 / 100);
  std::printf("%s, %zu bytes: mapped %.1f, sorted %.1f, streamed %.1f million records/s\n", name,
              kRecordBytes, mapped, sorted, given);
}

TEST(MapSpeedTest, records_of_three_kinds_go_through) {
  measure("array", StorageKind::kArray);
  measure("hash", StorageKind::kHash);
  measure("masstree", StorageKind::kMasstree);
}

}  // namespace
}  // namespace foedus::gleaner::testing::map_speed_test
