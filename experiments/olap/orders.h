#pragma once
// Orders with a set number of lines, and the transaction that reads one: order-status of TPC-C
// (clause 2.6), by customer id, over orders that may have hundreds of lines (paper, appendix A).
//
//   customer           array, by customer      balance and name
//   order_by_customer  customer:32 order:32    no row
//   orders             order                   OrderHead
//   order_line         order:48 line:16        OrderLine
//
// Keys are packed into one slice, as those of tpcc. // Each customer has kOrdersPerCustomer orders;
// amounts of lines add up to the total of their order.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/random.h"
#include "experiments/common/text.h"
#include "foedus/key.h"

namespace experiments::olap {

inline constexpr std::uint64_t kOrdersPerCustomer = 3;

struct Customer {
  std::int64_t balance;
  char text[160];
};
struct OrderHead {
  std::uint64_t customer;
  std::uint64_t total;
  std::uint32_t lines;
  std::uint32_t carrier;
};
struct OrderLine {
  std::uint64_t amount;
  std::uint32_t item;
  std::uint32_t quantity;
  char text[32];
};
static_assert(sizeof(Customer) == 168 && sizeof(OrderHead) == 24 && sizeof(OrderLine) == 48);

template <typename Row>
std::string_view payload_of(const Row& row) {
  return {reinterpret_cast<const char*>(&row), sizeof(row)};
}
template <typename Row>
std::span<std::byte> bytes_of(Row& row) {
  return std::as_writable_bytes(std::span<Row, 1>(&row, 1));
}

// What an order-status saw of a customer's last order.
struct OrderStatus {
  std::uint64_t order = 0;
  std::uint64_t lines = 0;
  std::uint64_t amounts = 0;
};

class Orders {
 public:
  static foedus::Result<Orders> open(FoedusBackend& backend, std::uint64_t customers,
                                     std::uint32_t lines) {
    Orders orders;
    orders.customers_ = customers;
    orders.lines_ = lines;
    FOEDUS_TRY(orders.customer_, backend.open_table({.name = "customer",
                                                     .kind = TableKind::kArray,
                                                     .records = customers,
                                                     .row_bytes = sizeof(Customer)}));
    FOEDUS_TRY(orders.by_customer_, backend.open_table({.name = "order_by_customer"}));
    FOEDUS_TRY(orders.orders_, backend.open_table({.name = "orders"}));
    FOEDUS_TRY(orders.order_line_, backend.open_table({.name = "order_line"}));
    return orders;
  }

  std::uint64_t customers() const { return customers_; }

  // One customer in a transaction, with all orders.
  foedus::Status load_customer(FoedusWorker& worker, std::uint64_t customer,
                               std::uint64_t seed) const {
    return worker.transact([&](FoedusTxn& txn) -> foedus::Status {
      Random random(seed, customer);
      Customer row{.balance = -10'00, .text = {}};
      std::memset(row.text, 'c', sizeof(row.text));
      FOEDUS_CHECK(txn.put(customer_, {customer, {}}, payload_of(row)));
      for (std::uint64_t i = 0; i < kOrdersPerCustomer; ++i) {
        // Orders of a customer lie apart, as they come in time.
        FOEDUS_CHECK(load_order(txn, random, customer, i * customers_ + customer));
      }
      return {};
    });
  }

  // The last order of the customer, checked against itself.
  foedus::Status order_status(FoedusTxn& txn, std::uint64_t customer, OrderStatus& seen) const {
    Customer row;
    FOEDUS_CHECK(txn.get(customer_, {customer, {}}, bytes_of(row)));
    const foedus::Key low = by_customer_key(customer, 0);
    const foedus::Key high = by_customer_key(customer + 1, 0);
    seen = {};
    FOEDUS_CHECK(txn.scan(by_customer_, {.low = low, .high = high, .limit = 1, .reverse = true},
                          [&](std::string_view key, std::string_view) {
                            seen.order = order_in(key);
                            return false;
                          }));
    OrderHead head{};
    FOEDUS_CHECK(txn.get(orders_, {0, order_key(seen.order)}, bytes_of(head)));
    const foedus::Key first = line_key(seen.order, 0);
    const foedus::Key end = line_key(seen.order + 1, 0);
    FOEDUS_CHECK(txn.scan(order_line_, {.low = first, .high = end},
                          [&](std::string_view, std::string_view line) {
                            std::uint64_t amount;
                            std::memcpy(&amount, line.data(), sizeof(amount));
                            seen.amounts += amount;
                            ++seen.lines;
                            return true;
                          }));
    if (head.customer == customer && seen.lines == head.lines && head.lines == lines_ &&
        seen.amounts == head.total) {
      return {};
    }
    return failed(
        foedus::ErrorCode::kCorruption,
        "order %llu of customer %llu has %llu lines of %llu, not %u of %llu",
        static_cast<unsigned long long>(seen.order), static_cast<unsigned long long>(customer),
        static_cast<unsigned long long>(seen.lines), static_cast<unsigned long long>(seen.amounts),
        head.lines, static_cast<unsigned long long>(head.total));
  }

 private:
  Orders() = default;

  // Eight bytes, as wide as the keys of the other experiments.
  static foedus::Key order_key(std::uint64_t number) {
    return foedus::key(foedus::big_endian<std::uint64_t>(number));
  }
  static foedus::Key by_customer_key(std::uint64_t customer, std::uint64_t order) {
    return order_key(customer << 32 | order);
  }
  static foedus::Key line_key(std::uint64_t order, std::uint64_t line) {
    return order_key(order << 16 | line);
  }
  static std::uint64_t order_in(std::string_view by_customer) {
    std::uint64_t order = 0;
    for (const char byte : by_customer.substr(sizeof(std::uint32_t))) {
      order = order << 8 | static_cast<std::uint8_t>(byte);
    }
    return order;
  }

  foedus::Status load_order(FoedusTxn& txn, Random& random, std::uint64_t customer,
                            std::uint64_t order) const {
    OrderHead head{customer, 0, lines_, 0};
    for (std::uint32_t i = 0; i < lines_; ++i) {
      OrderLine line{.amount = random.uniform(1, 9999'99),
                     .item = static_cast<std::uint32_t>(random.uniform(1, 100'000)),
                     .quantity = 5,
                     .text = {}};
      std::memset(line.text, 'l', sizeof(line.text));
      head.total += line.amount;
      FOEDUS_CHECK(txn.insert(order_line_, {0, line_key(order, i)}, payload_of(line)));
    }
    FOEDUS_CHECK(txn.insert(orders_, {0, order_key(order)}, payload_of(head)));
    return txn.insert(by_customer_, {0, by_customer_key(customer, order)}, {});
  }

  std::uint64_t customers_ = 0;
  std::uint32_t lines_ = 0;
  FoedusTable customer_;
  FoedusTable by_customer_;
  FoedusTable orders_;
  FoedusTable order_line_;
};

}  // namespace experiments::olap
