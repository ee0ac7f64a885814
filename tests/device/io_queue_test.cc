// Queues of reads and writes: io_uring, tasks instead of it, and the queue of devices without
// either. Each test runs on all of them, with direct I/O and without.
// ctest-labels: memory
#include "foedus-core/device/io_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/emulated_device.h"
#include "foedus-core/device/pooled_io.h"
#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/device/posix/uring_io.h"

namespace foedus::device::io_queue_test {
namespace {

enum class Kind { kUring, kPooled, kDeferred, kEmulated };
constexpr std::uint32_t kBlocks = 200;

struct alignas(kBlockBytes) Block {
  std::array<char, kBlockBytes> bytes;
};

char fill_of(std::uint32_t block) { return static_cast<char>('a' + block % 26); }

class IoQueueTest : public ::testing::TestWithParam<std::pair<Kind, Access>> {
 protected:
  IoQueueTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "foedus-queue-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    device_ = *FileDevice::open(root_ + "/db", Facility::kTry);
    const auto file = *device_->open("a", Access::kCreate);
    for (std::uint32_t i = 0; i < kBlocks; ++i) {
      const std::string block(kBlockBytes, fill_of(i));
      EXPECT_TRUE(file->write_at(i * kBlockBytes, block.data(), block.size()).is_ok());
    }
    if (GetParam().first == Kind::kEmulated) {
      device_ = std::make_unique<EmulatedDevice>(std::move(device_), false,
                                                 NvmSpeed{.read_latency_ns = 20'000},
                                                 std::make_shared<NvmCounters>());
    }
    file_ = *device_->open("a", GetParam().second);
    queue_ = make();
    if (queue_ == nullptr) unlink_all();
  }
  ~IoQueueTest() override {
    queue_.reset();
    unlink_all();
  }
  void SetUp() override {
    if (queue_ == nullptr) GTEST_SKIP() << "io_uring is refused here";
  }
  void unlink_all() const { std::filesystem::remove_all(root_); }

  std::unique_ptr<IoQueue> make() {
    switch (GetParam().first) {
      case Kind::kUring:
        return UringIo::make();
      case Kind::kPooled:
        return pool_.make_queue();
      case Kind::kEmulated:
        return device_->make_io_queue();
      default:
        return std::make_unique<DeferredIo>();
    }
  }
  bool add(std::uint32_t block, std::uint32_t count, Block* to, std::uint32_t tag) {
    std::vector<Bytes> parts;
    for (std::uint32_t i = 0; i < count; ++i) parts.push_back({to[i].bytes.data(), kBlockBytes});
    return queue_->add_read(file_, std::uint64_t{block} * kBlockBytes, parts.data(), count, tag);
  }
  static bool is(const Block& block, std::uint32_t number) {
    return std::all_of(block.bytes.begin(), block.bytes.end(),
                       [&](char byte) { return byte == fill_of(number); });
  }

