#include "experiments/common/options.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "experiments/common/text.h"

DEFINE_uint32(sessions, 2, "worker threads, each with one session");
DEFINE_double(seconds, 10, "length of the measured run");
DEFINE_string(dir, "", "directory of the database; its parent must exist");
DEFINE_string(dirs, "", "directories of its large files, with commas; empty: all in --dir");
DEFINE_string(device, "file",
              "file: system calls; mapped: loads and stores, on persistent memory; emulated: "
              "memory of a chosen speed");
DEFINE_uint64(nvm_latency_ns, 500, "of an access to emulated memory");
DEFINE_uint64(nvm_bandwidth_mb, 0, "million bytes a second of emulated memory; 0: no bound");
DEFINE_string(ssd_dir, "", "directories of the SSD tier, with commas; empty: there is none");
DEFINE_uint64(nvm_bytes, 0, "size of the NVM tier, --dir and --dirs, with --ssd_dir");
DEFINE_uint64(ssd_bytes, 0, "snapshots in --ssd_dir; 0: no bound");
DEFINE_uint64(ssd_latency_ns, 0, "of an access to the emulated SSD tier");
DEFINE_uint64(ssd_bandwidth_mb, 0, "million bytes a second of the emulated SSD tier; 0: no bound");
DEFINE_string(nvm_cache, "auto",
              "DRAM keeps of pages on such memory: auto, mini, lines, pages, hybrid or direct");
DEFINE_string(snapshot_cache, "on", "off: pages of snapshots are read whenever they are come to");
DEFINE_string(log, "on", "on: commits are logged to files; off: nothing is written");
DEFINE_string(durability, "async", "async: commit returns when serialized; sync: when durable");
DEFINE_uint32(socs, 0, "SOCs to use or to emulate; 0: those of the machine");
DEFINE_uint32(loggers_per_soc, 0, "loggers of each SOC; 0: the store's default");
DEFINE_bool(bind, false, "workers run on one processor each, dealt out in their order");
DEFINE_uint64(memory_bytes, 0, "bound of volatile pages and log buffers; 0: the store's default");
DEFINE_uint64(log_buffer_bytes, 0, "log buffer of one session; 0: the store's default");
DEFINE_uint64(epoch_interval_us, 0, "length of an epoch in microseconds; 0: the store's default");
DEFINE_uint64(seed, 0, "seed of all random choices; 0: a new one");
DEFINE_string(glean, "on",
              "on: snapshots as the store makes them; off: none unless memory is spent; "
              "back-to-back: one after the other");
DEFINE_uint64(glean_log_bytes, 0, "log behind which a snapshot is made; 0: the store's default");
DEFINE_int64(glean_close_us, -1,
             "what a last snapshot may take when the store is closed; -1: the store's default");
DEFINE_int32(volatile_percent, -1, "of the memory of volatile pages; -1: the store's default");
DEFINE_uint64(cache_bytes, 0, "of snapshot pages; 0: the store's default");
DEFINE_bool(json, false, "print the result as one JSON line, on a terminal too");

