#pragma once
// Inputs of the five transactions (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1). They are drawn
// before a transaction begins, so that one that is run again asks for the same.

#include <algorithm>
#include <array>
#include <cstdint>

#include "experiments/tpcc/random_text.h"
#include "experiments/tpcc/scale.h"

namespace experiments::tpcc {

inline constexpr std::uint32_t kLinesMin = 5;
inline constexpr std::uint32_t kLinesMax = 15;

struct NewOrderInput {
  struct Line {
    std::uint32_t i_id;
    std::uint32_t supply_w;
    std::uint32_t quantity;
  };
  std::uint32_t w;
  std::uint32_t d;
  std::uint32_t c;
  std::uint32_t line_count;
  bool is_all_local;
  std::uint64_t entry_d;
  std::array<Line, kLinesMax> lines;
};

// A customer by id, or by last name if `c` is 0.
struct CustomerChoice {
  std::uint32_t w;
  std::uint32_t d;
  std::uint32_t c;
  char last[16];
};

struct PaymentInput {
  std::uint32_t w;
  std::uint32_t d;
  CustomerChoice customer;
  std::int32_t amount;
  std::uint64_t date;
  std::uint32_t worker;  // these two name the history row in a store that needs a key
  std::uint64_t history_number;
};

struct OrderStatusInput {
  CustomerChoice customer;
};

struct DeliveryInput {
  std::uint32_t w;
  std::uint32_t carrier_id;
  std::uint64_t delivery_d;
};

struct StockLevelInput {
  std::uint32_t w;
  std::uint32_t d;
  std::int32_t threshold;
};

class InputSource {
 public:
  // `remote_percent` P: P % of order lines are supplied, and min(15 P, 100) % of payments made, by
  // a customer of, another warehouse. P = 1 is the specification; the paper's figure 7 varies it.
  InputSource(const Scale& scale, const NurandConstants& constants, std::uint32_t remote_percent)
      : scale_(scale),
        constants_(constants),
        remote_percent_(remote_percent),
        remote_payment_percent_(std::min(15 * remote_percent, 100u)) {}

  NewOrderInput new_order(Random& random, std::uint32_t w, std::uint64_t now) const {
    NewOrderInput input;
    input.w = w;
    input.d = district(random);
    input.c = customer(random);
    input.line_count = static_cast<std::uint32_t>(random.uniform(kLinesMin, kLinesMax));
    input.is_all_local = true;
    input.entry_d = now;
    for (std::uint32_t i = 0; i < input.line_count; ++i) {
      NewOrderInput::Line& line = input.lines[i];
      line.i_id = nurand(random, kNurandItem, constants_.item, 1, scale_.items);
      line.supply_w = is_remote(random, remote_percent_) ? other_warehouse(random, w) : w;
      line.quantity = static_cast<std::uint32_t>(random.uniform(1, 10));
      if (line.supply_w != w) input.is_all_local = false;
    }
    if (random.percent(1)) input.lines[input.line_count - 1].i_id = scale_.items + 1;
    return input;
  }

  PaymentInput payment(Random& random, std::uint32_t w, std::uint64_t now) const {
    PaymentInput input{};
    input.w = w;
    input.d = district(random);
    input.customer = choose_customer(random);
    input.customer.w = w;
    input.customer.d = input.d;
    if (is_remote(random, remote_payment_percent_)) {
      input.customer.w = other_warehouse(random, w);
      input.customer.d = district(random);
    }
    input.amount = static_cast<std::int32_t>(random.uniform(1'00, 5000'00));
    input.date = now;
    return input;
  }

  OrderStatusInput order_status(Random& random, std::uint32_t w) const {
    OrderStatusInput input{choose_customer(random)};
    input.customer.w = w;
    input.customer.d = district(random);
    return input;
  }

  DeliveryInput delivery(Random& random, std::uint32_t w, std::uint64_t now) const {
    return {w, static_cast<std::uint32_t>(random.uniform(1, 10)), now};
  }

  StockLevelInput stock_level(Random& random, std::uint32_t w) const {
    return {w, district(random), static_cast<std::int32_t>(random.uniform(10, 20))};
  }

 private:
  std::uint32_t district(Random& random) const {
    return static_cast<std::uint32_t>(random.uniform(1, scale_.districts));
  }
  std::uint32_t customer(Random& random) const {
    return nurand(random, kNurandCustomer, constants_.customer, 1, scale_.customers_per_district);
  }
  CustomerChoice choose_customer(Random& random) const {
    CustomerChoice choice{};
    if (random.percent(60)) {
      make_last_name(
          nurand(random, kNurandLastName, constants_.last_name, 0, scale_.last_names() - 1),
          choice.last);
    } else {
      choice.c = customer(random);
    }
    return choice;
  }
  bool is_remote(Random& random, std::uint32_t percent) const {
    return percent > 0 && scale_.warehouses > 1 && random.percent(percent);
  }
  std::uint32_t other_warehouse(Random& random, std::uint32_t w) const {
    const auto other = static_cast<std::uint32_t>(random.uniform(1, scale_.warehouses - 1));
    return other < w ? other : other + 1;
  }

  const Scale scale_;
  const NurandConstants constants_;
  const std::uint32_t remote_percent_;
  const std::uint32_t remote_payment_percent_;
};

}  // namespace experiments::tpcc
