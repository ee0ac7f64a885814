// The ring of one session, and the transactions that fit into it.
#include "foedus-core/log/ring/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/log/ring_cursor.h"
#include "foedus-core/page/tid.h"

namespace foedus::log::log_buffer_test {
namespace {

constexpr std::uint64_t kCapacity = 1024;

// A log in which all published records are durable at the first wait.
struct Room : LogSpace {
  Status wait_for_space(const LogBuffer& buffer, std::uint64_t offset) override {
    EXPECT_LE(offset, buffer.committed()) << "nobody will ever publish that";
    ring->set_durable(buffer.committed());
    return {};
  }
  LogBuffer* ring = nullptr;
};

struct Ring {
  // Makes a ring as if transactions had filled it up to `begin`.
  explicit Ring(std::uint64_t begin) {
    room.ring = &buffer;
    for (; begin >= 128; begin -= 128) write({128});
    if (begin != 0) write({begin});
    buffer.publish();
  }
  // Writes records, and returns the first error; the transaction stays open.
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

// Goal: a transaction of up to half of the ring fits wherever the ring stands, and a larger one
// never does. Method: from each place of two rounds, with and without a rolled-back transaction
// before (which leaves filler), half of the ring is written, and 8 bytes more are refused.
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

// Goal: what is cut off takes no room. Method: as above, with records that are cut off between the
// first record of the half and the others.
TEST(LogBufferTest, a_cut_gives_back_all_room_of_what_it_forgets) {
  for (std::uint64_t begin = 0; begin <= 2 * kCapacity; begin += 8) {
    for (const std::uint64_t cut : {8u, 96u, 304u}) {
      Ring ring(begin);
      ring.begins = false;
      ASSERT_EQ(ring.write({200}), ErrorCode::kOk);
      const LogBuffer::Mark mark = ring.buffer.mark();
      ASSERT_EQ(ring.write({cut}), ErrorCode::kOk);
      ring.buffer.cut(mark);
      ASSERT_EQ(ring.write({104, 208}), ErrorCode::kOk) << "from " << begin << ", " << cut;
      ASSERT_EQ(ring.write({8}), ErrorCode::kTooLarge) << "from " << begin << ", " << cut;
      ring.buffer.publish();
      ASSERT_EQ(ring.write({512}), ErrorCode::kOk) << "behind " << begin << ", " << cut;
    }
  }
}

// A ring that begins small, and the records of the open transaction, each full of one letter.
struct GrowingRing : RingSource {
  static constexpr std::uint64_t kFirst = 128;

  // `spare`: the ring may grow where its session could wait for space instead.
  explicit GrowingRing(std::uint64_t begin, bool spare = true) : has_spare_memory(spare) {
    rings.push_back(make(kFirst));
    buffer = std::make_unique<LogBuffer>(rings.back().get(), kFirst, 0, &room, this, kCapacity);
    room.ring = buffer.get();
    for (; begin >= 32; begin -= 32) write_and_publish(32);
    if (begin != 0) write_and_publish(begin);
  }
  static std::unique_ptr<char[]> make(std::uint64_t bytes) {
    return std::make_unique<char[]>(bytes);
  }

  Result<char*> grow_ring(std::uint64_t bytes, bool is_needed) override {
    EXPECT_EQ(buffer->durable(), buffer->committed()) << "the logger may be at work";
    if (!has_memory || (!is_needed && !has_spare_memory)) return ErrorCode::kOutOfMemory;
    rings.push_back(make(bytes));
    return rings.back().get();
  }
  void ring_has_moved(const RingMove& move) override {
    for (LogRecord*& record : records) record = move.moved(record);
    // The old ring is not read any more.
    std::memset(rings[rings.size() - 2].get(), '?', buffer->capacity());
  }

  ErrorCode write(std::uint64_t bytes) {
    Status status;
    LogRecord* const record = buffer->reserve(bytes, &status);
    if (record == nullptr) return status.code();
    std::memset(static_cast<void*>(record), 'a' + static_cast<int>(records.size() % 26), bytes);
    records.push_back(record);
    sizes.push_back(bytes);
    return ErrorCode::kOk;
  }
  void write_and_publish(std::uint64_t bytes) {
    EXPECT_EQ(write(bytes), ErrorCode::kOk);
    buffer->publish();
    records.clear();
    sizes.clear();
  }
  // Checks that every record has its contents and lies where the logger expects it.
  void expect_records() const {
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::string expected(sizes[i], static_cast<char>('a' + i % 26));
      ASSERT_EQ(std::string_view(reinterpret_cast<const char*>(records[i]), sizes[i]), expected);
    }
    const char* const last = reinterpret_cast<const char*>(records.back());
    ASSERT_EQ(last, buffer->at(end_ - sizes.back()));
  }
  void publish() {
    buffer->publish();
    end_ = buffer->committed();
  }

