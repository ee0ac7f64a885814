// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/storage/sequential/sequential_cursor.h"
#include "foedus-core/storage/sequential/sequential_storage.h"
#include "tests/storage/storages.h"

namespace foedus::storage::sequential::stress_test {
namespace {

constexpr std::uint32_t kThreads = 4;
constexpr std::uint64_t kAppends = 1500;

struct Row {
  std::uint64_t session;
  std::uint64_t number;
  std::uint64_t before;  // rows that its transaction counted, or ~0
};

// Goal: no append is lost, each session's order is kept, and a scan misses no earlier append.
// Method: some transactions append the number of rows that they counted. All these have lower TIDs,
// so at least as many rows precede the new one. (Later commits may precede it, too: within an epoch
// TIDs do not order a read before a later write.)
TEST(SequentialStressTest, scans_miss_nothing) {
  Storages all({.sessions = kThreads + 1, .log_bytes = 4u << 20});
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kSequential;
  occ::StorageControl* const control = all.make(meta);

  const auto work = [&](std::uint32_t me) {
    Cursor cursor;
    for (std::uint64_t i = 0; i < kAppends; ++i) {
      const bool counts = i % 100 == 50;
      for (int tries = 0;; ++tries) {
        all.session(me).begin();
        Row row{me, i, ~std::uint64_t{0}};
        Status status;
        if (counts && tries < 20) {
          row.before = 0;
          status = cursor.open(all.ctx(me), control);
          while (status.is_ok() && !cursor.at_end()) {
            ++row.before;
            status = cursor.next();
          }
        }
        const std::string_view bytes(reinterpret_cast<const char*>(&row), sizeof(row));
        if (status.is_ok()) status = append(all.ctx(me), control, bytes);
        if (status.is_ok()) {
          status = all.session(me).commit();
        } else {
          all.session(me).rollback();
        }
        if (status.is_ok()) break;
        ASSERT_EQ(status.code(), ErrorCode::kConflict) << status.message();
      }
    }
  };
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> running{kThreads};
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      work(i);
      running.fetch_sub(1);
    });
  }
  while (running.load() != 0) {
    all.pass_epochs();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();

  std::uint64_t next_of_session[kThreads] = {};
  std::uint64_t rows = 0;
  std::uint64_t counted = 0;
  Cursor cursor;
  all.session(0).begin();
  ASSERT_TRUE(cursor.open(all.ctx(), control).is_ok());
  for (; !cursor.at_end(); ++rows) {
    Row row;
    ASSERT_EQ(cursor.payload().size(), sizeof(row));
    std::memcpy(&row, cursor.payload().data(), sizeof(row));
    ASSERT_LT(row.session, kThreads);
    ASSERT_EQ(row.number, next_of_session[row.session]++);
    if (row.before != ~std::uint64_t{0}) {
      ++counted;
      EXPECT_LE(row.before, rows);
    }
    ASSERT_TRUE(cursor.next().is_ok());
  }
  ASSERT_TRUE(all.session(0).commit().is_ok());
  EXPECT_EQ(rows, kThreads * kAppends);
  RecordProperty("counted", std::to_string(counted));
}

}  // namespace
}  // namespace foedus::storage::sequential::stress_test
