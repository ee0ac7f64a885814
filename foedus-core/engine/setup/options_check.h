#pragma once
// Options: which values are refused, and the defaults that depend on the machine.

#include "foedus-core/device/device.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "foedus/txn.h"

namespace foedus::engine {

// Returns kInvalidArgument, naming the option, its value and its range, for a value that is
// refused.
Status check_options(const Options& options);

// Bounds of a transaction's options. The checks are inline, since every begin makes them.
inline constexpr Isolation kIsolationLast = Isolation::kDirtyRead;
inline constexpr Durability kDurabilityLast = Durability::kSync;
inline constexpr std::uint32_t kTriesBound = 1'000'000;

constexpr bool are_known(Isolation isolation, Durability durability) {
  return !((isolation > kIsolationLast) | (durability > kDurabilityLast));
}
constexpr bool is_possible(std::uint32_t tries_max) { return tries_max - 1 < kTriesBound; }
// Returns kInvalidArgument, naming the option that is not known or not possible.
[[gnu::cold]] Status refusal_of(const TxnOptions& options);

// Sets memory_bytes to what the machine grants, and tells the log sink why.
void choose_memory_bytes(Options* options);
// Chooses kPages where lines cannot be read, or should not. REQUIRES: `device` is the one that was
// obtained.
void choose_nvm_cache(Options* options);

// Replaces loggers_per_soc by what is in force, and `*loggers` by how many there are in all.
// REQUIRES: socs is known. kInvalidArgument: there are more than kMaxSocs in all.
Status fill_in_loggers(Options* options, std::uint32_t* loggers);

// Replaces zeroes of options.glean: by parts of memory_bytes, and by as many tasks as the
// processors want. REQUIRES: memory_bytes and socs are known. kInvalidArgument: the parts are more
// than the whole.
Status fill_in_glean(Options* options, std::uint32_t processors);

// Returns kInvalidArgument if the directory has a log or snapshots: Logging::kNone would ignore
// them.
Status refuse_files(device::Device* device);

}  // namespace foedus::engine
