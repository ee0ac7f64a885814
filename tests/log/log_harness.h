#pragma once
// Parts that tests of the log share: a log on a FailingDevice under a ManualRuntime, sessions that
// commit records with a checksum of their own, and the history with which recovery is compared.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/log.h"
#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/log/ring/record.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"

#define ASSERT_OK(expression)                                                  \
  do {                                                                         \
    const ::foedus::Status asserted_status =                                   \
        ::foedus::internal::take_status(expression);                          \
    ASSERT_TRUE(asserted_status.is_ok()) << asserted_status.message();         \
  } while (false)

namespace foedus::log::testing {

using ::foedus::testing::Call;
using ::foedus::testing::FailingDevice;
using ::foedus::testing::ManualRuntime;

// One committed record, as the test remembers it.
struct Written {
  std::uint64_t epoch;
  std::uint64_t value;
  std::size_t payload_bytes;
  bool operator==(const Written&) const = default;
};

using SessionKey = std::pair<std::uint64_t, std::uint32_t>;  // incarnation or run, session
using History = std::map<SessionKey, std::vector<Written>>;

inline constexpr std::uint64_t kKeyOfZeroes = 0x6f72657a;
inline std::string payload_of(std::uint64_t value, std::size_t bytes) {
  std::string payload(bytes, '\0');
  if (value == kKeyOfZeroes) return payload;
  for (std::size_t i = 0; i < bytes; ++i) {
    payload[i] = static_cast<char>((value * 31 + i * 7 + (i >> 8)) & 0xff);
  }
  return payload;
}

// The first segments of the first logger.
inline const std::string kFirst = "log-0-00000001";
inline const std::string kSecond = "log-0-00000002";

// Reads a value of a file.
template <typename T>
T load(const FailingDevice& device, const std::string& name, std::uint64_t offset) {
  T value;
  std::memcpy(&value, device.bytes_of(name).data() + offset, sizeof(value));
  return value;
}

class RingMemory {
 public:
  explicit RingMemory(std::size_t bytes)
      : memory_(static_cast<char*>(std::aligned_alloc(4096, bytes))) {
    std::memset(memory_, 0xee, bytes);
  }
  ~RingMemory() { std::free(memory_); }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  char* get() const { return memory_; }

 private:
  char* memory_;
};

// A session that commits one record at a time.
class TestSession {
 public:
  TestSession(Log* log, epoch::EpochClock* clock, std::uint32_t soc, std::uint32_t number,
              std::size_t ring_bytes)
      : log_(log),
        clock_(clock),
        soc_(soc),
        memory_(ring_bytes),
        ring_(memory_.get(), ring_bytes, number, log->space(soc)) {
    log->attach(soc, &ring_);
  }

  LogBuffer& ring() { return ring_; }
  const std::vector<Written>& history() const { return history_; }
  Status detach() { return log_->detach(soc_, &ring_); }

  // Commits one transaction of `records` records and returns its epoch.
  Result<Epoch> commit(std::uint64_t value, std::size_t payload_bytes, std::size_t records = 1) {
    std::vector<LogRecord*> made;
    for (std::size_t i = 0; i < records; ++i) {
      Status status;
      LogRecord* const record = ring_.reserve(LogRecord::size_of(8, payload_bytes), &status);
      if (record == nullptr) {
        ring_.rollback();
        return status;
      }
      const std::uint64_t key = value + i;
      record->prepare(LogRecordType::kPut, page::StorageId{7}, sizeof(key), payload_bytes, 0);
      std::memcpy(record->key_data(), &key, sizeof(key));
      const std::string payload = payload_of(key, payload_bytes);
      std::memcpy(record->payload_data(), payload.data(), payload.size());
      made.push_back(record);
    }
    const Epoch epoch = clock_->enter_commit(ring_.session_number());
    for (std::size_t i = 0; i < records; ++i) {
      made[i]->tid = page::Tid(epoch, ++ordinal_).word();
      history_.push_back({epoch.number(), value + i, payload_bytes});
    }
    ring_.publish();
    clock_->leave_commit(ring_.session_number());
    return epoch;
  }

 private:
  Log* const log_;
  epoch::EpochClock* const clock_;
  const std::uint32_t soc_;
  RingMemory memory_;
  LogBuffer ring_;
  std::uint32_t ordinal_ = 0;
  std::vector<Written> history_;
};

// Reads all segments; the records are in order, by (incarnation, session).
inline Status read_all(const Log& log, History* found) {
  for (std::size_t i = 0; i < log.found_segment_count(); ++i) {
    FOEDUS_CHECK(log.read_segment(i, [&](std::uint32_t session, std::uint64_t incarnation,
                                         const LogRecord& record) -> Status {
      const std::uint64_t value = record.index();
      EXPECT_EQ(record.payload(), payload_of(value, record.payload_bytes()));
      (*found)[{incarnation, session}].push_back(
          {page::Tid(record.tid).epoch().number(), value, record.payload_bytes()});
      return {};
    }));
  }
  return {};
}

// A ManualRuntime that counts lost wakes, and lets a test act before tasks are stopped.
class LogRuntime : public ManualRuntime {
 public:
  using ManualRuntime::ManualRuntime;

  // Returns how many waits without a limit ended after a step that woke no thread. A thread would
  // have slept on.
  int lost_wakes() const { return lost_wakes_; }
  // Sets what happens once before the next task is stopped.
  void before_stop(std::function<void()> action) { before_stop_ = std::move(action); }

