#include "foedus-core/engine/setup/options_check.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

#include "foedus-core/engine/setup/directories.h"
#include "foedus-core/engine/setup/granted_memory.h"
#include "foedus-core/engine/setup/memory_shares.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/snapshot/files/format.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kCacheBytesPerSocMin = 512u << 10;
// A frame's number has 28 bits (snapshot/cache/index.h), so that a SOC can have 1 TiB of frames,
// own and borrowed ones together.
constexpr std::uint64_t kCacheBytesPerSocMax = std::uint64_t{512} << 30;

constexpr std::uint64_t kAny = ~std::uint64_t{0};

Status refused(const char* name, std::uint64_t value, const std::string& what_it_must_be) {
  return Status::error(ErrorCode::kInvalidArgument, std::string("option ") + name + " is " +
                                                        std::to_string(value) + ", must be " +
                                                        what_it_must_be);
}

Status in_range(const char* name, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  if (high == kAny) return refused(name, value, "at least " + std::to_string(low));
  return refused(name, value, std::to_string(low) + " .. " + std::to_string(high));
}

// Returns a number of bytes as text, in the largest unit that gives a whole number: "64 MiB".
std::string in_words(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && bytes % 1024 == 0; ++unit) bytes >>= 10;
  return std::to_string(bytes) + kUnits[unit];
}

// Checks a number of bytes. The error's text gives the bound as in_words() does.
Status bytes_in_range(const char* name, std::uint64_t value, std::uint64_t low,
                      std::uint64_t high) {
  if (value >= low && value <= high) return {};
  const bool is_below = value < low;
  return refused(name, value,
                 (is_below ? "at least " : "at most ") + in_words(is_below ? low : high));
}

// Checks that `value` is an enumerator: a cast can make an Enum from any number.
template <typename Enum>
Status is_enumerator(const char* name, Enum value, Enum last) {
  return in_range(name, static_cast<std::uint64_t>(value), 0, static_cast<std::uint64_t>(last));
}

// A processor that runs TPC-C alone logs 2 million records a second. In a second a mapper reads 9
// million records, and a reducer with its composer makes pages from 5 million. A glean takes 0.2 s
// of processor time for a million records, so six processors that do both log 8.6 million a second,
// with which one mapper and two reducers keep up. One installer would keep up with 30 processors.
// But a glean waits for its installers, so there are as many of them as mappers.
constexpr std::uint32_t kProcessorsPerMapper = 6;
constexpr std::uint32_t kProcessorsPerReducer = 3;
constexpr std::uint32_t kProcessorsPerInstaller = 6;

// Returns how many tasks of a kind there are in all, if a SOC has one for every `processors_each`
// of its processors. Each SOC has equally many, and at least one. All SOCs together have at most
// kMaxSocs.
std::uint32_t tasks_for(std::uint32_t processors, std::uint32_t processors_each,
                        std::uint32_t socs) {
  const std::uint32_t of_soc = (processors + socs - 1) / socs;
  const std::uint32_t wanted = (of_soc + processors_each - 1) / processors_each;
  return std::clamp(wanted, 1u, std::max(kMaxSocs / socs, 1u)) * socs;
}

Status check_facilities(const Options& options) {
  FOEDUS_CHECK(is_enumerator("pages.huge_pages", options.pages.huge_pages, Facility::kRequire));
  FOEDUS_CHECK(is_enumerator("pages.numa_binding", options.pages.numa_binding, Facility::kRequire));
  FOEDUS_CHECK(is_enumerator("files.device", options.files.device, DeviceKind::kEmulated));
  FOEDUS_CHECK(is_enumerator("files.direct_io", options.files.direct_io, Facility::kRequire));
  FOEDUS_CHECK(is_enumerator("log.kind", options.log.kind, Logging::kNone));
  FOEDUS_CHECK(is_enumerator("durability", options.durability, kDurabilityLast));
  return is_enumerator("open_until", options.open_until, OpenUntil::kSnapshotReadable);
}

Status check_nvm(const Options& options) {
  constexpr std::uint64_t kLatencyMax = 1'000'000;
  constexpr std::uint64_t kBandwidthMax = 1'000'000;
  FOEDUS_CHECK(is_enumerator("pages.nvm_cache", options.pages.nvm_cache, NvmCache::kDirect));
  FOEDUS_CHECK(
      in_range("emulation.nvm_latency_ns", options.emulation.nvm_latency_ns, 0, kLatencyMax));
  FOEDUS_CHECK(in_range("emulation.nvm_write_latency_ns", options.emulation.nvm_write_latency_ns, 0,
                        kLatencyMax));
  FOEDUS_CHECK(
      in_range("emulation.nvm_bandwidth_mb", options.emulation.nvm_bandwidth_mb, 0, kBandwidthMax));
  FOEDUS_CHECK(
      in_range("emulation.ssd_latency_ns", options.emulation.ssd_latency_ns, 0, kLatencyMax));
  return in_range("emulation.ssd_bandwidth_mb", options.emulation.ssd_bandwidth_mb, 0,
                  kBandwidthMax);
}

