// kill_run: kills processes of one database again and again, and checks the database after each. It
// prints one JSON line of results, and faults to stderr. Exit status 0: no fault.

#include <gflags/gflags.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "experiments/common/json_line.h"
#include "tests/kills/keeper.h"

DEFINE_string(kill_dir, "", "of the run, made if it is missing; must hold no earlier run");
DEFINE_string(acks, "", "file for the acknowledged orders of TPC-C; empty: in --kill_dir");
DEFINE_uint32(kills, 20, "processes to kill");
DEFINE_uint32(tellers, 2, "threads that move money, 0..8");
DEFINE_uint32(tpcc_sessions, 1, "threads that run TPC-C; 0: none");
DEFINE_uint32(kill_socs, 1, "emulated if it is not the machine's number");
DEFINE_uint32(life_ms_max, 1'000, "how long a process lives that is killed at a random time");
DEFINE_bool(kill_spread, false, "large files lie in two other directories (FileOptions::dirs)");
DEFINE_bool(kill_tiers, false, "snapshots lie on two tiers (TierOptions::ssd_dirs)");
DEFINE_string(kill_device, "file", "FileOptions::device: file, mapped or emulated");
DEFINE_uint32(check_every, 10, "processes, until all is checked again, not only what is new");
DEFINE_uint64(kill_memory_bytes, 256u << 20, "of the database");
DEFINE_bool(fill, false, "half of the processes meet a file system that is nearly full");
DEFINE_string(damage, "none", "to be noticed: none, old-files, teller, money, slip, receipt");
DEFINE_uint32(damage_behind, 2, "process behind which the damage is done, at least 2");
DEFINE_uint64(kill_seed, 1, "of times, places and transfers");

namespace {

foedus::kills::KillOptions options_of_flags() {
  foedus::kills::KillOptions options;
  options.dir = FLAGS_kill_dir;
  options.ack_file = FLAGS_acks;
  options.kills = FLAGS_kills;
  options.tellers = FLAGS_tellers;
  options.tpcc_sessions = FLAGS_tpcc_sessions;
  options.socs = FLAGS_kill_socs;
  options.is_spread = FLAGS_kill_spread;
  options.is_tiered = FLAGS_kill_tiers;
  if (FLAGS_kill_device == "mapped") options.device = foedus::DeviceKind::kMapped;
  if (FLAGS_kill_device == "emulated") options.device = foedus::DeviceKind::kEmulated;
  options.life_ms_max = FLAGS_life_ms_max;
  options.check_every = FLAGS_check_every;
  options.memory_bytes = FLAGS_kill_memory_bytes;
  options.fills = FLAGS_fill;
  options.seed = FLAGS_kill_seed;
  options.shows_progress = true;
  options.damage = *foedus::kills::damage_of(FLAGS_damage);
  options.damage_behind = options.damage == foedus::kills::Damage::kNone ? 0 : FLAGS_damage_behind;
  return options;
}

void print(const foedus::kills::KillReport& report, double seconds) {
  experiments::JsonObject line;
  line.add("kills", report.kills);
  line.add("kills_in_open", report.kills_in_open);
  line.add("kills_at_places", report.kills_at_places);
  line.add("places", std::uint64_t{report.places.size()});
  line.add("clean_ends", report.clean_ends);
  line.add("lives_full", report.lives_full);
  line.add("kills_full", report.kills_full);
  line.add("opens_refused", report.opens_refused);
  line.add("lives_refused", report.lives_refused);
  line.add("out_of_space", report.out_of_space);
  line.add("transfers", report.transfers);
  line.add("orders_acknowledged", report.orders_acknowledged);
  line.add("snapshots", report.snapshots);
  line.add("seed", std::uint64_t{FLAGS_kill_seed});
  line.add("seconds", seconds);
  experiments::print_line(line);
}

}  // namespace

int main(int argc, char** argv) {
  gflags::SetUsageMessage("kills processes of one database and checks what they leave behind");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (FLAGS_kill_dir.empty() || FLAGS_kills == 0 || FLAGS_life_ms_max == 0) {
    std::fprintf(stderr, "kill_run: --kill_dir is missing, or a number is 0\n");
    return 2;
  }
  if (!foedus::kills::damage_of(FLAGS_damage).has_value() || FLAGS_damage_behind < 2) {
    std::fprintf(stderr, "kill_run: --damage has no such name, or --damage_behind is below 2\n");
    return 2;
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto report = foedus::kills::run_kills(options_of_flags());
  if (!report.is_ok()) {
    std::fprintf(stderr, "kill_run: %s\n", report.status().message().c_str());
    return 1;
  }
  print(*report,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}
