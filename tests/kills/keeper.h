#pragma once
// The keeper: starts one process after the other on one directory, kills each, and compares what
// the next one finds with what the world was told.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "foedus/foedus.h"
#include "tests/kills/damage.h"

namespace foedus::kills {

struct KillOptions {
  std::string dir;       // of the run: the database and the filler lie below it
  std::string ack_file;  // of TPC-C; empty: below it, too
  std::uint32_t kills = 20;
  std::uint32_t tellers = 2;
  std::uint32_t tpcc_sessions = 1;
  std::uint32_t socs = 1;
  bool is_spread = false;  // large files lie in two other directories
  bool is_tiered = false;  // snapshots lie on two tiers
  DeviceKind device = DeviceKind::kFile;
  std::uint32_t life_ms_max = 1'000;  // a process that is killed at a time lives so long at most
  std::uint32_t check_every = 10;     // processes: everything is checked, not only what is new
  std::uint64_t memory_bytes = 256u << 20;
  bool fills = false;  // half of the lives meet a file system that is nearly full, or full
  std::uint64_t seed = 1;
  Damage damage = Damage::kNone;
  std::uint32_t damage_behind = 0;  // the process of that number, from 1 on
  bool shows_progress = false;
};

struct KillReport {
  std::uint64_t kills = 0;
  std::uint64_t kills_in_open = 0;    // before the process had recovered
  std::uint64_t kills_at_places = 0;  // at a named place
  std::vector<std::string> places;    // those, once each
  std::uint64_t clean_ends = 0;
  std::uint64_t lives_full = 0;     // the file system was filled
  std::uint64_t kills_full = 0;     // while it was
  std::uint64_t opens_refused = 0;  // for want of room
  std::uint64_t lives_refused = 0;  // the same of what ends a life later: DDL, a load, its close
  std::uint64_t out_of_space = 0;   // transactions that were refused for it
  std::uint64_t transfers = 0;      // found at the end
  std::uint64_t acknowledged = 0;   // of them, known to the keeper before
  std::uint64_t orders_acknowledged = 0;
  std::uint32_t snapshots = 0;  // number of the newest
};

// kCorruption: says what was lost, torn or made of nothing, and behind which kill. A process that
// ends in another way is an error, too. REQUIRES: no other thread.
Result<KillReport> run_kills(const KillOptions& options);

}  // namespace foedus::kills
