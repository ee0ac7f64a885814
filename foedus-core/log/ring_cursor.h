#pragma once
// RingCursor: how far a logger is with one ring, and where its next frame may end.
//
//   durable <= written <= committed: written - durable is in the segment and not synced yet.
//
//   L20 A frame ends where a record ends, except within a record that is larger than a frame. A
//       segment ends only where a record ends, so that every segment can be read by itself.

#include <cstdint>

#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/log/segments/writer.h"

namespace foedus::log {

class RingCursor {
 public:
  explicit RingCursor(LogBuffer* ring)
      : ring_(ring), written_(ring->durable()), next_record_(written_), committed_(written_) {}

  LogBuffer& ring() { return *ring_; }
  const LogBuffer& ring() const { return *ring_; }
  std::uint64_t written() const { return written_; }
  std::uint64_t pending_bytes() const { return committed_ - written_; }
  bool is_between_records() const { return next_record_ == written_; }

  // Reads how far the session has published.
  void refresh() { committed_ = ring_->committed(); }

  struct Span {
    std::size_t bytes = 0;
    std::uint64_t next_record = 0;
    std::uint64_t record_epoch = 0;
    FrameEpochs epochs;
  };
  // Returns the next bytes to write, at most `bytes_max` of them. REQUIRES: pending_bytes() != 0.
  Span next_span(std::size_t bytes_max) const;
  // Moves past `span`, whose bytes are in the segment now.
  void advance(const Span& span);
  // Moves durable of the ring to written(): all that was written is synced.
  void set_durable() { ring_->set_durable(written_); }
  // Goes back to the ring's durable offset, because what was written since the last sync is lost.
  // That offset is between two records, because segments are synced only there.
  void rewind();

 private:
  LogBuffer* const ring_;
  std::uint64_t written_;
  std::uint64_t next_record_;       // offset of the first record at or after written_
  std::uint64_t record_epoch_ = 0;  // of the record that written_ is in the middle of
  std::uint64_t committed_;
};

}  // namespace foedus::log
