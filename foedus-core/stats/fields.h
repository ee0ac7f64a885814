#pragma once
// The members of Stats by name, once for all texts that are made of them.

#include <cstdint>
#include <string_view>

#include "foedus/stats.h"

namespace foedus::stats {

// A counter only rises while the database is open; a gauge may fall.
enum class Sort : std::uint8_t { kCounter, kGauge };

template <typename Of>
struct Field {
  std::string_view name;  // of the member
  Sort sort;
  std::string_view help;
  std::uint64_t Of::*member;
};

// The members that are numbers, in the order of stats.h.
inline constexpr Field<Stats> kFields[] = {
    {"commits", Sort::kCounter, "Transactions that committed.", &Stats::commits},
    {"rollbacks", Sort::kCounter, "Transactions that were rolled back.", &Stats::rollbacks},
    {"log_bytes", Sort::kCounter, "Bytes of log written to segments.", &Stats::log_bytes},
    {"volatile_page_bytes", Sort::kGauge, "Memory of volatile pages in use by storages.",
     &Stats::volatile_page_bytes},
    {"free_page_bytes", Sort::kGauge, "Memory of pages taken from the system and not in use.",
     &Stats::free_page_bytes},
    {"log_buffer_bytes", Sort::kGauge, "Memory of the log buffers of all sessions.",
     &Stats::log_buffer_bytes},
    {"open_transactions", Sort::kGauge, "Transactions that are open.", &Stats::open_transactions},
    {"oldest_transaction_us", Sort::kGauge, "Age of the oldest open transaction.",
     &Stats::oldest_transaction_us},
    {"waiting_page_bytes", Sort::kGauge,
     "Part of free_page_bytes that waits for the end of older transactions.",
     &Stats::waiting_page_bytes},
    {"log_bytes_behind", Sort::kGauge, "Bytes of log in no snapshot yet.",
     &Stats::log_bytes_behind},
    {"log_bytes_kept", Sort::kGauge, "Bytes of log in a snapshot that stay for change streams.",
     &Stats::log_bytes_kept},
    {"glean_stage", Sort::kGauge,
     "Stage of the running glean: 1 map and sort, 2 compose, 3 install; 0 if none runs.",
     &Stats::glean_stage},
    {"gleans", Sort::kCounter, "Snapshots made and installed.", &Stats::gleans},
    {"gleaned_records", Sort::kCounter, "Log records in these snapshots.", &Stats::gleaned_records},
    {"glean_cpu_us", Sort::kCounter, "Processor time of gleans.", &Stats::glean_cpu_us},
    {"snapshot_pages_written", Sort::kCounter, "Snapshot pages written.",
     &Stats::snapshot_pages_written},
    {"volatile_pages_dropped", Sort::kCounter, "Volatile pages replaced by snapshot pages.",
     &Stats::volatile_pages_dropped},
    {"volatile_pages_spared", Sort::kCounter, "Volatile pages kept by gleans because they are hot.",
     &Stats::volatile_pages_spared},
    {"cache_bytes", Sort::kGauge, "Memory of the cache of snapshot pages.", &Stats::cache_bytes},
    {"cache_hits", Sort::kCounter, "Snapshot pages found in the cache, estimated.",
     &Stats::cache_hits},
    {"cache_misses", Sort::kCounter, "Snapshot pages read from the device.", &Stats::cache_misses},
    {"cache_lines_loaded", Sort::kCounter, "Single lines of snapshot pages loaded.",
     &Stats::cache_lines_loaded},
    {"cache_pages_outgrown", Sort::kCounter,
     "Pages read whole because a search needed too many of their lines.",
     &Stats::cache_pages_outgrown},
    {"writers_waited_us", Sort::kCounter, "Time that writers waited for the gleaner.",
     &Stats::writers_waited_us},
    {"write_limit_bytes_per_s", Sort::kGauge,
     "Bytes of log a second to which writers are limited; 0: no limit.",
     &Stats::write_limit_bytes_per_s},
};

// A member that is a histogram. In the text for Prometheus it has a bucket for each power of two
// from the first to the last of these, whose borders are borders of the histogram's buckets, too.
struct HistogramField {
  std::string_view name;  // of the member; ends with _ns if the values are nanoseconds
  std::string_view help;
  Histogram Stats::*member;
  unsigned first_power;
  unsigned last_power;
};

inline constexpr HistogramField kHistograms[] = {
    {"transaction_ns", "Times of committed transactions, without waits for durability; sampled.",
     &Stats::transaction_ns, 8, 37},
    {"durable_wait_ns", "Waits of synchronous commits for the device.", &Stats::durable_wait_ns, 12,
     37},
    {"transact_tries", "Tries of calls of transact() and snapshot().", &Stats::transact_tries, 0,
     10},
};

// The quantiles in texts that have no buckets.
struct Quantile {
  std::string_view name;
  double part;
};
inline constexpr Quantile kQuantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}};

}  // namespace foedus::stats
