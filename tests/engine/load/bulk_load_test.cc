// ctest-labels: concurrency
// Database::load_masstree() makes a storage of sorted rows, all of it or nothing, beside
// transactions and gleans.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/rows_of.h"
#include "tests/testing/test_database.h"

namespace foedus::engine::bulk_load_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;
using Model = std::map<std::string, std::string>;

std::string name(std::uint64_t i) {
  std::string digits = std::to_string(i);
  return "row " + std::string(8 - digits.size(), '0') + digits;
}

class BulkLoadTest : public ::testing::Test {
 protected:
  Model rows_of(const Masstree& tree) { return testing::rows_of(*db_, tree); }
  void add_all(BulkLoad* load, const Model& rows) {
    for (const auto& [key, payload] : rows) must(load->add(key, payload));
  }
  static Model some_rows(std::uint64_t count) {
    Model rows;
    for (std::uint64_t i = 0; i < count; ++i) rows[name(i)] = "payload " + std::to_string(i * i);
    return rows;
  }
  bool is_listed(std::string_view wanted) {
    for (const StorageInfo& one : db_->storages()) {
      if (one.name == wanted) return true;
    }
    return false;
  }

  TestDatabase db_;
};

TEST_F(BulkLoadTest, all_rows_are_there_and_can_be_changed) {
  Model rows = some_rows(20'000);
  BulkLoad load = must(db_->load_masstree("parts"));
  add_all(&load, rows);
  const Masstree parts = must(load.finish());
  EXPECT_EQ(parts.name(), "parts");
  EXPECT_EQ(rows_of(parts), rows);
  EXPECT_EQ(must(db_->open_masstree("parts")), parts);

  must(db_->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(parts, name(7), "changed"));
    FOEDUS_CHECK(txn.erase(parts, name(8)));
    return txn.insert(parts, "zzz", "new");
  }));
  rows[name(7)] = "changed";
  rows.erase(name(8));
  rows["zzz"] = "new";
  must(db_->glean());
  EXPECT_EQ(rows_of(parts), rows);
  db_.reopen();
  EXPECT_EQ(rows_of(must(db_->open_masstree("parts"))), rows);
}

TEST_F(BulkLoadTest, keys_of_all_lengths_and_payloads_of_all_sizes_are_loaded) {
  const std::uint64_t seed = testing::test_seed(1);
  SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
  base::Random random(seed);
  for (int round = 0; round < 5; ++round) {
    Model rows;
    const std::uint64_t count = random.below(2'000);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string key(random.below(4), 'k');  // many share slices
      for (std::uint64_t left = random.below(30); left != 0; --left) {
        key += static_cast<char>('a' + random.below(2));
      }
      if (random.below(20) == 0) key += std::string(random.below(3), '\0');
      const std::uint64_t most = random.below(50) == 0 ? 20'000 : 300;
      rows[key] = std::string(random.below(most), static_cast<char>('a' + random.below(26)));
    }
    const std::string storage = "tree " + std::to_string(round);
    BulkLoad load = must(db_->load_masstree(storage));
    add_all(&load, rows);
    const Masstree tree = must(load.finish());
    EXPECT_EQ(rows_of(tree), rows);
  }
}

TEST_F(BulkLoadTest, a_load_without_rows_makes_an_empty_storage) {
  BulkLoad load = must(db_->load_masstree("empty"));
  const Masstree tree = must(load.finish());
  EXPECT_EQ(must(load.finish()), tree);
  EXPECT_TRUE(rows_of(tree).empty());
  must(db_->transact([&](Txn& txn) { return txn.put(tree, "a", "1"); }));
  db_.reopen();
  EXPECT_EQ(rows_of(must(db_->open_masstree("empty"))), (Model{{"a", "1"}}));
}

