// ctest-labels: concurrency
// StagingBuffer: several writers and a reader, while flushers are at work.
#include "foedus-core/device/staging/buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "foedus-core/device/pooled_io.h"
#include "foedus-core/device/posix/file_device.h"
#include "tests/testing/staged_pages.h"

namespace foedus::device::staging_threads_test {
namespace {

using testing::kStagedFiles;
using testing::make_files;
using testing::must;
using testing::open_file;
using testing::resolving;
using testing::SpreadDisk;

// Writers have pages of their own, of all files; readers read any. A page that is read is whole,
// and not older than the version that its writer had acknowledged before.
class StagingThreadsTest : public ::testing::Test {
 protected:
  StagingThreadsTest() { make_files(&disk); }

  static constexpr std::uint64_t kWriters = 3;
  static constexpr std::uint64_t kPagesEach = 8;
  using Known = std::array<std::atomic<std::uint64_t>, kStagedFiles * kWriters * kPagesEach>;

  // Fills a page. Readers compare its first words, id, page and version, with those at its end.
  static void fill(std::uint64_t id, std::uint64_t page, std::uint64_t version, char* bytes) {
    const std::uint64_t words[3] = {id, page, version};
    for (std::size_t at = 0; at + sizeof(words) <= kBlockBytes; at += sizeof(words)) {
      std::memcpy(bytes + at, words, sizeof(words));
    }
  }
  static std::uint64_t version_in(std::uint64_t id, std::uint64_t page, const char* bytes) {
    std::uint64_t words[3];
    std::memcpy(words, bytes, sizeof(words));
    for (std::size_t at = 0; at + sizeof(words) <= kBlockBytes; at += sizeof(words)) {
      EXPECT_EQ(std::memcmp(bytes + at, words, sizeof(words)), 0) << "a torn page";
    }
    EXPECT_EQ(words[0], id);
    EXPECT_EQ(words[1], page);
    return words[2];
  }
  void run(const StagingOptions& options, std::uint64_t writes) {
    run(options, writes, &disk.a(), &disk.b(), [this] { return pool.make_queue(); });
  }
  void run(const StagingOptions& options, std::uint64_t writes, Device* memory, Device* ssd,
           const StagingBuffer::MakeQueue& make_queue);
  void write_pages(std::uint64_t writer, std::uint64_t writes);
  void read_pages(std::uint64_t seed);

  SpreadDisk disk;
  const std::unique_ptr<base::Runtime> runtime = base::make_thread_runtime();
  IoPool pool{runtime.get(), 2};
  std::unique_ptr<StagingBuffer> buffer;
  std::vector<std::shared_ptr<StagingTarget>> targets;
  Known known{};
  std::atomic<bool> is_over = false;
};

void StagingThreadsTest::write_pages(std::uint64_t writer, std::uint64_t writes) {
  base::Random random(writer + 1);
  std::vector<char> bytes(3 * kBlockBytes);
  for (std::uint64_t version = 1; version <= writes; ++version) {
    const std::uint64_t file = random.below(kStagedFiles);
    const std::uint64_t count = 1 + random.below(3);
    const std::uint64_t page = writer * kPagesEach + random.below(kPagesEach - count + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      fill(targets[file]->id(), page + i, version, bytes.data() + i * kBlockBytes);
    }
    must(buffer->write(targets[file], page, bytes.data(), count));
    for (std::uint64_t i = 0; i < count; ++i) {
      known[file * kWriters * kPagesEach + page + i].store(version);
    }
    if (version % 64 == 0) must(buffer->flush());
  }
}

void StagingThreadsTest::read_pages(std::uint64_t seed) {
  base::Random random(seed);
  std::vector<char> bytes(kBlockBytes);
  while (!is_over.load()) {
    const std::uint64_t file = random.below(kStagedFiles);
    const std::uint64_t page = random.below(kWriters * kPagesEach);
    const std::uint64_t before = known[file * kWriters * kPagesEach + page].load();
    if (!must(buffer->read(*targets[file], page, bytes.data()))) continue;
    EXPECT_GE(version_in(targets[file]->id(), page, bytes.data()), before);
  }
}

void StagingThreadsTest::run(const StagingOptions& options, std::uint64_t writes, Device* memory,
                             Device* ssd, const StagingBuffer::MakeQueue& make_queue) {
  buffer = must(StagingBuffer::open(memory, runtime.get(), options, make_queue, resolving(ssd)));
  for (std::uint64_t id = 1; id <= kStagedFiles; ++id) {
    targets.push_back(std::make_shared<StagingTarget>(id, must(open_file(ssd, id))));
  }
  std::vector<std::thread> threads;
  std::thread reader([&] { read_pages(99); });
  for (std::uint64_t i = 0; i < kWriters; ++i) {
    threads.emplace_back([this, i, writes] { write_pages(i, writes); });
  }
  for (std::thread& thread : threads) thread.join();
  is_over.store(true);
  reader.join();
  must(buffer->flush());
  std::vector<char> bytes(kBlockBytes);
  for (std::uint64_t file = 0; file < kStagedFiles; ++file) {
    for (std::uint64_t page = 0; page < kWriters * kPagesEach; ++page) {
      const std::uint64_t last = known[file * kWriters * kPagesEach + page].load();
      if (last == 0) continue;
      must(targets[file]->file()->read_at(page * kBlockBytes, bytes.data(), kBlockBytes));
      EXPECT_EQ(version_in(targets[file]->id(), page, bytes.data()), last);
    }
  }
  buffer.reset();
}

TEST_F(StagingThreadsTest, writers_and_readers_of_few_buckets) {
  run({.partitions = 2, .buckets = 2, .slots = 4, .flushers = 2, .spread = StagingSpread::kEven},
      300);
}

TEST_F(StagingThreadsTest, writers_and_readers_of_one_bucket) {
  run({.partitions = 1, .buckets = 1, .slots = 8, .flushers = 1}, 200);
}

TEST_F(StagingThreadsTest, writers_and_readers_of_a_partition_for_each_file) {
  run({.partitions = 4, .buckets = 3, .slots = 4, .flushers = 3, .spread = StagingSpread::kSingle},
      300);
}

// The files are real ones: areas are mapped if memory is persistent, and io_uring writes if the
// system allows it.
TEST_F(StagingThreadsTest, writers_and_readers_of_files) {
  testing::TestDirectory directory;
  const auto memory = must(FileDevice::open(directory.path() + "/nvm", Facility::kTry,
                                            FileAccess::kMapped));
  const auto ssd = must(FileDevice::open(directory.path() + "/ssd", Facility::kTry));
  for (std::uint64_t id = 1; id <= kStagedFiles; ++id) {
    must(ssd->open(testing::file_name(id), Access::kCreate));
  }
  run({.partitions = 4, .buckets = 2, .slots = 16, .flushers = 2}, 1'000, memory.get(), ssd.get(),
      [&] {
        auto queue = ssd->make_io_queue();
        return queue == nullptr ? pool.make_queue() : std::move(queue);
      });
  targets.clear();
}

}  // namespace
}  // namespace foedus::device::staging_threads_test
