// Sorted runs: records are read back, damage is reported by name, remaining files are recognized.
#include "gleaner/reduce/run_file.h"

#include <gtest/gtest.h>

#include "foedus-core/base/line_allocator.h"
#include "gleaner/reduce/run_reader.h"
#include "gleaner/reduce/run_writer.h"
#include "tests/gleaner/reduce/random_log.h"
#include "tests/testing/failing_device.h"

namespace foedus::gleaner::testing::run_file_test {
namespace {

using foedus::testing::FailingDevice;

constexpr std::uint64_t kChunkBytes = 2 * 4'096;
constexpr std::uint64_t kLargeBytes = 3 * 4'096;  // bytes of a record of 9,000 bytes
const RunId kRun{page::SnapshotNumber{12}, 3, 4};
constexpr const char* kName = "run-00000012-3-4";

std::vector<LoggedRecord> records_of(std::size_t count, std::size_t payload_bytes) {
  std::vector<LoggedRecord> records;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = i % 17 == 3 ? 9'000 : payload_bytes;
    records.push_back({static_cast<std::uint32_t>(i % 5), i,
                       make_record(log::LogRecordType::kPut, 1, tid_of(11, 1), index_key(i), 0,
                                   std::string(bytes, static_cast<char>('a' + i % 26)))});
  }
  return records;
}

Status write_run(device::Device* device, const std::vector<LoggedRecord>& records) {
  FOEDUS_TRY(const auto writer, RunWriter::create(device, kRun, kChunkBytes));
  for (const LoggedRecord& record : records) {
    FOEDUS_CHECK(writer->append(
        {record.log()->index(), record.log(), record.session, record.sequence}));
  }
  return writer->close();
}

// Returns how many records were unchanged before the end.
Result<std::size_t> read_run(device::Device* device, const std::vector<LoggedRecord>& records,
                             const RunId& run = kRun) {
  base::LineVector<char> memory(2 * kChunkBytes);
  base::LineVector<char> large(kLargeBytes);
  FOEDUS_TRY(const auto reader, RunReader::open(device, run, memory.data(), kChunkBytes,
                                                {large.data(), kLargeBytes}));
  std::size_t same = 0;
  StreamRecord before{};
  for (std::size_t i = 0; reader->head() != nullptr; ++i) {
    // The record before must still be unchanged.
    if (i != 0 && before.log->index() != i - 1) return same;
    FOEDUS_CHECK(reader->fetch());
    const StreamRecord& head = *reader->head();
    const LoggedRecord& record = records[i];
    if (head.position == i && head.session == record.session && head.sequence == i &&
        record.bytes == std::string_view(reinterpret_cast<const char*>(head.log),
                                         head.log->record_bytes)) {
      ++same;
    }
    before = head;
    FOEDUS_CHECK(reader->advance());
  }
  return same;
}

TEST(RunFileTest, records_are_read_as_they_were_written) {
  for (const std::size_t count : {0u, 1u, 100u, 1'000u}) {
    FailingDevice device;
    const std::vector<LoggedRecord> records = records_of(count, 100);
    ASSERT_TRUE(write_run(&device, records).is_ok());
    EXPECT_EQ(device.names(), std::vector<std::string>{kName});
    const auto same = read_run(&device, records);
    ASSERT_TRUE(same.is_ok()) << same.status().message();
    EXPECT_EQ(*same, count);
  }
}

// The bytes that FORMAT.md promises.
TEST(RunFileTest, the_first_bytes_are_those_of_the_format) {
  FailingDevice device;
  ASSERT_TRUE(write_run(&device, records_of(1, 8)).is_ok());
  const std::vector<char> bytes = device.bytes_of(kName);
  const auto text = [&](std::size_t offset, std::size_t count) {
    return std::string(bytes.data() + offset, count);
  };
  ASSERT_EQ(bytes.size(), 4'096u);
  EXPECT_EQ(text(0, 4), "FRUN");
  EXPECT_EQ(text(8, 8), std::string("\2\0\0\0\1\0\0\0", 8));
  EXPECT_EQ(text(16, 8), std::string("\0\x10\0\0\0\0\0\0", 8));
  EXPECT_EQ(text(24, 8), std::string("\x40\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(text(40, 16), std::string("\x0c\0\0\0\3\0\0\0\4\0\0\0\0\0\0\0", 16));
}

TEST(RunFileTest, any_flipped_bit_is_found) {
  FailingDevice device;
  const std::vector<LoggedRecord> records = records_of(60, 400);  // of one block and more
  ASSERT_TRUE(write_run(&device, records).is_ok());
  const std::size_t bytes = device.size_of(kName);
  base::Random random(5);
  for (unsigned i = 0; i < 600; ++i) {
    const std::uint64_t offset = i < 60 ? i : random.below(bytes);
    const auto bit = static_cast<unsigned>(random.below(8));
    device.flip_bit(kName, offset, bit);
    const auto same = read_run(&device, records);
    EXPECT_EQ(same.code(), ErrorCode::kCorruption) << offset;
    EXPECT_NE(same.status().message().find(kName), std::string::npos);
    device.flip_bit(kName, offset, bit);
  }
}

TEST(RunFileTest, a_missing_end_is_found) {
  FailingDevice device;
  const std::vector<LoggedRecord> records = records_of(60, 100);
  ASSERT_TRUE(write_run(&device, records).is_ok());
  for (std::size_t bytes = device.size_of(kName); bytes != 0;) {
    bytes -= std::min<std::size_t>(bytes, 2'048);
    device.set_size(kName, bytes);
    EXPECT_EQ(read_run(&device, records).code(), ErrorCode::kCorruption) << bytes;
  }
}

TEST(RunFileTest, a_file_of_another_run_is_refused) {
  FailingDevice device;
  ASSERT_TRUE(write_run(&device, records_of(5, 8)).is_ok());
  ASSERT_TRUE(device.rename(kName, "run-00000012-3-5").is_ok());
  EXPECT_EQ(read_run(&device, {}, {page::SnapshotNumber{12}, 3, 5}).code(),
            ErrorCode::kCorruption);
}

TEST(RunFileTest, names_are_parsed_as_they_are_made) {
  EXPECT_EQ(run_name(kRun), kName);
  EXPECT_EQ(parse_run_name(kName), kRun);
  for (const char* const name :
       {"", "run-", "run-00000012", "run-00000012-3", "run-00000012-3-", "run-12-3-4",
        "run-00000012-03-4", "run-00000012-3-4 ", "run-00000012-3-4-5", "run-00000012--3-4",
        "run-0000001x-3-4", "xrun-00000012-3-4", "run-00000012-3-99999999999"}) {
    EXPECT_FALSE(parse_run_name(name).has_value()) << name;
  }
}

TEST(RunFileTest, leftovers_are_removed_and_nothing_else) {
  FailingDevice device;
  const std::vector<std::string> others = {"log-0-00000001", "run-1-2-3", "savepoint"};
  for (const std::string& name : others) {
    ASSERT_TRUE(device.open(name, device::Access::kCreate).is_ok());
  }
  for (const std::uint32_t soc : {0u, 1u, 2u}) {
    const RunId id{page::SnapshotNumber{9}, soc, soc};
    ASSERT_TRUE(device.open(run_name(id), device::Access::kCreate).is_ok());
  }
  ASSERT_TRUE(remove_orphaned_runs(&device, 1).is_ok());
  EXPECT_EQ(device.names().size(), 5u);
  ASSERT_TRUE(remove_orphaned_runs(&device).is_ok());
  EXPECT_EQ(device.names(), others);
}

}  // namespace
}  // namespace foedus::gleaner::testing::run_file_test