  void stop(base::Task* task) override {
    if (before_stop_) std::exchange(before_stop_, nullptr)();
    ManualRuntime::stop(task);
  }
  bool wait(base::WaitPoint* point, std::uint64_t timeout_us, base::Ready ready) override {
    if (timeout_us != kForever) return ManualRuntime::wait(point, timeout_us, ready);
    Waiter waiter{point, true, waiters_};  // it does not sleep if the condition is true at once
    waiters_ = &waiter;
    const bool is_over = ManualRuntime::wait(point, timeout_us, [&] {
      const bool is_ready = ready();
      if (is_ready && !waiter.is_woken) ++lost_wakes_;
      waiter.is_woken = false;
      return is_ready;
    });
    waiters_ = waiter.outer;
    return is_over;
  }
  void wake(base::WaitPoint* point) override {
    for (Waiter* waiter = waiters_; waiter != nullptr; waiter = waiter->outer) {
      if (waiter->point == point) waiter->is_woken = true;
    }
  }

 private:
  struct Waiter {
    base::WaitPoint* point;
    bool is_woken;  // since the condition was last false
    Waiter* outer;
  };
  std::function<void()> before_stop_;
  Waiter* waiters_ = nullptr;
  int lost_wakes_ = 0;
};

// One run of a database's log.
class LogRun {
 public:
  static constexpr std::size_t kRingBytes = 64u << 10;

  explicit LogRun(FailingDevice* device, std::uint32_t socs = 1,
                  std::uint64_t segment_bytes = 1u << 20, std::uint64_t seed = 1)
      : runtime(seed), device_(device), options_{socs, segment_bytes} {}
  ~LogRun() {
    if (log != nullptr) log->durability().fail(ErrorCode::kClosed);
    log.reset();
    if (clock_runs_) runtime.stop(clock.get());
    EXPECT_EQ(runtime.task_count(), 0u);
  }

  // Sets LogSettings::change_bytes for open().
  void keep_changes(std::uint64_t bytes) { options_.change_bytes = bytes; }
  Status open() {
    FOEDUS_TRY(log, Log::open(device_, &runtime, options_, [this](LogLevel, std::string_view text) {
                 messages.emplace_back(text);
               }));
    return {};
  }
  Status start() {
    clock = std::make_unique<epoch::EpochClock>(&runtime, log->first_new_epoch(), 64, 10'000);
    FOEDUS_CHECK(log->start(clock.get()));
    runtime.start(clock.get());
    clock_runs_ = true;
    return {};
  }
  Status open_and_start() {
    FOEDUS_CHECK(open());
    return start();
  }
  TestSession* session(std::uint32_t soc, std::size_t ring_bytes = kRingBytes) {
    const auto number = static_cast<std::uint32_t>(sessions.size());
    sessions.push_back(
        std::make_unique<TestSession>(log.get(), clock.get(), soc, number, ring_bytes));
    return sessions.back().get();
  }
  Status wait(Epoch epoch, std::uint64_t timeout_us = 10'000'000) {
    return log->durability().wait(epoch, timeout_us);
  }
  // Commits one record and waits until it is durable.
  Result<Epoch> commit_durably(TestSession* session, std::uint64_t value,
                               std::size_t payload_bytes) {
    FOEDUS_TRY(const Epoch epoch, session->commit(value, payload_bytes));
    FOEDUS_CHECK(wait(epoch));
    return epoch;
  }
  // Makes each logger go on in a new segment.
  void roll() {
    log->roll_segments();
    runtime.run_for(50'000);
  }
  Status close() {
    for (const auto& session : sessions) FOEDUS_CHECK(session->detach());
    return log->close();
  }
  // Returns the commits of this run's sessions, under one incarnation number.
  History history(std::uint64_t incarnation) const {
    History all;
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      if (sessions[i]->history().empty()) continue;
      all[{incarnation, static_cast<std::uint32_t>(i)}] = sessions[i]->history();
    }
    return all;
  }

  LogRuntime runtime;
  std::unique_ptr<epoch::EpochClock> clock;
  std::unique_ptr<Log> log;
  std::vector<std::unique_ptr<TestSession>> sessions;
  std::vector<std::string> messages;

 private:
  FailingDevice* const device_;
  LogSettings options_;
  bool clock_runs_ = false;
};

// Returns the part of `all` that a cut at `cut` leaves.
inline History cut_at(const History& all, Epoch cut) {
  History left;
  for (const auto& [key, list] : all) {
    for (const Written& written : list) {
      if (written.epoch <= cut.number()) left[key].push_back(written);
    }
  }
  return left;
}

// Returns the commits that a new run finds.
inline History found_in(FailingDevice* device) {
  LogRun run(device);
  History found;
  Status status = run.open();
  if (status.is_ok()) status = read_all(*run.log, &found);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return found;
}

// The commits of a run, and the epoch that was announced as durable.
struct Committed {
  History all;
  Epoch announced;
};

// Checks after a crash that all commits up to the cut are there, that no announced commit is above
// it, and that a new run can begin.
inline void expect_kept(FailingDevice* device, const Committed& before) {
  LogRun run(device);
  ASSERT_OK(run.open());
  const Epoch cut = run.log->durable_epoch_found();
  ASSERT_EQ(cut_at(before.all, std::max(cut, before.announced)), cut_at(before.all, cut));
  History found;
  ASSERT_OK(read_all(*run.log, &found));
  ASSERT_EQ(found, cut_at(before.all, cut));
  ASSERT_OK(run.start());
}

}  // namespace foedus::log::testing
