// Several threads ship blocks to one inbox while another takes halves: every block arrives once and
// whole.
// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "foedus-core/base/line_allocator.h"
#include "foedus-core/base/system/clock.h"
#include "gleaner/handoff/inbox.h"

namespace foedus::gleaner::inbox_threads_test {
namespace {

constexpr std::uint32_t kWriters = 3;
constexpr std::uint64_t kBlocksPerWriter = 4'000;

// A block is its header, with the number of words, and words with the number of its writer and its
// own.
class Consumer : public base::Task {
 public:
  explicit Consumer(Inbox* inbox) : inbox_(inbox) {}
  const char* name() const override { return "consumer"; }
  std::uint64_t step() override {
    if (is_done.load()) return kUntilNotified;
    const auto half = inbox_->take();
    if (!half.has_value()) return kUntilNotified;
    for (std::uint64_t at = 0; at < half->bytes;) {
      const auto* const block = reinterpret_cast<const BlockHeader*>(half->begin + at);
      check(*block);
      at += block->block_bytes;
    }
    if (half->is_last) is_done.store(true);
    return 0;
  }

  std::map<std::uint64_t, unsigned> seen;
  bool is_whole = true;
  std::atomic<bool> is_done{false};

 private:
  void check(const BlockHeader& block) {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(&block + 1);
    ++seen[words[0]];
    for (std::uint64_t i = 0; i < block.record_count; ++i) {
      is_whole = is_whole && words[i] == words[0];
    }
  }

  Inbox* const inbox_;
};

void write_blocks(Inbox* inbox, std::uint32_t writer) {
  base::Random random(writer + 1);
  for (std::uint64_t i = 0; i < kBlocksPerWriter; ++i) {
    const std::uint64_t words = 1 + random.below(100);
    const std::uint64_t bytes = BlockHeader::bytes_for(8 * words);
    const auto to = inbox->reserve(bytes);
    ASSERT_TRUE(to.is_ok());
    const std::uint64_t word = writer * kBlocksPerWriter + i;
    const BlockHeader header{bytes, words};
    std::memcpy(*to, &header, sizeof(header));
    for (std::uint64_t at = 0; at < words; ++at) {
      std::memcpy(*to + sizeof(header) + 8 * at, &word, sizeof(word));
    }
    inbox->announce(bytes);
  }
  inbox->end_writer();
}

TEST(InboxThreadsTest, every_block_arrives_once_and_whole) {
  for (const std::uint64_t memory_bytes : {2'048u, 65'536u}) {
    const auto runtime = base::make_thread_runtime();
    base::LineVector<char> memory(memory_bytes);
    Inbox inbox(runtime.get(), memory.data(), memory.size(), kWriters);
    Consumer consumer(&inbox);
    inbox.set_consumer(&consumer);
    runtime->start(&consumer);
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < kWriters; ++i) threads.emplace_back(write_blocks, &inbox, i);
    for (std::thread& thread : threads) thread.join();
    while (!consumer.is_done.load()) std::this_thread::yield();
    runtime->stop(&consumer);
    EXPECT_TRUE(consumer.is_whole);
    EXPECT_EQ(consumer.seen.size(), kWriters * kBlocksPerWriter);
    for (const auto& [word, count] : consumer.seen) ASSERT_EQ(count, 1u) << word;
  }
}

}  // namespace
}  // namespace foedus::gleaner::inbox_threads_test
