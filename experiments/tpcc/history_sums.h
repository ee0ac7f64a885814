#pragma once
// What HISTORY adds up to, for conditions 8, 9 and 10.

#include <cstdint>
#include <string_view>
#include <vector>

#include "experiments/tpcc/quiet_scan.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

// Sums over HISTORY, by where the payment was made and by who made it.
struct HistorySums {
  std::vector<std::int64_t> by_district;
  std::vector<std::int64_t> by_customer;
};

template <Backend B>
foedus::Status sum_history(typename B::Worker& worker, const Tables<B>& tables, HistorySums& sums) {
  const Scale& scale = tables.scale;
  const std::size_t districts = std::size_t{scale.warehouses} * scale.districts;
  const auto add = [&](std::string_view payload) -> foedus::Status {
    HistoryRow row{};
    FOEDUS_CHECK(row_from(payload, row));
    const auto in = [](std::uint32_t id, std::uint32_t max) { return id >= 1 && id <= max; };
    if (!in(row.w_id, scale.warehouses) || !in(row.c_w_id, scale.warehouses) ||
        !in(row.d_id, scale.districts) || !in(row.c_d_id, scale.districts) ||
        !in(row.c_id, scale.customers_per_district)) {
      return failed(foedus::ErrorCode::kCorruption, "a history row of customer %u.%u.%u at %u.%u",
                    row.c_w_id, row.c_d_id, row.c_id, row.w_id, row.d_id);
    }
    sums.by_district[district_index(scale, row.w_id, row.d_id)] += row.amount;
    sums.by_customer[customer_index(scale, row.c_w_id, row.c_d_id, row.c_id)] += row.amount;
    return {};
  };
  sums.by_district.assign(districts, 0);
  sums.by_customer.assign(districts * scale.customers_per_district, 0);
  if (tables.storage == StorageChoice::kOrdered) {
    return scan_in_chunks<B>(worker, tables.history, {}, {},
                             [&](std::string_view, std::string_view row) { return add(row); });
  }
  return worker.read_only([&](typename B::Txn& txn) -> foedus::Status {
    sums.by_district.assign(districts, 0);
    sums.by_customer.assign(districts * scale.customers_per_district, 0);
    foedus::Status added;
    FOEDUS_CHECK(txn.scan(tables.history, ScanRange{}, [&](std::string_view, std::string_view row) {
      added = add(row);
      return added.is_ok();
    }));
    return added;
  });
}

}  // namespace experiments::tpcc
