#include "foedus-core/log/logger.h"

#include <algorithm>
#include <cstdio>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::log {

namespace {

// New segments that are tried after a failed write or sync, before the log has failed (L23).
constexpr std::uint32_t kMoreSegments = 1;
// A ring with at least this much to write gets frames of its own.
constexpr std::size_t kDirectBytesMin = 3584;
static_assert(kDirectBytesMin <= PackedFrame::kPieceBytesMax);

}  // namespace

Logger::Logger(base::Runtime* runtime, std::uint32_t number, std::uint64_t segment_bytes,
               LogDirectory* directory, LogProgress* progress, internal::DurabilityWaits* waits,
               const LogSink* sink)
    : runtime_(runtime),
      number_(number),
      segment_bytes_(segment_bytes),
      directory_(directory),
      progress_(progress),
      waits_(waits),
      sink_(sink) {
  std::snprintf(name_, sizeof(name_), "foedus-log-%u", number);
}

void Logger::begin(const epoch::EpochClock* clock, std::unique_ptr<SegmentWriter> segment) {
  clock_ = clock;
  segment_ = std::move(segment);
  mark_ = scanned_ = segment_->mark_epoch();
  const std::lock_guard lock(rings_mutex_);
  is_running_ = true;
}

void Logger::end() {
  {
    const std::lock_guard lock(rings_mutex_);
    is_running_ = false;
  }
  runtime_->wake(&room_);
}

void Logger::seal_all() {
  {
    const std::lock_guard lock(rings_mutex_);
    FOEDUS_INVARIANT(!is_running_);
  }
  if (segment_ != nullptr) rolled_.push_back(std::move(segment_));
  seal_rolled();
}

void Logger::say(LogLevel level, const std::string& text) const {
  if (*sink_) (*sink_)(level, text);
}

// ---- sessions

void Logger::attach(LogBuffer* ring) {
  const std::lock_guard lock(rings_mutex_);
  attached_.push_back(std::make_unique<Attached>(ring));
}

Status Logger::detach(LogBuffer* ring) {
  Status status = wait_for_space(*ring, ring->committed());
  // The logger cannot forget the ring while it still tries to write: part of what is not durable
  // may be in the segment already, and a failed sync has it written again from the ring.
  if (is_waited_out(status)) {
    if (!waits_->has_failed()) return status;
    status = Status::error(ErrorCode::kClosed, "the log failed: " + waits_->trouble().message());
  }
  const auto is_it = [&](const auto& other) { return &other->cursor.ring() == ring; };
  {
    const std::lock_guard lock(rings_mutex_);
    const auto found = std::find_if(attached_.begin(), attached_.end(), is_it);
    FOEDUS_INVARIANT(found != attached_.end(), ring->session_number());
    (*found)->is_leaving = true;
  }
  // A step may be using the ring, so the ring leaves the list between two steps.
  runtime_->notify(this);
  runtime_->wait(&room_, base::Runtime::kForever, [&] {
    const std::lock_guard lock(rings_mutex_);
    if (!is_running_) std::erase_if(attached_, is_it);
    return std::none_of(attached_.begin(), attached_.end(), is_it);
  });
  return status;
}

Status Logger::wait_for_space(const LogBuffer& buffer, std::uint64_t offset) {
  while (buffer.durable() < offset) {
    {
      const std::lock_guard lock(rings_mutex_);
      if (!is_running_) return Status::error(ErrorCode::kClosed, "the log does not run");
    }
    if (!waits_->is_well()) {
      FOEDUS_SYNC_POINT("logger:unwell");
      Status status = waits_->trouble();
      if (!status.is_ok()) return status;  // ok: the device has space again
    }
    // order: release; the logger that sees it sees what was published before, and syncs it.
    room_wanted_.store_release(1);
    runtime_->notify(this);
    runtime_->wait(&room_, kTryAgainUs,
                   [&] { return buffer.durable() >= offset || !waits_->is_well(); });
  }
  return {};
}

// ---- the step

void Logger::look_at_rings() {
  const std::lock_guard lock(rings_mutex_);
  rings_.clear();
  std::erase_if(attached_, [](const auto& ring) { return ring->is_leaving; });
  for (const auto& ring : attached_) {
    ring->cursor.refresh();
    rings_.push_back(ring.get());
  }
}

