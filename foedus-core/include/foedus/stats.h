#pragma once
// Stats: counters of an open database. Histogram: how values are spread. GleanReport: the work of
// one glean.

#include "foedus/cxx20.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "foedus/epoch.h"
#include "foedus/nvm_stats.h"
#include "foedus/status.h"

namespace foedus {

// Statistics of one storage: its volatile pages now, and its conflicts since open. Exact once no
// session is running.
struct StorageStats {
  std::string name;
  std::uint64_t volatile_pages = 0;
  std::uint64_t conflicts[kConflictReasonCount] = {};  // by ConflictReason
};

// Where the pages lie that the sessions of one SOC use (see Options::socs). A local page lies in
// memory of that SOC, a remote page in memory of another one.
struct SocStats {
  std::uint64_t sessions = 0;  // sessions that belong to the SOC
  // Free volatile pages that the SOC's sessions took from the pool: local ones, and remote ones if
  // the SOC's memory had none left. A page that is given back and taken again counts again.
  std::uint64_t pages_taken_local = 0;
  std::uint64_t pages_taken_remote = 0;
  // Volatile pages whose records the SOC's sessions read or wrote, sampled in one of 64
  // transactions that came to commit. Local here means memory of the SOC whose processor ran the
  // commit. That is the session's SOC, unless its thread was elsewhere. Snapshot pages in memory
  // that the cache has borrowed from volatile pages count as volatile pages. 0 with one SOC.
  std::uint64_t pages_touched_local = 0;
  std::uint64_t pages_touched_remote = 0;
};

// Histogram: how many values of each size were seen. Each value from 1 to 8 has a bucket of its
// own, and 0 is in that of 1. Above, four buckets divide the values from one power of two to the
// next. So the middle of a bucket differs from each of its values by an eighth of that at most. The
// last bucket has all values above 2^37, which are 137 s in nanoseconds.
struct Histogram {
  static constexpr std::size_t kBuckets = 145;

  // Returns the bucket of `value`.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    const std::uint64_t below = value - (value == 0 ? 0 : 1);  // a bucket has its upper border
    if (below < 4) return static_cast<std::size_t>(below);
    const auto power = static_cast<unsigned>(std::bit_width(below)) - 1;
    const std::size_t bucket =
        4 * (power - 1) + static_cast<std::size_t>((below >> (power - 2)) & 3);
    return std::min(bucket, kBuckets - 1);
  }
  // Returns the greatest value of `bucket`. REQUIRES: bucket < kBuckets.
  static constexpr std::uint64_t upper_bound(std::size_t bucket) {
    if (bucket == kBuckets - 1) return ~std::uint64_t{0};
    if (bucket < 4) return bucket + 1;
    return (std::uint64_t{5} + bucket % 4) << (bucket / 4 - 1);
  }
  // Returns the value that `part` of all values do not exceed, 0.5 for the median and 0.999 for the
  // one in a thousand: the middle of its bucket, which is off by an eighth at most, or 2^37 if the
  // value is greater than that. 0: there are no values. A `part` outside of 0 to 1 counts as the
  // nearer one.
  std::uint64_t quantile(double part) const;

  std::uint64_t count = 0;  // of values; the sum of all buckets
  std::uint64_t sum = 0;    // of values
  std::uint64_t buckets[kBuckets] = {};
};

