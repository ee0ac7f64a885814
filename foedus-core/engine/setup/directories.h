#pragma once
// The directories of a database: Options::dir, those that FileOptions::dirs names for large files,
// and those of the SSD tier, TierOptions::ssd_dirs.

#include <memory>
#include <string>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/emulated_device.h"
#include "foedus-core/device/spread/spread_device.h"
#include "foedus-core/device/tiers/tiered_device.h"
#include "foedus-core/engine/setup/directory_names.h"
#include "foedus/database.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

// Returns kInvalidArgument, naming the option, for an empty path, a zero byte, or too many paths.
Status check_directories(const DirectoryNames& names);

// Parts of TierOptions::nvm_bytes for copies of SSD pages (snapshot/nvm_pages.h). `least` bytes are
// set aside for the copies from the start. Up to `most`, the copies also use what extents of
// snapshots leave free.
struct KeptPagesBytes {
  std::uint64_t least;
  std::uint64_t most;
};
KeptPagesBytes kept_pages_bytes(const Options& options);
// Returns the bytes of the staging buffer (device/staging/buffer.h), in which pages wait on NVM to
// be written to the SSD; 0 without an SSD tier. The tasks that write these pages copy them to DRAM
// first. Their DRAM for that has the size of the buffer, and is not part of memory_bytes.
std::uint64_t staged_bytes(const Options& options);

struct OpenedDirectories {
  std::unique_ptr<device::Device> device;
  bool has_direct_io = false;                // all directories but those of the SSD tier have it
  bool maps_files = false;                   // all directories but those of the SSD tier do
  device::TieredDevice* tiers = nullptr;     // `device`, if snapshots lie on two tiers; else null
  std::shared_ptr<device::NvmCounters> nvm;  // null unless DeviceKind::kEmulated
  std::shared_ptr<device::NvmCounters> ssd;  // counters of the SSD tier; null unless kEmulated

  void close() {
    device.reset();
    tiers = nullptr;
  }
};

// Opens and locks each directory; makes those that are missing. If an earlier process left pages in
// the staging buffer, writes them to the SSD: kOutOfSpace, kIoError, kCorruption. Changes nothing
// else: the file that marks a directory is written before the first later change (device V13).
// kInvalidArgument: a directory is named twice or belongs to another database; or a file that the
// savepoint or a manifest names is missing, and a directory that may have it is left out. Other
// errors: those of device::FileDevice::open() and device::SpreadDevice::make().
// Uses these of `options`: the directories, direct_io, buffered_reads, the device, the speeds of
// emulated memory, and the limits of the tiers. Starts tasks of the device on `runtime`, which must
// outlive the device.
Result<OpenedDirectories> open_directories(const Options& options, base::Runtime* runtime);
// Opens existing directories for reads only: neither this call nor the device changes anything
// (device V8). kNotFound: a directory is missing. kNotSupported: the staging buffer has pages,
// since the database was not closed. Other errors: those of open_directories().
Result<OpenedDirectories> open_directories_to_read(const DirectoryNames& names);

// Fills in the counters of emulated devices, the fill levels of the tiers, and the bytes moved
// between them.
void add_stats(const OpenedDirectories& opened, Stats* stats);

// Returns kInvalidArgument if a file that the savepoint or a manifest names is missing, and the
// options do not name all directories of the database: it may be in one of the others.
Status check_left_out(device::SpreadDevice* device);

}  // namespace foedus::engine
