#pragma once
// Delivery (clause 2.7.4): delivers the oldest new order of each district, all in one transaction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "experiments/tpcc/inputs.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

inline constexpr std::size_t kDistrictsMax = 10;

// By district: an order below which none is undelivered, so that the search for the oldest does not
// walk over what was deleted. Ids only grow and deliveries go in their order, so the bound stays
// true whoever delivers; 0 is always one.
using DeliveredBelow = std::array<std::uint32_t, kDistrictsMax>;

struct DeliveryResult {
  std::array<std::uint32_t, kDistrictsMax> o_ids;  // 0: nothing to deliver in that district
};

// Sets the delivery date of all lines and adds up their amounts.
template <Backend B>
foedus::Status deliver_lines(typename B::Txn& txn, const Tables<B>& tables,
                             const DeliveryInput& input, std::uint32_t d, std::uint32_t o,
                             std::int64_t& amounts) {
  const PackedKey low = order_line_key(input.w, d, o, 0);
  const PackedKey high = order_line_key(input.w, d, o + 1, 0);
  std::uint32_t count = 0;
  foedus::Status read;
  FOEDUS_CHECK(txn.scan(tables.order_line, {.low = low.bytes(), .high = high.bytes()},
                        [&](std::string_view, std::string_view payload) {
                          OrderLineRow row{};
                          read = row_from(payload, row);
                          amounts += row.amount;
                          ++count;
                          return read.is_ok();
                        }));
  FOEDUS_CHECK(read);
  // Lines are numbered from 1 without gaps. Written after the scan: stores differ in what a cursor
  // does when its rows change under it.
  for (std::uint32_t number = 1; number <= count; ++number) {
    FOEDUS_CHECK(
        must_exist(txn.write_at(tables.order_line, order_line_key(input.w, d, o, number),
                                offsetof(OrderLineRow, delivery_d), payload_of(input.delivery_d)),
                   "an order line"));
  }
  return {};
}

template <Backend B>
foedus::Status deliver_district(typename B::Txn& txn, const Tables<B>& tables,
                                const DeliveryInput& input, std::uint32_t d, std::uint32_t from,
                                std::uint32_t& o) {
  o = 0;
  const PackedKey low = order_key(input.w, d, from);
  const PackedKey high = order_key(input.w, d + 1, 0);
  FOEDUS_CHECK(txn.scan(tables.new_order, {.low = low.bytes(), .high = high.bytes(), .limit = 1},
                        [&](std::string_view key, std::string_view) {
                          o = order_of(key);
                          return false;
                        }));
  if (o == 0) return {};  // skipped (clause 2.7.4.2)
  const PackedKey key = order_key(input.w, d, o);
  FOEDUS_CHECK(must_exist(txn.erase(tables.new_order, key), "the oldest new order"));

  OrderRow order;
  FOEDUS_CHECK(must_exist(txn.get(tables.orders, key, bytes_of(order)), "the order"));
  const auto carrier_id = static_cast<std::uint8_t>(input.carrier_id);
  FOEDUS_CHECK(
      txn.write_at(tables.orders, key, offsetof(OrderRow, carrier_id), payload_of(carrier_id)));
  std::int64_t amounts = 0;
  FOEDUS_CHECK(deliver_lines<B>(txn, tables, input, d, o, amounts));

  const PackedKey c_key = customer_key(tables.scale, input.w, d, order.c_id);
  CustomerAccount account;
  constexpr std::uint32_t kAccountAt = offsetof(CustomerRow, account);
  FOEDUS_CHECK(must_exist(txn.read_at(tables.customer, c_key, kAccountAt, bytes_of(account)),
                          "the customer"));
  account.balance += amounts;
  ++account.delivery_cnt;
  return txn.write_at(tables.customer, c_key, kAccountAt, payload_of(account));
}

// The rows of the orders that are probably the oldest, so that their cache misses overlap.
template <Backend B>
void prefetch_delivery(typename B::Txn& txn, const Tables<B>& tables, const DeliveryInput& input,
                       const DeliveredBelow& from) {
  for (std::uint32_t d = 1; d <= tables.scale.districts; ++d) {
    const PackedKey key = order_key(input.w, d, from[d - 1]);
    txn.prefetch(tables.new_order, key);
    txn.prefetch(tables.orders, key);
    txn.prefetch(tables.order_line, order_line_key(input.w, d, from[d - 1], 1));
  }
}

template <Backend B>
foedus::Status delivery(typename B::Txn& txn, const Tables<B>& tables, const DeliveryInput& input,
                        const DeliveredBelow& from, DeliveryResult& result) {
  result.o_ids.fill(0);
  prefetch_delivery<B>(txn, tables, input, from);
  for (std::uint32_t d = 1; d <= tables.scale.districts; ++d) {
    FOEDUS_CHECK(deliver_district<B>(txn, tables, input, d, from[d - 1], result.o_ids[d - 1]));
  }
  return {};
}

}  // namespace experiments::tpcc
