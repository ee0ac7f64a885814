#pragma once
// A customer by id or by last name: of the n customers of that name, ordered by first name, the one
// at position n/2 rounded up (clauses 2.5.2.2 and 2.6.2.2).

#include <array>
#include <cstdint>
#include <string_view>

#include "experiments/tpcc/inputs.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

template <Backend B>
void prefetch_customer(typename B::Txn& txn, const Tables<B>& tables,
                       const CustomerChoice& choice) {
  if (choice.c != 0) {
    txn.prefetch(tables.customer, customer_key(tables.scale, choice.w, choice.d, choice.c));
  } else {
    txn.prefetch(tables.customer_by_name, NameKey::low(choice.w, choice.d, text_of(choice.last)));
  }
}

template <Backend B>
foedus::Status find_customer(typename B::Txn& txn, const Tables<B>& tables,
                             const CustomerChoice& choice, std::uint32_t& c) {
  c = choice.c;
  if (c != 0) return {};
  const std::string_view last = text_of(choice.last);
  const NameKey low = NameKey::low(choice.w, choice.d, last);
  const NameKey high = NameKey::high(choice.w, choice.d, last);
  // 3 on average, a dozen or two where the load's NURand likes the name.
  std::array<std::uint32_t, 256> ids;
  std::size_t n = 0;
  FOEDUS_CHECK(txn.scan(tables.customer_by_name, {.low = low.bytes(), .high = high.bytes()},
                        [&](std::string_view key, std::string_view) {
                          if (n == ids.size()) return false;
                          ids[n++] = NameKey::customer_of(key);
                          return true;
                        }));
  if (n == 0) {
    return failed(foedus::ErrorCode::kCorruption, "no customer %.*s in warehouse %u district %u",
                  static_cast<int>(last.size()), last.data(), choice.w, choice.d);
  }
  if (n == ids.size()) {
    return failed(foedus::ErrorCode::kCorruption, "%zu customers of one name", n);
  }
  c = ids[(n + 1) / 2 - 1];
  return {};
}

}  // namespace experiments::tpcc
