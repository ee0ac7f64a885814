#pragma once
// The keeper: starts one process after another on one directory, kills each, and compares the rows
// that the next one finds with the acknowledged ones.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "foedus/foedus.h"
#include "tests/kills/damage.h"

namespace foedus::kills {

struct KillOptions {
  std::string dir;       // of the run: the database and the filler lie below it
  std::string ack_file;  // of TPC-C; empty: below dir, too
  std::uint32_t kills = 20;
  std::uint32_t tellers = 2;
  std::uint32_t tpcc_sessions = 1;
  std::uint32_t socs = 1;
  bool is_spread = false;  // large files lie in two other directories
  bool is_tiered = false;  // snapshots lie on two tiers
  DeviceKind device = DeviceKind::kFile;
  std::uint32_t life_ms_max = 1'000;  // the longest life of a process that is killed at a time
  std::uint32_t check_every = 10;     // processes between full checks
  std::uint64_t memory_bytes = 256u << 20;
  bool fills = false;  // half of the lives have a file system that is nearly full, or full
  std::uint64_t seed = 1;
  Damage damage = Damage::kNone;
  std::uint32_t damage_behind = 0;  // number of a process, from 1 on
  bool shows_progress = false;
};

struct KillReport {
  std::uint64_t kills = 0;
  std::uint64_t kills_in_open = 0;    // before the process had recovered
  std::uint64_t kills_at_places = 0;  // at a named place
  std::vector<std::string> places;    // names of these, once each
  std::uint64_t clean_ends = 0;
  std::uint64_t lives_full = 0;     // the file system was filled
  std::uint64_t kills_full = 0;     // while it was
  std::uint64_t opens_refused = 0;  // for lack of space
  std::uint64_t lives_refused = 0;  // refused later for lack of space: DDL, a load, close
  std::uint64_t out_of_space = 0;   // transactions refused for lack of space
  std::uint64_t transfers = 0;      // found at the end
  std::uint64_t acknowledged = 0;   // the ones that the keeper knew before
  std::uint64_t orders_acknowledged = 0;
  std::uint32_t snapshots = 0;  // number of the newest one
};

// Runs processes and kills. kCorruption names lost, torn or invented rows, and the kill before. A
// process that ends in another way is an error, too. REQUIRES: no other thread.
Result<KillReport> run_kills(const KillOptions& options);

}  // namespace foedus::kills
