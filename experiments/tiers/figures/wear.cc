// Figure 16 of the SIGMOD'18 paper (appendix A.4): how often each line of NVM is written by a run
// of updates. Updates in place are counted beside it: each would write the lines of its field,
// where rows stand one after the other.

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/random.h"
#include "experiments/common/worker_threads.h"
#include "experiments/tiers/child.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"
#include "experiments/tiers/ycsb_rows.h"
#include "experiments/ycsb/ycsb_driver.h"
#include "experiments/ycsb/zipf.h"

namespace experiments::tiers {

namespace {

constexpr std::uint64_t kLineBytes = 64;

struct Wear {
  std::uint64_t txns;
  foedus::NvmStats nvm;           // load and updates
  std::uint64_t lines_written;    // of the updates
  std::uint64_t in_place_writes;  // the same of updates in place
  std::uint64_t in_place_max;     // of one line
};

using LineCounts = std::vector<std::atomic<std::uint32_t>>;

// Counts the lines that an update of a field in place would write, as it commits by itself.
void count_in_place(std::uint64_t row, std::uint64_t field, LineCounts* lines) {
  const std::uint64_t begin = row * kRowBytes + field * kFieldBytes;
  for (std::uint64_t line = begin / kLineBytes; line <= (begin + kFieldBytes - 1) / kLineBytes;
       ++line) {
    (*lines)[line].fetch_add(1, std::memory_order_relaxed);  // order: a statistic
  }
}

foedus::Status update_rows(FoedusBackend& backend, const FoedusTable& table, const Plan& plan,
                           std::uint64_t rows, std::uint64_t txns, LineCounts* lines) {
  const Zipf zipf(rows, kTheta);
  const Scramble scramble(rows);
  return run_workers(plan.sessions, [&](std::uint32_t number) -> foedus::Status {
    FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
    Random random(plan.seed, number);
    for (std::uint64_t i = 0; i < txns / plan.sessions; ++i) {
      const std::uint64_t row = scramble.id(zipf.rank(random));
      const std::uint64_t field = random.uniform(0, kFields - 1);
      const std::string bytes(kFieldBytes, static_cast<char>('a' + i % 26));
      const YcsbKey key(row, true);
      FOEDUS_CHECK(worker.transact([&](FoedusTxn& txn) {
        return txn.write_at(table, {.index = row, .bytes = key.view()},
                            static_cast<std::uint32_t>(field * kFieldBytes), bytes);
      }));
      count_in_place(row, field, lines);
    }
    return {};
  });
}

foedus::Result<Wear> measure_wear(const Plan& plan, std::uint64_t rows, std::uint64_t txns) {
  foedus::Options options;
  options.dir = plan.dir + "/wear";
  options.files.device = foedus::DeviceKind::kEmulated;
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, foedus::Durability::kAsync));
  FOEDUS_TRY(const auto driver,
             YcsbDriver<FoedusBackend>::open(
                 backend, ordered_rows(plan, rows, *workload_named("A"), kTheta)));
  FOEDUS_CHECK(driver->load());
  FOEDUS_CHECK(backend.database().glean().status());
  FOEDUS_TRY(const FoedusTable table,
             backend.open_table({.name = "usertable", .kind = TableKind::kOrdered}));
  const std::uint64_t before = backend.database().stats().nvm.lines_written;
  LineCounts lines(rows * kRowBytes / kLineBytes + 1);
  FOEDUS_CHECK(update_rows(backend, table, plan, rows, txns, &lines));
  FOEDUS_CHECK(backend.database().glean().status());
  Wear seen{};
  seen.txns = txns;
  seen.nvm = backend.database().stats().nvm;
  seen.lines_written = seen.nvm.lines_written - before;
  for (const auto& line : lines) {
    const std::uint64_t writes = line.load(std::memory_order_relaxed);  // order: all have ended
    seen.in_place_writes += writes;
    seen.in_place_max = std::max(seen.in_place_max, writes);
  }
  return seen;
}

}  // namespace

foedus::Result<Verdict> draw_wear(const Plan& plan) {
  const std::uint64_t rows = plan.is_quick ? 50'000 : 1'000'000;
  const std::uint64_t txns = plan.is_quick ? 500'000 : 10'000'000;
  FOEDUS_TRY(const Wear seen, in_child([&] { return measure_wear(plan, rows, txns); }));
  std::uint64_t most = 0;
  for (std::size_t writes = 1; writes < seen.nvm.lines_by_writes.size(); ++writes) {
    if (seen.nvm.lines_by_writes[writes] == 0) continue;
    most = writes;
    JsonObject point;
    point.add("writes", writes);
    point.add("lines", seen.nvm.lines_by_writes[writes]);
    print_point("16", "FOEDUS", point);
  }
  JsonObject in_place;
  in_place.add("writes", seen.in_place_max);
  in_place.add("lines", std::uint64_t{1});
  print_point("16", "in place, the hottest line", in_place);
  const double million = 1e6;
  return Verdict{
      text("%.1f million updates: no line was written more than %llu times, the hottest one in "
           "place %llu times; %.1f million lines in all, in place %.1f million",
           static_cast<double>(seen.txns) / million, static_cast<unsigned long long>(most),
           static_cast<unsigned long long>(seen.in_place_max),
           static_cast<double>(seen.lines_written) / million,
           static_cast<double>(seen.in_place_writes) / million),
      most <= 5 && seen.in_place_max > 1'000 && seen.lines_written < seen.in_place_writes};
}

}  // namespace experiments::tiers
