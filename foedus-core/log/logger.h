#pragma once
// Logger: the task that writes the rings of a SOC's sessions, or of a part of them, to its current
// segment (paper §6.1).
//
// A step, when the clock has published an epoch p or a session wants space:
//
//   1. reads p = published, then the rings and their committed offsets (L22)
//   2. writes as frames what each ring has up to committed and the segment has not, and raises
//      `dirty` to the epochs that it meets
//   3. writes the mark p, in its last frame or alone, if some logger met a record newer than this
//      logger's last mark (L19)
//   4. syncs the segment, once; nothing if nothing was written
//   5. moves durable of the rings, tells LogProgress
//
//   L22 p is read before the list of rings and before any committed offset: all commits of epochs
//       <= p are published then (E2), so they are among what step 2 writes. Records of later epochs
//       may be too; their epochs say so.
//   L23 A ring's durable moves only after the sync, so that everything not synced is still in the
//       ring. After a failed sync or write the segment is given up where it was synced last. All
//       since then is written again from the rings to a new segment. If that fails again, the log
//       has failed.
//   L24 A full device is not a failure: durable stands still, waiters get kOutOfSpace, and the step
//       is tried again after a pause, which notifications do not shorten. The next attempt begins
//       with the frame that did not fit. If a sync failed for lack of space, it begins with all
//       that was written since the last sync (L15).
//   L25 A lack of memory is treated alike, as kOutOfMemory. So is a lack of descriptors or of the
//       system's memory for a new segment: nothing is lost by it. Wherever std::bad_alloc has ended
//       a step, the next one finds a valid state. A segment whose bytes may be lost is poisoned
//       (L16), and cursors move only with what was appended.
//
// A full segment is synced at once, and sealed when all its records are of durable epochs. No
// recovery can cut such records off, so the cut that the seal names stays right.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/log_directory.h"
#include "foedus-core/log/log_progress.h"
#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/log/ring_cursor.h"
#include "foedus-core/log/segments/writer.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::log {

class Logger : public base::Task, public LogSpace {
 public:
  // Returns true if the logger tries again after this error (L24, L25).
  static bool is_waited_out(const Status& status) {
    return status.code() == ErrorCode::kOutOfSpace || status.code() == ErrorCode::kOutOfMemory;
  }
  static constexpr std::uint64_t kTryAgainUs = 100'000;

  Logger(base::Runtime* runtime, std::uint32_t number, std::uint64_t segment_bytes,
         LogDirectory* directory, LogProgress* progress, internal::DurabilityWaits* waits,
         const LogSink* sink);

  // Sets the first segment of this incarnation. Before the task is started.
  void begin(const epoch::EpochClock* clock, std::unique_ptr<SegmentWriter> segment);
  // Ends the waits in detach(). After the task was stopped.
  void end();
  // Seals all segments. REQUIRES: end() was called and all in them is durable.
  void seal_all();

  // Any thread.
  void attach(LogBuffer* ring);
  Status detach(LogBuffer* ring);
  // Makes the segment count as full from the next step on, if there is anything in it.
  void roll() {
    // order: release, pairs with is_due(); the flag guards nothing.
    roll_wanted_.store_release(1);
    runtime_->notify(this);
  }
  std::uint64_t bytes_written() const {
    return bytes_written_.load_relaxed();  // order: relaxed, a statistic
  }

  // base::Task.
  const char* name() const override { return name_; }
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;

  // LogSpace.
  Status wait_for_space(const LogBuffer& buffer, std::uint64_t offset) override;

 private:
  struct Attached {
    explicit Attached(LogBuffer* ring) : cursor(ring) {}
    RingCursor cursor;
    bool is_leaving = false;  // guarded by rings_mutex_
  };

  void look_at_rings();
  bool is_due(std::uint64_t published);
  bool is_full(std::size_t frame_bytes) const;
  // Takes steps 2 to 4, and once more in a new segment after a failure.
  Status write_all(std::uint64_t published);
  Status try_write_all(std::uint64_t published);
  Status write_direct(RingCursor* cursor);
  Status write_packed(std::uint64_t published);
  Status flush_packed(std::uint64_t mark_epoch);
  Status ensure_segment(std::size_t frame_bytes);
  Status sync_segment();
  void go_back_to_durable();
  void seal_rolled();
  void say(LogLevel level, const std::string& text) const;

  // Constant after begin().
  base::Runtime* const runtime_;
  const std::uint32_t number_;
  const std::uint64_t segment_bytes_;
  LogDirectory* const directory_;
  LogProgress* const progress_;
  internal::DurabilityWaits* const waits_;
  const LogSink* const sink_;
  const epoch::EpochClock* clock_ = nullptr;
  char name_[16];

  // Used by step(), or by the one thread that begins and ends it.
  std::vector<Attached*> rings_;            // as of this step
  std::unique_ptr<SegmentWriter> segment_;  // null: the last one was given up
  std::vector<std::unique_ptr<SegmentWriter>> rolled_;  // full, synced, not sealed yet
  PackedFrame packed_;
  std::vector<std::pair<RingCursor*, RingCursor::Span>> packed_spans_;
  std::uint64_t scanned_ = 0;
  std::uint64_t mark_ = 0;          // the newest one that is synced
  bool must_roll_ = false;          // once no ring is within a record
  std::uint32_t failures_ = 0;      // since the last sync that succeeded
  bool is_waiting_ = false;         // L24
  std::uint64_t try_again_us_ = 0;  // L24: the time of the next attempt

  // Guarded by rings_mutex_.
  std::mutex rings_mutex_;
  std::vector<std::unique_ptr<Attached>> attached_;
  bool is_running_ = false;

  // Own synchronization.
  base::WaitPoint room_;
  base::AtomicWord<std::uint32_t> room_wanted_;
  base::AtomicWord<std::uint32_t> roll_wanted_;
  base::AtomicWord<std::uint64_t> bytes_written_;
};

}  // namespace foedus::log
