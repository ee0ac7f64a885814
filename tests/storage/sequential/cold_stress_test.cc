// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/storage/sequential/cold.h"

namespace foedus::storage::sequential::cold_stress_test {
namespace {

constexpr std::uint32_t kThreads = 4;
constexpr std::uint64_t kAppends = 1200;

struct Row {
  std::uint64_t session;
  std::uint64_t number;
  std::uint64_t before;  // rows that its transaction counted, or ~0
  char unused[200];      // so that there are many pages
};

// State of a scan. One that does not verify may pass a row before that is committed, and return a
// later one.
struct Seen {
  std::uint64_t rows = 0;
  std::uint64_t next_of_session[kThreads] = {};
  bool has_missed = false;

  // Checks that the rows of each session come once and in order.
  void add(std::string_view payload) {
    Row row;
    ASSERT_EQ(payload.size(), sizeof(row));
    std::memcpy(&row, payload.data(), sizeof(row));
    ASSERT_LT(row.session, kThreads);
    ASSERT_GE(row.number, next_of_session[row.session]);
    has_missed |= row.number != next_of_session[row.session];
    next_of_session[row.session] = row.number + 1;
    has_missed |= row.before != ~std::uint64_t{0} && row.before > rows;
    ++rows;
  }
};

class Worker {
 public:
  Worker(SequentialCold* all, std::uint32_t me) : all_(*all), me_(me) {}

  void run() {
    for (std::uint64_t i = 0; i < kAppends && !::testing::Test::HasFatalFailure(); ++i) {
      if (i % 50 == 20) roll_back();
      if (i % 100 == 70) scan_dirty();
      for (int tries = 0;; ++tries) {
        const Status status = append(i, i % 40 == 30 && tries < 20);
        if (status.is_ok()) break;
        ASSERT_EQ(status.code(), ErrorCode::kConflict) << status.message();
      }
      // The pause is outside of a transaction, so that the last page may be dropped as well.
      if (i % 4 == 0) std::this_thread::yield();
    }
  }

 private:
  Status scan(Seen* seen) {
    Status status = cursor_.open(all_.session(me_).ctx(), all_.control());
    while (status.is_ok() && !cursor_.at_end()) {
      seen->add(cursor_.payload());
      status = cursor_.next();
    }
    cursor_.close();
    return status;
  }
  // Appends a row; if `counts`, its transaction counts the rows first.
  Status append(std::uint64_t number, bool counts) {
    all_.session(me_).begin();
    Seen seen;
    Row row{me_, number, ~std::uint64_t{0}, {}};
    Status status;
    if (counts) {
      status = scan(&seen);
      row.before = seen.rows;
    }
    if (status.is_ok()) {
      status = all_.append(me_, {reinterpret_cast<const char*>(&row), sizeof(row)});
    }
    if (!status.is_ok()) {
      all_.session(me_).rollback();
      return status;
    }
    status = all_.session(me_).commit();
    if (status.is_ok() && counts) {
      EXPECT_FALSE(seen.has_missed);
    }
    return status;
  }
  void scan_dirty() {
    TxnOptions options;
    options.isolation = Isolation::kDirtyRead;
    all_.session(me_).begin(options);
    Seen seen;
    const Status status = scan(&seen);
    EXPECT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
    all_.session(me_).rollback();
  }
  void roll_back() {
    all_.session(me_).begin();
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(all_.append(me_, std::string(300, 'r')).is_ok());
    all_.session(me_).rollback();
  }

  SequentialCold& all_;
  const std::uint32_t me_;
  Cursor cursor_;
};

// Goal: no append is lost, doubled or out of its session's order while pages go to snapshots and
// are dropped, and no committed scan has missed one. Method: threads append, scan and roll back,
// while another gleans all the time. Some rows carry the number of rows that their transaction
// counted, all of which have lower TIDs.
TEST(SequentialColdStressTest, nothing_is_lost_while_pages_are_dropped) {
  SequentialCold all(kThreads);
  std::atomic<std::uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&all, &running, i] {
      Worker(&all, i).run();
      running.fetch_sub(1);
    });
  }
  std::uint64_t dropped = 0;
  while (running.load() != 0 && !::testing::Test::HasFatalFailure()) {
    dropped += all.glean().pages_dropped;
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(dropped, 100u);

  for (const bool at_rest : {false, true}) {
    if (at_rest) {
      EXPECT_EQ(all.glean().pages_kept, 0u);
      EXPECT_EQ(all.volatile_pages(), 0u);
    }
    Seen seen;
    for (const std::string& row : all.scan_now(0)) seen.add(row);
    EXPECT_FALSE(seen.has_missed);
    EXPECT_EQ(seen.rows, kThreads * kAppends);
  }
  RecordProperty("dropped", std::to_string(dropped));
}

}  // namespace
}  // namespace foedus::storage::sequential::cold_stress_test
