// The states of an inbox, step by step in one thread (G11 to G13).
#include "gleaner/handoff/inbox.h"

#include <gtest/gtest.h>

#include "foedus-core/base/line_allocator.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::gleaner::inbox_test {
namespace {

// Takes a half whenever it is notified, if the test allows it.
class Consumer : public base::Task {
 public:
  explicit Consumer(Inbox* inbox) : inbox_(inbox) {}
  const char* name() const override { return "consumer"; }
  std::uint64_t step() override {
    ++steps;
    if (takes) half = inbox_->take();
    return kUntilNotified;
  }
  std::optional<Inbox::Half> half;
  unsigned steps = 0;
  bool takes = true;

 private:
  Inbox* const inbox_;
};

struct Rig {
  explicit Rig(std::uint32_t writers)
      : memory(2'048), inbox(&runtime, memory.data(), memory.size(), writers), consumer(&inbox) {
    inbox.set_consumer(&consumer);
    runtime.start(&consumer);
  }
  foedus::testing::ManualRuntime runtime;
  base::LineVector<char> memory;
  Inbox inbox;
  Consumer consumer;
};

TEST(InboxTest, blocks_lie_one_behind_the_other_in_whole_lines) {
  Rig rig(1);
  EXPECT_EQ(rig.inbox.half_bytes(), 1'024u);
  const auto a = rig.inbox.reserve(100);
  const auto b = rig.inbox.reserve(64);
  ASSERT_TRUE(a.is_ok() && b.is_ok());
  EXPECT_EQ(*a, rig.memory.data());
  EXPECT_EQ(*b, rig.memory.data() + 128);
}

TEST(InboxTest, a_half_is_taken_when_it_is_sealed_and_all_is_announced) {
  Rig rig(1);
  ASSERT_TRUE(rig.inbox.reserve(512).is_ok());
  ASSERT_TRUE(rig.inbox.reserve(512).is_ok());
  EXPECT_FALSE(rig.inbox.take().has_value());
  rig.inbox.announce(512);
  rig.inbox.announce(512);
  EXPECT_FALSE(rig.inbox.take().has_value());  // space is not needed yet
  const auto c = rig.inbox.reserve(64);        // no space: waits for the consumer
  ASSERT_TRUE(c.is_ok());
  EXPECT_EQ(*c, rig.memory.data() + 1'024);
  ASSERT_TRUE(rig.consumer.half.has_value());
  EXPECT_EQ(rig.consumer.half->begin, rig.memory.data());
  EXPECT_EQ(rig.consumer.half->bytes, 1'024u);
  EXPECT_FALSE(rig.consumer.half->is_last);
}

TEST(InboxTest, the_last_announcement_of_a_sealed_half_wakes_the_consumer) {
  Rig rig(2);
  ASSERT_TRUE(rig.inbox.reserve(1'000).is_ok());
  rig.inbox.announce(1'000);
  ASSERT_TRUE(rig.inbox.reserve(1'000).is_ok());
  rig.runtime.run_due();
  const unsigned steps = rig.consumer.steps;
  rig.inbox.end_writer();
  rig.inbox.end_writer();
  rig.runtime.run_due();
  EXPECT_EQ(rig.consumer.steps, steps);
  rig.inbox.announce(1'000);
  rig.runtime.run_due();
  EXPECT_EQ(rig.consumer.steps, steps + 1);
  ASSERT_TRUE(rig.consumer.half.has_value());
  EXPECT_TRUE(rig.consumer.half->is_last);
  EXPECT_EQ(rig.consumer.half->begin, rig.memory.data() + 1'024);
  EXPECT_EQ(rig.consumer.half->other, rig.memory.data());
}

TEST(InboxTest, the_consumer_is_told_when_a_half_is_filled_to_its_middle) {
  Rig rig(2);
  ASSERT_TRUE(rig.inbox.reserve(1'024).is_ok());
  rig.inbox.announce(1'024);
  ASSERT_TRUE(rig.inbox.reserve(448).is_ok());  // the consumer opens the second half
  rig.inbox.announce(448);
  rig.runtime.run_due();
  EXPECT_EQ(rig.inbox.fill(), Inbox::Fill::kLittle);
  const unsigned steps = rig.consumer.steps;
  ASSERT_TRUE(rig.inbox.reserve(64).is_ok());
  rig.runtime.run_due();
  EXPECT_EQ(rig.consumer.steps, steps + 1);
  EXPECT_EQ(rig.inbox.fill(), Inbox::Fill::kMuch);
  ASSERT_TRUE(rig.inbox.reserve(64).is_ok());
  rig.runtime.run_due();
  EXPECT_EQ(rig.consumer.steps, steps + 1);
}

TEST(InboxTest, the_last_half_is_there_when_all_of_it_is_announced) {
  Rig rig(1);
  rig.consumer.takes = false;
  ASSERT_TRUE(rig.inbox.reserve(1'000).is_ok());
  EXPECT_EQ(rig.inbox.fill(), Inbox::Fill::kMuch);
  rig.inbox.end_writer();
  EXPECT_EQ(rig.inbox.fill(), Inbox::Fill::kLittle);
  rig.inbox.announce(1'000);
  EXPECT_EQ(rig.inbox.fill(), Inbox::Fill::kLast);
}

TEST(InboxTest, the_last_half_may_be_empty) {
  Rig rig(1);
  rig.inbox.end_writer();
  rig.runtime.run_due();
  ASSERT_TRUE(rig.consumer.half.has_value());
  EXPECT_TRUE(rig.consumer.half->is_last);
  EXPECT_EQ(rig.consumer.half->bytes, 0u);
}

TEST(InboxTest, a_block_larger_than_a_half_is_refused) {
  Rig rig(1);
  EXPECT_EQ(rig.inbox.reserve(1'025).code(), ErrorCode::kTooLarge);
  EXPECT_TRUE(rig.inbox.reserve(1'024).is_ok());
}

TEST(InboxTest, nobody_waits_for_a_consumer_that_has_failed) {
  Rig rig(1);
  rig.consumer.takes = false;
  ASSERT_TRUE(rig.inbox.reserve(1'024).is_ok());
  rig.inbox.announce(1'024);
  rig.inbox.fail();
  EXPECT_EQ(rig.inbox.reserve(64).code(), ErrorCode::kClosed);
}

}  // namespace
}  // namespace foedus::gleaner::inbox_test
