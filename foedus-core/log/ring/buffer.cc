#include "foedus-core/log/ring/buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "foedus-core/base/invariant.h"

namespace foedus::log {

namespace {

// Factor by which a ring grows when the session would wait for space. Its records have to become
// durable before it grows, so a few large steps are better than many.
constexpr std::uint64_t kGrowth = 4;

}  // namespace

// Makes the ring large enough for `bytes` of records of one transaction (L28).
Status LogBuffer::make_fit(std::uint64_t bytes) {
  if (bytes > capacity_max_ / 2) {
    return Status::error(ErrorCode::kTooLarge,
                         "the transaction's log records are over half of log.buffer_bytes (" +
                             std::to_string(capacity_max_) +
                             "); commit in batches, or raise LogOptions::buffer_bytes");
  }
  return grow(std::bit_ceil(2 * bytes), true);
}

// Moves the ring to memory of `capacity` bytes, once all that was published is durable (L30).
// Copies the records of the open transaction, which only the session uses.
Status LogBuffer::grow(std::uint64_t capacity, bool is_needed) {
  FOEDUS_INVARIANT(capacity > capacity_ && capacity <= capacity_max_, capacity, capacity_);
  const std::uint64_t begin = committed_.load_relaxed();  // order: relaxed, own word
  if (space_ != nullptr) FOEDUS_CHECK(space_->wait_for_space(*this, begin));
  FOEDUS_INVARIANT(durable() == begin, durable(), begin);  // L30
  FOEDUS_TRY(char* const memory, source_->grow_ring(capacity, is_needed));
  for (std::uint64_t at = begin; at != tail_;) {
    const std::uint64_t from = at & (capacity_ - 1);
    const std::uint64_t to = at & (capacity - 1);
    const std::uint64_t bytes = std::min({tail_ - at, capacity_ - from, capacity - to});
    std::memcpy(memory + to, memory_ + from, bytes);
    at += bytes;
  }
  source_->ring_has_moved(RingMove(memory_, capacity_, memory, capacity, begin));
  memory_ = memory;
  capacity_ = capacity;
  limit_ = begin + capacity / 2;
  return {};
}

LogRecord* LogBuffer::reserve_slowly(std::size_t bytes, Status* status) {
  FOEDUS_INVARIANT(bytes % 8 == 0, bytes);
  // order: relaxed, own word.
  const std::uint64_t begin = committed_.load_relaxed();
  const bool has_filler = ring_end_ > begin && ring_end_ <= tail_;
  const std::uint64_t filler = has_filler ? filler_ : 0;
  if (const std::uint64_t needed = tail_ + bytes - begin - filler; needed > capacity_ / 2) {
    *status = make_fit(needed);
    if (!status->is_ok()) return nullptr;
  }
  const auto end_of = [&] {
    const std::uint64_t in_ring = tail_ & (capacity_ - 1);
    return tail_ + (in_ring + bytes > capacity_ ? capacity_ - in_ring : 0) + bytes;  // L6
  };
  std::uint64_t end = end_of();
  if (end > durable() + capacity_) {
    FOEDUS_INVARIANT(space_ != nullptr, end, capacity_);
    const std::uint64_t larger = std::min(kGrowth * capacity_, capacity_max_);
    *status = larger > capacity_ ? grow(larger, false) : Status();
    // If there is no memory to grow, the session waits for space in the ring that it has.
    if (status->is_ok() || status->code() == ErrorCode::kOutOfMemory) {
      end = end_of();
      *status =
          end > durable() + capacity_ ? space_->wait_for_space(*this, end - capacity_) : Status();
    }
    if (!status->is_ok()) return nullptr;
  }
  FOEDUS_INVARIANT(end <= durable() + capacity_, end, durable());
  const std::uint64_t in_ring = tail_ & (capacity_ - 1);
  const std::uint64_t gap = end - bytes - tail_;
  if (gap != 0) LogRecord::fill(memory_ + in_ring, gap);
  LogRecord* const record =
      reinterpret_cast<LogRecord*>(memory_ + ((tail_ + gap) & (capacity_ - 1)));
  if (in_ring + gap + bytes >= capacity_) {
    ring_end_ = tail_ - in_ring + capacity_;
    filler_ = filler + gap;
  }
  tail_ = end;
  // limit_ keeps both bounds: the ring's free space, and half of the ring for one transaction. The
  // next transaction begins at or after `begin`, so its own bound would not be before this one: it
  // may call this function earlier than it must, never too late.
  limit_ = std::min(durable() + capacity_, begin + capacity_ / 2);
  return record;
}

}  // namespace foedus::log
