#pragma once
// The experiment, over any store: find or load the database, verify what was acknowledged, check,
// run, check, and print the JSON line.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "experiments/common/backend.h"
#include "experiments/common/glean_watch.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/tpcc/acks.h"
#include "experiments/tpcc/consistency.h"
#include "experiments/tpcc/options.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/report.h"
#include "experiments/tpcc/run.h"

namespace experiments::tpcc {

template <Backend B>
class Driver {
 public:
  // `experiment`: the name in the JSON line.
  Driver(B& backend, const std::string& experiment)
      : backend_(backend), line_(begin_line(experiment)), phases_(phases_by_flags()) {
    line_.add("store", backend.name());
  }

  foedus::Status run() {
    FOEDUS_CHECK(find_or_load());
    line_.add("warehouses", population_->load.scale.warehouses);
    if (!FLAGS_verify_acks.empty()) {
      FOEDUS_TRY(const std::uint64_t acks,
                 verify_acks<B>(backend_, population_->tables, FLAGS_verify_acks));
      std::fprintf(stderr, "acks: all %llu acknowledged orders are there\n",
                   static_cast<unsigned long long>(acks));
      line_.add("acks_verified", acks);
    }
    if (phases_.checks) FOEDUS_CHECK(check("before the run"));

    StatsLine before;
    if (phases_.runs) FOEDUS_CHECK(measure(before));
    StatsLine after;
    backend_.fill_stats(after);
    add_stats(line_, before, after, population_->load.data_bytes);
    if (phases_.runs && phases_.checks) FOEDUS_CHECK(check("after the run"));
    if (phases_.checks) line_.add("consistent", true);
    return {};
  }

  // REQUIRES: run() was a success.
  const JsonObject& line() const { return line_; }

 private:
  foedus::Status find_or_load() {
    FOEDUS_TRY(population_, find_population(backend_));
    if (population_.has_value()) return check_population_by_flags(population_->load);
    if (!phases_.loads_if_empty || !FLAGS_verify_acks.empty()) {
      return failed(foedus::ErrorCode::kNotFound, "%s holds no TPC-C database", FLAGS_dir.c_str());
    }
    const std::uint64_t start = steady_ns();
    FOEDUS_TRY(Population<B> loaded, populate(backend_, scale_by_flags(), storage_by_flags(),
                                              FLAGS_seed, date_now(), FLAGS_sessions));
    line_.add("load_seconds", static_cast<double>(steady_ns() - start) * 1e-9);
    population_.emplace(std::move(loaded));
    return {};
  }

  // `before`: filled with the statistics when the run begins.
  foedus::Status measure(StatsLine& before) {
    RunPlan plan = plan_by_flags(population_->load);
    if constexpr (requires { backend_.database(); }) {
      FOEDUS_CHECK(drop_volatile_by_flags(backend_.database(), line_));
    }
    if constexpr (requires { backend_.reserve_memory(std::uint64_t{}); }) {
      line_.add("reserved_bytes", backend_.reserve_memory(reserve_bytes_by_flags()));
    }
    if (FLAGS_warm_seconds > 0) {
      RunPlan warm = plan;
      warm.seconds = FLAGS_warm_seconds;
      warm.seed = plan.seed + 1;
      FOEDUS_CHECK(Run<B>(backend_, population_->tables, warm).run().status());
    }
    backend_.fill_stats(before);
    std::optional<GleanWatch> watch;
    if constexpr (requires { backend_.database(); }) watch.emplace(backend_.database());
    FOEDUS_TRY(const RunResult result, Run<B>(backend_, population_->tables, plan).run());
    if (watch.has_value()) watch->stop();
    add_run(line_, result);
    if (watch.has_value()) watch->add_members(line_, plan.sessions);
    return backend_.wait_durable();
  }

  foedus::Status check(const char* when) {
    FOEDUS_CHECK(check_consistency(backend_, population_->tables, FLAGS_sessions));
    std::fprintf(stderr, "consistency %s: all 12 conditions hold\n", when);
    return {};
  }

  B& backend_;
  JsonObject line_;
  const Phases phases_;
  std::optional<Population<B>> population_;
};

}  // namespace experiments::tpcc
