// simulate: runs seeds, shrinks the first one that fails, and prints the command that repeats it,
// and one JSON line.
#include <gflags/gflags.h>

#include <chrono>
#include <cstdio>
#include <iterator>

#include "tests/simulation/isolated.h"
#include "tests/simulation/shrink.h"

DEFINE_uint64(seed, 1, "the first seed");
DEFINE_uint64(seeds, 1, "how many, one after the other");
DEFINE_uint64(states, 0, "runs seeds until there were so many states; 0: as many seeds as --seeds");
DEFINE_uint64(seconds, 0, "stops after so many; 0: never");
DEFINE_uint64(steps, foedus::simulation::Plan().steps, "steps of a seed");
DEFINE_uint64(sessions, foedus::simulation::Plan().sessions, "sessions, at most");
DEFINE_uint64(storages, foedus::simulation::Plan().storages, "storages, at most");
DEFINE_uint64(keys, foedus::simulation::Plan().keys, "keys of a storage, at most");
DEFINE_bool(gleans, true, "gleans, on request and by pace");
DEFINE_bool(ddl, true, "storages come and go");
DEFINE_bool(restarts, true, "the database is closed and opened");
DEFINE_bool(crashes, true, "the database itself crashes, not copies alone");
DEFINE_bool(faults, true, "errors and a full device");
DEFINE_bool(corrupts, true, "bits of a closed database are flipped");
DEFINE_bool(large, true, "a plan of eight has a large array");
DEFINE_string(omit, "", "steps to leave out: 3-5,9");
DEFINE_uint64(
    stride, foedus::simulation::Plan().stride,
    "every so manieth write and sync is crashed at, other calls eight times as often; 0: none");
DEFINE_uint64(states_from_step, 0, "no states before that step");
DEFINE_uint64(only_call, 0, "a state at the changing call of that number only");
DEFINE_uint64(states_max, foedus::simulation::Plan().states_max, "states of a seed, at most");
DEFINE_string(planted, "", "leaves a sync out: sync:7, directory:7; with + all later ones, too");
DEFINE_bool(shrink, true, "a seed that fails is made smaller");
DEFINE_bool(in_process, false, "for a debugger: no process for each seed");
DEFINE_bool(narrate, false, "writes each step and call to stderr; in_process");
DEFINE_uint64(shrink_seconds, 300, "for at most so long");

namespace {

using foedus::simulation::Counts;
using foedus::simulation::Outcome;
using foedus::simulation::Plan;

Plan plan_of_flags() {
  Plan plan;
  plan.seed = FLAGS_seed;
  plan.steps = FLAGS_steps;
  plan.sessions = FLAGS_sessions;
  plan.storages = FLAGS_storages;
  plan.keys = FLAGS_keys;
  plan.gleans = FLAGS_gleans;
  plan.ddl = FLAGS_ddl;
  plan.restarts = FLAGS_restarts;
  plan.crashes = FLAGS_crashes;
  plan.faults = FLAGS_faults;
  plan.corrupts = FLAGS_corrupts;
  plan.large = FLAGS_large;
  plan.omitted = foedus::simulation::numbers_of(FLAGS_omit);
  plan.stride = FLAGS_stride;
  plan.states_from_step = FLAGS_states_from_step;
  plan.only_call = FLAGS_only_call;
  plan.states_max = FLAGS_states_max;
  plan.planted = FLAGS_planted;
  return plan;
}

Outcome run(const Plan& plan) {
  if (!FLAGS_in_process && !FLAGS_narrate) return foedus::simulation::run_isolated(plan);
  foedus::simulation::Simulation simulation(plan);
  if (FLAGS_narrate) simulation.set_narration(stderr);
  return simulation.run();
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print_json(const Counts& counts, std::uint64_t seeds, std::uint64_t digest, double seconds,
                const std::string& repeat) {
  static constexpr const char* kNames[] = {
      "open", "create", "read",   "write",  "sync",           "preallocate", "truncate",
      "size", "list",   "remove", "rename", "sync_directory", "discard",     "link"};
  static_assert(std::size(kNames) == foedus::testing::kCallKinds);
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("{\"states\":%llu,\"seeds\":%llu,\"seconds\":%.1f,\"states_per_s\":%.1f,\"calls\":{",
              number(counts.states), number(seeds), seconds,
              static_cast<double>(counts.states) / seconds);
  const char* comma = "";
  for (std::size_t i = 0; i < foedus::testing::kCallKinds; ++i) {
    if (!foedus::testing::is_changing(static_cast<foedus::testing::Call>(i))) continue;
    std::printf("%s\"%s\":%llu", comma, kNames[i], number(counts.by_kind[i]));
    comma = ",";
  }
  std::printf(
      "},\"half_writes\":%llu,\"recoveries\":%llu,\"deaths\":%llu,\"second_crashes\":%llu,"
      "\"early_opens\":%llu,\"continued\":%llu,\"verified\":%llu,\"corruptions\":%llu,"
      "\"refusals\":%llu,\"commits\":%llu,\"conflicts\":%llu,\"faults\":%llu,"
      "\"pages_evicted\":%llu,\"writers_waited_us\":%llu,\"snapshot_files_removed\":%llu,"
      "\"digest\":\"%016llx\",\"failed\":\"%s\"}\n",
      number(counts.half_writes), number(counts.recoveries), number(counts.deaths),
      number(counts.second_crashes), number(counts.early_opens), number(counts.continued),
      number(counts.verified), number(counts.corruptions), number(counts.refusals),
      number(counts.commits), number(counts.conflicts), number(counts.faults),
      number(counts.pages_evicted), number(counts.writers_waited_us),
      number(counts.snapshot_files_removed), number(digest), repeat.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  gflags::SetUsageMessage("crash states of a simulated database; see tests/simulation/README.md");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  const auto begin = std::chrono::steady_clock::now();
  Plan plan = plan_of_flags();
  Counts counts;
  std::uint64_t seeds = 0;
  std::uint64_t digest = 0;
  std::string repeat;
  auto said = begin;
  for (;; ++plan.seed) {
    const bool is_done = FLAGS_states != 0 ? counts.states >= FLAGS_states : seeds == FLAGS_seeds;
    if (is_done || (FLAGS_seconds != 0 && seconds_since(begin) >= double(FLAGS_seconds))) break;
    Outcome outcome = run(plan);
    ++seeds;
    counts.add(outcome.counts);
    digest = digest * 31 + outcome.digest;
    if (!outcome.failure.empty()) {
      std::fprintf(stderr, "seed %llu, step %llu, after %llu states of this seed: %s\n",
                   static_cast<unsigned long long>(plan.seed),
                   static_cast<unsigned long long>(outcome.step),
                   static_cast<unsigned long long>(outcome.counts.states), outcome.failure.c_str());
      if (FLAGS_shrink) plan = foedus::simulation::shrink(plan, outcome, FLAGS_shrink_seconds);
      repeat = foedus::simulation::command_of(plan);
      std::fprintf(stderr, "to repeat: %s\n", repeat.c_str());
      break;
    }
    if (seconds_since(said) > 10) {
      said = std::chrono::steady_clock::now();
      std::fprintf(stderr, "%llu states, %llu seeds, %.0f s\n",
                   static_cast<unsigned long long>(counts.states),
                   static_cast<unsigned long long>(seeds), seconds_since(begin));
    }
  }
  print_json(counts, seeds, digest, seconds_since(begin), repeat);
  return repeat.empty() ? 0 : 1;
}
