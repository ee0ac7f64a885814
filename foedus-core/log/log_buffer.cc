#include "foedus-core/log/log_buffer.h"

#include <algorithm>
#include <string>

#include "foedus-core/base/invariant.h"

namespace foedus::log {

LogRecord* LogBuffer::reserve_slowly(std::size_t bytes, Status* status) {
  FOEDUS_INVARIANT(bytes % 8 == 0, bytes);
  // order: relaxed, own word.
  const std::uint64_t begin = committed_.load_relaxed();
  const std::uint64_t in_ring = tail_ & (capacity_ - 1);
  const std::uint64_t gap = in_ring + bytes > capacity_ ? capacity_ - in_ring : 0;  // L6
  const std::uint64_t end = tail_ + gap + bytes;
  const bool has_filler = ring_end_ > begin && ring_end_ <= tail_;
  const std::uint64_t filler = gap + (has_filler ? filler_ : 0);
  if (end - begin - filler > capacity_ / 2) {
    *status = Status::error(ErrorCode::kTooLarge,
                            "the transaction's log records are over half of log_buffer_bytes (" +
                                std::to_string(capacity_) +
                                "); commit in batches, or raise log_buffer_bytes");
    return nullptr;
  }
  if (end > durable() + capacity_) {
    FOEDUS_INVARIANT(room_ != nullptr, end, capacity_);
    *status = room_->wait_for_room(*this, end - capacity_);
    if (!status->is_ok()) return nullptr;
  }
  FOEDUS_INVARIANT(end <= durable() + capacity_, end, durable());
  if (gap != 0) LogRecord::fill(memory_ + in_ring, gap);
  LogRecord* const record =
      reinterpret_cast<LogRecord*>(memory_ + ((tail_ + gap) & (capacity_ - 1)));
  if (in_ring + gap + bytes >= capacity_) {
    ring_end_ = tail_ - in_ring + capacity_;
    filler_ = gap;
  }
  tail_ = end;
  // Up to both bounds: the ring's free room, and half of the ring for one transaction. The next
  // transaction begins at or after `begin`, so the bound stays right, if early.
  limit_ = std::min(durable() + capacity_, begin + capacity_ / 2);
  return record;
}

}  // namespace foedus::log
