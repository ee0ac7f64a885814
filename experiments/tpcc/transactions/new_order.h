#pragma once
// New-order (clause 2.4.2): enters an order of 5 to 15 lines. The mid-weight, frequent transaction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "experiments/tpcc/inputs.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

// What the terminal displays (clause 2.4.3.3).
struct NewOrderResult {
  std::uint32_t o_id;
  std::int64_t total;  // what the customer is charged, in cents
  std::uint32_t original_lines;
  CustomerTerms customer;
};

// sum(OL_AMOUNT) * (1 - C_DISCOUNT) * (1 + W_TAX + D_TAX), in cents, rounded down.
inline std::int64_t charged_total(std::int64_t amounts, std::int32_t discount, std::int32_t w_tax,
                                  std::int32_t d_tax) {
  constexpr std::int64_t kOne = 10'000;  // unit of discounts and taxes
  return amounts * (kOne - discount) * (kOne + w_tax + d_tax) / (kOne * kOne);
}

// Items and stocks of the lines up to the first one whose item number is not in use.
struct KnownLines {
  std::uint32_t count = 0;
  std::array<ItemRow, kLinesMax> items;
  std::array<StockRow, kLinesMax> stocks;

  // The stock of a line. Two lines may be of the same: what the first one takes, the second sees.
  StockRow& stock_of(const NewOrderInput& input, std::uint32_t line) {
    const NewOrderInput::Line& wanted = input.lines[line];
    std::uint32_t first = 0;
    while (input.lines[first].i_id != wanted.i_id ||
           input.lines[first].supply_w != wanted.supply_w) {
      ++first;
    }
    return stocks[first];
  }
};

// Reads them, so that their cache misses overlap. A line behind them is left to read_unknown().
template <Backend B>
foedus::Status read_lines(typename B::Txn& txn, const Tables<B>& tables, const NewOrderInput& input,
                          KnownLines& known) {
  const NewOrderInput::Line* const lines = input.lines.data();
  while (known.count < input.line_count && lines[known.count].i_id <= tables.scale.items) {
    ++known.count;
  }
  FOEDUS_CHECK(must_exist(
      txn.read_many(
          tables.item, known.count,
          [&](std::size_t i) {
            return PartRead<PackedKey>{item_key(lines[i].i_id), 0, bytes_of(known.items[i])};
          }),
      "an item"));
  return must_exist(txn.read_many(tables.stock, known.count,
                                  [&](std::size_t i) {
                                    return PartRead<PackedKey>{
                                        stock_key(tables.scale, lines[i].supply_w, lines[i].i_id),
                                        0, bytes_of(known.stocks[i])};
                                  }),
                    "a stock");
}

// Where the rows of this order will go.
template <Backend B>
void prefetch_order(typename B::Txn& txn, const Tables<B>& tables, const NewOrderInput& input,
                    std::uint32_t o) {
  txn.prefetch(tables.order_line, order_line_key(input.w, input.d, o, 1));
  txn.prefetch(tables.orders, order_key(input.w, input.d, o));
  txn.prefetch(tables.new_order, order_key(input.w, input.d, o));
  txn.prefetch(tables.order_by_customer, order_by_customer_key(input.w, input.d, input.c, o));
}

// Reads an item that is not known to exist: Status::rolled_back() if it does not.
template <Backend B>
foedus::Status read_unknown(typename B::Txn& txn, const Tables<B>& tables, std::uint32_t i_id) {
  ItemRow item;
  foedus::Status found = txn.get(tables.item, item_key(i_id), bytes_of(item));
  if (found.code() == foedus::ErrorCode::kNotFound || (found.is_ok() && item.price == 0)) {
    return foedus::Status::rolled_back();
  }
  FOEDUS_CHECK(found);
  return failed(foedus::ErrorCode::kCorruption, "item %u exists", i_id);
}

