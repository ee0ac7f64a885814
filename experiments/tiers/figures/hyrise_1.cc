// Table I of the Hyrise-NV paper: the time of a restart over the size of the database, with
// snapshots and by replay of the log. A process is killed after a load and some updates. The next
// one opens the database, reads a row and writes one.

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/page_cache.h"
#include "experiments/tiers/child.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/ycsb_rows.h"
#include "experiments/ycsb/ycsb_driver.h"

namespace experiments::tiers {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kUpdateSeconds = 0.1;

struct Times {
  double open_ms;
  double first_read_ms;
  double first_write_ms;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

foedus::Options restart_options(const Plan& plan, bool replays) {
  foedus::Options options;
  options.dir = plan.dir + (replays ? "/replay" : "/snapshots");
  options.files.device = foedus::DeviceKind::kEmulated;
  if (!replays) return options;
  options.glean.log_bytes = 0;
  options.glean.interval_us = 0;
  options.glean.close_us = 0;
  options.pages.volatile_percent = 90;
  options.glean.log_bytes_max = std::uint64_t{1} << 40;
  options.glean.touch_bytes = std::uint64_t{1} << 40;
  return options;
}

YcsbConfig restart_config(const Plan& plan, std::uint64_t rows) {
  return ordered_rows(plan, rows, Workload{'U', {0, 100, 0, 0, 0}}, 0.99);
}

// Leaves the database open.
foedus::Result<std::uint64_t> load_rows(const Plan& plan, bool replays, std::uint64_t rows) {
  FOEDUS_TRY(FoedusBackend opened,
             FoedusBackend::open(restart_options(plan, replays), foedus::Durability::kAsync));
  FoedusBackend& backend = *new FoedusBackend(std::move(opened));
  FOEDUS_TRY(const auto driver,
             YcsbDriver<FoedusBackend>::open(backend, restart_config(plan, rows)));
  FOEDUS_CHECK(driver->load());
  if (!replays) FOEDUS_CHECK(backend.database().glean().status());
  FOEDUS_CHECK(driver->run(kUpdateSeconds).status());
  FOEDUS_CHECK(backend.wait_durable());
  return rows;
}

foedus::Result<Times> restart(const Plan& plan, bool replays) {
  Times times{};
  const auto start = Clock::now();
  foedus::Options options = restart_options(plan, replays);
  if (!replays) options.open_until = foedus::OpenUntil::kSnapshotReadable;
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  times.open_ms = ms_since(start);
  FOEDUS_TRY(const FoedusTable table,
             backend.open_table({.name = "usertable", .kind = TableKind::kOrdered}));
  FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
  std::vector<std::byte> row(kRowBytes);
  const YcsbKey key(0, true);
  const KeyView view{.index = 0, .bytes = key.view()};
  const auto read = [&](FoedusTxn& txn) { return txn.get(table, view, row); };
  FOEDUS_CHECK(replays ? worker.transact(read) : worker.snapshot(read));
  times.first_read_ms = ms_since(start);
  FOEDUS_CHECK(backend.database().wait_recovered());
  FOEDUS_CHECK(worker.transact([&](FoedusTxn& txn) {
    return txn.put(table, view, {reinterpret_cast<const char*>(row.data()), row.size()});
  }));
  times.first_write_ms = ms_since(start);
  return times;
}

foedus::Result<Times> measure_restart(const Plan& plan, bool replays, std::uint64_t rows) {
  const std::string dir = restart_options(plan, replays).dir;
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  FOEDUS_CHECK(in_child([&] { return load_rows(plan, replays, rows); }).status());
  drop_page_cache(dir);
  const auto times = in_child([&] { return restart(plan, replays); });
  std::filesystem::remove_all(dir, ignored);
  return times;
}

}  // namespace

foedus::Result<Verdict> draw_hyrise_1(const Plan& plan) {
  const std::vector<std::uint64_t> megabytes =
      plan.is_quick ? std::vector<std::uint64_t>{64, 512}
                    : std::vector<std::uint64_t>{256, 512, 1'024, 2'048};
  std::map<bool, std::vector<Times>> seen;
  for (const std::uint64_t size : megabytes) {
    for (const bool replays : {false, true}) {
      FOEDUS_TRY(const Times times, measure_restart(plan, replays, size * 1'000));
      seen[replays].push_back(times);
      JsonObject point;
      point.add("megabytes", size);
      point.add("open_ms", times.open_ms);
      point.add("first_read_ms", times.first_read_ms);
      point.add("first_write_ms", times.first_write_ms);
      print_point("hyrise1", replays ? "log replay" : "snapshots", point);
    }
  }
  double read_ms_max = 0;
  double write_ms_max = 0;
  for (const Times& times : seen[false]) {
    read_ms_max = std::max(read_ms_max, times.first_read_ms);
    write_ms_max = std::max(write_ms_max, times.first_write_ms);
  }
  const double replay_least = seen[true].front().first_write_ms;
  const double replay_most = seen[true].back().first_write_ms;
  return Verdict{text("first read after at most %.0f ms and first write after at most %.0f ms at "
                      "%u to %u MB; by replay the first write after %.0f to %.0f ms",
                      read_ms_max, write_ms_max, static_cast<unsigned>(megabytes.front()),
                      static_cast<unsigned>(megabytes.back()), replay_least, replay_most),
                 read_ms_max < 300 && write_ms_max < 1'000 && replay_most > 2 * replay_least};
}

}  // namespace experiments::tiers
