#pragma once
// Payment (clause 2.5.2): a customer pays; warehouse and district take note. Light and frequent.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "experiments/tpcc/inputs.h"
#include "experiments/tpcc/tables.h"
#include "experiments/tpcc/transactions/customer_lookup.h"

namespace experiments::tpcc {

// What the terminal displays (clause 2.5.3.3): all columns were read.
struct PaymentResult {
  std::uint32_t c_id;
  WarehouseRow warehouse;
  DistrictRow district;
  CustomerRow customer;
};

// C_DATA of a customer with bad credit gets the payment in front; what no longer fits falls off.
inline void note_bad_credit(const PaymentInput& input, std::uint32_t c, CustomerDataRow& row) {
  char note[128];
  const int length =
      std::snprintf(note, sizeof(note), "%u %u %u %u %u %d.%02d|", c, input.customer.d,
                    input.customer.w, input.d, input.w, input.amount / 100, input.amount % 100);
  const auto bytes = static_cast<std::size_t>(length);
  std::memmove(row.data + bytes, row.data, sizeof(row.data) - bytes);
  std::memcpy(row.data, note, bytes);
}

// H_DATA: W_NAME, four spaces, D_NAME.
inline void make_history_data(const WarehouseRow& warehouse, const DistrictRow& district,
                              char (&out)[24]) {
  constexpr std::string_view kBetween = "    ";
  const std::string_view w_name = text_of(warehouse.name);
  const std::string_view d_name = text_of(district.name);
  char* end = out;
  for (const std::string_view part : {w_name, kBetween, d_name}) {
    std::memcpy(end, part.data(), part.size());
    end += part.size();
  }
}

template <Backend B>
foedus::Status append_history(typename B::Txn& txn, const Tables<B>& tables, std::uint32_t worker,
                              std::uint64_t number, const HistoryRow& row) {
  if (tables.storage == StorageChoice::kMixed) return txn.append(tables.history, payload_of(row));
  return txn.insert(tables.history, history_key(worker, number), payload_of(row));
}

template <Backend B>
foedus::Status pay_customer(typename B::Txn& txn, const Tables<B>& tables,
                            const PaymentInput& input, PaymentResult& result) {
  const CustomerChoice& choice = input.customer;
  FOEDUS_CHECK(find_customer<B>(txn, tables, choice, result.c_id));
  const PackedKey key = customer_key(tables.scale, choice.w, choice.d, result.c_id);
  CustomerRow& customer = result.customer;
  FOEDUS_CHECK(must_exist(txn.get(tables.customer, key, bytes_of(customer)), "the customer"));
  customer.account.balance -= input.amount;
  customer.account.ytd_payment += input.amount;
  ++customer.account.payment_cnt;
  FOEDUS_CHECK(txn.write_at(tables.customer, key, offsetof(CustomerRow, account),
                            payload_of(customer.account)));
  if (std::memcmp(customer.terms.credit, "BC", 2) != 0) return {};
  CustomerDataRow data;
  FOEDUS_CHECK(must_exist(txn.get(tables.customer_data, key, bytes_of(data)), "C_DATA"));
  note_bad_credit(input, result.c_id, data);
  return txn.put(tables.customer_data, key, payload_of(data));
}

template <Backend B>
foedus::Status payment(typename B::Txn& txn, const Tables<B>& tables, const PaymentInput& input,
                       PaymentResult& result) {
  const CustomerChoice& choice = input.customer;
  prefetch_customer<B>(txn, tables, choice);

  const PackedKey w_key = warehouse_key(input.w);
  WarehouseRow& warehouse = result.warehouse;
  FOEDUS_CHECK(must_exist(txn.get(tables.warehouse, w_key, bytes_of(warehouse)), "the warehouse"));
  prefetch_customer<B>(txn, tables, choice);  // by name: one step further
  warehouse.ytd += input.amount;
  FOEDUS_CHECK(txn.write_at(tables.warehouse, w_key, offsetof(WarehouseRow, ytd),
                            payload_of(warehouse.ytd)));

  const PackedKey d_key = district_key(tables.scale, input.w, input.d);
  DistrictRow& district = result.district;
  FOEDUS_CHECK(must_exist(txn.get(tables.district, d_key, bytes_of(district)), "the district"));
  district.ytd += input.amount;
  FOEDUS_CHECK(
      txn.write_at(tables.district, d_key, offsetof(DistrictRow, ytd), payload_of(district.ytd)));

  FOEDUS_CHECK(pay_customer<B>(txn, tables, input, result));

  HistoryRow history{};
  history.date = input.date;
  history.amount = input.amount;
  history.c_id = result.c_id;
  history.c_w_id = static_cast<std::uint16_t>(choice.w);
  history.c_d_id = static_cast<std::uint8_t>(choice.d);
  history.w_id = static_cast<std::uint16_t>(input.w);
  history.d_id = static_cast<std::uint8_t>(input.d);
  make_history_data(warehouse, district, history.data);
  return append_history<B>(txn, tables, input.worker, input.history_number, history);
}

}  // namespace experiments::tpcc
