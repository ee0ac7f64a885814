// A tail of the log that is longer than the gleaner's own memory.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "foedus-core/engine/engine.h"
#include "tests/engine/sessions/unapplied_life.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/engine_of.h"

namespace foedus::long_tail_test {
namespace {

using testing::Hold;
using testing::must;
using testing::TestDatabase;

// Goal: a tail that is too large for the gleaner's own memory is held in memory of volatile pages,
// which get it back in the end. Method: 12 MiB of log, where the gleaner has 16 MiB: three eighths
// of that are 6.
TEST(LongTailTest, a_tail_takes_memory_of_volatile_pages) {
  constexpr std::uint64_t kRows = 6'000;
  constexpr std::uint64_t kRounds = 2;
  const std::string payload(1'000, 'x');
  Options options = testing::unapplied_options();
  options.memory_bytes = 128u << 20;
  options.glean.memory_bytes = 16u << 20;
  TestDatabase db(options);
  const auto put_all = [&](char first) {
    std::string changed = payload;
    changed[0] = first;
    const Masstree tree = must(db->open_masstree("tree"));
    for (std::uint64_t from = 0; from < kRows; from += 100) {
      must(db->transact([&](Txn& txn) -> Status {
        for (std::uint64_t i = from; i < from + 100; ++i) {
          FOEDUS_CHECK(txn.put(tree, key(i), std::string_view(changed)));
        }
        return {};
      }));
    }
  };
  put_all('a');
  must(db->glean());
  for (std::uint64_t round = 0; round < kRounds; ++round) put_all('b');
  const std::uint64_t bound = testing::engine_of(*db).pool().bytes_max();
  Hold gleaner{"gleaning:before_tail"};
  db.reopen();
  gleaner.wait_until_held();
  const Masstree tree = must(db->open_masstree("tree"));
  ASSERT_TRUE(foedus::internal::StorageAccess::control_of(tree)->has_unapplied());
  EXPECT_LT(testing::engine_of(*db).pool().bytes_max(), bound);
  gleaner.release();
  while (foedus::internal::StorageAccess::control_of(tree)->has_unapplied()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The memory is returned once no operation can need the tail any more.
  while (testing::engine_of(*db).pool().bytes_max() != bound) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  must(db->transact([&](Txn& txn) -> Status {
    for (std::uint64_t i = 0; i < kRows; i += 37) {
      FOEDUS_TRY(const std::string row, txn.get(tree, key(i)));
      EXPECT_EQ(row[0], 'b') << i;
      EXPECT_EQ(row.size(), payload.size());
    }
    return {};
  }));
}

}  // namespace
}  // namespace foedus::long_tail_test