Status check_tiers(const Options& options) {
  constexpr std::uint64_t kTierBytesMin = 4u << 20;
  if (options.tiers.ssd_dirs.empty()) {
    const char* const limit = options.tiers.nvm_bytes != 0   ? "tiers.nvm_bytes"
                              : options.tiers.ssd_bytes != 0 ? "tiers.ssd_bytes"
                                                             : nullptr;
    if (limit == nullptr) return {};
    return Status::error(ErrorCode::kInvalidArgument,
                         "option " + std::string(limit) + " is for a database of two tiers: " +
                             "name a directory of the SSD tier, tiers.ssd_dirs");
  }
  FOEDUS_CHECK(bytes_in_range("tiers.nvm_bytes", options.tiers.nvm_bytes, kTierBytesMin, kAny));
  if (options.tiers.ssd_bytes == 0) return {};
  return bytes_in_range("tiers.ssd_bytes", options.tiers.ssd_bytes, kTierBytesMin, kAny);
}

Status check_glean(const Options& options) {
  const GleanOptions& glean = options.glean;
  if (glean.log_bytes != 0) {
    FOEDUS_CHECK(
        bytes_in_range("glean.log_bytes", glean.log_bytes, 1u << 20, std::uint64_t{1} << 59));
  }
  if (glean.log_bytes_max != 0) {
    FOEDUS_CHECK(bytes_in_range("glean.log_bytes_max", glean.log_bytes_max,
                                std::max<std::uint64_t>(2 * glean.log_bytes, 2u << 20), kAny));
  }
  FOEDUS_CHECK(in_range("pages.volatile_percent", options.pages.volatile_percent, 0, 90));
  FOEDUS_CHECK(in_range("glean.mappers", glean.mappers, 0, kMaxSocs));
  FOEDUS_CHECK(in_range("glean.reducers", glean.reducers, 0, kMaxSocs));
  FOEDUS_CHECK(in_range("glean.installers", glean.installers, 0, kMaxSocs));
  if (glean.memory_bytes != 0) {
    FOEDUS_CHECK(bytes_in_range("glean.memory_bytes", glean.memory_bytes, 16u << 20, kAny));
  }
  return {};
}

}  // namespace