TEST_F(BulkLoadTest, a_key_that_is_not_above_the_last_is_refused_and_the_load_goes_on) {
  BulkLoad load = must(db_->load_masstree("parts"));
  must(load.add("b", "1"));
  EXPECT_EQ(load.add("b", "2").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(load.add("a", "2").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(load.add(std::string(2'000, 'c'), "2").code(), ErrorCode::kTooLarge);
  EXPECT_EQ(load.add("c", std::string(5u << 20, 'x')).code(), ErrorCode::kTooLarge);
  must(load.add("c", "3"));
  const Masstree tree = must(load.finish());
  EXPECT_EQ(load.add("d", "4").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(rows_of(tree), (Model{{"b", "1"}, {"c", "3"}}));
}

TEST_F(BulkLoadTest, nothing_is_there_before_the_end_and_the_name_is_reserved) {
  must(db_->open_masstree("old"));
  EXPECT_EQ(db_->load_masstree("old").code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(db_->load_masstree("").code(), ErrorCode::kInvalidArgument);
  BulkLoad load = must(db_->load_masstree("new"));
  must(load.add("a", "1"));
  EXPECT_FALSE(is_listed("new"));
  EXPECT_EQ(db_->open_masstree("new").code(), ErrorCode::kBusy);
  EXPECT_EQ(db_->open_hash("new").code(), ErrorCode::kBusy);
  EXPECT_EQ(db_->drop_storage("new").code(), ErrorCode::kNotFound);
  EXPECT_EQ(db_->load_masstree("other").code(), ErrorCode::kBusy);
  EXPECT_EQ(must(load.finish()).name(), "new");
  EXPECT_TRUE(is_listed("new"));
}

TEST_F(BulkLoadTest, a_load_that_is_given_up_leaves_nothing) {
  for (int i = 0; i < 3; ++i) {
    BulkLoad load = must(db_->load_masstree("parts"));
    add_all(&load, some_rows(2'000));
    if (i == 1) must(db_->glean());  // it is not complete, so the glean is not offered it
  }
  EXPECT_FALSE(is_listed("parts"));
  for (const auto& entry : std::filesystem::directory_iterator(db_.options().dir)) {
    EXPECT_FALSE(entry.path().filename().string().ends_with("-63")) << entry.path();
  }
  const Masstree tree = must(db_->open_masstree("parts"));
  EXPECT_TRUE(rows_of(tree).empty());
}

TEST_F(BulkLoadTest, the_end_of_a_handle_is_none_of_a_later_load) {
  std::optional<BulkLoad> first(must(db_->load_masstree("first")));
  must(first->finish());
  BulkLoad second = must(db_->load_masstree("second"));
  must(second.add("a", "1"));
  first.reset();
  must(second.add("b", "2"));
  EXPECT_EQ(rows_of(must(second.finish())), (Model{{"a", "1"}, {"b", "2"}}));
}

TEST_F(BulkLoadTest, gleans_come_and_go_while_rows_are_added) {
  const Masstree other = must(db_->open_masstree("other"));
  const Model rows = some_rows(6'000);
  Model others;
  BulkLoad load = must(db_->load_masstree("parts"));
  std::uint64_t count = 0;
  for (const auto& [key, payload] : rows) {
    must(load.add(key, payload));
    if (++count % 1'000 != 0) continue;
    others[key] = payload;
    must(db_->transact([&](Txn& txn) { return txn.put(other, key, payload); }));
    must(db_->glean());
  }
  const Masstree parts = must(load.finish());
  EXPECT_EQ(rows_of(parts), rows);
  EXPECT_EQ(rows_of(other), others);
  must(db_->glean());
  db_.reopen();
  EXPECT_EQ(rows_of(must(db_->open_masstree("parts"))), rows);
  EXPECT_EQ(rows_of(must(db_->open_masstree("other"))), others);
}

TEST_F(BulkLoadTest, a_dropped_storage_can_be_loaded_and_a_loaded_one_dropped) {
  must(db_->open_masstree("parts"));
  must(db_->drop_storage("parts"));
  {
    BulkLoad load = must(db_->load_masstree("parts"));
    add_all(&load, some_rows(3'000));
    must(load.finish());
  }
  must(db_->drop_storage("parts"));
  must(db_->glean());
  EXPECT_FALSE(is_listed("parts"));
  db_.reopen();
  EXPECT_FALSE(is_listed("parts"));
  EXPECT_TRUE(rows_of(must(db_->open_masstree("parts"))).empty());
}

TEST_F(BulkLoadTest, snapshots_have_the_storage_from_its_end_on) {
  const Masstree other = must(db_->open_masstree("other"));
  must(db_->transact([&](Txn& txn) { return txn.put(other, "a", "1"); }));
  BulkLoad load = must(db_->load_masstree("parts"));
  add_all(&load, some_rows(100));
  const Masstree parts = must(load.finish());
  const std::uint64_t count = must(db_->snapshot(
      [&](Txn& txn) -> Result<std::uint64_t> {
        std::uint64_t found = 0;
        Scan scan = txn.scan(parts, "", "");
        for (const Row& row : scan) found += row.key.empty() ? 0 : 1;
        if (const auto failure = scan.failure()) return *failure;
        return found;
      },
      {.newest_existing = true}));
  EXPECT_EQ(count, 100u);
}

TEST_F(BulkLoadTest, a_handle_outlives_its_database) {
  BulkLoad open = must(db_->load_masstree("parts"));
  must(open.add("a", "1"));
  BulkLoad moved = std::move(open);
  EXPECT_EQ(open.add("b", "1").code(), ErrorCode::kClosed);
  EXPECT_EQ(open.finish().code(), ErrorCode::kClosed);
  db_.reopen();
  EXPECT_EQ(moved.add("b", "1").code(), ErrorCode::kClosed);
  EXPECT_EQ(moved.finish().code(), ErrorCode::kClosed);
  EXPECT_FALSE(is_listed("parts"));
}

TEST(BulkLoadWithoutLogTest, is_not_supported) {
  Options options = small_options("");
  options.log.kind = Logging::kNone;
  TestDatabase db(options);
  EXPECT_EQ(db->load_masstree("parts").code(), ErrorCode::kNotSupported);
}

// The mover of the tiers must not meet a file that is being made.
TEST(BulkLoadWithTiersTest, is_not_supported) {
  const testing::TestDirectory ssd;
  Options options = small_options("");
  options.tiers.ssd_dirs = {ssd.path()};
  options.tiers.nvm_bytes = 8u << 20;
  TestDatabase db(options);
  EXPECT_EQ(db->load_masstree("parts").code(), ErrorCode::kNotSupported);
  must(db->open_masstree("parts"));
}

}  // namespace
}  // namespace foedus::engine::bulk_load_test
