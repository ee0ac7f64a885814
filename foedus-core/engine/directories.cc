#include "foedus-core/engine/directories.h"

#include <iterator>
#include <set>
#include <utility>

#include "foedus-core/base/clock.h"
#include "foedus-core/device/file_device.h"
#include "foedus-core/log/log_file.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/snapshot/leftovers.h"

namespace foedus::engine {

namespace {

using Files = std::vector<std::unique_ptr<device::FileDevice>>;
using Devices = std::vector<std::unique_ptr<device::Device>>;

Status refused(const std::string& what) {
  return Status::error(ErrorCode::kInvalidArgument, what);
}

Status check_path(const char* option, const std::string& path) {
  if (path.empty()) return refused(std::string("option ") + option + " is empty");
  const std::size_t zero = path.find('\0');
  if (zero == path.npos) return {};
  return refused(std::string("option ") + option + " has a zero byte at " + std::to_string(zero) +
                 ", where the system would end the path");
}

// Calls `open_one` for each path, in its order; none is opened twice.
template <typename OpenOne>
Result<Files> open_each(const std::string& dir, const std::vector<std::string>& dirs,
                        OpenOne open_one) {
  Files files;
  FOEDUS_TRY(auto main, open_one(dir));
  files.push_back(std::move(main));
  for (const std::string& path : dirs) {
    for (const auto& opened : files) {
      if (!opened->is_at(path)) continue;
      const bool is_main = opened == files.front();
      return refused("option dirs names " + path + ", which is the directory " +
                     (is_main ? "of option dir" : "that it names as " + opened->path()));
    }
    FOEDUS_TRY(auto other, open_one(path));
    files.push_back(std::move(other));
  }
  return files;
}

Devices as_devices(Files files) {
  return {std::make_move_iterator(files.begin()), std::make_move_iterator(files.end())};
}

// Returns the devices of `files` as emulated memory of the speed in `options`.
Devices emulated(Files files, const Options& options,
                 const std::shared_ptr<device::NvmCounters>& counters) {
  constexpr std::uint64_t kBytesPerMb = 1'000'000;
  const device::NvmSpeed speed{.read_latency_ns = options.nvm_latency_ns,
                               .write_latency_ns = options.nvm_write_latency_ns == 0
                                                       ? options.nvm_latency_ns
                                                       : options.nvm_write_latency_ns,
                               .bytes_per_s = options.nvm_bandwidth_mb * kBytesPerMb};
  Devices devices;
  for (auto& file : files) {
    const bool by_stores = file->maps_files();
    devices.push_back(std::make_unique<device::EmulatedDevice>(std::move(file), by_stores, speed,
                                                               counters));
  }
  return devices;
}

Result<std::unique_ptr<device::Device>> make_device(Devices devices) {
  FOEDUS_TRY(const auto mark, device::read_mark(devices.front().get()));
  if (devices.size() == 1 && !mark.has_value()) return std::move(devices.front());
  std::vector<device::Device*> others;
  for (std::size_t i = 1; i < devices.size(); ++i) others.push_back(devices[i].get());
  FOEDUS_TRY(auto spread, device::SpreadDevice::make(devices.front().get(), std::move(others),
                                                     base::system_seed()));
  FOEDUS_CHECK(check_left_out(spread.get()));
  spread->keep(std::move(devices));
  return std::unique_ptr<device::Device>(std::move(spread));
}

// Returns the name of a file that is counted and not there; empty: there is none, or what counts
// them cannot be read, which is the business of others.
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
    }
  }
  return std::string();
}

}  // namespace

Status check_directories(const std::string& dir, const std::vector<std::string>& dirs) {
  FOEDUS_CHECK(check_path("dir", dir));
  if (dirs.size() > kMaxSocs) {
    return refused("option dirs has " + std::to_string(dirs.size()) +
                   " directories, must be 0 .. " + std::to_string(kMaxSocs));
  }
  for (std::size_t i = 0; i < dirs.size(); ++i) {
    FOEDUS_CHECK(check_path(("dirs[" + std::to_string(i) + "]").c_str(), dirs[i]));
  }
  return {};
}

Status check_left_out(device::SpreadDevice* device) {
  const std::vector<std::string> left_out = device->left_out();
  if (left_out.empty()) return {};
  FOEDUS_TRY(const std::string missing, find_missing(device));
  if (missing.empty()) return {};
  std::string text = device->path() + ": " + missing + " is missing, and option dirs leaves out ";
  for (std::size_t i = 0; i < left_out.size(); ++i) text += (i == 0 ? "" : ", ") + left_out[i];
  text += left_out.size() == 1 ? ", which may have it" : ", one of which may have it";
  return refused(text + "; name every directory that the database has files in");
}

Result<OpenedDirectories> open_directories(const Options& options) {
  device::FileAccess access = device::FileAccess::kCalls;
  if (options.device == DeviceKind::kMapped) access = device::FileAccess::kMapped;
  // A call for each line would take longer than the memory that is emulated.
  if (options.device == DeviceKind::kEmulated) access = device::FileAccess::kMappedToRead;
  FOEDUS_TRY(Files files, open_each(options.dir, options.dirs, [&](const std::string& path) {
               return device::FileDevice::open(path, options.direct_io, access);
             }));
  OpenedDirectories opened;
  opened.has_direct_io = opened.maps_files = true;
  for (const auto& file : files) {
    opened.has_direct_io = opened.has_direct_io && file->has_direct_io();
    opened.maps_files = opened.maps_files && file->maps_files();
  }
  Devices devices;
  if (options.device == DeviceKind::kEmulated) {
    opened.nvm = std::make_shared<device::NvmCounters>();
    devices = emulated(std::move(files), options, opened.nvm);
  } else {
    devices = as_devices(std::move(files));
  }
  FOEDUS_TRY(opened.device, make_device(std::move(devices)));
  return opened;
}

Result<std::unique_ptr<device::Device>> open_directories_to_read(
    const std::string& dir, const std::vector<std::string>& dirs) {
  FOEDUS_CHECK(check_directories(dir, dirs));
  FOEDUS_TRY(Files files, open_each(dir, dirs, [](const std::string& path) {
               return device::FileDevice::open_to_read(path);
             }));
  return make_device(as_devices(std::move(files)));
}

}  // namespace foedus::engine
