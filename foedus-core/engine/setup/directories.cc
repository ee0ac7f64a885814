#include "foedus-core/engine/setup/directories.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/device/tier_names.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/snapshot/files/orphaned_files.h"
#include "foedus-core/snapshot/nvm_pages.h"

namespace foedus::engine {

namespace {

using Files = std::vector<std::unique_ptr<device::FileDevice>>;
using Devices = std::vector<std::unique_ptr<device::Device>>;

Status refused(const std::string& what) { return Status::error(ErrorCode::kInvalidArgument, what); }

Status check_path(const char* option, const std::string& path) {
  if (path.empty()) return refused(std::string("option ") + option + " is empty");
  const std::size_t zero = path.find('\0');
  if (zero == path.npos) return {};
  return refused(std::string("option ") + option + " has a zero byte at " + std::to_string(zero) +
                 ", where the system would end the path");
}

// A directory that an option names.
struct Wanted {
  const char* option;
  const std::string* path;
};

std::vector<Wanted> all_of(const DirectoryNames& names) {
  std::vector<Wanted> all = {{"dir", &names.dir}};
  for (const std::string& path : names.dirs) all.push_back({"files.dirs", &path});
  for (const std::string& path : names.ssd_dirs) all.push_back({"tiers.ssd_dirs", &path});
  return all;
}

// Opens each directory by `open_one`, which gets the path and whether it is of the SSD tier. The
// result is in the order of all_of(). kInvalidArgument: two paths name the same directory.
template <typename OpenOne>
Result<Files> open_each(const DirectoryNames& names, OpenOne open_one) {
  const std::vector<Wanted> all = all_of(names);
  Files files;
  for (const Wanted& wanted : all) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (!files[i]->is_at(*wanted.path)) continue;
      const std::string named = all[i].option;
      return refused("option " + std::string(wanted.option) + " names " + *wanted.path +
                     ", which is the directory " +
                     (i == 0 ? "of option dir" : "that " + named + " names as " + *all[i].path));
    }
    FOEDUS_TRY(auto file, open_one(*wanted.path, wanted.option == std::string("tiers.ssd_dirs")));
    files.push_back(std::move(file));
  }
  return files;
}

Devices as_devices(Files files) {
  return {std::make_move_iterator(files.begin()), std::make_move_iterator(files.end())};
}

// Wraps each of `files` in a device that emulates memory with the speeds in `options`. The last
// `ssd_count` files are of the SSD tier and get its speed.
Devices emulated(Files files, std::size_t ssd_count, const Options& options,
                 const OpenedDirectories& opened) {
  constexpr std::uint64_t kBytesPerMb = 1'000'000;
  const device::NvmSpeed nvm{.read_latency_ns = options.emulation.nvm_latency_ns,
                             .write_latency_ns = options.emulation.nvm_write_latency_ns == 0
                                                     ? options.emulation.nvm_latency_ns
                                                     : options.emulation.nvm_write_latency_ns,
                             .bytes_per_s = options.emulation.nvm_bandwidth_mb * kBytesPerMb};
  const device::NvmSpeed ssd{.read_latency_ns = options.emulation.ssd_latency_ns,
                             .write_latency_ns = options.emulation.ssd_latency_ns,
                             .bytes_per_s = options.emulation.ssd_bandwidth_mb * kBytesPerMb};
  Devices devices;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool by_stores = files[i]->maps_files();
    const bool is_ssd = i + ssd_count >= files.size();
    devices.push_back(std::make_unique<device::EmulatedDevice>(
        std::move(files[i]), by_stores, is_ssd ? ssd : nvm, is_ssd ? opened.ssd : opened.nvm));
  }
  return devices;
}

Result<std::unique_ptr<device::Device>> make_device(Devices devices, std::size_t ssd_count) {
  FOEDUS_TRY(const auto mark, device::read_mark(devices.front().get()));
  if (devices.size() == 1 && !mark.has_value()) return std::move(devices.front());
  std::vector<device::Device*> others;
  for (std::size_t i = 1; i < devices.size(); ++i) others.push_back(devices[i].get());
  const std::vector<device::Device*> ssd(others.end() - static_cast<std::ptrdiff_t>(ssd_count),
                                         others.end());
  others.resize(others.size() - ssd_count);
  FOEDUS_TRY(auto spread, device::SpreadDevice::make(devices.front().get(), std::move(others),
                                                     base::system_seed(), ssd));
  FOEDUS_CHECK(check_left_out(spread.get()));
  spread->keep(std::move(devices));
  return std::unique_ptr<device::Device>(std::move(spread));
}

