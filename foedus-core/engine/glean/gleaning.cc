#include "foedus-core/engine/glean/gleaning.h"

#include <optional>

namespace foedus::engine {

Gleaning::Gleaning(const Parts& parts)
    : newest_({.device = parts.device,
               .snapshots = parts.snapshots,
               .caches = parts.caches,
               .operator_log = parts.operator_log}),
      requests_({.runtime = parts.runtime,
                 .snapshots = parts.snapshots,
                 .newest = &newest_,
                 .operator_log = parts.operator_log}),
      loads_({.device = parts.device,
              .clock = parts.clock,
              .catalog = parts.catalog,
              .newest = &newest_}),
      forecast_(
          {.runtime = parts.runtime, .log = parts.log, .pool = parts.pool, .newest = &newest_}),
      throttle_({.options = parts.options,
                 .runtime = parts.runtime,
                 .state = parts.state,
                 .log = parts.log,
                 .pool = parts.pool,
                 .newest = &newest_,
                 .forecast = &forecast_,
                 .operator_log = parts.operator_log}),
      deltas_({.runtime = parts.runtime,
               .clock = parts.clock,
               .pool = parts.pool,
               .catalog = parts.catalog,
               .session = parts.session}),
      installer_(installer_parts(parts)),
      retention_({.runtime = parts.runtime,
                  .device = parts.device,
                  .clock = parts.clock,
                  .snapshots = parts.snapshots,
                  .caches = parts.caches,
                  .newest = &newest_,
                  .installer = &installer_,
                  .in_making = &loads_.in_making(),
                  .operator_log = parts.operator_log}),
      orders_(orders_parts(parts)),
      tail_(tail_parts(parts)),
      recovery_(recovery_parts(parts)),
      scheduler_(scheduler_parts(parts)) {}

SnapshotInstaller::Parts Gleaning::installer_parts(const Parts& parts) {
  return {.options = parts.options,
          .runtime = parts.runtime,
          .topology = parts.topology,
          .clock = parts.clock,
          .pool = parts.pool,
          .catalog = parts.catalog,
          .caches = parts.caches,
          .snapshots = parts.snapshots,
          .newest = &newest_,
          .throttle = &throttle_,
          .requests = &requests_,
          .deltas = &deltas_,
          .operator_log = parts.operator_log,
          .session = parts.session,
          .install_sessions = parts.install_sessions};
}

GleanOrders::Parts Gleaning::orders_parts(const Parts& parts) {
  return {.options = parts.options,
          .runtime = parts.runtime,
          .device = parts.device,
          .topology = parts.topology,
          .log = parts.log,
          .durability = parts.durability,
          .clock = parts.clock,
          .catalog = parts.catalog,
          .pool = parts.pool,
          .retention = &retention_,
          .in_making = &loads_.in_making(),
          .session = parts.session};
}

TailGlean::Parts Gleaning::tail_parts(const Parts& parts) {
  return {.runtime = parts.runtime,
          .state = parts.state,
          .clock = parts.clock,
          .log = parts.log,
          .snapshots = parts.snapshots,
          .newest = &newest_,
          .installer = &installer_,
          .retention = &retention_,
          .requests = &requests_,
          .unapplied = parts.unapplied,
          .operator_log = parts.operator_log,
          .session = parts.session};
}

Recovery::Parts Gleaning::recovery_parts(const Parts& parts) {
  return {.options = parts.options,
          .runtime = parts.runtime,
          .state = parts.state,
          .device = parts.device,
          .log = parts.log,
          .durability = parts.durability,
          .clock = parts.clock,
          .pool = parts.pool,
          .session_memory = parts.session_memory,
          .sessions = parts.sessions,
          .snapshots = parts.snapshots,
          .catalog = parts.catalog,
          .newest = &newest_,
          .retention = &retention_,
          .orders = &orders_,
          .tail = &tail_,
          .operator_log = parts.operator_log};
}

GleanScheduler::Parts Gleaning::scheduler_parts(const Parts& parts) {
  return {.options = parts.options,
          .runtime = parts.runtime,
          .state = parts.state,
          .clock = parts.clock,
          .pool = parts.pool,
          .log = parts.log,
          .durability = parts.durability,
          .snapshots = parts.snapshots,
          .newest = &newest_,
          .requests = &requests_,
          .loads = &loads_,
          .forecast = &forecast_,
          .orders = &orders_,
          .deltas = &deltas_,
          .installer = &installer_,
          .retention = &retention_,
          .unapplied = parts.unapplied,
          .tail = &tail_,
          .recovery = &recovery_,
          .operator_log = parts.operator_log};
}

void Gleaning::add_stats(Stats* stats) const {
  stats->log_bytes_behind = forecast_.log_behind();
  stats->glean_stage = forecast_.stage();
  newest_.add_stats(stats);
  requests_.add_stats(stats);
  stats->writers_waited_us = throttle_.waited_us();
  stats->write_limit_bytes_per_s = throttle_.limit();
}

}  // namespace foedus::engine
