#pragma once
// The consistency conditions of one district, each with the row that violates it in the message.

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/tpcc/history_sums.h"
#include "experiments/tpcc/quiet_scan.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

// The conditions of one district. Rows are read once, in the order of their keys.
template <Backend B>
class DistrictCheck {
 public:
  DistrictCheck(typename B::Worker& worker, const Tables<B>& tables, const HistorySums& history,
                std::uint32_t w, std::uint32_t d)
      : worker_(worker), tables_(tables), history_(history), w_(w), d_(d) {}

  // Returns D_YTD, for conditions 1 and 8 of the warehouse.
  foedus::Result<std::int64_t> run() {
    delivered_.assign(tables_.scale.customers_per_district + 1, 0);
    FOEDUS_CHECK(read_new_orders());
    FOEDUS_CHECK(read_orders());
    FOEDUS_CHECK(read_lines());
    FOEDUS_CHECK(read_customers());
    FOEDUS_CHECK(check_indexes());
    DistrictRow row;
    const auto read_district = [&](typename B::Txn& txn) -> foedus::Status {
      const PackedKey key = district_key(tables_.scale, w_, d_);
      return must_exist(txn.get(tables_.district, key, bytes_of(row)), "a district");
    };
    FOEDUS_CHECK(worker_.read_only(read_district));
    FOEDUS_CHECK(check_district(row));
    return row.ytd;
  }

 private:
  struct Order {
    std::uint32_t c_id;
    std::uint8_t ol_cnt;
    std::uint8_t lines;
    bool is_delivered;
  };

  [[gnu::format(printf, 3, 4)]] foedus::Status violated(const char* condition, const char* format,
                                                        ...) const {
    std::va_list arguments;
    va_start(arguments, format);
    const std::string detail = vtext(format, arguments);
    va_end(arguments);
    return failed(foedus::ErrorCode::kCorruption, "consistency condition %s, district %u.%u: %s",
                  condition, w_, d_, detail.c_str());
  }

  std::string first_key(std::uint32_t d) const { return std::string(order_key(w_, d, 0).bytes()); }

  template <typename Visit>
  foedus::Status scan(const typename B::Table& table, Visit&& visit) {
    return scan_in_chunks<B>(worker_, table, first_key(d_), first_key(d_ + 1), visit);
  }

  foedus::Status read_new_orders() {
    return scan(tables_.new_order, [&](std::string_view key, std::string_view) -> foedus::Status {
      new_orders_.push_back(order_of(key));
      return {};
    });
  }

  // Condition 5: O_CARRIER_ID is null if and only if there is a new-order row.
  foedus::Status read_orders() {
    std::size_t next_new = 0;
    const auto see_order = [&](std::string_view key, std::string_view payload) -> foedus::Status {
      const std::uint32_t o = order_of(key);
      OrderRow row{};
      FOEDUS_CHECK(row_from(payload, row));
      if (o != orders_.size() + 1) {
        return violated("2", "order %zu is missing", orders_.size() + 1);
      }
      if (row.c_id < 1 || row.c_id > tables_.scale.customers_per_district) {
        return violated("5", "order %u is of customer %u", o, row.c_id);
      }
      const bool is_new = next_new < new_orders_.size() && new_orders_[next_new] == o;
      if (is_new) ++next_new;
      if (is_new != (row.carrier_id == 0)) {
        return violated("5", "order %u has O_CARRIER_ID %u, new-order row: %d", o, row.carrier_id,
                        is_new ? 1 : 0);
      }
      orders_.push_back({row.c_id, row.ol_cnt, 0, row.carrier_id != 0});
      lines_expected_ += row.ol_cnt;
      return {};
    };
    FOEDUS_CHECK(scan(tables_.orders, see_order));
    if (next_new == new_orders_.size()) return {};
    return violated("5", "new-order row %u has no order", new_orders_[next_new]);
  }