bool Logger::is_due(std::uint64_t published) {
  // order: acquire, pairs with wait_for_space().
  const bool room_wanted = room_wanted_.exchange_acq_rel(0) != 0;
  const bool must_mark = published > mark_ && progress_->dirty() > mark_;  // L19
  if (roll_wanted_.exchange_acq_rel(0) != 0) must_roll_ = true;  // order: acquire, as above
  return room_wanted || published > scanned_ || must_mark || must_roll_;
}

// Reports the exception to waiters as a lack of memory, and has the step tried again (L25).
std::uint64_t Logger::step_failed(const std::bad_alloc& thrown) noexcept {
  progress_->report_space(number_, base::out_of_memory(thrown));
  runtime_->wake(&room_);
  return kTryAgainUs;
}

std::uint64_t Logger::step() {
  const std::uint64_t published = clock_->published().number();  // L22: first
  FOEDUS_SYNC_POINT("logger:before_rings");
  look_at_rings();
  const std::uint64_t now_us = try_again_us_ == 0 ? 0 : runtime_->now_us();
  if (now_us < try_again_us_) {  // L24
    runtime_->wake(&room_);
    return try_again_us_ - now_us;
  }
  if (waits_->has_failed() || !is_due(published)) {
    runtime_->wake(&room_);
    return kUntilNotified;
  }
  FOEDUS_SYNC_POINT("logger:before_write");
  const Status status = write_all(published);
  if (is_waited_out(status)) {  // L24
    if (!is_waiting_) say(LogLevel::kWarning, "log: " + status.message());
    is_waiting_ = true;
    try_again_us_ = runtime_->now_us() + kTryAgainUs;
    progress_->report_space(number_, status);
    runtime_->wake(&room_);
    return kTryAgainUs;
  }
  if (!status.is_ok()) {
    say(LogLevel::kError, "log: commits stop: " + status.message());
    progress_->report_failure(status);
    runtime_->wake(&room_);
    return kUntilNotified;
  }
  if (is_waiting_) say(LogLevel::kInfo, "log: writes succeed again");
  is_waiting_ = false;
  try_again_us_ = 0;
  progress_->report_space(number_, Status());
  runtime_->wake(&room_);
  progress_->report(number_, scanned_, mark_);
  base::trying([this] { seal_rolled(); });  // L25: or in a later step
  return kUntilNotified;
}

Status Logger::write_all(std::uint64_t published) {
  for (;;) {
    if (segment_ != nullptr && segment_->is_poisoned()) go_back_to_durable();
    const Status status = try_write_all(published);
    if (status.is_ok()) {
      scanned_ = std::max(scanned_, published);
      return status;
    }
    if (is_waited_out(status)) return status;  // L24
    if (++failures_ > kMoreSegments) return status;  // L23
    say(LogLevel::kWarning, "log: begins a new segment: " + status.message());
  }
}

// Takes back, or gives up with its segment, what was not synced. If std::bad_alloc ends this, the
// writer is still poisoned, and the next step begins with it again.
void Logger::go_back_to_durable() {
  if (!segment_->try_take_back()) rolled_.push_back(std::move(segment_));
  for (Attached* const ring : rings_) ring->cursor.rewind();
}

Status Logger::try_write_all(std::uint64_t published) {
  FOEDUS_CHECK(ensure_segment(0));
  for (Attached* const ring : rings_) {
    if (ring->cursor.pending_bytes() >= kDirectBytesMin || !ring->cursor.is_between_records()) {
      FOEDUS_CHECK(write_direct(&ring->cursor));
    }
  }
  FOEDUS_CHECK(write_packed(published));
  if (segment_->position() == segment_->synced_bytes()) return {};
  FOEDUS_SYNC_POINT("logger:before_sync");
  return sync_segment();
}

Status Logger::write_direct(RingCursor* cursor) {
  while (cursor->pending_bytes() != 0) {
    const RingCursor::Span span = cursor->next_span(kDirectBytesMax);
    if (span.epochs.newest != 0) progress_->raise_dirty(span.epochs.newest);
    FOEDUS_CHECK(ensure_segment(span.bytes + 3 * kBlockBytes));
    FOEDUS_CHECK(
        segment_->append_direct(cursor->ring(), cursor->written(), span.bytes, span.epochs));
    cursor->advance(span);
  }
  return {};
}