// Counters since open, summed over sessions, and current values. Exact once no session is running.
struct Stats {
  std::uint64_t commits = 0;
  std::uint64_t rollbacks = 0;
  std::uint64_t conflicts[kConflictReasonCount] = {};  // by ConflictReason
  std::uint64_t log_bytes = 0;                         // written to segments
  std::uint64_t volatile_page_bytes = 0;               // pages in use by storages
  // Pages taken from the system, neither in use nor in cache_bytes.
  std::uint64_t free_page_bytes = 0;
  std::uint64_t log_buffer_bytes = 0;       // rings of all sessions
  std::uint64_t open_transactions = 0;      // includes running calls of transact()
  std::uint64_t oldest_transaction_us = 0;  // age of the oldest open one; 0: none
  // A part of free_page_bytes: pages that were retired, and wait for the end of older transactions
  // that may still look at them.
  std::uint64_t waiting_page_bytes = 0;
  std::uint64_t log_bytes_behind = 0;  // written since open, in no snapshot yet
  std::uint64_t log_bytes_kept = 0;    // in a snapshot, but kept for change streams
  // The stage of the running glean: 1 + its number in GleanStage; 0: no glean runs.
  std::uint64_t glean_stage = 0;
  std::uint64_t gleans = 0;            // snapshots made and installed
  std::uint64_t gleaned_records = 0;   // log records in them
  std::uint64_t glean_cpu_us = 0;      // processor time of gleans, of all threads
  std::uint64_t snapshot_pages_written = 0;
  std::uint64_t volatile_pages_dropped = 0;
  // How often a glean kept a page because it had been used since the last glean.
  std::uint64_t volatile_pages_spared = 0;
  // Memory of the cache of snapshot pages, including what it has borrowed from volatile pages.
  std::uint64_t cache_bytes = 0;
  std::uint64_t cache_hits = 0;  // estimated
  std::uint64_t cache_misses = 0;
  // 0 unless PageOptions::nvm_cache keeps lines of pages. The first counts lines that transactions
  // loaded. The second counts how often a search needed more lines of a page than the cache of
  // lines keeps, so that the page was read whole.
  std::uint64_t cache_lines_loaded = 0;
  std::uint64_t cache_pages_outgrown = 0;
  std::uint64_t writers_waited_us = 0;  // waits of all writers for the gleaner, summed
  // Bytes of log a second to which writers are limited now. 0: no limit; 1: they are stopped.
  std::uint64_t write_limit_bytes_per_s = 0;
  // Times of serializable transactions that committed, from the begin of the first try to the end
  // of the commit. Waits for durability and for the gleaner are no part of them. While a session
  // begins more than some 1,000 transactions a second, one of about 16 is measured, and counts as
  // often as transactions began since the last measured one. So the count is near that of commits,
  // but no exact number.
  Histogram transaction_ns;
  // Waits of commits with Durability::kSync for the device; those of tickets do not count.
  Histogram durable_wait_ns;
  // Tries of each call of transact() and snapshot() that has ended, with success or not.
  Histogram transact_tries;
  std::uint32_t snapshot = 0;  // number of the newest; 0: there is none
  NvmStats nvm;                // DeviceKind::kEmulated
  NvmStats ssd;                // emulated, of TierOptions::ssd_dirs
  TierStats tiers;             // TierOptions::ssd_dirs
  Epoch covered_epoch;         // all commits up to it are in the newest snapshot
  Epoch current_epoch;
  Epoch durable_epoch;
  std::vector<StorageStats> storages;
  std::vector<SocStats> socs;  // by SOC
};

// Returns the statistics as text in the exposition format of Prometheus, version 0.0.4, for an
// endpoint of the program: "foedus_commits_total 12". Metrics have the names of the members; times
// are in seconds. Any thread.
std::string to_prometheus(const Stats& stats);

// GleanStage: the stage of a running glean, for a progress display.
enum class GleanStage : std::uint8_t {
  kMap,      // `done` of about `total` bytes of log were read
  kCompose,  // `done` of `total` records were put into pages
  kInstall,  // `done` of `total` storages were installed
};
struct GleanProgress {
  GleanStage stage = GleanStage::kMap;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};
using GleanProgressSink = std::function<void(const GleanProgress&)>;

// GleanReport: the work of one glean. Times are in microseconds.
struct GleanReport {
  std::uint32_t snapshot = 0;  // number of the newest snapshot; 0: there is none
  Epoch covered;               // all commits up to this epoch are in the snapshot
  std::uint64_t records_read = 0;
  std::uint64_t records_composed = 0;  // put into pages: one for all log records of a row
  std::uint64_t runs_spilled = 0;
  std::uint64_t pages_written = 0;
  std::uint64_t pages_moved = 0;    // written by reclamation, with the pages that lead to them
  std::uint64_t pages_live = 0;     // pages to which the snapshot's roots lead
  std::uint64_t pages_total = 0;    // pages of all files of the snapshot
  std::uint64_t pages_dropped = 0;  // volatile pages replaced by the snapshot's
  // Volatile pages that stayed: they changed after the snapshot, or were in use, or memory did not
  // have to be freed. If unchanged pages of a storage were passed over without a look, all volatile
  // pages of the storage count.
  std::uint64_t pages_kept = 0;
  std::uint64_t pages_spared = 0;   // part of pages_kept: used since the last glean
  std::uint64_t catalog_us = 0;     // reading the catalog from a log that open() found
  std::uint64_t map_reduce_us = 0;  // reading the log, until all records are sorted
  std::uint64_t compose_us = 0;     // composing pages, until the snapshot is durable
  std::uint64_t install_us = 0;
  std::uint64_t reclaim_us = 0;  // moving live pages, and removing unneeded files
  std::uint64_t total_us = 0;
  // Processor time, of all threads.
  std::uint64_t map_cpu_us = 0;      // reading the log and dealing out its records
  std::uint64_t sort_cpu_us = 0;     // sorting in reducers
  std::uint64_t reduce_cpu_us = 0;   // receiving and spilling
  std::uint64_t compose_cpu_us = 0;  // merging and composing pages
  std::uint64_t total_cpu_us = 0;    // all work of the glean
};

}  // namespace foedus
