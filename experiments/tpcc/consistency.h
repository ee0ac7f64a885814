#pragma once
// The consistency conditions of clause 3.3.2, all twelve, and the agreement of both secondary
// indexes with their tables. For a database that nobody changes meanwhile: rows are read in many
// short transactions. Condition 11 speaks of a database as loaded; here the deliveries since are
// added.

#include <atomic>
#include <cstdint>
#include <vector>

#include "experiments/common/progress.h"
#include "experiments/common/worker_threads.h"
#include "experiments/tpcc/district_check.h"
#include "experiments/tpcc/history_sums.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

// Conditions 1 and 8. `ytd`: D_YTD by district.
template <Backend B>
foedus::Status check_warehouse(typename B::Worker& worker, const Tables<B>& tables, std::uint32_t w,
                               const HistorySums& history, const std::vector<std::int64_t>& ytd) {
  WarehouseRow row;
  const auto read = [&](typename B::Txn& txn) -> foedus::Status {
    return must_exist(txn.get(tables.warehouse, warehouse_key(w), bytes_of(row)), "a warehouse");
  };
  FOEDUS_CHECK(worker.read_only(read));
  std::int64_t districts = 0;
  std::int64_t paid = 0;
  for (std::uint32_t d = 1; d <= tables.scale.districts; ++d) {
    districts += ytd[district_index(tables.scale, w, d)];
    paid += history.by_district[district_index(tables.scale, w, d)];
  }
  const auto show = [](std::int64_t cents) { return static_cast<long long>(cents); };
  if (row.ytd != districts) {
    return failed(foedus::ErrorCode::kCorruption,
                  "consistency condition 1, warehouse %u: W_YTD %lld, sum(D_YTD) %lld", w,
                  show(row.ytd), show(districts));
  }
  if (row.ytd == paid) return {};
  return failed(foedus::ErrorCode::kCorruption,
                "consistency condition 8, warehouse %u: W_YTD %lld, sum(H_AMOUNT) %lld", w,
                show(row.ytd), show(paid));
}

// kCorruption names the first condition that was found violated and where.
template <Backend B>
foedus::Status check_consistency(B& backend, const Tables<B>& tables, std::uint32_t threads) {
  const Scale& scale = tables.scale;
  const std::uint32_t districts = scale.warehouses * scale.districts;
  Progress progress("check", std::uint64_t{districts} + 1);
  FOEDUS_TRY(typename B::Worker worker, backend.new_worker());
  HistorySums history;
  FOEDUS_CHECK(sum_history<B>(worker, tables, history));
  progress.add(1);

  std::vector<std::int64_t> ytd(districts);
  std::atomic<std::uint32_t> next{0};
  const auto check_some = [&](std::uint32_t) -> foedus::Status {
    FOEDUS_TRY(typename B::Worker own, backend.new_worker());
    for (;;) {
      // order: each district is taken once; nothing else is handed over.
      const std::uint32_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= districts) return {};
      const std::uint32_t w = index / scale.districts + 1;
      const std::uint32_t d = index % scale.districts + 1;
      FOEDUS_TRY(ytd[index], DistrictCheck<B>(own, tables, history, w, d).run());
      progress.add(1);
    }
  };
  FOEDUS_CHECK(run_workers(threads, check_some));
  for (std::uint32_t w = 1; w <= scale.warehouses; ++w) {
    FOEDUS_CHECK(check_warehouse<B>(worker, tables, w, history, ytd));
  }
  return {};
}

}  // namespace experiments::tpcc
