// ctest-labels: concurrency
// TieredDevice with a staging buffer: readers beside the threads that flush and move.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/tiers/tiered_device.h"
#include "tests/testing/spread_disk.h"
#include "tests/testing/staged_tiers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/tiered_files.h"

namespace foedus::device::staged_reads_test {
namespace {

using testing::difference;
using testing::kBlocksPerExtent;
using testing::kStagedBytes;
using testing::make_file;
using testing::must;
using testing::SpreadDisk;

constexpr std::uint64_t kBlocks = 4 * kBlocksPerExtent - 5;

// Goal: V31, V32. Method: threads read files that are made, flushed and moved meanwhile.
TEST(StagedReadsTest, files_are_read_while_their_pages_are_flushed) {
  SpreadDisk disk;
  const auto runtime = base::make_thread_runtime();
  const auto device = disk.open_tiered({.nvm_bytes = 4 * kExtentBytes + kStagedBytes},
                                       {.runtime = runtime.get(), .bytes = kStagedBytes});
  constexpr int kFiles = 8;
  const auto name_of = [](int file) { return "snapshot-0000000" + std::to_string(file) + "-0"; };
  std::atomic<int> made{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      for (int seen = 0; seen < kFiles && !::testing::Test::HasFailure(); seen = made) {
        for (int file = 0; file < made; ++file) {
          ASSERT_EQ(difference(device.get(), name_of(file), kBlocks), "");
        }
        std::this_thread::yield();
      }
    });
  }
  for (int file = 0; file < kFiles; ++file) {
    must(make_file(device.get(), name_of(file), kBlocks));
    made = file + 1;
    if (file % 3 == 2) must(device->make_room());
  }
  for (std::thread& reader : readers) reader.join();
  must(device->make_room());
  for (int file = 0; file < kFiles; ++file) {
    EXPECT_EQ(difference(device.get(), name_of(file), kBlocks), "");
  }
}

}  // namespace
}  // namespace foedus::device::staged_reads_test