// Returns whether the options name an SSD tier, or the device has files of two tiers from an
// earlier run.
Result<bool> has_tiers(const device::Device& device, std::size_t ssd_count) {
  FOEDUS_TRY(const auto names, device.list());
  const bool has_moved = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with(device::kTiersPrefix) || name.starts_with(device::kStagingPrefix);
  });
  return ssd_count != 0 || has_moved;
}

void set_tiers(std::unique_ptr<device::TieredDevice> tiers, OpenedDirectories* opened) {
  opened->tiers = tiers.get();
  opened->device = std::move(tiers);
}

// Returns the name of the SSD part of file `name` if the file has such a part and that is missing,
// else an empty string.
std::string find_missing_part(const std::set<std::string>& names, const std::string& name) {
  std::string ssd = device::ssd_name(name);
  const bool has_part = names.contains(device::tiers_name(name));
  return has_part && !names.contains(ssd) ? ssd : std::string();
}

// Returns the name of a missing file that the savepoint or a manifest lists, or an empty string if
// none is missing. Ignores a savepoint or manifest that cannot be read: open() reports it when it
// reads the log or the snapshots.
Result<std::string> find_missing(device::Device* device) {
  FOEDUS_TRY(const auto list, device->list());
  const std::set<std::string> names(list.begin(), list.end());
  if (const auto savepoint = log::read_savepoint(device); savepoint.is_ok()) {
    for (std::uint32_t logger = 0; logger < kMaxSocs; ++logger) {
      const log::SavepointLogger& counted = savepoint->loggers[logger];
      for (std::uint32_t number = counted.oldest; number <= counted.newest; ++number) {
        std::string name = log::segment_name(logger, number);
        if (!names.contains(name)) return name;
      }
    }
  }
  if (const auto listed = snapshot::find_listed(device); listed.is_ok()) {
    for (const std::string& name : listed->names) {
      if (!names.contains(name)) return name;
      std::string part = find_missing_part(names, name);
      if (!part.empty()) return part;
    }
  }
  return std::string();
}

}  // namespace

Status check_directories(const DirectoryNames& names) {
  FOEDUS_CHECK(check_path("dir", names.dir));
  const std::pair<std::string, const std::vector<std::string>*> lists[] = {
      {"files.dirs", &names.dirs}, {"tiers.ssd_dirs", &names.ssd_dirs}};
  for (const auto& [option, paths] : lists) {
    if (paths->size() > kMaxSocs) {
      return refused("option " + option + " has " + std::to_string(paths->size()) +
                     " directories, must be 0 .. " + std::to_string(kMaxSocs));
    }
    for (std::size_t i = 0; i < paths->size(); ++i) {
      const std::string name = option + "[" + std::to_string(i) + "]";
      FOEDUS_CHECK(check_path(name.c_str(), (*paths)[i]));
    }
  }
  return {};
}

Status check_left_out(device::SpreadDevice* device) {
  const std::vector<std::string> left_out = device->left_out();
  if (left_out.empty()) return {};
  FOEDUS_TRY(const std::string missing, find_missing(device));
  if (missing.empty()) return {};
  std::string text =
      device->path() + ": " + missing + " is missing, and option files.dirs leaves out ";
  for (std::size_t i = 0; i < left_out.size(); ++i) text += (i == 0 ? "" : ", ") + left_out[i];
  text += left_out.size() == 1 ? ", which may have it" : ", one of which may have it";
  return refused(text + "; name every directory that the database has files in");
}

std::uint64_t staged_bytes(const Options& options) {
  if (options.tiers.ssd_dirs.empty()) return 0;
  constexpr std::uint64_t kShare = 64;
  constexpr std::uint64_t kLeast = 1u << 20;
  constexpr std::uint64_t kMost = 16u << 20;
  return std::clamp(options.tiers.nvm_bytes / kShare, kLeast, kMost);
}

