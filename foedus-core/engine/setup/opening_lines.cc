#include "foedus-core/engine/setup/opening_lines.h"

#include <string_view>
#include <type_traits>
#include <utility>

#include "foedus-core/engine/setup/granted_memory.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest_format.h"

// A test compiles the engine's sources without the definitions of its library.
#if !defined(FOEDUS_VERSION)
#define FOEDUS_VERSION "of a test"
#endif

namespace foedus::engine {

namespace {

// A line of values by name: "options: memory_bytes=268435456 sessions_max=32".
class Line {
 public:
  explicit Line(std::string_view title) : text_(title) { text_.append(":"); }
  Line& add(std::string_view name, std::string_view value) {
    text_.append(" ").append(name).append("=").append(value);
    return *this;
  }
  Line& add(std::string_view name, std::uint64_t value) { return add(name, std::to_string(value)); }
  // Adds the number of an enumerator, whose name stands in foedus/options.h.
  template <typename Enum>
  requires std::is_enum_v<Enum> Line& add(std::string_view name, Enum value) {
    return add(name, static_cast<std::uint64_t>(value));
  }
  Line& add_all(std::string_view name, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(name, value);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string versions() {
  return Line("foedus " FOEDUS_VERSION ", formats")
      .add("log", log::kLogFormatVersion)
      .add("savepoint", log::kSavepointVersion)
      .add("snapshot", snapshot::kSnapshotFormatVersion)
      .add("manifest", snapshot::kManifestFormatVersion)
      .take();
}

std::string general(const Options& of) {
  return Line("options")
      .add("dir", of.dir)
      .add("memory_bytes", of.memory_bytes)
      .add("durability", of.durability)
      .add("sessions_max", of.sessions_max)
      .add("transaction_timeout_us", of.transaction_timeout_us)
      .add("epoch_interval_us", of.epoch_interval_us)
      .add("snapshots_kept", of.snapshots_kept)
      .add("socs", of.socs)
      .add("open_until", of.open_until)
      .add("operator_log_bytes", of.operator_log_bytes)
      .take();
}

std::string of_log_and_pages(const Options& of) {
  return Line("options")
      .add("log.buffer_bytes", of.log.buffer_bytes)
      .add("log.segment_bytes", of.log.segment_bytes)
      .add("log.loggers_per_soc", of.log.loggers_per_soc)
      .add("pages.volatile_percent", of.pages.volatile_percent)
      .add("pages.cache_bytes", of.pages.cache_bytes)
      .add("pages.nvm_cache", of.pages.nvm_cache)
      .add("pages.snapshot_cache", of.pages.snapshot_cache)
      .add("pages.huge_pages", of.pages.huge_pages)
      .add("pages.numa_binding", of.pages.numa_binding)
      .take();
}

std::string of_gleans(const GleanOptions& of) {
  return Line("options")
      .add("glean.log_bytes", of.log_bytes)
      .add("glean.interval_us", of.interval_us)
      .add("glean.log_bytes_max", of.log_bytes_max)
      .add("glean.close_us", of.close_us)
      .add("glean.touch_bytes", of.touch_bytes)
      .add("glean.mappers", of.mappers)
      .add("glean.reducers", of.reducers)
      .add("glean.installers", of.installers)
      .add("glean.memory_bytes", of.memory_bytes)
      .take();
}

std::string of_files(const Options& of) {
  return Line("options")
      .add_all("files.dirs", of.files.dirs)
      .add("files.device", of.files.device)
      .add("files.direct_io", of.files.direct_io)
      .add("files.buffered_reads", of.files.buffered_reads)
      .add_all("tiers.ssd_dirs", of.tiers.ssd_dirs)
      .add("tiers.nvm_bytes", of.tiers.nvm_bytes)
      .add("tiers.ssd_bytes", of.tiers.ssd_bytes)
      .take();
}

std::string of_machine(const EffectiveOptions& effective, const MachineFacts& machine) {
  return Line("machine")
      .add("processors", machine.processors)
      .add("socs", effective.options.socs)
      .add("memory", size_in_words(machine.physical_bytes))
      .add("loggers", effective.loggers)
      .add("huge_pages", effective.huge_pages)
      .add("numa_binding", effective.numa_binding)
      .add("direct_io", effective.direct_io)
      .take();
}

}  // namespace

std::vector<std::string> describe_opening(const EffectiveOptions& effective,
                                          const MachineFacts& machine) {
  const Options& options = effective.options;
  return {versions(),
          general(options),
          of_log_and_pages(options),
          of_gleans(options.glean),
          of_files(options),
          of_machine(effective, machine)};
}

}  // namespace foedus::engine
