#pragma once
// Stock-level (clause 2.8.2): how many items of the last 20 orders are low in stock. Read only.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "experiments/tpcc/inputs.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

template <Backend B>
foedus::Status stock_level(typename B::Txn& txn, const Tables<B>& tables,
                           const StockLevelInput& input, std::uint32_t& low_stocks) {
  constexpr std::uint32_t kOrders = 20;
  low_stocks = 0;
  std::uint32_t next = 0;
  FOEDUS_CHECK(must_exist(
      txn.read_at(tables.district, district_key(tables.scale, input.w, input.d),
                  offsetof(DistrictRow, ordering) + offsetof(DistrictOrdering, next_o_id),
                  bytes_of(next)),
      "the district"));

  std::array<std::uint32_t, kOrders * kLinesMax> items;
  std::size_t count = 0;
  foedus::Status read;
  const PackedKey low = order_line_key(input.w, input.d, next > kOrders ? next - kOrders : 0, 0);
  const PackedKey high = order_line_key(input.w, input.d, next, 0);
  FOEDUS_CHECK(txn.scan(tables.order_line, {.low = low.bytes(), .high = high.bytes()},
                        [&](std::string_view, std::string_view payload) {
                          OrderLineRow row{};
                          read = row_from(payload, row);
                          if (!read.is_ok() || count == items.size()) return false;
                          items[count++] = row.i_id;
                          return true;
                        }));
  FOEDUS_CHECK(read);
  std::sort(items.begin(), items.begin() + count);
  const auto* const end = std::unique(items.begin(), items.begin() + count);
  const std::size_t distinct = static_cast<std::size_t>(end - items.begin());
  std::array<std::int32_t, kOrders * kLinesMax> quantities;
  FOEDUS_CHECK(must_exist(txn.read_many(tables.stock, distinct,
                                        [&](std::size_t i) {
                                          return PartRead<PackedKey>{
                                              stock_key(tables.scale, input.w, items[i]),
                                              offsetof(StockRow, level) +
                                                  offsetof(StockLevel, quantity),
                                              bytes_of(quantities[i])};
                                        }),
                          "a stock"));
  low_stocks = static_cast<std::uint32_t>(
      std::count_if(quantities.begin(), quantities.begin() + distinct,
                    [&](std::int32_t quantity) { return quantity < input.threshold; }));
  return {};
}

}  // namespace experiments::tpcc
