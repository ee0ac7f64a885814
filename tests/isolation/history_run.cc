// history_run: runs a workload, writes its history (FORMAT.md) and checks it. It prints one JSON
// line of results, and anomalies to stderr. Exit status 0: none.

#include <gflags/gflags.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "tests/isolation/report.h"
#include "tests/isolation/run.h"

DEFINE_string(dir, "", "directory of the database; its parent must exist");
DEFINE_string(history, "", "file for the history; empty: it is checked and not written");
DEFINE_string(workload, "register", "register or list-append");
DEFINE_string(storages, "tree,layers,hash,array", "which storages, besides a sequential one");
DEFINE_uint32(sessions, 4, "");
DEFINE_uint32(socs, 1, "emulated if it is not the machine's number");
DEFINE_uint64(txns, 100'000, "the run ends when the history has so many, and all crashes");
DEFINE_double(seconds, 0, "and after this time; 0: not by time");
DEFINE_uint64(window, 20'000, "transactions between two moments at which none runs");
DEFINE_uint32(crashes, 0, "processes that are killed");
DEFINE_uint64(crash_ms_max, 1'500, "how long a process lives until it is killed, at most");
DEFINE_bool(glean, true, "glean at a quick pace, and drop all pages that did not change");
DEFINE_bool(fork, true, "run the database in a process of its own");
DEFINE_uint64(keys, 4'000, "records of each storage of registers");
DEFINE_uint64(slots, 32, "lists of each storage that grow at the same time, 1..64");
DEFINE_uint32(for_update_percent, 2, "of the reads of writing transactions: those that lock");
DEFINE_uint64(memory_bytes, 256u << 20, "of the database");
DEFINE_uint64(epoch_interval_us, 2'000, "");
DEFINE_uint64(seed, 1, "");
DEFINE_uint64(progress, 500'000, "a line to stderr after so many transactions");

namespace {

using foedus::isolation::RunOptions;

std::uint32_t storages_of(const std::string& names) {
  constexpr const char* kNames[] = {"tree", "layers", "hash", "array"};
  std::uint32_t bits = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (("," + names + ",").find(std::string(",") + kNames[i] + ",") != std::string::npos) {
      bits |= 1u << i;
    }
  }
  return bits;
}

bool take_flags(RunOptions* options) {
  options->dir = FLAGS_dir;
  options->history = FLAGS_history;
  options->workload = FLAGS_workload == "list-append" ? foedus::isolation::Workload::kList
                                                      : foedus::isolation::Workload::kRegister;
  options->forks = FLAGS_fork;
  options->storages = storages_of(FLAGS_storages);
  options->sessions = FLAGS_sessions;
  options->socs = FLAGS_socs;
  options->txns = FLAGS_txns;
  options->seconds = FLAGS_seconds;
  options->txns_per_window = FLAGS_window;
  options->crashes = FLAGS_crashes;
  options->crash_ms_max = FLAGS_crash_ms_max;
  options->gleans = FLAGS_glean;
  options->keys = FLAGS_keys;
  options->slots = FLAGS_slots;
  options->for_update_percent = FLAGS_for_update_percent;
  options->memory_bytes = FLAGS_memory_bytes;
  options->epoch_interval_us = FLAGS_epoch_interval_us;
  options->seed = FLAGS_seed;
  options->progress_txns = FLAGS_progress;
  return !FLAGS_dir.empty() && options->storages != 0 && FLAGS_sessions != 0 && FLAGS_slots != 0 &&
         FLAGS_slots <= foedus::isolation::kSlotsMax && FLAGS_keys >= 64 &&
         FLAGS_crash_ms_max != 0 && (FLAGS_fork || FLAGS_crashes == 0) &&
         (FLAGS_workload == "register" || FLAGS_workload == "list-append");
}

}  // namespace

int main(int argc, char** argv) {
  gflags::SetUsageMessage("records a history of transactions and checks it");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  RunOptions options;
  if (!take_flags(&options)) {
    std::fprintf(stderr, "--dir is needed, and the others within their bounds; see --help\n");
    return 2;
  }
  foedus::isolation::Checker checker;
  const auto begin = std::chrono::steady_clock::now();
  const auto result = foedus::isolation::run_history(options, &checker);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  print_anomalies(checker);
  if (!result.is_ok()) {
    std::fprintf(stderr, "history_run: %s\n", result.status().message().c_str());
    return 1;
  }
  std::printf(
      "{\"workload\":\"%s\",\"sessions\":%u,\"socs\":%u,\"seed\":%llu,\"seconds\":%.1f,%s,"
      "\"processes\":%llu,\"gleans\":%llu,\"pages_dropped\":%llu,\"conflicts\":%llu}\n",
      FLAGS_workload.c_str(), FLAGS_sessions, FLAGS_socs,
      static_cast<unsigned long long>(FLAGS_seed), seconds.count(), stats_json(checker).c_str(),
      static_cast<unsigned long long>(result->processes),
      static_cast<unsigned long long>(result->gleans),
      static_cast<unsigned long long>(result->pages_dropped),
      static_cast<unsigned long long>(result->conflicts));
  return checker.anomalies().empty() ? 0 : 1;
}