  std::vector<std::unique_ptr<char[]>> rings;
  Room room;
  std::unique_ptr<LogBuffer> buffer;
  std::vector<LogRecord*> records;
  std::vector<std::uint64_t> sizes;
  bool has_memory = true;
  bool has_spare_memory;
  std::uint64_t end_ = 0;
};

// Goal: a ring that grows holds the same transactions as one that was large from the start,
// wherever it stands when it grows, and keeps its records (L28, L30). Method: from each place of
// some rounds of the first ring half of the largest one is written, in records of several sizes,
// and 8 bytes more are refused.
TEST(LogBufferTest, a_ring_grows_with_its_transaction_wherever_it_stands) {
  for (std::uint64_t begin = 0; begin <= 4 * GrowingRing::kFirst; begin += 8) {
    for (const std::uint64_t bytes : {8u, 16u, 32u, 64u, 128u, 256u, 512u}) {
      GrowingRing ring(begin);
      for (std::uint64_t written = 0; written < kCapacity / 2; written += bytes) {
        ASSERT_EQ(ring.write(bytes), ErrorCode::kOk) << "from " << begin << ", at " << written;
      }
      ASSERT_EQ(ring.write(8), ErrorCode::kTooLarge) << "from " << begin << ", " << bytes;
      ring.publish();
      ring.expect_records();
      ASSERT_EQ(ring.buffer->capacity(), kCapacity);
    }
  }
}

// Goal: without memory a transaction that needs a larger ring gets an error, and one that only
// would wait less waits. Both leave the ring unchanged.
// Goal: filler that is cut off takes no room. Method: a ring that has filler grows and gets more of
// it, which is cut off; half of the largest ring is room then, wherever it stands.
TEST(LogBufferTest, a_cut_forgets_the_filler_of_a_larger_ring) {
  for (std::uint64_t begin = 0; begin <= 2 * kCapacity; begin += 8) {
    for (const std::uint64_t kept : {32u, 56u}) {
      GrowingRing ring(begin, false);
      ASSERT_EQ(ring.write(kept), ErrorCode::kOk);
      const LogBuffer::Mark mark = ring.buffer->mark();
      ASSERT_EQ(ring.write(104), ErrorCode::kOk);  // needs a ring of four times the size
      ring.buffer->cut(mark);
      ring.records.resize(1);
      ring.sizes.resize(1);
      ASSERT_EQ(ring.write(kCapacity / 2 - kept), ErrorCode::kOk) << "from " << begin;
      ASSERT_EQ(ring.write(8), ErrorCode::kTooLarge) << "from " << begin;
    }
  }
}

TEST(LogBufferTest, a_ring_that_cannot_grow_stays_as_it_is) {
  for (std::uint64_t begin = 0; begin <= 2 * GrowingRing::kFirst; begin += 8) {
    GrowingRing ring(begin);
    ring.has_memory = ring.has_spare_memory = false;
    const std::uint64_t capacity = ring.buffer->capacity();
    for (std::uint64_t i = 0; i < 10; ++i) ring.write_and_publish(capacity / 2);
    ASSERT_EQ(ring.write(capacity / 2), ErrorCode::kOk);
    ASSERT_EQ(ring.write(8), ErrorCode::kOutOfMemory) << "from " << begin;
    ring.publish();
    ring.expect_records();
    ASSERT_EQ(ring.buffer->capacity(), capacity);
  }
}

// Goal: the logger takes no epoch from filler of 8 bytes at the ring's end, which has no TID (L3).
// Method: where that TID would be, after the ring, other bytes lie.
TEST(LogBufferTest, the_smallest_filler_has_no_epoch) {
  constexpr std::uint64_t kEpoch = 5;
  alignas(4096) char memory[2 * kCapacity];
  std::memset(memory, '?', sizeof(memory));
  LogBuffer buffer(memory, kCapacity, 0, nullptr);
  RingCursor cursor(&buffer);
  const auto next_of = [&](std::size_t payload_bytes) {
    const std::size_t bytes = LogRecord::size_of(8, payload_bytes);
    Status status;
    LogRecord* const record = buffer.reserve(bytes, &status);
    record->prepare(LogRecordType::kPut, page::StorageId{7}, 8, payload_bytes, 0);
    record->tid = page::Tid(Epoch(kEpoch), 1).word();
    buffer.publish();
    cursor.refresh();
    const RingCursor::Span span = cursor.next_span(kCapacity);
    cursor.advance(span);
    return span;
  };
  next_of(kCapacity / 2 - 32);
  next_of(kCapacity / 2 - 40);
  ASSERT_EQ(buffer.committed(), kCapacity - 8);
  const RingCursor::Span span = next_of(0);
  EXPECT_EQ(span.bytes, 8u + 32u);
  EXPECT_EQ(span.epochs.oldest, kEpoch);
  EXPECT_EQ(span.epochs.newest, kEpoch);
}

}  // namespace
}  // namespace foedus::log::log_buffer_test
