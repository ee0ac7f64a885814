#pragma once
// A run: a database under a workload, in windows between which no transaction runs, with gleans,
// and with processes that die. Each window's history goes to the checker, and to a file.

#include <cstdint>
#include <string>

#include "foedus/foedus.h"
#include "tests/isolation/checker/checker.h"
#include "tests/isolation/stores.h"

namespace foedus::isolation {

struct RunOptions {
  std::string dir;
  std::string history;  // file for the JSON lines; empty: none
  Workload workload = Workload::kRegister;
  bool forks = true;            // the database in a process of its own, which may be killed
  std::uint32_t storages = 15;  // bits: tree, layers, hash, array
  std::uint32_t sessions = 4;
  std::uint32_t socs = 1;
  std::uint64_t txns = 100'000;  // on the history, attempts that conflict included
  double seconds = 0;            // ends the run, too; 0: no limit
  std::uint64_t txns_per_window = 20'000;
  std::uint32_t crashes = 0;
  std::uint64_t crash_ms_max = 1'500;    // longest life of a process while crashes are left
  bool gleans = true;                    // at a quick pace, and pages are dropped at each
  std::uint64_t keys = 4'000;            // of each storage of registers
  std::uint64_t slots = 32;              // of each storage of lists, 1 .. kSlotsMax
  std::uint32_t for_update_percent = 2;  // of reads: those that lock
  std::uint64_t memory_bytes = 256u << 20;
  std::uint64_t epoch_interval_us = 2'000;
  std::uint64_t seed = 1;
  std::size_t anomalies_max = 20;
  std::uint64_t progress_txns = 0;  // a line to stderr after this many; 0: none
};

struct RunResult {
  std::uint64_t gleans = 0;
  std::uint64_t pages_dropped = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t processes = 0;
};

// Runs the workload, and feeds `checker`. REQUIRES: no other thread, if it forks.
Result<RunResult> run_history(const RunOptions& options, Checker* checker);

}  // namespace foedus::isolation
