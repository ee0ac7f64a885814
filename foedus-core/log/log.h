#pragma once
// Log: keeps commits durable until a snapshot has them. It has all segments of a directory, one or
// more loggers per SOC, and the durable epoch. The engine owns it.
//
//   open() ──► (read_segment()) ──► start() ──► attach / commit / detach … ──► close()
//     reads only                     cuts, begins a new incarnation             seals all
//
//   L9  An incarnation is one run from start() on. Found segments are read as they were left: a
//       sealed one up to its own cut epoch; the unsealed ones belong to the incarnation that
//       crashed and are cut at its durable epoch, the oldest of the last marks of its loggers.
//   L10 start() makes the cut durable before the new incarnation begins, and the new one begins
//       above every epoch seen in any file. So a second crash never brings back what the first one
//       cut off.
//   L11 Data derived from read_segment() may be made durable elsewhere (a snapshot) only after
//       make_cut_durable(): until then a power failure may still shorten the tail.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/durability.h"
#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/numa/topology.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::log {

struct LogSettings {
  std::uint32_t loggers = 1;                   // 1..kMaxSocs; in the names of segments
  std::uint64_t segment_bytes = 32u << 20;     // size at which a segment is full; at least 64 KiB
  // Logger l belongs to SOC l % topology->socs(). Null: the loggers' threads run anywhere.
  const numa::Topology* topology = nullptr;
  Facility numa_binding = Facility::kTry;  // binds loggers' threads to processors of their SOC
  // Bytes of segments that stay for changes though a snapshot covers them, each counted as at least
  // kKeptBytesMin; kNoChanges: none, and no changes are kept. 0: what the incarnation before had.
  std::uint64_t change_bytes = 0;
};

// Bounds the number of segments that stay, of which a start reads the headers: a run may leave one
// without a record.
inline constexpr std::uint64_t kKeptBytesMin = 64u << 10;

// A session number means something only within its incarnation: (incarnation, session) names a
// session. An error ends the reading and is returned from it.
using RecordVisitor = std::function<Status(std::uint32_t session, std::uint64_t incarnation,
                                           const LogRecord& record)>;

// A segment of this or an earlier incarnation, as it was when the call returned it.
struct LogSegment {
  std::uint32_t logger;
  std::uint32_t number;
  std::uint64_t synced_bytes;
  std::uint64_t cut_epoch;  // records of later epochs do not exist
  // No record up to the cut is newer; kMax while records are still being added.
  std::uint64_t newest_epoch = Epoch::kMax;
};

// A hold of segments for a reader of changes.
struct LogHold {
  std::uint64_t number;
  Epoch delivered;  // segments with records of later epochs stay
};

class Logger;
class LogDirectory;
class LogProgress;
class SegmentRecords;

class Log {
 public:
  // Reads savepoint, headers and tails of `device`; writes nothing. A directory without a savepoint
  // and without segments is an empty log. kCorruption, kWrongVersion: the message names file and
  // offset. `runtime`, `device`: outlive the log. `sink`: receives messages for an operator; may be
  // empty.
  static Result<std::unique_ptr<Log>> open(device::Device* device, base::Runtime* runtime,
                                           const LogSettings& options, LogSink sink);
  // Stops the loggers if close() was not called; to the next open() that is a crash.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // ---- what recovery found -------------------------------------------------------------------

  // Returns the cut: commits of this epoch and before are in the segments, or in removed ones and a
  // snapshot. Records of later epochs are not read, as if they did not exist.
  Epoch durable_epoch_found() const;
  // Returns the newest epoch of any record in a segment that was removed; 0: none, or not known. A
  // snapshot has to cover it, or commits are lost.
  Epoch removed_epoch_found() const;
  // Returns the least epoch at which the clock may begin. It is above every epoch seen in any file,
  // cut or not. If other files (a manifest) have epochs, too, take the maximum of both.
  Epoch first_new_epoch() const;
  // Returns true if there was no segment, and no savepoint or a damaged one: the directory is new,
  // or has lost its log.
  bool was_missing() const;
  bool was_closed_cleanly() const;
  // Returns the number of segments of earlier incarnations.
  std::size_t found_segment_count() const;
  // Calls `visit` for every record of segment `index` up to its cut: the records of one session in
  // the order in which it published them; those of different sessions mixed. Fillers are left out.
  // kCorruption: the message names file and offset. Any thread; several threads may read different
  // segments at the same time. REQUIRES: called before start().
  Status read_segment(std::size_t index, const RecordVisitor& visit) const;
  // Opens the records that read_segment() would visit, to be read one at a time.
  Result<std::unique_ptr<SegmentRecords>> open_segment(std::size_t index) const;
  LogSegment found_segment(std::size_t index) const;

  // ---- a new incarnation ---------------------------------------------------------------------

