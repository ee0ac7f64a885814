#include "tests/simulation/shrink.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "tests/simulation/isolated.h"

namespace foedus::simulation {

namespace {

class Shrinking {
 public:
  Shrinking(Plan plan, Outcome outcome, std::uint64_t seconds_max)
      : plan_(std::move(plan)),
        outcome_(std::move(outcome)),
        end_(std::chrono::steady_clock::now() + std::chrono::seconds(seconds_max)) {}

  Plan run() {
    // Steps after the failure, and states before it, are left out.
    attempt([this](Plan* plan) { plan->steps = std::min(plan->steps, outcome_.step + 1); });
    if (outcome_.call == 0) attempt([](Plan* plan) { plan->stride = 0; });
    keep_last_states();
    for (bool Plan::*part : {&Plan::corrupts, &Plan::faults, &Plan::restarts, &Plan::crashes,
                             &Plan::ddl, &Plan::gleans, &Plan::large}) {
      attempt([part](Plan* plan) { plan->*part = false; });
    }
    omit_steps();
    for (std::uint64_t Plan::*bound : {&Plan::sessions, &Plan::storages, &Plan::keys}) {
      while (attempt(
          [bound](Plan* plan) { plan->*bound = std::max<std::uint64_t>(1, plan->*bound / 2); })) {
      }
    }
    omit_steps();
    attempt([this](Plan* plan) { plan->steps = std::min(plan->steps, outcome_.step + 1); });
    keep_last_states();
    if (outcome_.call != 0) attempt([this](Plan* plan) { plan->only_call = outcome_.call; });
    forget_what_is_beyond();
    return plan_;
  }

 private:
  // Keeps the change if the plan differs and the run still fails.
  bool attempt(const std::function<void(Plan*)>& change) {
    Plan smaller = plan_;
    change(&smaller);
    if (smaller == plan_ || std::chrono::steady_clock::now() >= end_) return false;
    Outcome outcome = run_isolated(smaller, 120);
    if (outcome.failure.empty()) return false;
    plan_ = std::move(smaller);
    outcome_ = std::move(outcome);
    std::fprintf(stderr, "smaller: %s\n", command_of(plan_).c_str());
    return true;
  }
  void keep_last_states() {
    if (outcome_.call == 0) return;
    attempt([this](Plan* plan) { plan->states_from_step = outcome_.step; });
  }
  // Leaves out ever smaller runs of the remaining steps.
  void omit_steps() {
    for (std::uint64_t length = std::max<std::uint64_t>(1, plan_.steps / 2);; length /= 2) {
      for (std::uint64_t begin = 0; begin < plan_.steps; begin += length) {
        attempt([&](Plan* plan) {
          const std::uint64_t end = std::min(begin + length, plan->steps);
          for (std::uint64_t step = begin; step < end; ++step) plan->omitted.insert(step);
        });
      }
      if (length == 1) break;
    }
  }
  void forget_what_is_beyond() {
    plan_.omitted.erase(plan_.omitted.lower_bound(plan_.steps), plan_.omitted.end());
  }

  Plan plan_;
  Outcome outcome_;
  const std::chrono::steady_clock::time_point end_;
};

}  // namespace

Plan shrink(Plan plan, Outcome outcome, std::uint64_t seconds_max) {
  return Shrinking(std::move(plan), std::move(outcome), seconds_max).run();
}

}  // namespace foedus::simulation