  // Conditions 4, 6 and 7, and the amounts for 10 and 12.
  foedus::Status read_lines() {
    std::uint64_t lines = 0;
    const auto see_line = [&](std::string_view key, std::string_view payload) -> foedus::Status {
      const std::uint32_t o = order_of(key);
      OrderLineRow row{};
      FOEDUS_CHECK(row_from(payload, row));
      if (o < 1 || o > orders_.size()) return violated("6", "a line of order %u, not there", o);
      Order& order = orders_[o - 1];
      if (order.is_delivered != (row.delivery_d != 0)) {
        return violated("7", "a line of order %u has OL_DELIVERY_D %llu, order delivered: %d", o,
                        static_cast<unsigned long long>(row.delivery_d),
                        order.is_delivered ? 1 : 0);
      }
      if (order.is_delivered) delivered_[order.c_id] += row.amount;
      ++order.lines;
      ++lines;
      return {};
    };
    FOEDUS_CHECK(scan(tables_.order_line, see_line));
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (orders_[i].lines == orders_[i].ol_cnt) continue;
      return violated("6", "order %zu has %u lines, O_OL_CNT %u", i + 1, orders_[i].lines,
                      orders_[i].ol_cnt);
    }
    if (lines == lines_expected_) return {};
    return violated("4", "sum(O_OL_CNT) is %llu, there are %llu lines",
                    static_cast<unsigned long long>(lines_expected_),
                    static_cast<unsigned long long>(lines));
  }

  // Conditions 10 and 12, and the deliveries for 11.
  foedus::Status read_customers() {
    constexpr std::uint32_t kCustomersPerTxn = 500;
    const Scale& scale = tables_.scale;
    std::vector<CustomerAccount> accounts(scale.customers_per_district + 1);
    for (std::uint32_t first = 1; first <= scale.customers_per_district;
         first += kCustomersPerTxn) {
      const auto end = std::min(first + kCustomersPerTxn, scale.customers_per_district + 1);
      const auto read_some = [&](typename B::Txn& txn) -> foedus::Status {
        for (std::uint32_t c = first; c < end; ++c) {
          FOEDUS_CHECK(
              must_exist(txn.read_at(tables_.customer, customer_key(scale, w_, d_, c),
                                     offsetof(CustomerRow, account), bytes_of(accounts[c])),
                         "a customer"));
        }
        return {};
      };
      FOEDUS_CHECK(worker_.read_only(read_some));
    }
    for (std::uint32_t c = 1; c <= scale.customers_per_district; ++c) {
      FOEDUS_CHECK(check_account(c, accounts[c]));
      deliveries_ += accounts[c].delivery_cnt;
    }
    return {};
  }

  foedus::Status check_account(std::uint32_t c, const CustomerAccount& account) const {
    const auto show = [](std::int64_t cents) { return static_cast<long long>(cents); };
    const std::int64_t paid = history_.by_customer[customer_index(tables_.scale, w_, d_, c)];
    if (account.balance != delivered_[c] - paid) {
      return violated("10", "customer %u: C_BALANCE %lld, delivered %lld - sum(H_AMOUNT) %lld", c,
                      show(account.balance), show(delivered_[c]), show(paid));
    }
    if (account.balance + account.ytd_payment != delivered_[c]) {
      return violated("12", "customer %u: C_BALANCE %lld + C_YTD_PAYMENT %lld, delivered %lld", c,
                      show(account.balance), show(account.ytd_payment), show(delivered_[c]));
    }
    return {};
  }

  // Each order is once in the index by customer, each customer once in that by name.
  foedus::Status check_indexes() {
    std::size_t entries = 0;
    const auto see_entry = [&](std::string_view key, std::string_view) -> foedus::Status {
      const std::uint32_t o = order_of_customer_index(key);
      const std::uint32_t c = static_cast<std::uint32_t>(unpack(key) >> 32) & 0xfff;
      ++entries;
      if (o >= 1 && o <= orders_.size() && orders_[o - 1].c_id == c) return {};
      return violated("(index)", "order_by_customer says order %u of customer %u", o, c);
    };
    const std::string low(order_by_customer_key(w_, d_, 0, 0).bytes());
    const std::string high(order_by_customer_key(w_, d_ + 1, 0, 0).bytes());
    FOEDUS_CHECK(scan_in_chunks<B>(worker_, tables_.order_by_customer, low, high, see_entry));
    if (entries != orders_.size()) {
      return violated("(index)", "%zu entries by customer, %zu orders", entries, orders_.size());
    }

    std::size_t names = 0;
    const auto see_name = [&](std::string_view, std::string_view) -> foedus::Status {
      ++names;
      return {};
    };
    const std::string name_low(NameKey::district(w_, d_).bytes());
    const std::string name_high(NameKey::district(w_, d_ + 1).bytes());
    FOEDUS_CHECK(
        scan_in_chunks<B>(worker_, tables_.customer_by_name, name_low, name_high, see_name));
    if (names == tables_.scale.customers_per_district) return {};
    return violated("(index)", "%zu customers by name", names);
  }

  // Conditions 2, 3, 9 and 11.
  foedus::Status check_district(const DistrictRow& row) const {
    const std::uint32_t next = row.ordering.next_o_id;
    if (next != orders_.size() + 1) {
      return violated("2", "D_NEXT_O_ID %u, max(O_ID) %zu", next, orders_.size());
    }
    if (!new_orders_.empty()) {
      const std::uint32_t oldest = new_orders_.front();
      const std::uint32_t newest = new_orders_.back();
      if (newest != next - 1) return violated("2", "D_NEXT_O_ID %u, max(NO_O_ID) %u", next, newest);
      if (newest - oldest + 1 != new_orders_.size()) {
        return violated("3", "NO_O_ID from %u to %u, but %zu rows", oldest, newest,
                        new_orders_.size());
      }
    }
    const std::int64_t paid = history_.by_district[district_index(tables_.scale, w_, d_)];
    if (row.ytd != paid) {
      return violated("9", "D_YTD %lld, sum(H_AMOUNT) %lld", static_cast<long long>(row.ytd),
                      static_cast<long long>(paid));
    }
    const std::uint64_t loaded = tables_.scale.orders - tables_.scale.new_orders();
    if (orders_.size() - new_orders_.size() != loaded + deliveries_) {
      return violated("11", "%zu orders, %zu new orders, %llu delivered since the load",
                      orders_.size(), new_orders_.size(),
                      static_cast<unsigned long long>(deliveries_));
    }
    return {};
  }

  typename B::Worker& worker_;
  const Tables<B>& tables_;
  const HistorySums& history_;
  const std::uint32_t w_;
  const std::uint32_t d_;
  std::vector<std::uint32_t> new_orders_;  // ids, ascending
  std::vector<Order> orders_;              // by id - 1
  std::vector<std::int64_t> delivered_;    // by customer: sum(OL_AMOUNT) of delivered lines
  std::uint64_t lines_expected_ = 0;
  std::uint64_t deliveries_ = 0;  // sum(C_DELIVERY_CNT)
};

}  // namespace experiments::tpcc
