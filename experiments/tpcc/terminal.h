#pragma once
// Terminal: one worker. Draws transactions from its deck for its home warehouses and runs them.

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "experiments/tpcc/acks.h"
#include "experiments/tpcc/deck.h"
#include "experiments/tpcc/inputs.h"
#include "experiments/tpcc/tables.h"
#include "experiments/tpcc/transactions/delivery.h"
#include "experiments/tpcc/transactions/new_order.h"
#include "experiments/tpcc/transactions/order_status.h"
#include "experiments/tpcc/transactions/payment.h"
#include "experiments/tpcc/transactions/stock_level.h"

namespace experiments::tpcc {

inline std::uint64_t date_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

// Worker i of N has the warehouses i + 1, i + 1 + N, ...; with fewer warehouses they are shared.
inline std::vector<std::uint32_t> home_warehouses(std::uint32_t worker, std::uint32_t workers,
                                                  std::uint32_t warehouses) {
  std::vector<std::uint32_t> homes;
  for (std::uint32_t w = worker + 1; w <= warehouses; w += workers) homes.push_back(w);
  if (homes.empty()) homes.push_back(worker % warehouses + 1);
  return homes;
}

template <Backend B>
class Terminal {
 public:
  Terminal(typename B::Worker worker, const Tables<B>& tables, const InputSource& source,
           const Mix& mix, Random random, std::vector<std::uint32_t> homes, std::uint32_t number)
      : worker_(std::move(worker)),
        tables_(tables),
        source_(source),
        deck_(mix),
        random_(random),
        homes_(std::move(homes)),
        delivered_below_(homes_.size()),
        history_worker_(number + 1) {
    for (DeliveredBelow& below : delivered_below_) below.fill(0);
  }

  // Continues the numbers of history rows where a run before has left them.
  foedus::Status prepare() {
    if (tables_.storage == StorageChoice::kMixed) return {};
    const PackedKey low = history_key(history_worker_, 0);
    const PackedKey high = history_key(history_worker_ + 1, 0);
    const auto read_last = [&](typename B::Txn& txn) -> foedus::Status {
      history_number_ = 0;
      return txn.scan(tables_.history,
                      {.low = low.bytes(), .high = high.bytes(), .limit = 1, .reverse = true},
                      [&](std::string_view key, std::string_view) {
                        history_number_ = number_of_history(key);
                        return false;
                      });
    };
    return worker_.read_only(read_last);
  }

  TxnType draw() { return deck_.draw(random_); }

  // Status::rolled_back(): the new-order that asks for an unused item; part of the mix.
  [[gnu::noinline]] foedus::Status run(TxnType type) {
    const std::size_t home = homes_.size() == 1 ? 0 : random_.uniform(0, homes_.size() - 1);
    const std::uint32_t w = homes_[home];
    switch (type) {
      case TxnType::kNewOrder:
        return run_new_order(w);
      case TxnType::kPayment:
        return run_payment(w);
      case TxnType::kOrderStatus:
        return run_order_status(w);
      case TxnType::kDelivery:
        return run_delivery(w, delivered_below_[home]);
      case TxnType::kStockLevel:
        return run_stock_level(w);
    }
    return foedus::ErrorCode::kInvalidArgument;
  }

  // Of the last new-order, if it committed.
  const Ack& last_order() const { return last_order_; }
  typename B::Worker& worker() { return worker_; }

 private:
  // tools/instructions finds what each kind takes by the names of these functions and of run().
  [[gnu::noinline]] foedus::Status run_new_order(std::uint32_t w) {
    const NewOrderInput input = source_.new_order(random_, w, date_now());
    FOEDUS_CHECK(worker_.transact(
        [&](typename B::Txn& txn) { return new_order<B>(txn, tables_, input, new_order_); }));
    last_order_ = {w, input.d, new_order_.o_id, new_order_.total, input.line_count};
    return {};
  }

  [[gnu::noinline]] foedus::Status run_payment(std::uint32_t w) {
    PaymentInput input = source_.payment(random_, w, date_now());
    input.worker = history_worker_;
    input.history_number = ++history_number_;
    return worker_.transact(
        [&](typename B::Txn& txn) { return payment<B>(txn, tables_, input, payment_); });
  }

  [[gnu::noinline]] foedus::Status run_order_status(std::uint32_t w) {
    const OrderStatusInput input = source_.order_status(random_, w);
    return worker_.read_only([&](typename B::Txn& txn) {
      return order_status<B>(txn, tables_, input, order_status_);
    });
  }

  [[gnu::noinline]] foedus::Status run_delivery(std::uint32_t w, DeliveredBelow& below) {
    const DeliveryInput input = source_.delivery(random_, w, date_now());
    FOEDUS_CHECK(worker_.transact(
        [&](typename B::Txn& txn) { return delivery<B>(txn, tables_, input, below, delivery_); }));
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (delivery_.o_ids[i] != 0) below[i] = delivery_.o_ids[i] + 1;
    }
    return {};
  }

  [[gnu::noinline]] foedus::Status run_stock_level(std::uint32_t w) {
    const StockLevelInput input = source_.stock_level(random_, w);
    return worker_.read_only(
        [&](typename B::Txn& txn) { return stock_level<B>(txn, tables_, input, low_stocks_); });
  }

  typename B::Worker worker_;
  const Tables<B>& tables_;
  const InputSource& source_;
  Deck deck_;
  Random random_;
  const std::vector<std::uint32_t> homes_;
  std::vector<DeliveredBelow> delivered_below_;  // by home
  const std::uint32_t history_worker_;           // 0 is the load's
  std::uint64_t history_number_ = 0;
  Ack last_order_{};

  // What the terminal would display: rows are copied here, not onto the stack of each call.
  NewOrderResult new_order_{};
  PaymentResult payment_{};
  OrderStatusResult order_status_{};
  DeliveryResult delivery_{};
  std::uint32_t low_stocks_ = 0;
};

}  // namespace experiments::tpcc