  std::string root_;
  const std::unique_ptr<base::Runtime> runtime_ = base::make_thread_runtime();
  std::unique_ptr<Device> device_;
  std::shared_ptr<const File> file_;
  IoPool pool_{runtime_.get(), 3};
  std::unique_ptr<IoQueue> queue_;
};

TEST_P(IoQueueTest, reads_end_with_their_tags_and_all_their_bytes) {
  std::vector<Block> blocks(IoQueue::kRequestsMax);
  IoQueue::Done done;
  EXPECT_FALSE(queue_->next(true, &done)) << "nothing was added";
  for (int round = 0; round < 20; ++round) {
    const auto number_of = [&](std::uint32_t tag) { return (tag * 37 + round) % kBlocks; };
    for (std::uint32_t tag = 0; tag < IoQueue::kRequestsMax; ++tag) {
      ASSERT_TRUE(add(number_of(tag), 1, &blocks[tag], tag));
      if (tag % 5 == 4) queue_->send();
    }
    EXPECT_FALSE(add(0, 1, &blocks[0], 0)) << "as many as can be are in flight";
    queue_->send();
    std::array<bool, IoQueue::kRequestsMax> seen{};
    for (std::uint32_t i = 0; i < IoQueue::kRequestsMax; ++i) {
      ASSERT_TRUE(queue_->next(true, &done));
      EXPECT_EQ(done.bytes, kBlockBytes);
      EXPECT_FALSE(std::exchange(seen.at(done.tag), true));
      EXPECT_TRUE(is(blocks[done.tag], number_of(done.tag)));
    }
    EXPECT_FALSE(queue_->next(true, &done));
  }
}

TEST_P(IoQueueTest, parts_of_a_read_go_to_places_of_their_own) {
  std::vector<Block> blocks(4 * IoQueue::kPartsMax);
  for (std::uint32_t tag = 0; tag < 4; ++tag) {
    ASSERT_TRUE(add(tag * 40, IoQueue::kPartsMax, &blocks[tag * IoQueue::kPartsMax], tag));
  }
  IoQueue::Done done;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(queue_->next(true, &done)) << "next() sends what was not sent";
    EXPECT_EQ(done.bytes, IoQueue::kPartsMax * kBlockBytes);
    for (std::uint32_t j = 0; j < IoQueue::kPartsMax; ++j) {
      EXPECT_TRUE(is(blocks[done.tag * IoQueue::kPartsMax + j], done.tag * 40 + j));
    }
  }
}

TEST_P(IoQueueTest, more_parts_than_wait_at_a_time_are_sent_in_between) {
  std::vector<Block> blocks(20 * IoQueue::kPartsMax);
  for (std::uint32_t tag = 0; tag < 20; ++tag) {
    ASSERT_TRUE(add(tag, IoQueue::kPartsMax, &blocks[tag * IoQueue::kPartsMax], tag));
  }
  IoQueue::Done done;
  for (std::uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(queue_->next(true, &done));
    EXPECT_EQ(done.bytes, IoQueue::kPartsMax * kBlockBytes);
    EXPECT_TRUE(is(blocks[done.tag * IoQueue::kPartsMax + 3], done.tag + 3));
  }
}

TEST_P(IoQueueTest, a_read_beyond_the_end_has_fewer_bytes) {
  std::vector<Block> blocks(4);
  ASSERT_TRUE(add(kBlocks - 2, 4, blocks.data(), 1));
  IoQueue::Done done;
  ASSERT_TRUE(queue_->next(true, &done));
  EXPECT_EQ(done.bytes, 2 * kBlockBytes);
  EXPECT_TRUE(is(blocks[1], kBlocks - 1));
  ASSERT_TRUE(add(kBlocks, 1, blocks.data(), 1));
  ASSERT_TRUE(queue_->next(true, &done));
  EXPECT_EQ(done.bytes, 0u);
}

// V10: a file may be closed while it is read.
TEST_P(IoQueueTest, a_file_may_be_closed_while_it_is_read) {
  std::vector<Block> blocks(8);
  for (std::uint32_t tag = 0; tag < 8; ++tag) ASSERT_TRUE(add(tag, 1, &blocks[tag], tag));
  queue_->send();
  file_.reset();
  IoQueue::Done done;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(queue_->next(true, &done));
    EXPECT_TRUE(is(blocks[done.tag], done.tag));
  }
}

// V10: a file may be closed before the read is sent. Method: another file gets the descriptor of
// the closed one.
TEST_P(IoQueueTest, a_file_may_be_closed_before_a_read_of_it_is_sent) {
  std::vector<Block> blocks(8);
  const auto other = *device_->open("b", Access::kCreate);
  ASSERT_TRUE(other->preallocate(kBlocks * kBlockBytes).is_ok());
  for (std::uint32_t tag = 0; tag < 8; ++tag) ASSERT_TRUE(add(tag, 1, &blocks[tag], tag));
  file_.reset();
  const std::shared_ptr<const File> next = *device_->open("b", GetParam().second);
  IoQueue::Done done;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(queue_->next(true, &done));
    EXPECT_TRUE(is(blocks[done.tag], done.tag));
  }
}

// V9: the sanitizers notice a later write.
TEST_P(IoQueueTest, its_end_waits_for_what_is_in_flight) {
  if (GetParam().first == Kind::kDeferred) GTEST_SKIP() << "has nothing in flight";
  for (int round = 0; round < 50; ++round) {
    const auto blocks = std::make_unique<std::array<Block, 4>>();
    for (std::uint32_t tag = 0; tag < 4; ++tag) ASSERT_TRUE(add(tag, 1, &(*blocks)[tag], tag));
    if (round % 2 == 0) queue_->send();
    queue_ = nullptr;
    for (std::uint32_t tag = 0; tag < 4; ++tag) EXPECT_TRUE(is((*blocks)[tag], tag));
    queue_ = make();
  }
}

