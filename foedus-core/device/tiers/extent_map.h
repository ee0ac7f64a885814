#pragma once
// ExtentMap: which extents of a snapshot file lie on the SSD, and which were read lately. All
// objects that have the file open share one.
//
//   word             written by        read by   meaning
//   on_ssd_[i]       set_on_ssd()      readers   bit b: extent 32 * i + b lies on the SSD
//   was_read_[i]     readers, mover    mover     1: extent i was read since the mover looked at it
//
// Its file, "tiers-<x>": FORMAT.md. It is written in words of 8 bytes, which no crash tears (V1,
// V17), and which only ever gain bits. A word that was not written is zero: all on memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"
#include "foedus/status.h"

namespace foedus::device {

inline constexpr std::uint64_t kExtentBytes = 256u << 10;

inline std::uint64_t extents_of(std::uint64_t file_bytes) {
  return (file_bytes + kExtentBytes - 1) / kExtentBytes;
}

// Extents that follow one another.
struct ExtentRun {
  std::uint64_t first;
  std::uint64_t count;
};
// Returns the runs that `extents` consist of, each of `most` or less. `extents` ascend.
std::vector<ExtentRun> runs_of(const std::vector<std::uint64_t>& extents, std::uint64_t most);

class ExtentMap {
 public:
  // Begins with all extents on memory and marked as read: the mover does not take new ones at once.
  explicit ExtentMap(std::uint64_t file_bytes);

  std::uint64_t extents() const { return was_read_.size(); }
  std::uint64_t count_on_ssd() const;

  // Returns true if readers find an extent on the SSD; beyond the file: false. Any thread.
  bool is_on_ssd(std::uint64_t extent) const {
    if (extent >= was_read_.size()) return false;
    // order: acquire, pairs with set_on_ssd(): the file on the SSD exists and has the bytes.
    return (on_ssd_[extent / kBits].load_acquire() >> (extent % kBits) & 1) != 0;
  }
  void note_read(std::uint64_t extent) const {
    if (extent >= was_read_.size()) return;
    // order: relaxed twice, a hint to the mover. The load spares readers most stores to the line.
    if (was_read_[extent].load_relaxed() == 0) was_read_[extent].store_relaxed(1);
  }

  // ---- the mover, or the map's only owner ----------------------------------------------------

  // Returns true if the extent was read since the last call.
  bool take_read(std::uint64_t extent);
  void set_on_ssd(std::uint64_t extent);

  // ---- its file -------------------------------------------------------------------------------

  // Reads what write() has written. kCorruption, kWrongVersion, kIoError.
  Status read(const File& file);
  // Writes all of the map to a new file, and syncs it.
  Status write(File* file) const;
  // Writes the words of `extents`, as they will be once these are on the SSD as well, and syncs.
  // `extents` ascend.
  Status write_with(const std::vector<std::uint64_t>& extents, File* file) const;

 private:
  static constexpr std::uint64_t kBits = 32;

  std::size_t words() const { return on_ssd_.size(); }

  std::vector<base::AtomicWord<std::uint32_t>> on_ssd_;
  mutable std::vector<base::AtomicWord<std::uint8_t>> was_read_;
};

}  // namespace foedus::device