  // Seals the segments of the last incarnation at the cut (L10). Later calls do nothing. start()
  // calls it, too.
  Status make_cut_durable();
  // Deletes segments of earlier incarnations of which no record is newer than `covered`, except the
  // newest one of each logger, to make space for what follows. Indices of found segments change.
  // REQUIRES: a durable snapshot covers that epoch; called after make_cut_durable(), before
  // start().
  Status remove_found_segments_up_to(Epoch covered);
  // Sets the clock that the loggers follow, and that waiters for durability ask for an early epoch
  // advance. It begins at or above first_new_epoch() and is not started yet. Without this call,
  // start() does it.
  void set_clock(epoch::EpochClock* clock);
  // Begins a new incarnation and starts the loggers. `clock`: runs until close() has returned. If
  // it runs already, no session has committed yet.
  Status start(epoch::EpochClock* clock);

  // ---- sessions ------------------------------------------------------------------------------

  // Returns the argument for the constructor of a LogBuffer that this logger writes.
  LogSpace* space(std::uint32_t logger);
  // Makes the logger write what is published in `buffer` from now on. Before the first publish().
  void attach(std::uint32_t logger, LogBuffer* buffer);
  // Waits until all that was published in `buffer` is on the device, then forgets it. kOutOfSpace,
  // kOutOfMemory: not yet, the buffer stays attached and its memory must stay; try again. Any other
  // error: the log has failed or was closed, the buffer is forgotten and what was not written is
  // lost.
  Status detach(std::uint32_t logger, LogBuffer* buffer);

  // ---- durability ----------------------------------------------------------------------------

  internal::DurabilityWaits& durability() { return durability_; }
  // Returns true, for ever, once failure() is an error. Cheap: every commit calls it.
  bool has_failed() const { return durability_.has_failed(); }
  // Returns why nothing more will become durable; ok if the log works, or is only out of space.
  Status failure() const;
  // Bytes written to segments since start(), and the bytes of all segments that exist.
  std::uint64_t bytes_written() const;
  std::uint64_t bytes_on_device() const;

  // Returns all segments that exist, by logger and number, each as far as it is synced. Once an
  // epoch is durable, all its records are in them. After start(). Any thread.
  std::vector<LogSegment> segments() const;
  // Reads as read_segment() does, for records up to `newest` in what was synced when segments() was
  // called. Any thread. kIoError: the segment was removed since.
  Status read(const LogSegment& segment, Epoch newest, const RecordVisitor& visit) const;
  // Opens the records that read() would visit, to be read one at a time.
  Result<std::unique_ptr<SegmentRecords>> open_segment(const LogSegment& segment,
                                                       Epoch newest) const;
  // Makes each logger go on in a new segment soon, even if it has nothing to write. So the segments
  // before can be removed as a whole. Any thread.
  void roll_segments();
  // Deletes the segments, oldest first, of which no record is newer than `covered`, except those
  // that are held, and the newest change_bytes() of them. Any thread.
  Status remove_segments_up_to(Epoch covered);

  // Returns LogSettings::change_bytes as it is in force; 0: this log keeps no changes (L35).
  std::uint64_t change_bytes() const;
  // Returns the bytes of segments of which no record is newer than `covered`; 0 if this log keeps
  // no changes. Any thread.
  std::uint64_t bytes_kept(Epoch covered) const;
  // Keeps from now on the segments that have a record of an epoch after `delivered`, whatever a
  // snapshot covers, until the hold is released. kNotFound: records
  // of such epochs may have been removed already; the message names the epoch. kNotSupported: this
  // log keeps no changes. Any thread.
  Result<LogHold> hold_after(Epoch delivered);
  // Does so with the newest epoch up to `durable` of a segment's last record, so that few segments
  // have records between both. kNotSupported.
  Result<LogHold> hold_newest(Epoch durable);
  // Moves a hold to a later epoch. Any thread.
  void move_hold(std::uint64_t hold, Epoch delivered);
  // Ends a hold; the next removal takes what it kept. Any thread.
  void release_hold(std::uint64_t hold);

  // Waits until all that was published is durable, stops the loggers, seals, and writes a clean
  // savepoint. Removes segments of which no record is newer than `covered`, except the newest one
  // of each logger; a failure of that is ignored. On another failure the loggers are stopped too,
  // and the directory is as after a crash. Calls the callbacks that are left. REQUIRES: no session
  // publishes any more.
  Status close(Epoch covered = {});

 private:
  Log(device::Device* device, base::Runtime* runtime, const LogSettings& options, LogSink sink);
  std::span<const std::uint32_t> processors_of(std::uint32_t logger) const;
  void stop_loggers();

  // Constant after open().
  device::Device* const device_;
  base::Runtime* const runtime_;
  const LogSettings options_;
  const LogSink sink_;

  // Own synchronization.
  internal::DurabilityWaits durability_;
  std::unique_ptr<LogDirectory> directory_;
  std::unique_ptr<LogProgress> progress_;
  std::vector<std::unique_ptr<Logger>> loggers_;

  // Used by the thread that opens and closes.
  epoch::EpochClock* clock_ = nullptr;
  bool is_cut_durable_ = false;
  bool is_running_ = false;
};

}  // namespace foedus::log
