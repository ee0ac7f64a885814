#pragma once
// Rows of the nine tables (clause 1.3), with the column sizes of the specification.
//
//  - No padding: `unused` bytes are named and zero, so equal rows have equal bytes.
//  - Money is integer cents; taxes and discounts are 1/10,000. No floating point is stored.
//  - What transactions write lies first and together, as a struct of its own, so that a write and
//    its log record cover those bytes only.
//  - A column of the primary key is in the key and not repeated in the row.
//  - Text is padded with zero bytes. A date is microseconds since 1970; 0 is null.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace experiments::tpcc {

struct Address {
  char street_1[20];
  char street_2[20];
  char city[20];
  char state[2];
  char zip[9];
};

struct WarehouseRow {
  std::int64_t ytd;
  std::int32_t tax;
  char name[10];
  Address address;
  char unused[3];
};

// What new-order asks of a district.
struct DistrictOrdering {
  std::uint32_t next_o_id;
  std::int32_t tax;
};

struct DistrictRow {
  std::int64_t ytd;
  DistrictOrdering ordering;
  char name[10];
  Address address;
  char unused[7];
};

// What payment and delivery change.
struct CustomerAccount {
  std::int64_t balance;
  std::int64_t ytd_payment;
  std::uint32_t payment_cnt;
  std::uint32_t delivery_cnt;
};

// What new-order asks of a customer.
struct CustomerTerms {
  std::int32_t discount;
  char credit[2];
  char middle[2];
  char last[16];
};

struct CustomerRow {
  CustomerAccount account;
  CustomerTerms terms;
  std::int64_t credit_lim;
  std::uint64_t since;
  char first[16];
  Address address;
  char phone[16];
  char unused[1];
};

// C_DATA has a table of its own: one payment in ten touches it, and it would spread the rest of the
// customers over three times as many pages (clause 1.4.8 allows the vertical partitioning).
struct CustomerDataRow {
  char data[500];
};

struct ItemRow {
  std::int32_t price;  // never 0 in an item that exists
  std::uint32_t im_id;
  char name[24];
  char data[50];
  char unused[2];
};

// What new-order changes.
struct StockLevel {
  std::int32_t quantity;
  std::uint32_t ytd;
  std::uint32_t order_cnt;
  std::uint32_t remote_cnt;
};

inline constexpr std::uint32_t kDistTexts = 10;  // S_DIST_01 .. S_DIST_10

struct StockRow {
  StockLevel level;
  char dist[kDistTexts][24];
  char data[50];
  char unused[2];
};

struct HistoryRow {
  std::uint64_t date;
  std::int32_t amount;
  std::uint32_t c_id;
  std::uint16_t c_w_id;
  std::uint16_t w_id;
  std::uint8_t c_d_id;
  std::uint8_t d_id;
  char data[24];
  char unused[2];
};

struct OrderRow {
  std::uint64_t entry_d;
  std::uint32_t c_id;
  std::uint8_t carrier_id;  // 0: null, not yet delivered
  std::uint8_t ol_cnt;
  std::uint8_t all_local;
  char unused[1];
};

struct OrderLineRow {
  std::uint64_t delivery_d;
  std::uint32_t i_id;
  std::int32_t amount;
  std::uint16_t supply_w_id;
  std::uint8_t quantity;
  char dist_info[24];
  char unused[5];
};

// A new-order row is its key.

template <typename Row, std::size_t kBytes>
inline constexpr bool kIsRow =
    sizeof(Row) ==
    kBytes&& std::is_trivially_copyable_v<Row>&& std::has_unique_object_representations_v<Row>;
static_assert(kIsRow<WarehouseRow, 96>);
static_assert(kIsRow<DistrictRow, 104>);
static_assert(kIsRow<CustomerRow, 168>);
static_assert(kIsRow<CustomerDataRow, 500>);
static_assert(kIsRow<ItemRow, 84>);
static_assert(kIsRow<StockRow, 308>);
static_assert(kIsRow<HistoryRow, 48>);
static_assert(kIsRow<OrderRow, 16>);
static_assert(kIsRow<OrderLineRow, 48>);
static_assert(kIsRow<CustomerAccount, 24> && kIsRow<CustomerTerms, 24> && kIsRow<StockLevel, 16>);

}  // namespace experiments::tpcc