TEST_P(IoQueueTest, a_child_of_fork_gives_up_what_is_its_parents) {
  if (GetParam().first == Kind::kDeferred) GTEST_SKIP() << "has nothing of the system's";
  std::vector<Block> blocks(2);
  ASSERT_TRUE(add(1, 1, &blocks[0], 1));
  queue_->send();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    IoQueue::Done done;
    const bool can_add = add(2, 1, &blocks[1], 2);
    const bool has_next = queue_->next(true, &done);
    queue_.reset();
    ::_exit(can_add || has_next ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  IoQueue::Done done;
  ASSERT_TRUE(queue_->next(true, &done));
  EXPECT_TRUE(is(blocks[0], 1));
}

TEST(UringIoTest, a_queue_gives_back_its_descriptor) {
  const auto next_descriptor = [] {
    const int next = ::dup(0);
    ::close(next);
    return next;
  };
  const int before = next_descriptor();
  for (int i = 0; i < 3; ++i) UringIo::make();
  EXPECT_EQ(next_descriptor(), before);
}

// Tests of writes to a file, with and without direct I/O.
class WriteQueueTest : public IoQueueTest {
 protected:
  std::shared_ptr<File> to_write() const {
    const bool is_direct = GetParam().second == Access::kReadDirect;
    return *device_->open("a", is_direct ? Access::kReadWriteDirect : Access::kReadWrite);
  }
};

TEST_P(WriteQueueTest, writes_end_with_their_tags_and_are_found_by_reads) {
  const std::shared_ptr<File> file = to_write();
  std::vector<Block> blocks(IoQueue::kRequestsMax);
  IoQueue::Done done;
  for (std::uint32_t round = 0; round < 5; ++round) {
    for (std::uint32_t tag = 0; tag < IoQueue::kRequestsMax; ++tag) {
      blocks[tag].bytes.fill(fill_of(tag + round));
      ASSERT_TRUE(queue_->add_write(file, tag * kBlockBytes, &blocks[tag], kBlockBytes, tag));
    }
    EXPECT_FALSE(queue_->add_write(file, 0, &blocks[0], kBlockBytes, 0)) << "as many as can be";
    queue_->send();
    for (std::uint32_t i = 0; i < IoQueue::kRequestsMax; ++i) {
      ASSERT_TRUE(queue_->next(true, &done));
      EXPECT_EQ(done.bytes, kBlockBytes);
    }
    for (std::uint32_t tag = 0; tag < IoQueue::kRequestsMax; ++tag) {
      Block found;
      ASSERT_EQ(*file_->read_at(tag * kBlockBytes, &found, kBlockBytes), kBlockBytes);
      EXPECT_TRUE(is(found, tag + round));
    }
  }
}

TEST_P(WriteQueueTest, reads_and_writes_are_in_flight_together) {
  const std::shared_ptr<File> file = to_write();
  std::vector<Block> read(20);
  Block written;
  written.bytes.fill('!');
  for (std::uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(add(i, 1, &read[i], 2 * i));
    ASSERT_TRUE(queue_->add_write(file, (100 + i) * kBlockBytes, &written, kBlockBytes, 2 * i + 1));
  }
  IoQueue::Done done;
  for (std::uint32_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(queue_->next(true, &done)) << "next() sends what was not sent";
    EXPECT_EQ(done.bytes, kBlockBytes);
  }
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_TRUE(is(read[i], i));
}

TEST_P(WriteQueueTest, a_write_that_fails_has_no_bytes) {
  const std::shared_ptr<File> file = *device_->open("a", Access::kRead);
  Block block;
  block.bytes.fill('!');
  ASSERT_TRUE(queue_->add_write(file, 0, &block, kBlockBytes, 3));
  IoQueue::Done done;
  ASSERT_TRUE(queue_->next(true, &done));
  EXPECT_EQ(done.tag, 3u);
  EXPECT_EQ(done.bytes, 0u);
}

// V10 and V9: file and queue may be closed during a write; the sanitizers notice a later access.
TEST_P(WriteQueueTest, the_file_and_the_queue_may_go_while_it_is_written) {
  if (GetParam().first == Kind::kDeferred) GTEST_SKIP() << "has nothing in flight";
  std::shared_ptr<File> file = to_write();
  for (std::uint32_t round = 0; round < 20; ++round) {
    const auto block = std::make_unique<Block>();
    block->bytes.fill(fill_of(round));
    ASSERT_TRUE(queue_->add_write(file, 0, block.get(), kBlockBytes, 1));
    if (round % 2 == 0) queue_->send();
    file.reset();
    queue_ = nullptr;
    Block found;
    ASSERT_EQ(*file_->read_at(0, &found, kBlockBytes), kBlockBytes);
    EXPECT_TRUE(is(found, round)) << "the end of a queue waits for it";
    queue_ = make();
    file = to_write();
  }
}

std::string name_of(const ::testing::TestParamInfo<IoQueueTest::ParamType>& tested) {
  const char* const kinds[] = {"uring", "pooled", "deferred", "emulated"};
  const bool is_direct = tested.param.second == Access::kReadDirect;
  return std::string(kinds[static_cast<int>(tested.param.first)]) +
         (is_direct ? "_direct" : "_buffered");
}

const auto kAll = ::testing::Values(
    std::pair{Kind::kUring, Access::kRead}, std::pair{Kind::kUring, Access::kReadDirect},
    std::pair{Kind::kPooled, Access::kRead}, std::pair{Kind::kPooled, Access::kReadDirect},
    std::pair{Kind::kDeferred, Access::kReadDirect},
    std::pair{Kind::kEmulated, Access::kReadDirect});
INSTANTIATE_TEST_SUITE_P(all, IoQueueTest, kAll, name_of);
INSTANTIATE_TEST_SUITE_P(all, WriteQueueTest, kAll, name_of);

}  // namespace
}  // namespace foedus::device::io_queue_test