// One line: takes the quantity from the stock, inserts the order line.
template <Backend B>
foedus::Status enter_line(typename B::Txn& txn, const Tables<B>& tables, const NewOrderInput& input,
                          std::uint32_t number, const ItemRow& item, StockRow& stock,
                          NewOrderResult& result, std::int64_t& amounts) {
  constexpr std::int32_t kReorderBelow = 10;
  constexpr std::int32_t kReorder = 91;
  const NewOrderInput::Line& line = input.lines[number - 1];
  const auto quantity = static_cast<std::int32_t>(line.quantity);
  stock.level.quantity -= quantity;
  if (stock.level.quantity < kReorderBelow) stock.level.quantity += kReorder;
  stock.level.ytd += line.quantity;
  ++stock.level.order_cnt;
  if (line.supply_w != input.w) ++stock.level.remote_cnt;
  FOEDUS_CHECK(txn.write_at(tables.stock, stock_key(tables.scale, line.supply_w, line.i_id),
                            offsetof(StockRow, level), payload_of(stock.level)));

  OrderLineRow row{};
  row.i_id = line.i_id;
  row.amount = item.price * quantity;
  row.supply_w_id = static_cast<std::uint16_t>(line.supply_w);
  row.quantity = static_cast<std::uint8_t>(line.quantity);
  std::memcpy(row.dist_info, stock.dist[input.d - 1], sizeof(row.dist_info));
  amounts += row.amount;
  if (is_original(item.data) && is_original(stock.data)) ++result.original_lines;
  return txn.insert(tables.order_line, order_line_key(input.w, input.d, result.o_id, number),
                    payload_of(row));
}

template <Backend B>
foedus::Status new_order(typename B::Txn& txn, const Tables<B>& tables, const NewOrderInput& input,
                         NewOrderResult& result) {
  const Scale& scale = tables.scale;
  result = {};
  txn.prefetch(tables.customer, customer_key(scale, input.w, input.d, input.c));
  KnownLines lines;
  FOEDUS_CHECK(read_lines<B>(txn, tables, input, lines));

  std::int32_t w_tax = 0;
  FOEDUS_CHECK(must_exist(txn.read_at(tables.warehouse, warehouse_key(input.w),
                                      offsetof(WarehouseRow, tax), bytes_of(w_tax)),
                          "the warehouse"));
  const PackedKey d_key = district_key(scale, input.w, input.d);
  DistrictOrdering district;
  constexpr std::uint32_t kOrderingAt = offsetof(DistrictRow, ordering);
  FOEDUS_CHECK(must_exist(txn.read_at(tables.district, d_key, kOrderingAt, bytes_of(district)),
                          "the district"));
  result.o_id = district.next_o_id;
  prefetch_order<B>(txn, tables, input, result.o_id);
  const std::uint32_t next_o_id = result.o_id + 1;
  FOEDUS_CHECK(txn.write_at(tables.district, d_key,
                            kOrderingAt + offsetof(DistrictOrdering, next_o_id),
                            payload_of(next_o_id)));
  FOEDUS_CHECK(
      must_exist(txn.read_at(tables.customer, customer_key(scale, input.w, input.d, input.c),
                             offsetof(CustomerRow, terms), bytes_of(result.customer)),
                 "the customer"));

  std::int64_t amounts = 0;
  for (std::uint32_t i = 0; i < input.line_count; ++i) {
    if (i == lines.count) return read_unknown<B>(txn, tables, input.lines[i].i_id);
    FOEDUS_CHECK(enter_line<B>(txn, tables, input, i + 1, lines.items[i], lines.stock_of(input, i),
                               result, amounts));
  }
  result.total = charged_total(amounts, result.customer.discount, w_tax, district.tax);

  OrderRow order{};
  order.entry_d = input.entry_d;
  order.c_id = input.c;
  order.ol_cnt = static_cast<std::uint8_t>(input.line_count);
  order.all_local = input.is_all_local ? 1 : 0;
  const PackedKey o_key = order_key(input.w, input.d, result.o_id);
  FOEDUS_CHECK(txn.insert(tables.orders, o_key, payload_of(order)));
  FOEDUS_CHECK(txn.insert(tables.new_order, o_key, {}));
  return txn.insert(tables.order_by_customer,
                    order_by_customer_key(input.w, input.d, input.c, result.o_id), {});
}

}  // namespace experiments::tpcc
