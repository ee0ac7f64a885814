// E49: when volatile pages that nothing reads make room for cached ones.
#include "foedus-core/engine/idle_drop.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "foedus-core/base/clock.h"
#include "tests/base/test_seed.h"
#include "tests/testing/test_database.h"

namespace foedus {
namespace {

using engine::IdleDrop;
using testing::must;
using testing::TestDatabase;

TEST(IdleDropTest, a_page_goes_for_each_that_the_cache_let_go_since_the_last_look) {
  IdleDrop drop;
  EXPECT_EQ(drop.due(5 * IdleDrop::kLookUs, 300, 1000), 300u);
  EXPECT_EQ(drop.due(6 * IdleDrop::kLookUs, 500, 700), 200u);
  EXPECT_EQ(drop.due(7 * IdleDrop::kLookUs, 5000, 500), 500u);
}

TEST(IdleDropTest, nothing_goes_while_the_cache_keeps_what_it_has) {
  IdleDrop drop;
  EXPECT_EQ(drop.due(5 * IdleDrop::kLookUs, 0, 1000), 0u);
  EXPECT_EQ(drop.due(6 * IdleDrop::kLookUs, 300, 1000), 300u);
  EXPECT_EQ(drop.due(7 * IdleDrop::kLookUs, 300, 700), 0u);
  EXPECT_EQ(drop.due(8 * IdleDrop::kLookUs, 300, 0), 0u);
}

TEST(IdleDropTest, a_look_waits_for_its_time_and_for_enough_that_was_let_go) {
  IdleDrop drop;
  EXPECT_EQ(drop.due(5 * IdleDrop::kLookUs, 300, 1000), 300u);
  EXPECT_EQ(drop.due(6 * IdleDrop::kLookUs - 1, 1000, 700), 0u);
  EXPECT_EQ(drop.due(6 * IdleDrop::kLookUs, 310, 700), 0u);
  EXPECT_EQ(drop.due(60 * IdleDrop::kLookUs, 345, 700), 45u) << "all since the last look count";
}

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kRows = 40'000;
constexpr std::uint64_t kRowsPerTxn = 100;

// 40 MB in 64 MiB, of which what was written last stays volatile.
class IdleDropDatabaseTest : public ::testing::Test {
 protected:
  void make() {
    Options options = testing::small_options("");
    options.memory_bytes = 64 * kMiB;
    options.glean.interval_us = 50'000;
    options.sessions_max = 2;
    db_ = std::make_unique<TestDatabase>(options);
    rows_ = must(db()->open_masstree("rows"));
    for (std::uint64_t i = 0; i < kRows; i += kRowsPerTxn) {
      must(db()->transact([&](Txn& txn) -> Status {
        for (std::uint64_t j = i; j < i + kRowsPerTxn; ++j) {
          FOEDUS_CHECK(txn.put(rows_, key(j), std::string(1000, 'v')));
        }
        return {};
      }));
    }
    while (db()->stats().log_bytes_behind != 0) read(100);  // until no glean is due
  }
  TestDatabase& db() { return *db_; }
  void read(int count) {
    for (int i = 0; i < count; ++i) {
      must(db()->transact([&](Txn& txn) -> Status {
        FOEDUS_TRY(const std::string row, txn.get(rows_, key(random_.below(kRows))));
        EXPECT_EQ(row, std::string(1000, 'v'));
        return {};
      }));
    }
  }

  base::Random random_{testing::test_seed(5)};
  std::unique_ptr<TestDatabase> db_;
  Masstree rows_;
};

TEST_F(IdleDropDatabaseTest, a_cache_that_is_read_grows_into_what_was_written_and_is_not_read) {
  make();
  const Stats begin = db()->stats();
  // As long as it takes: most of what is read is cold, so that pages are let go all the time.
  Stats before = begin;
  Stats after = begin;
  const auto has_dropped_without_a_glean = [&] {
    return after.gleans == before.gleans &&
           after.volatile_pages_dropped > before.volatile_pages_dropped;
  };
  while (!has_dropped_without_a_glean()) {
    before = after;
    read(1000);
    after = db()->stats();
  }
  while (db()->stats().cache_bytes <= begin.cache_bytes) read(1000);
  EXPECT_LT(after.volatile_page_bytes, begin.volatile_page_bytes);
  EXPECT_GT(after.volatile_pages_spared, begin.volatile_pages_spared) << "some are read often";
  must(db()->transact([&](Txn& txn) { return txn.put(rows_, key(7), "written again"); }));
  must(db()->glean());
  must(db()->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(must(txn.get(rows_, key(7))), "written again");
    return {};
  }));
}

}  // namespace
}  // namespace foedus
