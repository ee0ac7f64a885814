// ctest-labels: concurrency
// E18: writers are slowed when the gleaner falls behind, by bytes of log or by the pages that these
// will take. They stop at the bound of bytes, and go on once the gleaner has caught up. The
// operator is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/engine/pace/write_throttle.h"
#include "tests/testing/hold.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::write_throttle_test {
namespace {

using testing::Hold;
using testing::must;
using testing::TestDatabase;

constexpr std::uint64_t kRows = 20'000;

// A tree with two rows in a page, of which a thread changes random bytes.
class WriteThrottleTest : public ::testing::Test {
 protected:
  void open(GleanOptions glean) {
    Options options = testing::small_options("");
    options.pages.volatile_percent = 90;  // memory does not run short
    options.glean = glean;
    options.log_sink = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    };
    db_ = std::make_unique<TestDatabase>(options);
    array_ = must((*db_)->open_array("array", kRows, 2'000));
    const std::string row(2'000, 'r');
    for (std::uint64_t i = 0; i < kRows; i += 100) {
      must((*db_)->transact([&](Txn& txn) -> Status {
        for (std::uint64_t j = i; j < i + 100; ++j) {
          FOEDUS_CHECK(txn.put(array_, j, std::string_view(row)));
        }
        return {};
      }));
    }
    must((*db_)->glean());
    forget_the_fill();
  }
  // Waits until the slow-down by loading the rows has been reported, so that the test does not see
  // it.
  void forget_the_fill() {
    while ((*db_)->stats().write_limit_bytes_per_s != 0) testing::nap();
    while (!is_told_to_be_free()) testing::nap();
    const std::lock_guard lock(mutex_);
    lines_.clear();
  }
  // Returns whether the last line about writers, if there is one, says that they are not slowed any
  // more.
  bool is_told_to_be_free() {
    const std::lock_guard lock(mutex_);
    for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
      if (line->starts_with("writers are")) return line->starts_with("writers are not slowed");
    }
    return true;
  }
  void change(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count && !stop_; ++i) {
      const std::uint64_t number = random_.below(kRows);
      must((*db_)->transact([&](Txn& txn) { return txn.increment(array_, number, 0, 1); }));
      changed_.fetch_add(1);
    }
  }
  // Stops the gleaner while a thread writes, until that stops; then lets both go on. Returns the
  // bytes of log that no snapshot covered when the thread had stopped.
  std::uint64_t behind_when_stopped() {
    std::uint64_t behind = 0;
    Hold hold("gleaning:covered");
    std::thread writer([this] { change(~std::uint64_t{0}); });
    hold.wait_until_held();
    for (std::uint64_t before = ~std::uint64_t{0}; changed_ != before;) {
      before = changed_;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    behind = (*db_)->stats().log_bytes_behind;
    EXPECT_GT((*db_)->stats().writers_waited_us, 0u);
    const std::uint64_t stopped_at = changed_;
    hold.release();
    while (changed_ < stopped_at + 1'000) testing::nap();
    stop_ = true;
    writer.join();
    return behind;
  }

  // Returns the number of lines of the log sink that contain `text`.
  unsigned lines_with(std::string_view text) {
    const std::lock_guard lock(mutex_);
    unsigned count = 0;
    for (const std::string& line : lines_) count += line.find(text) != line.npos;
    return count;
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
  std::unique_ptr<TestDatabase> db_;
  Array array_;
  base::Random random_{5};
  std::atomic<std::uint64_t> changed_{0};
  std::atomic<bool> stop_{false};
};

// The ring holds log that the logger has not written yet, so the throttle notices a writer a little
// later.
constexpr std::uint64_t kSlackBytes = 4u << 20;

TEST_F(WriteThrottleTest, writers_stop_at_the_bound_of_the_log_and_go_on_after_a_glean) {
  open({.log_bytes = 1u << 20, .log_bytes_max = 8u << 20});
  const std::uint64_t behind = behind_when_stopped();
  EXPECT_GE(behind, 8u << 20);
  EXPECT_LE(behind, (8u << 20) + kSlackBytes);
}

// Goal: before writers stop they are slowed, more the nearer they come to the bound, and the
// operator is told of both, and of the end. Method: while a writer comes to the bound of a stopped
// gleaner, the test collects the limits of stats() and the lines of the log sink.
TEST_F(WriteThrottleTest, writers_are_slowed_before_they_stop_and_the_operator_is_told) {
  open({.log_bytes = 1u << 20, .log_bytes_max = 16u << 20});
  Hold hold("gleaning:covered");
  std::thread writer([this] { change(~std::uint64_t{0}); });
  hold.wait_until_held();
  std::uint64_t most = 0;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t limit = 0;
  while (limit != engine::WriteThrottle::kStopped) {
    limit = (*db_)->stats().write_limit_bytes_per_s;
    if (limit > engine::WriteThrottle::kStopped) {
      most = std::max(most, limit);
      least = std::min(least, limit);
    }
    testing::nap();
  }
  EXPECT_LT(least, most / 4);
  EXPECT_GE((*db_)->stats().log_bytes_behind, 16u << 20);
  while (is_told_to_be_free()) testing::nap();
  while (lines_with("of log are in no snapshot, of at most 16 MiB") == 0) testing::nap();
  // A writer that is slower than all limits is stopped without having been slowed.
  EXPECT_GE(lines_with("writers are slowed to the gleaner's pace") +
                lines_with("writers are stopped until a glean ends"),
            1u);
  stop_ = true;
  hold.release();
  writer.join();
  while (!is_told_to_be_free()) testing::nap();
  EXPECT_GE(lines_with("writers are not slowed any more; together they waited for "), 1u);
  EXPECT_GT((*db_)->stats().writers_waited_us, 0u);
}

// Goal: there is no limit up to the free share; from there it falls evenly past the gleaner's pace
// to half of it.
TEST(WriteLimitTest, log_is_written_at_the_pace_of_the_gleaner) {
  const auto limit_at = [](double backlog) {
    return engine::write_limit_of(engine::LogPressure{
        .backlog_share = backlog, .free_share = 0.125, .bytes_per_s = 1e8, .bytes_left = 1e8});
  };
  EXPECT_TRUE(std::isinf(limit_at(0.125)));
  EXPECT_NEAR(limit_at(0.125 + 0.0325), 1e9, 1e5);
  EXPECT_NEAR(limit_at(0.45), 1e8, 1e5);
  EXPECT_NEAR(limit_at(0.775), 1e8 / 2, 1e5);
  EXPECT_NEAR(limit_at(0.99), 1e8 / 2, 1e5);
  EXPECT_NEAR(limit_at(5), 1e8 / 2, 1e5);
  double before = limit_at(0.1251);
  for (double share = 0.126; share < 0.775; share += 0.001) {
    const double now = limit_at(share);
    EXPECT_LT(now, before) << share;
    if (share > 0.15) {  // it falls without a step
      EXPECT_GT(now, 0.9 * before) << share;
    }
    before = now;
  }
}

// Goal: the log that is left up to the bound lasts until the glean ends; if none is left, writers
// stop.
TEST(WriteLimitTest, the_rest_of_the_log_lasts_until_the_glean_ends) {
  engine::LogPressure pressure{.backlog_share = 0.1,
                               .free_share = 0.125,
                               .bytes_per_s = 1e8,
                               .bytes_left = 3e8,
                               .glean_s = 2};
  EXPECT_NEAR(engine::write_limit_of(pressure), 1.5e8, 1e3);
  pressure.backlog_share = 0.45;  // the pace is less than that
  EXPECT_NEAR(engine::write_limit_of(pressure), 1e8, 1e5);
  pressure.bytes_left = 4e7;
  EXPECT_NEAR(engine::write_limit_of(pressure), 2e7, 1e3);
  pressure.bytes_left = 1;
  EXPECT_NEAR(engine::write_limit_of(pressure), 1e6, 1);
  pressure.bytes_left = 0;
  EXPECT_EQ(engine::write_limit_of(pressure), 0);
  pressure.bytes_left = -1e6;
  EXPECT_EQ(engine::write_limit_of(pressure), 0);
}

// Goal: the remaining pages last until a glean frees some, however many a byte of log takes.
TEST(WriteLimitTest, pages_last_until_the_glean_ends) {
  engine::MemoryPressure pressure{.share_in_use = 0.55,
                                  .share_in_use_free = 0.6,
                                  .pages = 10'000,
                                  .pages_per_byte = 0.01,
                                  .release_us = 2'000'000};
  EXPECT_TRUE(std::isinf(engine::write_limit_of(pressure)));
  pressure.share_in_use = 0.75;
  EXPECT_NEAR(engine::write_limit_of(pressure), 2'000 / 0.01 / 2, 1);
  pressure.pages_per_byte = 0.02;
  EXPECT_NEAR(engine::write_limit_of(pressure), 2'000 / 0.02 / 2, 1);
  pressure.share_in_use = 0.96;  // the rest is for the gleaner
  EXPECT_EQ(engine::write_limit_of(pressure), 0);
  pressure.pages_per_byte = 0;
  EXPECT_TRUE(std::isinf(engine::write_limit_of(pressure)));
}

// Goal: close() leaves no thread waiting at the bound. Method: a callback, for which close() waits,
// writes until it is stopped there; the gleaner goes on when the throttle does not step any more.
TEST_F(WriteThrottleTest, a_callback_that_was_stopped_ends_when_the_database_is_closed) {
  open({.log_bytes = 1u << 20, .log_bytes_max = 8u << 20});
  Hold hold("gleaning:covered");
  Ticket ticket;
  must((*db_)->transact([&](Txn& txn) { return txn.increment(array_, 0, 0, 1); },
                        {.ticket = &ticket}));
  const std::string row(2'000, 's');
  ticket.on_durable([&](const Status&) {
    const auto write = [&](Txn& txn) { return txn.put(array_, 0, std::string_view(row)); };
    while ((*db_)->transact(write).is_ok()) changed_.fetch_add(1);
  });
  hold.wait_until_held();
  for (std::uint64_t before = ~std::uint64_t{0}; changed_ != before || changed_ == 0;) {
    before = changed_;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::thread closer([this] { must((*db_)->close()); });
  while ((*db_)->new_session().code() != ErrorCode::kClosed) testing::nap();
  hold.release();
  closer.join();
}

// Goal: log of the current epoch counts as log of no snapshot, whatever the gleaner does meanwhile,
// and slows writers; but no glean is made for it. Method: the clock stands still after a glean,
// while a thread writes and the gleaner checks as often as it likes.
TEST_F(WriteThrottleTest, log_that_is_not_durable_yet_is_in_no_snapshot) {
  open({.log_bytes = 1u << 20, .log_bytes_max = 8u << 20});
  const std::uint64_t log_bytes = (*db_)->stats().log_bytes;
  const std::uint64_t gleans = (*db_)->stats().gleans;
  Hold hold("epoch:before_publish");
  hold.wait_until_held();
  const std::string row(2'000, 's');
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < 16'384 && !stop_; ++i) {
      must((*db_)->transact([&](Txn& txn) { return txn.put(array_, i, std::string_view(row)); }));
      changed_.fetch_add(1);
    }
  });
  for (std::uint64_t before = ~std::uint64_t{0}; changed_ != before;) {
    before = changed_;
    std::this_thread::sleep_for(std::chrono::milliseconds(1'500));  // longer than a glean takes
  }
  const Stats stats = (*db_)->stats();
  EXPECT_LE(stats.gleans, gleans + 1);  // of log that was durable before
  EXPECT_GE(stats.log_bytes_behind, 8u << 20);
  // That glean may begin as late as at the bound, and counts the log that was written by then.
  EXPECT_LE(stats.log_bytes - log_bytes, 2 * (8u << 20) + kSlackBytes);
  hold.release();
  while (changed_ != 16'384) testing::nap();
  writer.join();
}

// Goal: no writer waits for a glean that is never made: the bound of the log is a reason for one,
// and may be the only one. Method: three times as much log as the bound.
TEST(WriteThrottleAloneTest, the_bound_of_the_log_begins_a_glean_where_nothing_else_does) {
  Options options = testing::small_options("");
  options.glean.log_bytes = 0;
  options.glean.interval_us = 0;
  options.pages.volatile_percent = 0;
  options.glean.log_bytes_max = 4u << 20;
  TestDatabase db(options);
  const Array array = must(db->open_array("array", 1'000, 2'000));
  const std::string row(2'000, 'r');
  constexpr std::uint64_t kWrites = 6'000;
  std::atomic<std::uint64_t> written{0};
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kWrites; ++i) {
      const std::uint64_t slot = i % 1'000;
      must(db->transact([&](Txn& txn) { return txn.put(array, slot, std::string_view(row)); }));
      written.fetch_add(1);
    }
  });
  const std::uint64_t begin_us = base::system_now_us();
  while (written != kWrites && base::system_now_us() - begin_us < 30'000'000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(written, kWrites);
  EXPECT_GT(db->stats().gleans, 0u);
  while (written != kWrites) must(db->glean());
  writer.join();
}

}  // namespace
}  // namespace foedus::write_throttle_test