namespace experiments {

namespace {

foedus::Status bad(const std::string& text) {
  return foedus::Status::error(foedus::ErrorCode::kInvalidArgument, text);
}

// Flags of gflags and glog themselves do not describe an experiment.
bool is_of_experiment(const gflags::CommandLineFlagInfo& flag) {
  return flag.filename.find("experiments/") != std::string::npos;
}

// One that sets an option of the store.
bool is_of_store(const gflags::CommandLineFlagInfo& flag) {
  constexpr std::array kOfTheRun = {"sessions", "seconds", "dir", "seed", "bind", "json"};
  return flag.filename.find("experiments/common/options.cc") != std::string::npos &&
         std::find(kOfTheRun.begin(), kOfTheRun.end(), flag.name) == kOfTheRun.end();
}

// Values of flags that leave theirs to the store.
std::map<std::string, std::string>& values_in_force() {
  static std::map<std::string, std::string> values;
  return values;
}

}  // namespace

void note_options_in_force(const foedus::Options& options) {
  values_in_force() = {
      {"memory_bytes", std::to_string(options.memory_bytes)},
      {"socs", std::to_string(options.socs)},
      {"loggers_per_soc", std::to_string(options.log.loggers_per_soc)},
      {"log_buffer_bytes", std::to_string(options.log.buffer_bytes)},
      {"epoch_interval_us", std::to_string(options.epoch_interval_us)},
      {"glean_close_us", std::to_string(options.glean.close_us)},
      {"glean_log_bytes", std::to_string(options.glean.log_bytes)},
      {"volatile_percent", std::to_string(options.pages.volatile_percent)},
      {"cache_bytes", std::to_string(options.pages.cache_bytes)},
  };
}

foedus::Status parse_command_line(int argc, char** argv, const char* usage) {
  gflags::SetUsageMessage(usage);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  FLAGS_logtostderr = true;
  if (!google::IsGoogleLoggingInitialized()) google::InitGoogleLogging(argv[0]);
  if (argc > 1) return bad(std::string("not a flag: ") + argv[1]);
  if (FLAGS_sessions == 0 || FLAGS_sessions > 1024) return bad("--sessions must be 1 .. 1024");
  if (!(FLAGS_seconds > 0)) return bad("--seconds must be above 0");
  if (FLAGS_log != "on" && FLAGS_log != "off") return bad("--log must be on or off");
  if (FLAGS_durability != "async" && FLAGS_durability != "sync") {
    return bad("--durability must be async or sync");
  }
  if (FLAGS_device != "file" && FLAGS_device != "mapped" && FLAGS_device != "emulated") {
    return bad("--device must be file, mapped or emulated");
  }
  if (FLAGS_nvm_cache != "auto" && FLAGS_nvm_cache != "mini" && FLAGS_nvm_cache != "lines" &&
      FLAGS_nvm_cache != "pages" && FLAGS_nvm_cache != "hybrid" && FLAGS_nvm_cache != "direct") {
    return bad("--nvm-cache must be auto, mini, lines, pages, hybrid or direct");
  }
  if (FLAGS_snapshot_cache != "on" && FLAGS_snapshot_cache != "off") {
    return bad("--snapshot-cache must be on or off");
  }
  if (FLAGS_glean != "on" && FLAGS_glean != "off" && FLAGS_glean != "back-to-back") {
    return bad("--glean must be on, off or back-to-back");
  }
  if (FLAGS_volatile_percent < -1 || FLAGS_volatile_percent > 90) {
    return bad("--volatile-percent must be 0 .. 90, or -1");
  }
  if (FLAGS_seed == 0) FLAGS_seed = std::random_device{}() | 1u;
  std::fprintf(stderr, "seed: %llu\n", static_cast<unsigned long long>(FLAGS_seed));
  return {};
}

bool log_is_on() { return FLAGS_log == "on"; }
bool durability_is_sync() { return FLAGS_durability == "sync"; }

bool options_are_default() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  return std::all_of(flags.begin(), flags.end(), [](const gflags::CommandLineFlagInfo& flag) {
    return !is_of_store(flag) || flag.current_value == flag.default_value;
  });
}

JsonObject options_as_json() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  JsonObject object;
  for (const auto& flag : flags) {
    if (!is_of_experiment(flag)) continue;
    const auto in_force = values_in_force().find(flag.name);
    if (in_force != values_in_force().end()) {
      object.add_raw(flag.name, in_force->second);
    } else if (flag.type == "string") {
      object.add(flag.name, flag.current_value);
    } else if (flag.type == "double") {
      object.add_raw(flag.name, text("%.6g", std::stod(flag.current_value)));
    } else {
      object.add_raw(flag.name, flag.current_value);  // numbers and true/false are JSON already
    }
  }
  return object;
}

}  // namespace experiments
