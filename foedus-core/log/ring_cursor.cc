#include "foedus-core/log/ring_cursor.h"

#include <algorithm>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/page/tid.h"

namespace foedus::log {

namespace {

// How far ahead the logger prefetches lines of the ring, which the session's processor has cached.
constexpr std::uint64_t kPrefetchBytes = 512;

}  // namespace

RingCursor::Span RingCursor::next_span(std::size_t bytes_max) const {
  FOEDUS_INVARIANT(written_ < committed_, written_, committed_);
  Span span;
  span.next_record = next_record_;
  span.record_epoch = record_epoch_;
  if (next_record_ > written_) {
    span.bytes = std::min<std::size_t>(next_record_ - written_, bytes_max);
    if (record_epoch_ != 0) span.epochs.add(record_epoch_);
    if (written_ + span.bytes < next_record_) return span;
  }
  while (span.next_record < committed_) {
    const auto& record = *reinterpret_cast<const LogRecord*>(ring_->at(span.next_record));
    base::prefetch_line(ring_->at(span.next_record + kPrefetchBytes));
    FOEDUS_INVARIANT(record.record_bytes >= 8 && record.record_bytes % 8 == 0,
                     record.record_bytes, span.next_record);
    const std::uint64_t end = span.next_record + record.record_bytes;
    FOEDUS_INVARIANT(end <= committed_, end, committed_);
    const bool fits = end - written_ <= bytes_max;
    if (!fits && span.bytes != 0) break;
    span.next_record = end;
    span.record_epoch = record.is_filler() ? 0 : page::Tid(record.tid).epoch().number();
    if (span.record_epoch != 0) span.epochs.add(span.record_epoch);
    span.bytes = fits ? end - written_ : bytes_max;
    if (!fits) break;
  }
  return span;
}

void RingCursor::advance(const Span& span) {
  written_ += span.bytes;
  next_record_ = span.next_record;
  record_epoch_ = span.record_epoch;
  FOEDUS_INVARIANT(written_ <= next_record_, written_, next_record_);
}

void RingCursor::rewind() {
  written_ = ring_->durable();
  next_record_ = written_;
}

}  // namespace foedus::log
