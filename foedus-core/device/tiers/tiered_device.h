#pragma once
// TieredDevice: two tiers below the names of snapshot files, non-volatile memory and an SSD (Van
// Renen et al., SIGMOD'18). A snapshot file may lie on both, in extents of 256 KiB. An extent lies
// on the tier to which it was written, until the mover moves it from memory to the SSD. Names,
// offsets and page ids stay as they are. All other files lie on memory.
//
//   V23 The file "tiers-<x>" says where each extent lies (extent_map.h); it exists once any extent
//       of its snapshot file lies on the SSD. A file counts once it is synced: all parts are
//       durable then, in their files or in buckets (V32).
//   V24 The mover works in this order, each step durable before the next: it makes the names of the
//       parts; it writes the extents to the SSD; it writes the map, which says that they are there;
//       it discards them on memory. Snapshot files never change, so a crash leaves a whole copy
//       where the map says, be it the old map or the new one.
//   V25 Readers take no lock. After a read from memory, the reader looks at the map again, and
//       reads from the SSD if the extent is there by then: the map says so before the extent is
//       discarded on memory.
//   V26 list() has a file's name while any part of the file exists, and remove() removes all parts.
//       So the parts that a crash leaves of a removal are found and removed by that name.
//
// The mover takes extents that were not read since its last round (CLOCK), oldest snapshots first.
// Space that extents leave is lent to the NVM cache of SSD pages (snapshot/nvm_pages.h).

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/tiers/extent_map.h"
#include "foedus-core/device/tiers/staged_files.h"
#include "foedus-core/device/tiers/tiered_file.h"
#include "foedus/status.h"

namespace foedus::device {

// Bytes of snapshot files that a tier may hold; 0: as many as its file system has space for.
struct TierLimits {
  std::uint64_t nvm_bytes = 0;
  std::uint64_t ssd_bytes = 0;
};

// Bytes of the extents of finished files and of those in the making.
struct TierFill {
  std::uint64_t nvm_bytes = 0;
  std::uint64_t ssd_bytes = 0;
  std::uint64_t moved_bytes = 0;  // by the mover, since the device was opened
};

class ExtentCopy;

class TieredDevice final : public Device, public ExtentRoom {
 public:
  // `behind` finds files of both tiers by name, and makes those of the SSD there (SpreadDevice).
  // `ssd_access`: kRead or kReadDirect, for pages of the SSD. Pages that are staged when the device
  // is destroyed stay in their buckets, for the next look().
  TieredDevice(std::unique_ptr<Device> behind, const TierLimits& limits, Access ssd_access,
               const TierStaging& staging = {});

  // Writes what an earlier process has left staged to the SSD, and looks at all files that exist.
  // No other function may be called before. A file that is damaged is an error of its open().
  // Errors: those of recover_staged().
  Status look();
  // Looks at all files of a device that is only read, in place of look(). kNotSupported: pages of
  // files are staged, which only look() writes to the SSD.
  Status look_to_read();

  // Waits until all that is staged is on the SSD. Then moves extents from memory, in the calling
  // thread, until an eighth of memory's limit is free, and some more if wants_room(); 256 MiB at
  // most. kOutOfSpace: the SSD is full. kNotSupported: as of discard().
  Status make_room() override;
  // Lends space of memory; an eighth of it is kept for snapshots to come.
  std::uint64_t lend_room(std::uint64_t most, bool moves) override;
  void return_room(std::uint64_t bytes) override;
  void keep_lent(std::uint64_t bytes) override;
  bool wants_room() const override {
    return wants_room_.load_relaxed() != 0;  // order: relaxed, a hint
  }
  TierFill fill() const;

  const std::string& path() const override { return behind_->path(); }
  // Opens a file. A snapshot file (V23, V25) can be read, or made; to change one is kNotSupported.
  Result<std::unique_ptr<File>> open(std::string_view name, Access access) override;
  Result<std::vector<std::string>> list() const override;  // V26
  Status remove(std::string_view name) override;           // V26
  Status rename(std::string_view from, std::string_view to) override {
    return behind_->rename(from, to);
  }
  Status sync_directory() override { return behind_->sync_directory(); }
  Status discard(std::string_view name, const Range* ranges, std::size_t count) override {
    return behind_->discard(name, ranges, count);
  }
  std::unique_ptr<IoQueue> make_io_queue() override;

  Status take_extent(bool* on_ssd) override;
  void give_back(std::uint64_t nvm_extents, std::uint64_t ssd_extents) override;
  Result<StagedPart> stage(const std::string& name, const std::shared_ptr<File>& ssd) override {
    return staged_.add(name, ssd);
  }
  void add_finished(const std::string& name, std::shared_ptr<ExtentMap> map) override;

 private:
  // A finished file.
  struct Known {
    std::shared_ptr<ExtentMap> map;
    bool is_discarded = false;  // extents on the SSD take no space on memory any more
  };
  // Extents of one file that are moved at once.
  using Batch = std::vector<std::uint64_t>;

  Status look_at_files();
  Result<std::shared_ptr<ExtentMap>> read_map(std::string_view name, const File& nvm) const;
  Result<std::shared_ptr<ExtentMap>> map_of(std::string_view name, const File& nvm);
  Status move_extents();
  std::uint64_t extents_to_move() const;
  Status move_of_file(const std::string& name, ExtentMap* map, bool is_last_round,
                      ExtentCopy* copy, std::uint64_t* left);
  Status discard_orphaned_file(const std::string& name, const Known& known);
  Status move(const std::string& name, ExtentMap* map, const Batch& batch, ExtentCopy* copy);
  Status check_ssd_room_locked(std::uint64_t extents) const;
  void note_discarded(const std::string& name, bool is_discarded);
  Status make_parts(std::string_view name, const ExtentMap& map);
  Status discard_extents(const std::string& name, const Batch& batch);

  const std::unique_ptr<Device> behind_;
  const TierLimits limits_;
  const Access ssd_access_;
  StagedFiles staged_;

  mutable std::mutex mutex_;
  // Guarded by mutex_. The maps have their own synchronization.
  std::map<std::string, Known, std::less<>> known_;
  std::uint64_t nvm_extents_ = 0;
  std::uint64_t ssd_extents_ = 0;
  std::uint64_t moved_extents_ = 0;
  std::uint64_t lent_bytes_ = 0;
  bool can_move_ = true;  // make_room() succeeded the last time

  base::AtomicWord<std::uint32_t> wants_room_;

  // The CLOCK hand of the mover. Used by make_room() alone.
  std::string hand_name_;
  std::uint64_t hand_extent_ = 0;
};

}  // namespace foedus::device