Status check_options(const Options& options) {
  FOEDUS_CHECK(check_directories({options.dir, options.files.dirs, options.tiers.ssd_dirs}));
  FOEDUS_CHECK(check_tiers(options));
  FOEDUS_CHECK(in_range("socs", options.socs, 0, kMaxSocs));
  FOEDUS_CHECK(in_range("log.loggers_per_soc", options.log.loggers_per_soc, 0, kMaxSocs));
  if (options.memory_bytes != 0) {
    FOEDUS_CHECK(bytes_in_range("memory_bytes", options.memory_bytes, kMemoryBytesMin,
                                page::PagePool::kBytesMax));
  }
  FOEDUS_CHECK(bytes_in_range("log.buffer_bytes", options.log.buffer_bytes, 64u << 10, 1u << 30));
  if (!std::has_single_bit(options.log.buffer_bytes)) {
    return refused("log.buffer_bytes", options.log.buffer_bytes,
                   "a power of two; the next one is " +
                       std::to_string(std::bit_ceil(options.log.buffer_bytes)));
  }
  FOEDUS_CHECK(bytes_in_range("log.segment_bytes", options.log.segment_bytes, 1u << 20,
                              std::uint64_t{4} << 30));
  FOEDUS_CHECK(in_range("sessions_max", options.sessions_max, 1, kMaxSessions));
  FOEDUS_CHECK(in_range("snapshots_kept", options.snapshots_kept, 1, 1000));
  FOEDUS_CHECK(in_range("epoch_interval_us", options.epoch_interval_us, 100, 1'000'000));
  FOEDUS_CHECK(check_facilities(options));
  FOEDUS_CHECK(check_nvm(options));
  if (options.operator_log_bytes != 0) {
    FOEDUS_CHECK(in_range("operator_log_bytes", options.operator_log_bytes, 4'096, kAny));
  }
  if (options.transaction_timeout_us != 0) {
    FOEDUS_CHECK(in_range("transaction_timeout_us", options.transaction_timeout_us, 1'000, kAny));
  }
  return check_glean(options);
}

Status refusal_of(const TxnOptions& options) {
  FOEDUS_CHECK(is_enumerator("isolation", options.isolation, kIsolationLast));
  FOEDUS_CHECK(is_enumerator("durability", options.durability.value_or(Durability::kAsync),
                             kDurabilityLast));
  return in_range("tries_max", options.tries_max, 1, kTriesBound);
}

void choose_nvm_cache(Options* options) {
  constexpr std::uint64_t kLatencyMaxNs = 1'000;  // slower memory is not read by single lines
  const bool is_slow = options->files.device == DeviceKind::kEmulated &&
                       options->emulation.nvm_latency_ns > kLatencyMaxNs;
  if (options->files.device == DeviceKind::kFile) {
    options->pages.nvm_cache = NvmCache::kPages;
  } else if (options->pages.nvm_cache == NvmCache::kAuto && is_slow) {
    options->pages.nvm_cache = NvmCache::kPages;
  }
}

void choose_memory_bytes(Options* options) {
  MemoryGrants grants = read_memory_grants("");
  grants.physical_bytes = numa::physical_memory_bytes();
  const MemoryDefault chosen = choose_memory(grants);
  options->memory_bytes = chosen.bytes;
  if (!options->log_sink) return;
  const std::string words = "memory_bytes: " + size_in_words(chosen.bytes);
  if (chosen.is_least) {
    options->log_sink(LogLevel::kWarning,
                      words + ", the least that works; " + chosen.reason + " is less");
  } else {
    options->log_sink(LogLevel::kInfo, words + ", " + chosen.reason);
  }
}

Status fill_in_loggers(Options* options, std::uint32_t* loggers) {
  options->log.loggers_per_soc = std::max(options->log.loggers_per_soc, 1u);
  *loggers = 0;
  if (options->log.kind == Logging::kNone) return {};
  *loggers = options->socs * options->log.loggers_per_soc;
  if (*loggers <= kMaxSocs) return {};
  return refused("log.loggers_per_soc", options->log.loggers_per_soc,
                 "at most " + std::to_string(kMaxSocs / options->socs) + " with " +
                     std::to_string(options->socs) + " SOCs: " + std::to_string(kMaxSocs) +
                     " loggers in all");
}

Status fill_in_glean(Options* options, std::uint32_t processors) {
  GleanOptions& glean = options->glean;
  PageOptions& pages = options->pages;
  const std::uint64_t all = options->memory_bytes;
  if (glean.memory_bytes == 0) {
    glean.memory_bytes = std::clamp<std::uint64_t>(all / 4, 16u << 20, 1536u << 20);
  }
  const std::uint64_t held = log_bytes_held_in(glean.memory_bytes);
  if (glean.log_bytes_max == 0) {
    glean.log_bytes_max = 8 * glean.log_bytes;
    if (held >= 2 * glean.log_bytes) glean.log_bytes_max = std::min(glean.log_bytes_max, held);
  }
  const std::uint64_t cache_min = options->socs * kCacheBytesPerSocMin;
  const std::uint64_t cache_max = options->socs * kCacheBytesPerSocMax;
  if (pages.cache_bytes == 0) pages.cache_bytes = std::clamp(all / 4, cache_min, cache_max);
  if (glean.mappers == 0) {
    glean.mappers = tasks_for(processors, kProcessorsPerMapper, options->socs);
  }
  if (glean.reducers == 0) {
    glean.reducers = std::max(tasks_for(processors, kProcessorsPerReducer, options->socs), 2u);
  }
  if (glean.installers == 0) {
    glean.installers = tasks_for(processors, kProcessorsPerInstaller, options->socs);
  }
  FOEDUS_CHECK(
      bytes_in_range("pages.cache_bytes", pages.cache_bytes, cache_min, std::min(all, cache_max)));
  const std::uint64_t most = all / 4 * 3;
  if (glean.memory_bytes > most || pages.cache_bytes > most - glean.memory_bytes) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "pages.cache_bytes (" + std::to_string(pages.cache_bytes) +
                             ") and glean.memory_bytes (" + std::to_string(glean.memory_bytes) +
                             ") leave less than a quarter of memory_bytes (" + std::to_string(all) +
                             ") to volatile pages and log buffers");
  }
  return {};
}

Status refuse_files(device::Device* device) {
  FOEDUS_TRY(const auto names, device->list());
  for (const std::string& name : names) {
    if (name != log::kSavepointName && !log::parse_segment_name(name).has_value() &&
        !snapshot::parse_manifest_name(name).has_value() &&
        !snapshot::parse_snapshot_name(name).has_value()) {
      continue;
    }
    return Status::error(
        ErrorCode::kInvalidArgument,
        device->path() + " has logs or snapshots (" + name + "); Logging::kNone would ignore them");
  }
  return {};
}

}  // namespace foedus::engine
