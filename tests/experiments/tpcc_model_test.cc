// TPC-C over a std::map, without the engine: the transactions keep the database consistent, and the
// checks find each inconsistency.

#include <gflags/gflags.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/experiments/tpcc_contended_backend.h"
#include "tests/experiments/tpcc_tiny.h"

namespace experiments::tpcc::tpcc_model_test {
namespace {

std::string ack_path(const std::string& name) {
  return testing::TempDir() + "tpcc_" + name + "." + std::to_string(getpid()) + ".acks";
}

TEST(TpccModelTest, runs_consistently_with_arrays) {
  ContendedBackend backend;
  run_tiny(backend, StorageChoice::kMixed, ack_path("mixed"));
}

TEST(TpccModelTest, runs_consistently_with_ordered_tables_only) {
  ContendedBackend backend;
  run_tiny(backend, StorageChoice::kOrdered, ack_path("ordered"));
}

TEST(TpccModelTest, load_is_the_same_whatever_the_number_of_threads) {
  ContendedBackend one, many;
  const auto a = populate(one, tiny_scale(), StorageChoice::kOrdered, kTinySeed, 1, 1);
  const auto b = populate(many, tiny_scale(), StorageChoice::kOrdered, kTinySeed, 1, 5);
  ASSERT_TRUE(a.is_ok() && b.is_ok());
  EXPECT_EQ(a->tables.order_line->by_key, b->tables.order_line->by_key);
  EXPECT_EQ(a->tables.customer->by_key, b->tables.customer->by_key);
  EXPECT_EQ(a->load.data_bytes, b->load.data_bytes);
  std::uint64_t bytes = 0;
  for (const ContendedBackend::Table table :
       {b->tables.warehouse, b->tables.district, b->tables.customer, b->tables.customer_data,
        b->tables.item, b->tables.stock, b->tables.history, b->tables.orders, b->tables.new_order,
        b->tables.order_line, b->tables.customer_by_name, b->tables.order_by_customer}) {
    for (const auto& [key, row] : table->by_key) bytes += key.size() + row.size();
  }
  EXPECT_EQ(b->load.data_bytes, bytes);
}

// Goal: each unit is loaded once, whether it goes to the next free worker or to its home worker.
// Method: more, fewer and as many workers as there are warehouses.
TEST(TpccModelTest, load_is_the_same_if_warehouses_are_loaded_at_home) {
  const gflags::FlagSaver saver;
  ContendedBackend dealt;
  const auto a = populate(dealt, tiny_scale(3), StorageChoice::kOrdered, kTinySeed, 1, 2);
  FLAGS_bind = true;
  for (const std::uint32_t workers : {1u, 2u, 3u, 5u}) {
    ContendedBackend at_home;
    const auto b = populate(at_home, tiny_scale(3), StorageChoice::kOrdered, kTinySeed, 1, workers);
    ASSERT_TRUE(a.is_ok() && b.is_ok());
    EXPECT_EQ(a->tables.order_line->by_key, b->tables.order_line->by_key);
    EXPECT_EQ(a->tables.item->by_key, b->tables.item->by_key);
    EXPECT_EQ(a->load.data_bytes, b->load.data_bytes);
    LoadUnits units(tiny_scale(3), workers, true);
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      const std::vector<std::uint32_t> homes = home_warehouses(worker, workers, 3);
      std::size_t index = ~std::size_t{0};
      while ((index = units.next(worker, index)) < units.size()) {
        const std::uint32_t w = units[index].w;
        EXPECT_TRUE(w == 0 || std::ranges::find(homes, w) != homes.end()) << w << ' ' << worker;
      }
    }
  }
}

TEST(TpccModelTest, load_that_was_cut_short_is_refused) {
  ContendedBackend backend;
  auto loaded = load_tiny(backend, StorageChoice::kMixed);
  auto table = open_load_table(backend);
  ASSERT_TRUE(table.is_ok());
  loaded.load.state = LoadRow::kLoading;
  (*table)->by_key[std::string(kLoadKey)] = payload_of(loaded.load);
  EXPECT_EQ(find_population(backend).code(), foedus::ErrorCode::kInvalidArgument);
}

// Lines of one order may be of the same stock, although items are read before the first line is
// entered.
TEST(TpccModelTest, lines_of_one_stock_take_from_it_one_after_the_other) {
  ContendedBackend backend;
  auto population = load_tiny(backend, StorageChoice::kOrdered);
  auto worker = backend.new_worker();
  ASSERT_TRUE(worker.is_ok());
  const auto stock = [&](std::uint32_t i_id) {
    StockRow row;
    const std::string key(stock_key(tiny_scale(), 1, i_id).bytes());
    EXPECT_TRUE(row_from(population.tables.stock->by_key.at(key), row).is_ok());
    return row.level;
  };
  NewOrderInput input{};
  input.w = input.d = input.c = 1;
  input.line_count = 3;
  input.lines[0] = {.i_id = 7, .supply_w = 1, .quantity = 3};
  input.lines[1] = {.i_id = 8, .supply_w = 1, .quantity = 1};
  input.lines[2] = {.i_id = 7, .supply_w = 1, .quantity = 4};
  const auto enter = [&] {
    NewOrderResult result;
    return worker->transact([&](ContendedBackend::Txn& txn) {
      return new_order<ContendedBackend>(txn, population.tables, input, result);
    });
  };
  const StockLevel before = stock(7);
  ASSERT_TRUE(enter().is_ok());
  EXPECT_EQ(stock(7).ytd, before.ytd + 7);
  EXPECT_EQ(stock(7).order_cnt, before.order_cnt + 2);

  input.lines[2].i_id = tiny_scale().items + 1;
  EXPECT_EQ(enter().code(), foedus::ErrorCode::kRolledBack);
  EXPECT_EQ(stock(7).ytd, before.ytd + 7);
}

// Damages one row of a loaded database, and expects that the check names the violated condition.
class TpccDamageTest : public testing::Test {
 protected:
  TpccDamageTest() : population_(load_tiny(backend_, StorageChoice::kOrdered)) {}

