// The ring of one session: which transactions it has room for.
#include "foedus-core/log/log_buffer.h"

#include <gtest/gtest.h>

#include <vector>

namespace foedus::log {
namespace {

constexpr std::uint64_t kCapacity = 1024;

// All that was published is durable as soon as somebody waits for it.
struct Room : LogRoom {
  Status wait_for_room(const LogBuffer& buffer, std::uint64_t offset) override {
    EXPECT_LE(offset, buffer.committed()) << "nobody will ever publish that";
    ring->set_durable(buffer.committed());
    return {};
  }
  LogBuffer* ring = nullptr;
};

struct Ring {
  // As if transactions had taken so much already.
  explicit Ring(std::uint64_t begin) {
    room.ring = &buffer;
    for (; begin >= 128; begin -= 128) write({128});
    if (begin != 0) write({begin});
    buffer.publish();
  }
  // The first error; the transaction stays open.
  ErrorCode write(const std::vector<std::uint64_t>& sizes) {
    for (const std::uint64_t bytes : sizes) {
      Status status;
      if (buffer.reserve(bytes, &status) == nullptr) return status.code();
    }
    if (begins) buffer.publish();
    return ErrorCode::kOk;
  }

  alignas(4096) char memory[kCapacity];
  Room room;
  LogBuffer buffer{memory, kCapacity, 0, &room};
  bool begins = true;  // each write() is a transaction
};

// Records of these sizes, all together half of the ring.
const std::vector<std::vector<std::uint64_t>> kHalves = {
    {512}, {256, 256}, {8, 504}, {504, 8}, {200, 312}, {312, 200}, {168, 168, 176}};

constexpr std::uint64_t kRolledBack[] = {0, 8, 248, 512};

// Goal: what fits into half of the ring fits wherever the ring stands, and not a byte more does.
// Method: from each place of two rounds, with and without a transaction that was rolled back before
// (it has left filler of its own), half of the ring is written, and 8 bytes more are refused.
TEST(LogBufferTest, half_of_the_ring_is_room_wherever_it_stands) {
  for (std::uint64_t begin = 0; begin <= 2 * kCapacity; begin += 8) {
    for (const auto& sizes : kHalves) {
      for (const std::uint64_t rolled_back : kRolledBack) {
        Ring ring(begin);
        ring.begins = false;
        const ErrorCode first = rolled_back == 0 ? ErrorCode::kOk : ring.write({rolled_back});
        ASSERT_EQ(first, ErrorCode::kOk);
        ring.buffer.rollback();
        ASSERT_EQ(ring.write(sizes), ErrorCode::kOk) << "from " << begin << ", " << sizes[0];
        ASSERT_EQ(ring.write({8}), ErrorCode::kTooLarge) << "from " << begin << ", " << sizes[0];
        ring.buffer.publish();
        ASSERT_EQ(ring.write(sizes), ErrorCode::kOk) << "behind " << begin << ", " << sizes[0];
      }
    }
  }
}

}  // namespace
}  // namespace foedus::log
