#pragma once
// The savepoint, the log's control file: which segments exist, and which incarnation of the
// database runs or ran last. It has 64 slots of 4096 bytes that are written in turn. Two would do
// for safety. More of them spread the wear of non-volatile memory: each new segment and each glean
// writes a savepoint. Byte-exact description: FORMAT.md.
//
//   L13 The slot with the highest sequence number counts. The next savepoint goes to another slot,
//       so that a torn write leaves the old one.
//   L14 A segment is used only after a savepoint that counts it is synced, and that only after the
//       segment's header and its directory entry are. A segment is removed only after a savepoint
//       that does not count it is synced. So every segment that is counted must be there, and one
//       with a higher number than the counted ones holds no frame. A file with a lower number was
//       to be removed when the process ended.
//   L29 A savepoint that a crash has torn never becomes valid later: its slot is cleared, and this
//       is synced, before anything relies on the older one. Otherwise the next write to that slot,
//       torn itself, might add just the sectors that the first one lacked, for most sectors of all
//       savepoints are alike.

#include <cstdint>
#include <string_view>

#include "foedus-core/device/device.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::log {

inline constexpr std::uint64_t kSavepointMagic = 0x4556415344454f46;  // "FOEDSAVE"
inline constexpr std::string_view kSavepointName = "savepoint";
inline constexpr std::uint32_t kSavepointVersion = 4;
inline constexpr std::size_t kSavepointSlots = 64;

// The segments of one logger, all numbers in [oldest, newest]; oldest == newest + 1: none.
struct SavepointLogger {
  std::uint32_t oldest;           // +4 -> 4
  std::uint32_t newest;           // +4 -> 8
  std::uint32_t anchor_segment;   // +4 -> 12  known to be synced up to anchor_bytes
  std::uint32_t reserved;         // +4 -> 16  zero
  std::uint64_t anchor_bytes;     // +8 -> 24
};
static_assert(sizeof(SavepointLogger) == 24);

struct Savepoint {
  std::uint64_t magic;          // +8 -> 8
  std::uint32_t version;        // +4 -> 12
  std::uint32_t crc;            // +4 -> 16  of the slot's 4096 bytes
  std::uint64_t sequence;       // +8 -> 24
  std::uint64_t incarnation;    // +8 -> 32
  std::uint32_t flags;          // +4 -> 36
  std::uint32_t logger_count;   // +4 -> 40  of this incarnation: 0 .. logger_count - 1
  std::uint64_t durable_epoch;  // +8 -> 48  was durable when it was written
  std::uint64_t removed_epoch;  // +8 -> 56  newest of any record of a segment that was removed
  std::uint64_t changes_after;  // +8 -> 64  the log has all changes of later epochs (L35)
  SavepointLogger loggers[kMaxSocs];  // +1536 -> 1600
  // LogSettings::change_bytes as this incarnation has it; 0: it keeps no changes.
  std::uint64_t change_bytes;  // +8 -> 1608, then zeroes up to 4096
};
static_assert(sizeof(Savepoint) == 72 + 24 * kMaxSocs);
inline constexpr std::uint32_t kClosedCleanly = 1;

// Returns the savepoint of a directory in which none was ever written.
Savepoint empty_savepoint();

// Returns the newest valid savepoint. kNotFound: there is no file. kCorruption: no slot is valid.
// kWrongVersion: some slot is of another version.
Result<Savepoint> read_savepoint(device::Device* device);

// Creates the file with the first savepoint in it, and syncs file and directory.
Status create_savepoint(device::Device* device, Savepoint* savepoint);
// Writes *savepoint with the next sequence number, and syncs. If that fails, a second attempt goes
// to the same slot and writes again what a failed sync gave up (V2).
Status write_savepoint(device::Device* device, Savepoint* savepoint);
// Makes a savepoint that was read durable in its own slot, for it may be in the system's cache
// only. The next one goes to the slot after it, which is cleared if it is not valid (L29).
Status rewrite_savepoint(device::Device* device, const Savepoint& savepoint);

}  // namespace foedus::log