Status Logger::write_packed(std::uint64_t published) {
  packed_.clear();
  packed_spans_.clear();
  for (Attached* const ring : rings_) {
    RingCursor* const cursor = &ring->cursor;
    if (cursor->pending_bytes() == 0) continue;
    const RingCursor::Span span = cursor->next_span(PackedFrame::kPieceBytesMax);
    FOEDUS_INVARIANT(span.bytes == cursor->pending_bytes(), span.bytes);
    if (span.epochs.newest != 0) progress_->raise_dirty(span.epochs.newest);
    if (!packed_.try_add(cursor->ring(), cursor->written(), span.bytes, span.epochs)) {
      FOEDUS_CHECK(flush_packed(0));
      const bool fits =
          packed_.try_add(cursor->ring(), cursor->written(), span.bytes, span.epochs);
      FOEDUS_INVARIANT(fits, span.bytes);
    }
    packed_spans_.emplace_back(cursor, span);
  }
  // Every record that was met is in the segment or in this frame, so this frame may carry the mark.
  const bool must_mark = published > mark_ && progress_->dirty() > mark_;  // L19
  if (packed_.is_empty() && !must_mark) return {};
  return flush_packed(must_mark ? published : 0);
}

Status Logger::flush_packed(std::uint64_t mark_epoch) {
  FOEDUS_CHECK(ensure_segment(kBlockBytes));
  FOEDUS_CHECK(segment_->append_packed(packed_, mark_epoch));
  for (const auto& [cursor, span] : packed_spans_) cursor->advance(span);
  packed_.clear();
  packed_spans_.clear();
  return {};
}

// ---- segments

// Returns true if a frame of that size belongs in the next segment. REQUIRES: there is a segment.
bool Logger::is_full(std::size_t frame_bytes) const {
  if (segment_->position() == kBlockBytes) return false;
  return must_roll_ || segment_->position() + frame_bytes > segment_bytes_;
}

Status Logger::ensure_segment(std::size_t frame_bytes) {
  if (segment_ != nullptr && !is_full(frame_bytes)) {
    must_roll_ = false;  // it is empty, or no roll was asked for
    return {};
  }
  if (segment_ != nullptr) {
    for (const Attached* const ring : rings_) {
      if (!ring->cursor.is_between_records()) return {};  // L20: a little longer then
    }
    if (segment_->position() != segment_->synced_bytes()) FOEDUS_CHECK(sync_segment());
    rolled_.push_back(std::move(segment_));
  }
  auto segment = directory_->new_segment(number_, mark_);
  if (!segment.is_ok()) return segment.status();
  segment_ = std::move(segment).value();
  must_roll_ = false;
  return {};
}

Status Logger::sync_segment() {
  const std::uint64_t before = segment_->synced_bytes();
  FOEDUS_CHECK(segment_->sync());
  failures_ = 0;
  mark_ = std::max(mark_, segment_->mark_epoch());
  directory_->note_synced(number_, segment_->number(), segment_->synced_bytes());
  const std::uint64_t written = segment_->synced_bytes() - before;
  // order: relaxed, a statistic
  bytes_written_.store_relaxed(bytes_written_.load_relaxed() + written);
  for (Attached* const ring : rings_) ring->cursor.set_durable();  // L23
  return {};
}

void Logger::seal_rolled() {
  while (!rolled_.empty()) {
    const std::uint64_t newest = rolled_.front()->epochs().newest;
    if (Epoch(newest) > waits_->durable()) return;
    const std::uint32_t number = rolled_.front()->number();
    const Status status = rolled_.front()->seal(newest);
    // Without a seal, recovery reads the segment up to the end that its successor names.
    if (!status.is_ok()) say(LogLevel::kWarning, "log: cannot seal: " + status.message());
    directory_->note_settled(number_, number, newest, status.is_ok());
    rolled_.erase(rolled_.begin());
  }
}

}  // namespace foedus::log
