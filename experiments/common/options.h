#pragma once
// Flags that all drivers share. gflags takes --memory-bytes for --memory_bytes.

#include <gflags/gflags_declare.h>

#include "experiments/common/json_line.h"
#include "foedus/options.h"
#include "foedus/status.h"

DECLARE_uint32(sessions);
DECLARE_double(seconds);
DECLARE_string(dir);
DECLARE_string(dirs);
DECLARE_string(device);
DECLARE_uint64(nvm_latency_ns);
DECLARE_uint64(nvm_bandwidth_mb);
DECLARE_string(ssd_dir);
DECLARE_uint64(nvm_bytes);
DECLARE_uint64(ssd_bytes);
DECLARE_uint64(ssd_latency_ns);
DECLARE_uint64(ssd_bandwidth_mb);
DECLARE_string(snapshot_cache);
DECLARE_string(nvm_cache);
DECLARE_string(log);
DECLARE_string(durability);
DECLARE_uint32(socs);
DECLARE_uint32(loggers_per_soc);
DECLARE_bool(bind);
DECLARE_uint64(memory_bytes);
DECLARE_uint64(log_buffer_bytes);
DECLARE_uint64(epoch_interval_us);
DECLARE_uint64(seed);
DECLARE_bool(json);
DECLARE_string(glean);
DECLARE_int64(glean_close_us);
DECLARE_uint64(glean_log_bytes);
DECLARE_int32(volatile_percent);
DECLARE_uint64(cache_bytes);

namespace experiments {

// Reads the command line into the flags, starts glog (to stderr), chooses a seed if none was given
// and says which. kInvalidArgument: a flag out of range, or words that are no flags. An unknown
// flag ends the process with gflags' message.
foedus::Status parse_command_line(int argc, char** argv, const char* usage);

bool log_is_on();
bool durability_is_sync();

// Whether the store runs as its users get it: of the shared flags none is set but those that say
// what is run and where (--sessions, --seconds, --dir, --seed).
bool options_are_default();

// Every flag of the experiment, its own and the shared ones, as it is in force: a flag that leaves
// a value to the store has the value of the store that was opened last.
JsonObject options_as_json();
// Notes the options of a store that was opened.
void note_options_in_force(const foedus::Options& options);

}  // namespace experiments
