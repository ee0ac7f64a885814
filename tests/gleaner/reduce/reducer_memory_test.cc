// ctest-program: own
// ctest-labels: memory
// The memory of a reducer beside its budget, when records are larger than its chunks (G20), and its
// files when memory runs out. The program replaces operator new: it counts bytes in use, and
// refuses too large pieces.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "foedus-core/base/line_allocator.h"
#include "foedus-core/device/posix/file_device.h"
#include "gleaner/reduce/reducer.h"
#include "tests/gleaner/reduce/random_log.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace {

std::size_t bytes_in_use = 0;  // one thread
std::size_t bytes_in_use_max = 0;
std::size_t refused_from_bytes = ~std::size_t{0};  // of one piece

void* counted(void* at, std::size_t bytes) {
  if (at == nullptr) std::abort();
  if (bytes >= refused_from_bytes) {
    std::free(at);
    throw std::bad_alloc();
  }
  bytes_in_use += malloc_usable_size(at);
  bytes_in_use_max = std::max(bytes_in_use_max, bytes_in_use);
  return at;
}

// Inlining would show the compiler a free() of memory from new.
[[gnu::noinline]] void release(void* at) {
  if (at != nullptr) bytes_in_use -= malloc_usable_size(at);
  std::free(at);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(std::malloc(std::max<std::size_t>(1, bytes)), bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto boundary = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(boundary, (bytes + boundary - 1) / boundary * boundary),
                 bytes);
}
void operator delete(void* at) noexcept { release(at); }
void operator delete(void* at, std::size_t) noexcept { release(at); }
void operator delete(void* at, std::align_val_t) noexcept { release(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { release(at); }

namespace foedus::gleaner::testing::reducer_memory_test {
namespace {

// Puts of rows of one size, each in a block of its own, through one reducer. The device is a real
// one, because a simulated one would use the program's memory.
class LargeRows {
 public:
  LargeRows(std::uint64_t reducer_bytes, std::size_t row_bytes)
      : device_(std::move(
            device::FileDevice::open(directory_.path() + "/runs", Facility::kOff).value())),
        memory_(reducer_bytes),
        row_(row_bytes, 'r') {
    ReducerOptions options;
    options.snapshot = page::SnapshotNumber{1};
    options.memory = memory_.data();
    options.memory_bytes = reducer_bytes;
    before_ = bytes_in_use_max = bytes_in_use;
    reducer_.emplace(&runtime_, &finished_, device_.get(), &table_, options);
    runtime_.start(&*reducer_);
  }
  ~LargeRows() { runtime_.stop(&*reducer_); }

  void put(std::uint64_t key, std::uint32_t ordinal) {
    const std::string name = index_key(__builtin_bswap64(key));  // in the order of numbers
    const std::uint64_t entry_bytes =
        sizeof(RecordEntry) + log::LogRecord::size_of(name.size(), row_.size());
    const std::uint64_t block_bytes = BlockHeader::bytes_for(entry_bytes);
    const Result<char*> to = reducer_->inbox()->reserve(block_bytes);
    ASSERT_TRUE(to.is_ok());
    const BlockHeader header{block_bytes, 1};
    const RecordEntry entry{key, ordinal, 1, 0};
    const auto unit = static_cast<std::uint64_t>(*to + sizeof(header) - memory_.data()) / 8;
    const SortItem item{key, static_cast<std::uint32_t>(unit),
                        table_.index_of(page::StorageId{kMasstreeId})};
    std::memcpy(*to, &header, sizeof(header));
    std::memcpy(*to + block_bytes - sizeof(item), &item, sizeof(item));
    std::memcpy(*to + sizeof(header), &entry, sizeof(entry));
    auto* const log =
        reinterpret_cast<log::LogRecord*>(*to + sizeof(header) + sizeof(entry));
    log->prepare(log::LogRecordType::kPut, page::StorageId{kMasstreeId}, name.size(), row_.size(),
                 0);
    log->tid = tid_of(11, ordinal);
    std::memcpy(log->key_data(), name.data(), name.size());
    row_.front() = row_.back() = mark_of(key, ordinal);
    std::memcpy(log->payload_data(), row_.data(), row_.size());
    reducer_->inbox()->announce(block_bytes);
  }

  // Reads the stream to its end; each row must be the newest of its key. Returns the number of
  // rows.
  std::uint64_t read(std::uint32_t newest_from) {
    reducer_->inbox()->end_writer();
    runtime_.wait(&finished_, base::Runtime::kForever, [this] { return reducer_->is_done(); });
    EXPECT_TRUE(reducer_->status().is_ok()) << reducer_->status().message();
    const auto stream = reducer_->next_storage();
    if (!stream.is_ok() || !stream->has_value()) return 0;
    for (std::uint64_t count = 0;; ++count) {
      const StreamRecord* const next = (*stream)->records->next();
      const Status& status = (*stream)->records->status();
      EXPECT_TRUE(status.is_ok()) << status.message();
      if (next == nullptr) return count;
      const std::string_view row = next->log->payload();
      const auto ordinal = static_cast<std::uint32_t>(next->sequence);
      EXPECT_EQ(next->position, count);
      EXPECT_GE(ordinal, newest_from);
      EXPECT_EQ(row.size(), row_.size());
      EXPECT_EQ(row.front(), mark_of(count, ordinal));
      EXPECT_EQ(row.back(), mark_of(count, ordinal));
    }
  }

  const ReducerCounts& counts() const { return reducer_->counts(); }
  std::size_t bytes_beside() const { return bytes_in_use_max - before_; }

 private:
  static char mark_of(std::uint64_t key, std::uint32_t ordinal) {
    return static_cast<char>('A' + (key * 7 + ordinal) % 50);
  }

  foedus::testing::TestDirectory directory_;
  std::unique_ptr<device::FileDevice> device_;
  foedus::testing::ManualRuntime runtime_;
  base::WaitPoint finished_;
  const PartitionTable table_ = RandomLog::table(1, 10);
  base::LineVector<char> memory_;
  std::string row_;
  std::size_t before_ = 0;
  std::optional<Reducer> reducer_;
};

constexpr std::uint64_t kMiB = 1u << 20;

// A glean with the least memory has more runs than can be read at once, each of one row of the
// largest size.
TEST(ReducerMemoryTest, runs_of_large_rows_are_joined_and_read_in_the_memory_that_was_given) {
  constexpr std::uint64_t kRows = 24;
  LargeRows rows(12 * kMiB, kMaxPayloadBytes);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    rows.put(i * 7 % kRows, static_cast<std::uint32_t>(i + 1));
  }
  EXPECT_EQ(rows.read(1), kRows);
  EXPECT_GE(rows.counts().runs, kRows);  // one row stays in memory, so some are joined
  EXPECT_LT(rows.bytes_beside(), kMiB);
}

// The history of a key needs memory of its own: the growing row, and the folded one.
TEST(ReducerMemoryTest, older_rows_of_a_key_take_no_more_than_its_history) {
  constexpr std::uint64_t kRows = 8;
  LargeRows rows(12 * kMiB, kMaxPayloadBytes);
  for (std::uint32_t i = 0; i < 3 * kRows; ++i) rows.put(i * 5 % kRows, i + 1);
  EXPECT_EQ(rows.read(2 * kRows + 1), kRows);
  EXPECT_LT(rows.bytes_beside(), 2 * kMaxPayloadBytes + kMiB);
}

// A half of the inbox holds one row, but not four chunks as well, so the row has memory of its own.
TEST(ReducerMemoryTest, a_row_for_which_a_half_has_no_room_is_beside) {
  constexpr std::uint64_t kRows = 64;
  constexpr std::uint64_t kRowBytes = 45'000;
  LargeRows rows(ReducerOptions::kMemoryBytesMin, kRowBytes);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    rows.put(i * 7 % kRows, static_cast<std::uint32_t>(i + 1));
  }
  EXPECT_EQ(rows.read(1), kRows);
  EXPECT_GT(rows.bytes_beside(), kRowBytes);
  EXPECT_LT(rows.bytes_beside(), 2 * kRowBytes);
}

// A file that was left would keep its name in use until the next glean.
TEST(ReducerMemoryTest, a_run_for_which_there_is_no_memory_leaves_no_file) {
  foedus::testing::FailingDevice device;
  const RunId run{page::SnapshotNumber{1}, 0, 0};
  refused_from_bytes = kMiB;
  EXPECT_THROW(static_cast<void>(RunWriter::create(&device, run, kMiB)), std::bad_alloc);
  refused_from_bytes = ~std::size_t{0};
  EXPECT_TRUE(device.names().empty());
  EXPECT_TRUE(RunWriter::create(&device, run, kMiB).is_ok());
}

}  // namespace
}  // namespace foedus::gleaner::testing::reducer_memory_test
