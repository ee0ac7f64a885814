#pragma once
// The gleaner for a directory that is not open: what is durable in its log becomes its next
// snapshot, superseded pages are reclaimed, and what nobody can ask for any more is removed.

#include <cstdint>
#include <string>

#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "gleaner/reclaim/reclaim_options.h"

namespace foedus::gleaner {

struct DirectoryGleanOptions {
  std::uint32_t socs = 0;                    // mappers and memory are spread over; 0: the machine's
  std::uint32_t mappers = 0;                 // 1..64; 0: one for each SOC
  std::uint64_t mapper_bytes = 16u << 20;    // memory of each mapper; at least 4096
  std::uint64_t reducer_bytes = 256u << 20;  // of the reducer; what is more is spilled
  std::uint32_t snapshots_kept = 1;          // the newest ones, of different epochs; at least 1
  ReclaimOptions reclaim = {};
  LogSink sink;  // what an operator should know; may be empty
};

struct GleanReport {
  std::uint32_t snapshot = 0;  // its number, after reclamation
  Epoch covered;               // all commits of it and before are in
  std::uint64_t records_read = 0;
  std::uint64_t records_composed = 0;  // what was left of them
  std::uint64_t runs_spilled = 0;
  std::uint64_t pages_written = 0;
  std::uint64_t pages_moved = 0;  // by reclamation, with the pages above them
  std::uint64_t pages_live = 0;   // that the snapshot consists of
  std::uint64_t pages_total = 0;  // of all its files
  // Microseconds: reading the catalog out of the log; until all records are sorted; composing, and
  // making it durable.
  std::uint64_t catalog_us = 0;
  std::uint64_t map_reduce_us = 0;
  std::uint64_t compose_us = 0;
  std::uint64_t reclaim_us = 0;  // and removing what is not needed
  std::uint64_t total_us = 0;
};

// kBusy: the database is open. kNotFound: there is none. Failures as of glean(): the directory then
// has the snapshots that it had; or as of reclaim(), behind a glean that succeeded.
Result<GleanReport> glean_directory(const std::string& dir, const DirectoryGleanOptions& options);

}  // namespace foedus::gleaner
