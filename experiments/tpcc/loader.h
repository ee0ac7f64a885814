#pragma once
// The initial population (clause 4.3.3.1), by any number of threads. Work is cut into units; a
// unit's rows depend on the seed and the unit only, so the database is the same whatever the number
// of threads.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "experiments/common/options.h"
#include "experiments/common/progress.h"
#include "experiments/common/worker_threads.h"
#include "experiments/tpcc/batch.h"
#include "experiments/tpcc/random_text.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

inline constexpr std::int32_t kFirstPayment = 10'00;  // H_AMOUNT, C_YTD_PAYMENT and -C_BALANCE

inline void fill_address(Random& random, Address& address) {
  make_text(random, 10, 20, address.street_1);
  make_text(random, 10, 20, address.street_2);
  make_text(random, 10, 20, address.city);
  make_text(random, 2, 2, address.state);
  make_zip(random, address.zip);
}

// The rows of one unit of work. Each function is one table, or tables that go together.
template <Backend B>
class UnitLoader {
 public:
  UnitLoader(const Tables<B>& tables, std::uint32_t last_name_constant, std::uint64_t now,
             LoadBatch<B>& batch)
      : tables_(tables),
        scale_(tables.scale),
        last_name_constant_(last_name_constant),
        now_(now),
        batch_(batch) {}

