#pragma once
// Tables of a TPC-C database in a store, the row that says what was loaded, typed access to rows.

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "experiments/common/backend.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"
#include "experiments/tpcc/scale.h"

namespace experiments::tpcc {

enum class StorageChoice : std::uint32_t {
  kMixed = 0,  // arrays where the rows are known from the start, append-only history, else ordered
  kOrdered = 1,  // ordered tables only
};

// What the load left behind. A load that did not come to its end stays kLoading and is refused.
struct LoadRow {
  static constexpr std::uint64_t kMagic = 0x3163637074736466;  // "fdstpcc1"
  enum State : std::uint32_t { kLoading = 1, kLoaded = 2 };

  std::uint64_t magic;
  std::uint64_t data_bytes;  // keys and rows of all tables and indexes, as loaded
  std::uint32_t state;
  StorageChoice storage;
  std::uint32_t last_name_constant;  // C of NURand for C_LAST
  Scale scale;
};
static_assert(std::has_unique_object_representations_v<LoadRow> && sizeof(LoadRow) == 48);

inline constexpr std::string_view kLoadKey = "load";

template <Backend B>
struct Tables {
  using Table = typename B::Table;

  Scale scale;
  StorageChoice storage = StorageChoice::kMixed;
  Table warehouse;
  Table district;
  Table customer;
  Table customer_data;
  Table item;
  Table stock;
  Table history;
  Table orders;
  Table new_order;
  Table order_line;
  Table customer_by_name;   // NameKey, no row
  Table order_by_customer;  // order_by_customer_key(), no row
};

// The table that holds the LoadRow; it is there before the scale is known.
template <Backend B>
foedus::Result<typename B::Table> open_load_table(B& backend) {
  return backend.open_table({.name = "tpcc_load", .kind = TableKind::kOrdered});
}

template <Backend B>
foedus::Result<Tables<B>> open_tables(B& backend, const Scale& scale, StorageChoice storage) {
  const bool is_mixed = storage == StorageChoice::kMixed;
  const std::uint64_t districts = std::uint64_t{scale.warehouses} * scale.districts;
  const std::uint64_t customers = districts * scale.customers_per_district;
  const auto fixed = [&](const char* name, std::uint64_t records, std::size_t row_bytes) {
    TableSpec spec{.name = name, .kind = TableKind::kOrdered, .records = records};
    if (is_mixed) {
      spec.kind = TableKind::kArray;
      spec.row_bytes = static_cast<std::uint32_t>(row_bytes);
    }
    return backend.open_table(spec);
  };
  const auto growing = [&](const char* name, TableKind kind = TableKind::kOrdered) {
    return backend.open_table({.name = name, .kind = kind});
  };
  Tables<B> tables{};
  tables.scale = scale;
  tables.storage = storage;
  FOEDUS_TRY(tables.warehouse, fixed("warehouse", scale.warehouses, sizeof(WarehouseRow)));
  FOEDUS_TRY(tables.district, fixed("district", districts, sizeof(DistrictRow)));
  FOEDUS_TRY(tables.customer, fixed("customer", customers, sizeof(CustomerRow)));
  FOEDUS_TRY(tables.customer_data, fixed("customer_data", customers, sizeof(CustomerDataRow)));
  // One item more than there are: the unused id that one new-order in a hundred asks for.
  FOEDUS_TRY(tables.item, fixed("item", std::uint64_t{scale.items} + 1, sizeof(ItemRow)));
  FOEDUS_TRY(tables.stock,
             fixed("stock", std::uint64_t{scale.warehouses} * scale.items, sizeof(StockRow)));
  FOEDUS_TRY(tables.history,
             growing("history", is_mixed ? TableKind::kAppend : TableKind::kOrdered));
  FOEDUS_TRY(tables.orders, growing("orders"));
  FOEDUS_TRY(tables.new_order, growing("new_order"));
  FOEDUS_TRY(tables.order_line, growing("order_line"));
  FOEDUS_TRY(tables.customer_by_name, growing("customer_by_name"));
  FOEDUS_TRY(tables.order_by_customer, growing("order_by_customer"));
  return tables;
}

// ---- typed access

template <typename Row>
requires std::is_trivially_copyable_v<Row> std::span<std::byte> bytes_of(Row& row) {
  return std::as_writable_bytes(std::span<Row, 1>(&row, 1));
}

template <typename Row>
requires std::is_trivially_copyable_v<Row> std::string_view payload_of(const Row& row) {
  return {reinterpret_cast<const char*>(&row), sizeof(Row)};
}

template <typename Row>
foedus::Status row_from(std::string_view payload, Row& row) {
  if (payload.size() != sizeof(Row)) {
    return failed(foedus::ErrorCode::kCorruption, "a scanned row of %zu bytes, not %zu",
                  payload.size(), sizeof(Row));
  }
  std::memcpy(&row, payload.data(), sizeof(Row));
  return {};
}

// A row that must be there: its absence is a fault of the store or of the load.
inline foedus::Status must_exist(foedus::Status status, const char* what) {
  if (status.code() != foedus::ErrorCode::kNotFound) return status;
  return failed(foedus::ErrorCode::kCorruption, "%s is missing", what);
}

}  // namespace experiments::tpcc
