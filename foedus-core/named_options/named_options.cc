#include "foedus-core/named_options/named_options.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foedus::named_options {

namespace {

template <typename Enum>
struct Words;  // kAll: the enumerators and their names

template <>
struct Words<Facility> {
  static constexpr std::pair<std::string_view, Facility> kAll[] = {
      {"off", Facility::kOff}, {"try", Facility::kTry}, {"require", Facility::kRequire}};
};
template <>
struct Words<DeviceKind> {
  static constexpr std::pair<std::string_view, DeviceKind> kAll[] = {
      {"file", DeviceKind::kFile},
      {"mapped", DeviceKind::kMapped},
      {"emulated", DeviceKind::kEmulated}};
};
template <>
struct Words<NvmCache> {
  static constexpr std::pair<std::string_view, NvmCache> kAll[] = {
      {"auto", NvmCache::kAuto},     {"mini_pages", NvmCache::kMiniPages},
      {"lines", NvmCache::kLines},   {"pages", NvmCache::kPages},
      {"hybrid", NvmCache::kHybrid}, {"direct", NvmCache::kDirect}};
};
template <>
struct Words<Logging> {
  static constexpr std::pair<std::string_view, Logging> kAll[] = {{"files", Logging::kFiles},
                                                                  {"none", Logging::kNone}};
};
template <>
struct Words<Durability> {
  static constexpr std::pair<std::string_view, Durability> kAll[] = {{"async", Durability::kAsync},
                                                                     {"sync", Durability::kSync}};
};
template <>
struct Words<OpenUntil> {
  static constexpr std::pair<std::string_view, OpenUntil> kAll[] = {
      {"recovered", OpenUntil::kRecovered}, {"snapshot_readable", OpenUntil::kSnapshotReadable}};
};
template <>
struct Words<Isolation> {
  static constexpr std::pair<std::string_view, Isolation> kAll[] = {
      {"serializable", Isolation::kSerializable},
      {"snapshot", Isolation::kSnapshot},
      {"dirty_read", Isolation::kDirtyRead}};
};

template <typename T>
concept Enumeration = requires {
  Words<T>::kAll;
};

// ---- text to value -----------------------------------------------------------------------------
// Each returns what the value should have been; empty if *out was set.

constexpr std::string_view kNumbers = "a number, such as 4096 or 256MiB";

std::string parse(std::string_view text, std::uint64_t* out) {
  constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return std::string(kNumbers);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unsigned shift = 0;
  if (!unit.empty()) {
    const auto* const found = std::find(std::begin(kUnits), std::end(kUnits), unit);
    if (found == std::end(kUnits)) return std::string(kNumbers);
    shift = 10 * static_cast<unsigned>(found - kUnits + 1);
  }
  if (number > ~std::uint64_t{0} >> shift) return "a number below 2^64";
  *out = number << shift;
  return {};
}

std::string parse(std::string_view text, std::uint32_t* out) {
  std::uint64_t number = 0;
  if (std::string expected = parse(text, &number); !expected.empty()) return expected;
  if (number > ~std::uint32_t{0}) return "a number below 2^32";
  *out = static_cast<std::uint32_t>(number);
  return {};
}

std::string parse(std::string_view text, bool* out) {
  if (text != "true" && text != "false") return "true or false";
  *out = text == "true";
  return {};
}

std::string parse(std::string_view text, std::string* out) {
  *out = text;
  return {};
}

std::string parse(std::string_view text, Epoch* out) {
  std::uint64_t number = 0;
  if (std::string expected = parse(text, &number); !expected.empty()) return expected;
  *out = Epoch(number);
  return {};
}

std::string parse(std::string_view text, std::vector<std::string>* out) {
  out->clear();
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    out->emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return {};
}

template <Enumeration Enum>
std::string parse(std::string_view text, Enum* out) {
  std::string expected = "one of";
  for (const auto& [word, value] : Words<Enum>::kAll) {
    if (text == word) {
      *out = value;
      return {};
    }
    expected.append(" ").append(word);
  }
  return expected;
}

template <typename T>
std::string parse(std::string_view text, std::optional<T>* out) {
  return parse(text, &out->emplace());
}

// ---- value to JSON -----------------------------------------------------------------------------

void put(std::string_view name, bool value, base::Json* json) { json->boolean(name, value); }
template <std::unsigned_integral Number>
void put(std::string_view name, Number value, base::Json* json) {
  json->number(name, value);
}
void put(std::string_view name, const std::string& value, base::Json* json) {
  json->text(name, value);
}
void put(std::string_view name, const std::vector<std::string>& values, base::Json* json) {
  json->begin_array(name);
  for (const std::string& value : values) json->text({}, value);
  json->end_array();
}
template <Enumeration Enum>
void put(std::string_view name, Enum value, base::Json* json) {
  for (const auto& [word, one] : Words<Enum>::kAll) {
    if (one == value) json->text(name, word);
  }
}

// ---- the options -------------------------------------------------------------------------------

struct NamedOption {
  std::string_view name;
  std::string (*set)(std::string_view value, Options* options);
  void (*put)(std::string_view name, const Options& options, base::Json* json);
};

#define FOEDUS_OPTION(path)                                                                      \
  {                                                                                              \
#path, [](std::string_view value, Options* options) { return parse(value, &options->path); },  \
        [](std::string_view name, const Options& options, base::Json* json) {                      \
          put(name, options.path, json);                                                           \
        } \
  }

// In the order of options.h; those of a group follow each other.
constexpr NamedOption kOptions[] = {
    FOEDUS_OPTION(dir),
    FOEDUS_OPTION(memory_bytes),
    FOEDUS_OPTION(durability),
    FOEDUS_OPTION(sessions_max),
    FOEDUS_OPTION(transaction_timeout_us),
    FOEDUS_OPTION(epoch_interval_us),
    FOEDUS_OPTION(snapshots_kept),
    FOEDUS_OPTION(socs),
    FOEDUS_OPTION(open_until),
    FOEDUS_OPTION(operator_log_bytes),
    FOEDUS_OPTION(log.buffer_bytes),
    FOEDUS_OPTION(log.segment_bytes),
    FOEDUS_OPTION(log.loggers_per_soc),
    FOEDUS_OPTION(log.change_bytes),
    FOEDUS_OPTION(log.kind),
    FOEDUS_OPTION(pages.volatile_percent),
    FOEDUS_OPTION(pages.cache_bytes),
    FOEDUS_OPTION(pages.nvm_cache),
    FOEDUS_OPTION(pages.snapshot_cache),
    FOEDUS_OPTION(pages.huge_pages),
    FOEDUS_OPTION(pages.numa_binding),
    FOEDUS_OPTION(glean.log_bytes),
    FOEDUS_OPTION(glean.interval_us),
    FOEDUS_OPTION(glean.log_bytes_max),
    FOEDUS_OPTION(glean.close_us),
    FOEDUS_OPTION(glean.touch_bytes),
    FOEDUS_OPTION(glean.mappers),
    FOEDUS_OPTION(glean.reducers),
    FOEDUS_OPTION(glean.installers),
    FOEDUS_OPTION(glean.memory_bytes),
    FOEDUS_OPTION(files.dirs),
    FOEDUS_OPTION(files.device),
    FOEDUS_OPTION(files.direct_io),
    FOEDUS_OPTION(files.buffered_reads),
    FOEDUS_OPTION(tiers.ssd_dirs),
    FOEDUS_OPTION(tiers.nvm_bytes),
    FOEDUS_OPTION(tiers.ssd_bytes),
    FOEDUS_OPTION(emulation.nvm_latency_ns),
    FOEDUS_OPTION(emulation.nvm_write_latency_ns),
    FOEDUS_OPTION(emulation.nvm_bandwidth_mb),
    FOEDUS_OPTION(emulation.ssd_latency_ns),
    FOEDUS_OPTION(emulation.ssd_bandwidth_mb),
};
#undef FOEDUS_OPTION

struct NamedTxnOption {
  std::string_view name;
  std::string (*set)(std::string_view value, TxnOptions* options);
};

#define FOEDUS_TXN_OPTION(member)                                                              \
  {                                                                                            \
#member, [](std::string_view value, TxnOptions * to) { return parse(value, &to->member); } \
  }
constexpr NamedTxnOption kTxnOptions[] = {
    FOEDUS_TXN_OPTION(isolation),       FOEDUS_TXN_OPTION(durability), FOEDUS_TXN_OPTION(read_only),
    FOEDUS_TXN_OPTION(tries_max),       FOEDUS_TXN_OPTION(as_of),      FOEDUS_TXN_OPTION(at_least),
    FOEDUS_TXN_OPTION(newest_existing), FOEDUS_TXN_OPTION(timeout_us)};
#undef FOEDUS_TXN_OPTION

template <typename Table, typename To>
Status set_named(const Table& table, std::string_view name, std::string_view value, To* options) {
  std::string names;
  for (const auto& one : table) {
    if (one.name != name) {
      names.append(names.empty() ? "" : ", ").append(one.name);
      continue;
    }
    const std::string expected = one.set(value, options);
    if (expected.empty()) return {};
    return Status::error(
        ErrorCode::kInvalidArgument,
        "option " + std::string(name) + " is " + expected + ", not \"" + std::string(value) + "\"");
  }
  return Status::error(ErrorCode::kInvalidArgument,
                       "there is no option \"" + std::string(name) + "\"; there are " + names);
}

}  // namespace

Status set_option(std::string_view name, std::string_view value, Options* options) {
  return set_named(kOptions, name, value, options);
}

Status set_option(std::string_view name, std::string_view value, TxnOptions* options) {
  return set_named(kTxnOptions, name, value, options);
}

void put_options(const Options& options, base::Json* json) {
  std::string_view group;
  for (const NamedOption& one : kOptions) {
    const std::size_t dot = one.name.find('.');
    const std::string_view of = dot == std::string_view::npos ? "" : one.name.substr(0, dot);
    if (of != group) {
      if (!group.empty()) json->end_object();
      if (!of.empty()) json->begin_object(of);
      group = of;
    }
    one.put(of.empty() ? one.name : one.name.substr(dot + 1), options, json);
  }
  if (!group.empty()) json->end_object();
}

}  // namespace foedus::named_options
