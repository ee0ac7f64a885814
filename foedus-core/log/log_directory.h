#pragma once
// LogDirectory: which segments a directory has, what recovery learned of them, and the savepoint
// that says so. Shared by the loggers; every change of the set of segments goes through it.
//
//   found segment ──seal_found()──► sealed ──────────────┐
//   new_segment() ──► live ──(logger)──► rolled ──► sealed ──remove_up_to()──► gone
//
//   L21 Before a found segment is sealed, the directory entries and the bytes of all found tails
//       are made durable: bytes that only the system's cache holds may have decided about the cut.
//       They are written again before they are synced, because an earlier failed sync may have
//       given them up without a trace (V2). A seal is written only after that, so a crash among the
//       seals finds the same tails and comes to the same cut. A seal that was found may be in the
//       cache only, too, if the segment is of the last incarnation: it is written once more.
//   L32 A hold at epoch e begins only if changes_after <= e, so that every record after e is there.
//       Until it moves or ends, no segment with a record after e is removed. changes_after is
//       raised, under the same mutex, before a savepoint forgets a segment, and never falls.
//   L35 A log keeps changes if its savepoint has change_bytes. It then has every change of epochs
//       after changes_after, and no bulk load has added rows past it since (the engine refuses
//       loads). The first incarnation that keeps changes after one that does not begins with
//       changes_after at its first mark. An incarnation that keeps none clears change_bytes before
//       its first commit.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/log/log.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/log/segments/reader.h"
#include "foedus-core/log/segments/writer.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::log {

struct FoundSegment {
  SegmentHeader header;
  bool is_sealed;
  SegmentSeal seal;  // of an unsealed segment: the seal that it will get
  SegmentTail tail;  // of an unsealed segment
  std::string name() const { return segment_name(header.logger, header.number); }
};

// What Log::open() finds in a directory, without a write.
struct FoundLog {
  Savepoint savepoint{};
  bool is_fresh = true;  // no segments, and no savepoint or a damaged one
  std::vector<FoundSegment> segments;  // by logger and number
  std::vector<std::string> orphaned_files;  // segments never used, or not yet removed
  Epoch cut;
  Epoch newest_seen;
};

// Finds out what the directory holds. kCorruption, kWrongVersion: the message names file and
// offset.
Result<FoundLog> examine_log(device::Device* device);

class LogDirectory {
 public:
  // `change_bytes`: see LogSettings.
  LogDirectory(device::Device* device, FoundLog found, std::uint64_t segment_bytes,
               std::uint64_t change_bytes);

  const FoundLog& found() const { return found_; }
  // Returns LogSettings::change_bytes as it is in force; 0: no changes are kept (L35).
  std::uint64_t change_bytes() const { return change_bytes_; }

  // ---- start, by one thread ------------------------------------------------------------------

  // Makes the found log durable, seals its segments, and removes orphaned files (L21). Called once.
  Status seal_found();
  // Removes found segments of which no record is newer than `covered`, except the newest one of
  // each logger, which has its last mark. found() does not list them any more. REQUIRES:
  // seal_found() was successful.
  Status remove_found_up_to(Epoch covered);
  // Begins a new incarnation with one live segment per logger. All epochs up to `first_mark` are
  // over. REQUIRES: seal_found() was successful.
  Result<std::vector<std::unique_ptr<SegmentWriter>>> begin_incarnation(std::uint32_t loggers,
                                                                        std::uint64_t first_mark);

  // ---- loggers -------------------------------------------------------------------------------

  // Makes the next segment of `logger`. Its header names the end of the segment before: the bytes
  // that note_synced() was told last. kOutOfMemory: the process or the system has no memory, or no
  // descriptor. REQUIRES: an attempt after a failed one has the same `mark_epoch`.
  Result<std::unique_ptr<SegmentWriter>> new_segment(std::uint32_t logger,
                                                     std::uint64_t mark_epoch);
  void note_synced(std::uint32_t logger, std::uint32_t number, std::uint64_t bytes);
  // Notes that all in this segment is durable: it may be removed when its newest epoch is not
  // needed any more.
  void note_settled(std::uint32_t logger, std::uint32_t number, std::uint64_t newest_epoch,
                    bool is_sealed);

  // ---- any thread ------------------------------------------------------------------------------

  // Removes the segments of which no record is newer than `covered`. The next call tries again with
  // those that could not be removed.
  Status remove_up_to(Epoch covered);
  // Writes the last savepoint of this incarnation, which says "clean", if all segments are sealed;
  // else writes nothing. The savepoint counts no segment whose records `covered` all covers, except
  // the newest one of each logger. Such segments are removed.
  Status close_cleanly(Epoch durable, Epoch covered);
  std::uint64_t bytes_on_device() const;
  std::vector<LogSegment> segments() const;

  // ---- holds, any thread; defined in log_holds.cc ----------------------------------------------

  // These do what the functions of Log with their names say.
  std::uint64_t bytes_kept(Epoch covered) const;
  Result<LogHold> hold_after(Epoch delivered);
  Result<LogHold> hold_newest(Epoch durable);
  void move_hold(std::uint64_t hold, Epoch delivered);
  void release_hold(std::uint64_t hold);

 private:
  struct Entry {
    std::uint32_t number;
    std::uint64_t bytes;
    bool is_settled;
    bool is_sealed;
    std::uint64_t newest_epoch;
    std::uint64_t cut_epoch;
  };

  Status seal_one(FoundSegment* segment);
  Status make_tail_durable(const FoundSegment& segment);
  Status remove_orphaned_files();
  Result<std::unique_ptr<SegmentWriter>> create_locked(std::uint32_t logger,
                                                       std::uint64_t mark_epoch);
  Result<std::unique_ptr<SegmentWriter>> new_segment_locked(std::uint32_t logger,
                                                            std::uint64_t mark_epoch);
  Status write_savepoint_locked();
  void forget_up_to_locked(Epoch covered, std::size_t left);
  Result<LogHold> hold_locked(Epoch delivered);
  bool is_removable_locked(std::uint32_t logger, Epoch covered, std::size_t left) const;
  std::uint64_t kept_bytes_locked(Epoch covered, std::uint64_t each_min) const;
  Epoch not_held_locked(Epoch covered) const;
  Status remove_forgotten_locked();

  device::Device* const device_;
  const std::uint64_t segment_bytes_;
  const std::uint64_t change_bytes_;
  FoundLog found_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Savepoint savepoint_;
  std::vector<Entry> entries_[kMaxSocs];  // by number, without gaps
  bool has_own_segment_[kMaxSocs] = {};   // the newest entry is of this incarnation
  // New segments whose savepoint could not be written: the device may have it or not. The next
  // attempt uses them.
  std::unique_ptr<SegmentWriter> unsure_[kMaxSocs];
  // Segments that savepoint_ does not count any more, and that are not removed yet.
  struct Covered {
    std::string name;
    std::uint64_t bytes;
  };
  std::vector<Covered> covered_;
  std::map<std::uint64_t, std::uint64_t> holds_;  // by number: the epoch that it keeps all after
  std::uint64_t last_hold_ = 0;
  bool is_incarnated_ = false;
};

}  // namespace foedus::log
