#pragma once
// Checks the values of options, and fills in the defaults that depend on the machine.

#include "foedus-core/device/device.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "foedus/txn.h"

namespace foedus::engine {

// Returns kInvalidArgument if a value is refused. The text names the option, the value and the
// range.
Status check_options(const Options& options);

// Bounds of a transaction's options. The checks are inline: each begin of a transaction makes them.
inline constexpr Isolation kIsolationLast = Isolation::kDirtyRead;
inline constexpr Durability kDurabilityLast = Durability::kSync;
inline constexpr std::uint32_t kTriesBound = 1'000'000;

constexpr bool are_known(Isolation isolation, Durability durability) {
  return !((isolation > kIsolationLast) | (durability > kDurabilityLast));
}
constexpr bool is_possible(std::uint32_t tries_max) { return tries_max - 1 < kTriesBound; }
// Returns kInvalidArgument if are_known() or is_possible() is false. The text names the option.
[[gnu::cold]] Status refusal_of(const TxnOptions& options);

// Sets memory_bytes to the default for the memory that the system grants (granted_memory.h). Tells
// the log sink the number and its reason.
void choose_memory_bytes(Options* options);
// Sets nvm_cache to kPages if the device cannot read single lines, or if nvm_cache is kAuto and the
// emulated memory is too slow to read lines. REQUIRES: options->files.device is the kind that is in
// force.
void choose_nvm_cache(Options* options);

// Sets loggers_per_soc to 1 if it is 0. Sets `*loggers` to the number of loggers of all SOCs, which
// is 0 with Logging::kNone. kInvalidArgument: the number is over kMaxSocs. REQUIRES: socs is filled
// in.
Status fill_in_loggers(Options* options, std::uint32_t* loggers);

// Replaces zeroes in options->glean, and a cache_bytes of 0, by the defaults that options.h
// describes. The numbers of tasks follow `processors`. kInvalidArgument: cache_bytes is out of
// range, or gleaner and cache take more than three quarters of memory_bytes. REQUIRES: memory_bytes
// and socs are filled in.
Status fill_in_glean(Options* options, std::uint32_t processors);

// Returns kInvalidArgument if the directory has a log or snapshots: Logging::kNone would ignore
// them.
Status refuse_files(device::Device* device);

}  // namespace foedus::engine