  template <typename Row>
  void change(ContendedBackend::Table table, const PackedKey& key,
              const std::function<void(Row&)>& damage) {
    Row row;
    std::string& payload = table->by_key.at(std::string(key.bytes()));
    ASSERT_TRUE(row_from(payload, row).is_ok());
    damage(row);
    payload = payload_of(row);
  }
  void erase(ContendedBackend::Table table, const PackedKey& key) {
    ASSERT_EQ(table->by_key.erase(std::string(key.bytes())), 1u);
  }
  void expect_violated(const std::string& condition) {
    const foedus::Status status = check_consistency(backend_, population_.tables, 1);
    EXPECT_EQ(status.code(), foedus::ErrorCode::kCorruption);
    EXPECT_NE(status.message().find("condition " + condition + ","), std::string::npos)
        << status.message();
  }
  Tables<ContendedBackend>& tables() { return population_.tables; }

  ContendedBackend backend_;
  Population<ContendedBackend> population_;
};

TEST_F(TpccDamageTest, warehouse_ytd_is_condition_1) {
  change<WarehouseRow>(tables().warehouse, warehouse_key(2), [](auto& row) { ++row.ytd; });
  expect_violated("1");
}

TEST_F(TpccDamageTest, next_order_id_is_condition_2) {
  change<DistrictRow>(tables().district, district_key(tiny_scale(), 1, 2),
                      [](auto& row) { ++row.ordering.next_o_id; });
  expect_violated("2");
}

TEST_F(TpccDamageTest, missing_newest_order_is_condition_2) {
  erase(tables().orders, order_key(1, 1, 30));
  erase(tables().new_order, order_key(1, 1, 30));
  for (std::uint32_t ol = 1; ol <= 15; ++ol) {
    tables().order_line->by_key.erase(std::string(order_line_key(1, 1, 30, ol).bytes()));
  }
  for (std::uint32_t c = 1; c <= 30; ++c) {
    tables().order_by_customer->by_key.erase(
        std::string(order_by_customer_key(1, 1, c, 30).bytes()));
  }
  expect_violated("2");
}

TEST_F(TpccDamageTest, gap_in_new_orders_is_condition_3) {
  erase(tables().new_order, order_key(1, 1, 25));
  change<OrderRow>(tables().orders, order_key(1, 1, 25), [](auto& row) { row.carrier_id = 1; });
  for (std::uint32_t ol = 1; ol <= 15; ++ol) {
    if (!tables().order_line->by_key.contains(std::string(order_line_key(1, 1, 25, ol).bytes()))) {
      break;
    }
    change<OrderLineRow>(tables().order_line, order_line_key(1, 1, 25, ol), [](auto& row) {
      row.delivery_d = 1;
      row.amount = 0;
    });
  }
  expect_violated("3");
}

TEST_F(TpccDamageTest, carrier_of_a_new_order_is_condition_5) {
  change<OrderRow>(tables().orders, order_key(1, 1, 30), [](auto& row) { row.carrier_id = 3; });
  expect_violated("5");
}

TEST_F(TpccDamageTest, missing_line_is_condition_6) {
  erase(tables().order_line, order_line_key(2, 3, 7, 5));
  expect_violated("6");
}

TEST_F(TpccDamageTest, undelivered_line_is_condition_7) {
  change<OrderLineRow>(tables().order_line, order_line_key(1, 1, 1, 1),
                       [](auto& row) { row.delivery_d = 0; });
  expect_violated("7");
}

// W_YTD and D_YTD agree with each other, but not with the history.
TEST_F(TpccDamageTest, missing_history_is_condition_9_and_of_a_warehouse_8) {
  HistorySums history;
  auto worker = backend_.new_worker();
  ASSERT_TRUE(worker.is_ok());
  ASSERT_TRUE(sum_history<ContendedBackend>(*worker, tables(), history).is_ok());
  std::vector<std::int64_t> ytd = history.by_district;
  ytd[0] += 5;
  history.by_district[0] -= 5;
  change<WarehouseRow>(tables().warehouse, warehouse_key(1), [](auto& row) { row.ytd += 5; });
  const foedus::Status status =
      check_warehouse<ContendedBackend>(*worker, tables(), 1, history, ytd);
  EXPECT_NE(status.message().find("condition 8,"), std::string::npos) << status.message();

  change<DistrictRow>(tables().district, district_key(tiny_scale(), 1, 1),
                      [](auto& row) { row.ytd += 5; });
  expect_violated("9");
}

TEST_F(TpccDamageTest, balance_is_condition_10) {
  change<CustomerRow>(tables().customer, customer_key(tiny_scale(), 1, 1, 9),
                      [](auto& row) { --row.account.balance; });
  expect_violated("10");
}

TEST_F(TpccDamageTest, delivery_that_was_not_made_is_condition_11) {
  change<CustomerRow>(tables().customer, customer_key(tiny_scale(), 1, 1, 9),
                      [](auto& row) { ++row.account.delivery_cnt; });
  expect_violated("11");
}

TEST_F(TpccDamageTest, payments_of_a_customer_are_condition_12) {
  change<CustomerRow>(tables().customer, customer_key(tiny_scale(), 1, 1, 9),
                      [](auto& row) { ++row.account.ytd_payment; });
  expect_violated("12");
}

TEST_F(TpccDamageTest, missing_index_entry_is_found) {
  tables().customer_by_name->by_key.erase(tables().customer_by_name->by_key.begin());
  expect_violated("(index)");
}

TEST_F(TpccDamageTest, acknowledged_order_that_is_gone_is_named) {
  const std::string path = ack_path("damage");
  std::remove(path.c_str());
  {
    auto file = AckFile::open(path);
    ASSERT_TRUE(file.is_ok());
    ASSERT_TRUE(file->append(ack_line({1, 2, 31, 1234, 7})).is_ok());
    ASSERT_TRUE(file->append("    1  2 ").is_ok());  // cut short: no ack
  }
  const auto acks = verify_acks<ContendedBackend>(backend_, tables(), path);
  EXPECT_EQ(acks.code(), foedus::ErrorCode::kCorruption);
  EXPECT_NE(acks.status().message().find("order 31 of district 1.2"), std::string::npos);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace experiments::tpcc::tpcc_model_test
