#pragma once
// Order-status (clause 2.6.2): a customer's balance and last order, with its lines. Read only.

#include <array>
#include <cstdint>
#include <string_view>

#include "experiments/tpcc/inputs.h"
#include "experiments/tpcc/tables.h"
#include "experiments/tpcc/transactions/customer_lookup.h"

namespace experiments::tpcc {

struct OrderStatusResult {
  std::uint32_t c_id;
  CustomerRow customer;  // C_BALANCE, C_FIRST, C_MIDDLE, C_LAST
  std::uint32_t o_id;    // 0: the customer has not ordered anything
  OrderRow order;
  std::uint32_t line_count;
  std::array<OrderLineRow, kLinesMax> lines;
};

template <Backend B>
foedus::Status order_status(typename B::Txn& txn, const Tables<B>& tables,
                            const OrderStatusInput& input, OrderStatusResult& result) {
  const std::uint32_t w = input.customer.w;
  const std::uint32_t d = input.customer.d;
  FOEDUS_CHECK(find_customer<B>(txn, tables, input.customer, result.c_id));
  const std::uint32_t c = result.c_id;
  FOEDUS_CHECK(must_exist(
      txn.get(tables.customer, customer_key(tables.scale, w, d, c), bytes_of(result.customer)),
      "the customer"));

  result.o_id = 0;
  result.line_count = 0;
  const PackedKey low = order_by_customer_key(w, d, c, 0);
  const PackedKey high = order_by_customer_key(w, d, c, kOrderMax);
  FOEDUS_CHECK(txn.scan(tables.order_by_customer,
                        {.low = low.bytes(), .high = high.bytes(), .limit = 1, .reverse = true},
                        [&](std::string_view key, std::string_view) {
                          result.o_id = order_of_customer_index(key);
                          return false;
                        }));
  if (result.o_id == 0) return {};

  FOEDUS_CHECK(
      must_exist(txn.get(tables.orders, order_key(w, d, result.o_id), bytes_of(result.order)),
                 "the last order"));
  foedus::Status lines;
  const PackedKey lines_low = order_line_key(w, d, result.o_id, 0);
  const PackedKey lines_high = order_line_key(w, d, result.o_id + 1, 0);
  FOEDUS_CHECK(txn.scan(tables.order_line, {.low = lines_low.bytes(), .high = lines_high.bytes()},
                        [&](std::string_view, std::string_view row) {
                          if (result.line_count == kLinesMax) return false;
                          lines = row_from(row, result.lines[result.line_count++]);
                          return lines.is_ok();
                        }));
  FOEDUS_CHECK(lines);
  if (result.line_count == result.order.ol_cnt) return {};
  return failed(foedus::ErrorCode::kCorruption, "order %u of district %u.%u has %u lines, not %u",
                result.o_id, w, d, result.line_count, result.order.ol_cnt);
}

}  // namespace experiments::tpcc
