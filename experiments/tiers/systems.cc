#include "experiments/tiers/systems.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "experiments/common/text.h"

namespace experiments::tiers {

namespace {

std::string ssd_directory_of(const std::string& dir) { return dir + "-ssd"; }

}  // namespace

foedus::Options options_on(const System& system, const Hardware& hardware, const std::string& dir) {
  foedus::Options options;
  options.dir = dir;
  options.files.device = foedus::DeviceKind::kEmulated;
  options.memory_bytes = hardware.dram_bytes;
  options.pages.nvm_cache = system.cache;
  options.emulation.nvm_latency_ns = hardware.nvm_latency_ns;
  options.emulation.nvm_bandwidth_mb = kNvmBandwidthMb;
  switch (system.place) {
    case Place::kDram:
      options.files.device = foedus::DeviceKind::kFile;
      options.log.kind = foedus::Logging::kNone;
      options.memory_bytes = 0;
      break;
    case Place::kNvm: break;
    case Place::kNvmAndSsd:
      options.tiers.nvm_bytes = hardware.nvm_bytes;
      options.tiers.ssd_dirs = {ssd_directory_of(dir)};
      options.emulation.ssd_latency_ns = hardware.ssd_latency_ns;
      options.emulation.ssd_bandwidth_mb = kSsdBandwidthMb;
      break;
    case Place::kSsd:
      options.emulation.nvm_latency_ns = hardware.ssd_latency_ns;
      options.emulation.nvm_bandwidth_mb = kSsdBandwidthMb;
      break;
  }
  return options;
}

foedus::Options load_options_on(const System& system, const Hardware& hardware,
                                const std::string& dir) {
  foedus::Options options = options_on(system, hardware, dir);
  options.memory_bytes = 0;
  options.emulation.nvm_latency_ns = 0;
  options.emulation.nvm_bandwidth_mb = 0;
  options.emulation.ssd_latency_ns = 0;
  options.emulation.ssd_bandwidth_mb = 0;
  return options;
}

foedus::Status copy_database(const std::string& from, const std::string& to) {
  constexpr auto kWhole = std::filesystem::copy_options::recursive;
  std::error_code error;
  std::filesystem::copy(from, to, kWhole, error);
  const std::string tier = ssd_directory_of(from);
  if (!error && std::filesystem::exists(tier, error)) {
    std::filesystem::copy(tier, ssd_directory_of(to), kWhole, error);
  }
  if (!error) return {};
  return failed(foedus::ErrorCode::kIoError, "copy of %s: %s", from.c_str(),
                error.message().c_str());
}

void remove_database(const std::string& dir) {
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  std::filesystem::remove_all(ssd_directory_of(dir), ignored);
}

}  // namespace experiments::tiers