  foedus::Status items(std::uint32_t low, std::uint32_t high) {
    return batch_.rows(low, high, 1000, [&](std::uint32_t i) {
      ItemRow row{};
      row.price = static_cast<std::int32_t>(random().uniform(1'00, 100'00));
      row.im_id = static_cast<std::uint32_t>(random().uniform(1, 10'000));
      make_text(random(), 14, 24, row.name);
      make_item_data(random(), row.data);
      return batch_.place(tables_.item, item_key(i), row);
    });
  }

  foedus::Status stocks(std::uint32_t w, std::uint32_t low, std::uint32_t high) {
    return batch_.rows(low, high, 1000, [&](std::uint32_t i) {
      StockRow row{};
      row.level.quantity = static_cast<std::int32_t>(random().uniform(10, 100));
      for (auto& dist : row.dist) make_text(random(), sizeof(dist), sizeof(dist), dist);
      make_item_data(random(), row.data);
      return batch_.place(tables_.stock, stock_key(scale_, w, i), row);
    });
  }

  // W_YTD and D_YTD are the sums of the first payments of their customers: 300,000 and 30,000.
  foedus::Status warehouse(std::uint32_t w) {
    FOEDUS_CHECK(batch_.rows(w, w, 1, [&](std::uint32_t) {
      WarehouseRow row{};
      row.ytd = std::int64_t{kFirstPayment} * scale_.customers_per_district * scale_.districts;
      row.tax = static_cast<std::int32_t>(random().uniform(0, 2000));
      make_text(random(), 6, 10, row.name);
      fill_address(random(), row.address);
      return batch_.place(tables_.warehouse, warehouse_key(w), row);
    }));
    return batch_.rows(1, scale_.districts, scale_.districts, [&](std::uint32_t d) {
      DistrictRow row{};
      row.ytd = std::int64_t{kFirstPayment} * scale_.customers_per_district;
      row.ordering.next_o_id = scale_.orders + 1;
      row.ordering.tax = static_cast<std::int32_t>(random().uniform(0, 2000));
      make_text(random(), 6, 10, row.name);
      fill_address(random(), row.address);
      return batch_.place(tables_.district, district_key(scale_, w, d), row);
    });
  }

  foedus::Status customers(std::uint32_t w, std::uint32_t d) {
    return batch_.rows(1, scale_.customers_per_district, 500,
                       [&](std::uint32_t c) { return customer(w, d, c); });
  }

  foedus::Status orders(std::uint32_t w, std::uint32_t d) {
    std::vector<std::uint32_t> customer_ids(scale_.customers_per_district);
    std::iota(customer_ids.begin(), customer_ids.end(), 1u);
    for (std::size_t i = customer_ids.size() - 1; i > 0; --i) {
      std::swap(customer_ids[i], customer_ids[random().uniform(0, i)]);
    }
    return batch_.rows(1, scale_.orders, 100,
                       [&](std::uint32_t o) { return order(w, d, o, customer_ids[o - 1]); });
  }

 private:
  Random& random() { return batch_.random(); }

  foedus::Status customer(std::uint32_t w, std::uint32_t d, std::uint32_t c) {
    CustomerRow row{};
    const std::uint32_t name =
        c <= scale_.last_names()
            ? c - 1
            : nurand(random(), kNurandLastName, last_name_constant_, 0, scale_.last_names() - 1);
    make_last_name(name, row.terms.last);
    std::memcpy(row.terms.middle, "OE", 2);
    make_text(random(), 8, 16, row.first);
    fill_address(random(), row.address);
    make_digits(random(), row.phone);
    row.since = now_;
    std::memcpy(row.terms.credit, random().percent(10) ? "BC" : "GC", 2);
    row.credit_lim = 50'000'00;
    row.terms.discount = static_cast<std::int32_t>(random().uniform(0, 5000));
    row.account = {.balance = -kFirstPayment,
                   .ytd_payment = kFirstPayment,
                   .payment_cnt = 1,
                   .delivery_cnt = 0};
    const PackedKey key = customer_key(scale_, w, d, c);
    FOEDUS_CHECK(batch_.place(tables_.customer, key, row));
    CustomerDataRow data;
    make_text(random(), 300, 500, data.data);
    FOEDUS_CHECK(batch_.place(tables_.customer_data, key, data));
    FOEDUS_CHECK(batch_.insert(tables_.customer_by_name,
                               NameKey::of(w, d, text_of(row.terms.last), text_of(row.first), c),
                               {}));

    HistoryRow history{};
    history.date = now_;
    history.amount = kFirstPayment;
    history.c_id = c;
    history.c_w_id = history.w_id = static_cast<std::uint16_t>(w);
    history.c_d_id = history.d_id = static_cast<std::uint8_t>(d);
    make_text(random(), 12, 24, history.data);
    return batch_.append_history(customer_index(scale_, w, d, c), history);
  }

  foedus::Status order(std::uint32_t w, std::uint32_t d, std::uint32_t o, std::uint32_t c) {
    const bool is_delivered = o <= scale_.orders - scale_.new_orders();
    OrderRow row{};
    row.entry_d = now_;
    row.c_id = c;
    row.ol_cnt = static_cast<std::uint8_t>(random().uniform(5, 15));
    row.all_local = 1;
    if (is_delivered) row.carrier_id = static_cast<std::uint8_t>(random().uniform(1, 10));
    FOEDUS_CHECK(batch_.insert(tables_.orders, order_key(w, d, o), payload_of(row)));
    FOEDUS_CHECK(batch_.insert(tables_.order_by_customer, order_by_customer_key(w, d, c, o), {}));
    if (!is_delivered) FOEDUS_CHECK(batch_.insert(tables_.new_order, order_key(w, d, o), {}));
    for (std::uint32_t number = 1; number <= row.ol_cnt; ++number) {
      OrderLineRow line{};
      line.i_id = static_cast<std::uint32_t>(random().uniform(1, scale_.items));
      line.supply_w_id = static_cast<std::uint16_t>(w);
      line.quantity = 5;
      line.delivery_d = is_delivered ? now_ : 0;
      line.amount = is_delivered ? 0 : static_cast<std::int32_t>(random().uniform(1, 9999'99));
      make_text(random(), sizeof(line.dist_info), sizeof(line.dist_info), line.dist_info);
      FOEDUS_CHECK(
          batch_.insert(tables_.order_line, order_line_key(w, d, o, number), payload_of(line)));
    }
    return {};
  }

  const Tables<B>& tables_;
  const Scale& scale_;
  const std::uint32_t last_name_constant_;
  const std::uint64_t now_;
  LoadBatch<B>& batch_;
};

// A unit of the load: a run of items, or of a warehouse's stocks, or a district, or a warehouse.
struct LoadUnit {
  enum class Kind { kItems, kStocks, kWarehouse, kCustomers, kOrders } kind;
  std::uint32_t w;
  std::uint32_t low;   // first item or stock; district
  std::uint32_t high;  // last item or stock
};

inline std::vector<LoadUnit> load_units(const Scale& scale) {
  constexpr std::uint32_t kRowsPerUnit = 10'000;
  std::vector<LoadUnit> units;
  const auto cut = [&](LoadUnit::Kind kind, std::uint32_t w) {
    for (std::uint32_t low = 1; low <= scale.items; low += kRowsPerUnit) {
      units.push_back({kind, w, low, std::min(low + kRowsPerUnit - 1, scale.items)});
    }
  };
  cut(LoadUnit::Kind::kItems, 0);
  for (std::uint32_t w = 1; w <= scale.warehouses; ++w) {
    units.push_back({LoadUnit::Kind::kWarehouse, w, 0, 0});
    cut(LoadUnit::Kind::kStocks, w);
    for (std::uint32_t d = 1; d <= scale.districts; ++d) {
      units.push_back({LoadUnit::Kind::kCustomers, w, d, d});
      units.push_back({LoadUnit::Kind::kOrders, w, d, d});
    }
  }
  return units;
}

template <Backend B>
foedus::Status load_unit(UnitLoader<B>& loader, const LoadUnit& unit) {
  switch (unit.kind) {
    case LoadUnit::Kind::kItems:
      return loader.items(unit.low, unit.high);
    case LoadUnit::Kind::kStocks:
      return loader.stocks(unit.w, unit.low, unit.high);
    case LoadUnit::Kind::kWarehouse:
      return loader.warehouse(unit.w);
    case LoadUnit::Kind::kCustomers:
      return loader.customers(unit.w, unit.low);
    case LoadUnit::Kind::kOrders:
      return loader.orders(unit.w, unit.low);
  }
  return foedus::ErrorCode::kInvalidArgument;
}

// Deals out the units of a load to its workers.
class LoadUnits {
 public:
  // `by_home`: the units of a warehouse go to the worker that has it as its home in the run, so
  // that its pages are where that worker is. Else each worker takes the next one.
  LoadUnits(const Scale& scale, std::uint32_t workers, bool by_home)
      : units_(load_units(scale)), workers_(workers), by_home_(by_home) {}

  std::size_t size() const { return units_.size(); }
  const LoadUnit& operator[](std::size_t index) const { return units_[index]; }
  // Returns the index of the worker's next unit after `last`, which is ~0 at first; size() if there
  // is none.
  std::size_t next(std::uint32_t worker, std::size_t last) {
    // order: each unit is taken once; nothing else is handed over.
    if (!by_home_) return std::min(next_.fetch_add(1, std::memory_order_relaxed), size());
    std::size_t index = last + 1;
    while (index < size() && !is_at_home(units_[index], worker)) ++index;
    return index;
  }

 private:
  // As home_warehouses(); the items go to the last worker.
  bool is_at_home(const LoadUnit& unit, std::uint32_t worker) const {
    return (unit.w + workers_ - 1) % workers_ == worker;
  }

  const std::vector<LoadUnit> units_;
  const std::uint32_t workers_;
  const bool by_home_;
  std::atomic<std::size_t> next_{0};
};

// Loads everything and returns the bytes of keys and rows. REQUIRES: the tables are empty.
template <Backend B>
foedus::Result<std::uint64_t> load_tables(B& backend, const Tables<B>& tables,
                                          std::uint32_t last_name_constant, std::uint64_t seed,
                                          std::uint64_t now, std::uint32_t threads) {
  LoadUnits units(tables.scale, threads, FLAGS_bind);
  std::atomic<std::uint64_t> data_bytes{0};
  Progress progress("load", units.size());
  const auto load_some = [&](std::uint32_t number) -> foedus::Status {
    FOEDUS_TRY(typename B::Worker worker, backend.new_worker());
    for (std::size_t index = ~std::size_t{0};;) {
      index = units.next(number, index);
      if (index >= units.size()) return {};
      LoadBatch<B> batch(worker, tables, Random(seed, index));
      UnitLoader<B> loader(tables, last_name_constant, now, batch);
      FOEDUS_CHECK(load_unit<B>(loader, units[index]));
      data_bytes.fetch_add(batch.data_bytes(), std::memory_order_relaxed);  // order: a sum
      progress.add(1);
    }
  };
  FOEDUS_CHECK(run_workers(threads, load_some));
  FOEDUS_CHECK(backend.wait_durable());
  return data_bytes.load();
}

}  // namespace experiments::tpcc
