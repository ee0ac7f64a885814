#pragma once
// The savepoint: which segments exist, and which incarnation of the database runs or ran last. A
// file of 64 slots of 4096 bytes that are written in turn. Two would do. Each segment and each
// glean writes one, and memory wears. Byte-exact description: FORMAT.md.
//
//   L13 The slot of the highest sequence number counts. Another one is written next, so that a torn
//       write leaves the old savepoint.
//   L14 A segment is used only after a savepoint that counts it is synced, and that only after the
//       segment's header and its directory entry are. A segment is removed only after a savepoint
//       that does not count it is synced. So every segment that is counted must be there, and one
//       that is not counted holds no frame.
//   L29 A savepoint that a crash has torn is never there again: its slot is cleared, and this is
//       synced, before anything relies on the older one. Else the next write to the slot, torn
//       itself, might bring just what it lacked, for most sectors of all savepoints are alike.

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
  std::uint64_t durable_epoch;  // +8 -> 48  when it was written
  std::uint64_t removed_epoch;  // +8 -> 56  newest of any record of a segment that was removed
  std::uint64_t reserved;       // +8 -> 64  zero
  SavepointLogger loggers[kMaxSocs];  // +1536 -> 1600, then zeroes up to 4096
};
static_assert(sizeof(Savepoint) == 64 + 24 * kMaxSocs);
inline constexpr std::uint32_t kClosedCleanly = 1;

// A savepoint of a directory that has never been written.
Savepoint empty_savepoint();

// kNotFound: there is no savepoint. kCorruption: none of its slots is valid. kWrongVersion.
Result<Savepoint> read_savepoint(device::Device* device);

// Makes the file with the first savepoint in it, and syncs file and directory.
Status create_savepoint(device::Device* device, Savepoint* savepoint);
// Writes and syncs it with the next sequence number. A second attempt in the same slot follows a
// failure: what a failed sync gave up is written again (V2).
Status write_savepoint(device::Device* device, Savepoint* savepoint);
// Makes one that was read durable in its own slot: so far it may be in the system's cache only, and
// the next one goes to the slot behind it, which is cleared if it is not valid (L29).
Status rewrite_savepoint(device::Device* device, const Savepoint& savepoint);

}  // namespace foedus::log
