#pragma once
// SideOf<B>: a Side made of a backend and the drivers.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "experiments/common/backend.h"
#include "experiments/peers/conformance.h"
#include "experiments/peers/side.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/run.h"
#include "experiments/ycsb/ycsb_driver.h"

namespace experiments {

template <Backend B>
class SideOf final : public Side {
 public:
  SideOf(std::unique_ptr<B> backend, const Task& task)
      : task_(task), backend_(std::move(backend)) {}

  std::string name() const override { return backend_->name(); }

  foedus::Status load() override {
    if (task_.driver == Task::Driver::kYcsb) {
      FOEDUS_TRY(ycsb_, YcsbDriver<B>::open(*backend_, task_.ycsb));
      FOEDUS_CHECK(ycsb_->load());
    } else {
      FOEDUS_TRY(tpcc::Population<B> loaded,
                 tpcc::populate(*backend_, task_.scale, task_.storage, task_.ycsb.seed,
                                tpcc::date_now(), task_.plan.sessions));
      tpcc_.emplace(std::move(loaded));
    }
    // Some engines have a shape that they are fastest in and do not take by themselves at once.
    if constexpr (requires { backend_->settle(); }) return backend_->settle();
    return {};
  }

  foedus::Result<SideRun> run(double seconds, std::uint64_t seed) override {
    return task_.driver == Task::Driver::kYcsb ? run_ycsb(seconds) : run_tpcc(seconds, seed);
  }

  foedus::Status check() override {
    FOEDUS_CHECK(Conformance<B>::check(*backend_));
    return check_no_lost_update(*backend_);
  }

  StatsLine stats() override {
    StatsLine line;
    backend_->fill_stats(line);
    return line;
  }

 private:
  foedus::Result<SideRun> run_ycsb(double seconds) {
    FOEDUS_TRY(YcsbResult result, ycsb_->run(seconds));
    SideRun run;
    run.seconds = result.seconds;
    run.txns = result.txns;
    run.ops = result.ops;
    run.counters = std::move(result.counters);
    run.latency = std::move(result.latency);
    if (result.until_durable.count() != 0) run.durable_latency["all"] = result.until_durable;
    return run;
  }

  foedus::Result<SideRun> run_tpcc(double seconds, std::uint64_t seed) {
    tpcc::RunPlan plan = task_.plan;
    plan.seconds = seconds;
    plan.seed = seed;
    plan.last_name_constant = tpcc_->load.last_name_constant;
    plan.watches_durability = plan.watches_durability && backend_->durable_token() != 0;
    FOEDUS_TRY(const tpcc::RunResult result,
               tpcc::Run<B>(*backend_, tpcc_->tables, plan).run());
    SideRun run;
    run.seconds = result.seconds;
    run.counters = result.counters;
    for (std::size_t i = 0; i < tpcc::kTxnTypes; ++i) {
      run.txns += result.commits[i];
      const std::string type(tpcc::kTxnTypeNames[i]);
      if (result.latency[i].count() != 0) run.latency[type] = result.latency[i];
      if (result.durable_latency[i].count() != 0) {
        run.durable_latency[type] = result.durable_latency[i];
      }
    }
    run.ops = run.txns;
    return run;
  }

  const Task task_;
  const std::unique_ptr<B> backend_;  // outlives the drivers below
  std::unique_ptr<YcsbDriver<B>> ycsb_;
  std::optional<tpcc::Population<B>> tpcc_;
};

}  // namespace experiments