KeptPagesBytes kept_pages_bytes(const Options& options) {
  if (options.tiers.ssd_dirs.empty()) return {0, 0};
  constexpr std::uint64_t kFreeShare = 8;  // 1/8 of nvm_bytes is left to extents of new snapshots
  const std::uint64_t most =
      std::max(options.tiers.nvm_bytes - options.tiers.nvm_bytes / kFreeShare,
               snapshot::NvmPages::kStepBytes);
  return {snapshot::NvmPages::way_bytes(most), most};
}

Result<OpenedDirectories> open_directories(const Options& options, base::Runtime* runtime) {
  device::FileAccess access = device::FileAccess::kCalls;
  if (options.files.device == DeviceKind::kMapped) access = device::FileAccess::kMapped;
  // Files are mapped for reads: a system call for each line would take longer than the emulated
  // memory does.
  if (options.files.device == DeviceKind::kEmulated) access = device::FileAccess::kMappedToRead;
  const DirectoryNames names{options.dir, options.files.dirs, options.tiers.ssd_dirs};
  FOEDUS_TRY(Files files, open_each(names, [&](const std::string& path, bool is_ssd) {
               return device::FileDevice::open(path, options.files.direct_io,
                                               is_ssd ? device::FileAccess::kCalls : access);
             }));
  OpenedDirectories opened;
  opened.has_direct_io = opened.maps_files = true;
  const std::size_t ssd_count = options.tiers.ssd_dirs.size();
  for (std::size_t i = 0; i + ssd_count < files.size(); ++i) {
    opened.has_direct_io = opened.has_direct_io && files[i]->has_direct_io();
    opened.maps_files = opened.maps_files && files[i]->maps_files();
  }
  Devices devices;
  if (options.files.device == DeviceKind::kEmulated) {
    opened.nvm = std::make_shared<device::NvmCounters>();
    opened.ssd = std::make_shared<device::NvmCounters>();
    devices = emulated(std::move(files), ssd_count, options, opened);
  } else {
    devices = as_devices(std::move(files));
  }
  FOEDUS_TRY(opened.device, make_device(std::move(devices), ssd_count));
  const device::TierLimits limits{options.tiers.nvm_bytes - kept_pages_bytes(options).least,
                                  options.tiers.ssd_bytes};
  const auto ssd_access =
      options.files.buffered_reads ? device::Access::kRead : device::Access::kReadDirect;
  FOEDUS_TRY(const bool is_tiered, has_tiers(*opened.device, ssd_count));
  if (!is_tiered) return opened;
  const device::TierStaging staging{
      runtime, staged_bytes(options),
      static_cast<std::uint32_t>(std::max<std::size_t>(options.files.dirs.size(), 1))};
  auto tiers =
      std::make_unique<device::TieredDevice>(std::move(opened.device), limits, ssd_access, staging);
  FOEDUS_CHECK(tiers->look());
  set_tiers(std::move(tiers), &opened);
  return opened;
}

void add_stats(const OpenedDirectories& opened, Stats* stats) {
  if (opened.nvm != nullptr) stats->nvm = opened.nvm->stats();
  if (opened.ssd != nullptr) stats->ssd = opened.ssd->stats();
  if (opened.tiers == nullptr) return;
  const device::TierFill fill = opened.tiers->fill();
  stats->tiers.nvm_bytes = fill.nvm_bytes;
  stats->tiers.ssd_bytes = fill.ssd_bytes;
  stats->tiers.moved_bytes = fill.moved_bytes;
}

Result<OpenedDirectories> open_directories_to_read(const DirectoryNames& names) {
  FOEDUS_CHECK(check_directories(names));
  FOEDUS_TRY(Files files, open_each(names, [](const std::string& path, bool) {
               return device::FileDevice::open_to_read(path);
             }));
  OpenedDirectories opened;
  const std::size_t ssd_count = names.ssd_dirs.size();
  FOEDUS_TRY(opened.device, make_device(as_devices(std::move(files)), ssd_count));
  FOEDUS_TRY(const bool is_tiered, has_tiers(*opened.device, ssd_count));
  if (!is_tiered) return opened;
  auto tiers = std::make_unique<device::TieredDevice>(std::move(opened.device),
                                                      device::TierLimits{}, device::Access::kRead);
  FOEDUS_CHECK(tiers->look_to_read());
  set_tiers(std::move(tiers), &opened);
  return opened;
}

}  // namespace foedus::engine
