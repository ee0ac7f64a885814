#pragma once
// Scale: how large a TPC-C database is (clause 1.2 and 4.3). The defaults are those of the
// specification; tests run with less. The limits are those of the packed keys in keys.h.

#include <cstdint>

#include "experiments/common/text.h"
#include "foedus/status.h"

namespace experiments::tpcc {

struct Scale {
  std::uint32_t warehouses = 1;
  std::uint32_t districts = 10;  // per warehouse
  std::uint32_t customers_per_district = 3000;
  std::uint32_t items = 100'000;  // and as many stocks per warehouse
  std::uint32_t orders = 3000;    // per district, as loaded; one customer each

  // The newest 30 % of the loaded orders have not been delivered.
  std::uint32_t new_orders() const { return orders * 3 / 10; }
  // Names that the load gives to the first customers of each district, and that lookups ask for.
  std::uint32_t last_names() const {
    return customers_per_district < 1000 ? customers_per_district : 1000;
  }
  bool operator==(const Scale&) const = default;
};

inline foedus::Status check_scale(const Scale& scale) {
  constexpr std::uint32_t kWarehousesMax = 65'535;  // 16 bits in a key
  constexpr std::uint32_t kDistrictsMax = 10;       // texts in a stock row; 4 bits in a key
  constexpr std::uint32_t kCustomersMax = 4095;     // 12 bits in the key of order_by_customer
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (scale.warehouses < 1 || scale.warehouses > kWarehousesMax) {
    return failed(code, "%u warehouses: must be 1 .. %u", scale.warehouses, kWarehousesMax);
  }
  if (scale.districts < 1 || scale.districts > kDistrictsMax) {
    return failed(code, "%u districts: must be 1 .. %u", scale.districts, kDistrictsMax);
  }
  if (scale.customers_per_district < 1 || scale.customers_per_district > kCustomersMax) {
    return failed(code, "%u customers: must be 1 .. %u", scale.customers_per_district,
                  kCustomersMax);
  }
  if (scale.orders < 1 || scale.orders > scale.customers_per_district) {
    return failed(code, "%u orders: must be 1 .. the number of customers", scale.orders);
  }
  if (scale.items < 1) return failed(code, "there must be items");
  return {};
}

}  // namespace experiments::tpcc
