// Goal: a transaction writes no line that other sessions write, too. Method: four sessions run
// transactions on records of their own, in pages of their own, in all storages. Every line that a
// thread touches is counted (line_recorder.h). A line that two sessions wrote is a failure, except
// for the few that are named and argued here.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/processor.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "tests/testing/test_database.h"
#include "tests/txn/line_sharing/line_owners.h"
#include "tests/txn/line_sharing/line_recorder.h"
#include "tests/txn/line_sharing/session_work.h"

namespace foedus::testing::lines {
namespace {

constexpr std::uint64_t kWarmUp = 2000;
constexpr std::uint64_t kWarmUpBytes = 1u << 20;  // more than half of what they log later
constexpr std::uint64_t kCounted = 3000;

// ---- one trial ---------------------------------------------------------------------------------

// The result of a session for the main thread, on a line that no other thread writes.
struct alignas(64) Progress {
  std::atomic<int> stage{-1};  // has no session yet
};

class Trial {
 public:
  Trial(Work work, std::uint32_t socs) : work_(work), database_(options_of(socs)) {
    load(*database_, &tables_);
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < kSessions; ++i) {
      threads.emplace_back([this, i] { run_session(i); });
    }
    wait_for_all(1);
    start();
    stage_.store(1);
    wait_for_all(2);
    stop();
    threads_ = recorded();
    owners_ = std::make_unique<LineOwners>(*database_, sessions(), tables_.controls(), threads_);
    // All threads exist until here, so no two of them used the same stack.
    stage_.store(2);
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(failure_.is_ok()) << failure_.message();
  }

  const std::vector<ThreadUse>& threads() const { return threads_; }
  const LineOwners& owners() const { return *owners_; }
  engine::EngineSession* session(std::uint32_t i) const { return sessions_[i]; }
  Database& database() { return *database_; }

 private:
  static Options options_of(std::uint32_t socs) {
    Options options = small_options("");
    options.socs = socs;
    options.log.buffer_bytes = 16u << 20;  // never full: a session that waits is another matter
    return options;
  }
  std::vector<engine::EngineSession*> sessions() const { return {sessions_, std::end(sessions_)}; }

  // A thread that the system moves to another SOC would use another session there (E45).
  static void bind_to_a_processor(std::uint32_t session) {
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    std::vector<std::uint32_t> processors;
    for (std::uint32_t i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) processors.push_back(i);
    }
    ASSERT_TRUE(base::run_on(std::vector{processors[session % processors.size()]}));
  }

  void run_session(std::uint32_t i) {
    pthread_setname_np(pthread_self(), ("session-" + std::to_string(i)).c_str());
    bind_to_a_processor(i);
    engine::SessionPool& pool = engine_of(*database_).sessions();
    sessions_[i] = must(pool.claim(0));
    progress_[i].stage.store(0);
    wait_for_all(0);  // so that each thread has, and remembers, its own session
    pool.release(sessions_[i]);
    grow_log_buffer(i);
    run_txns(i, 0, kWarmUp);
    progress_[i].stage.store(1);
    while (stage_.load() < 1) base::cpu_pause();
    run_txns(i, kWarmUp, kWarmUp + kCounted);
    progress_[i].stage.store(2);
    while (stage_.load() < 2) std::this_thread::yield();
  }

  // A session's log buffer begins small; its growth is not part of this test.
  void grow_log_buffer(std::uint32_t session) {
    must(database_->transact([&](Txn& txn) -> Status {
      for (std::uint64_t i = 0; i < kShare; ++i) {
        for (std::uint64_t bytes = 0; bytes < kWarmUpBytes / kShare; bytes += kRowBytes) {
          FOEDUS_CHECK(txn.put(tables_.tree, tree_key(session, i), std::string(kRowBytes, 'w')));
        }
      }
      return {};
    }));
  }

  void run_txns(std::uint32_t session, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t number = begin; number < end; ++number) {
      next_txn();
      const Status status = database_->transact(
          [&](Txn& txn) { return work_(txn, tables_, session, number); });
      if (status.is_ok()) continue;
      const std::lock_guard lock(failure_mutex_);
      failure_ = status;
    }
  }

  void wait_for_all(int stage) {
    for (const Progress& progress : progress_) {
      while (progress.stage.load() < stage) base::system_sleep_us(1'000);
    }
  }

  const Work work_;
  TestDatabase database_;
  Tables tables_;
  engine::EngineSession* sessions_[kSessions] = {};
  alignas(64) std::atomic<int> stage_{0};  // written by the main thread only
  Progress progress_[kSessions];
  std::mutex failure_mutex_;
  Status failure_;
  std::vector<ThreadUse> threads_;
  std::unique_ptr<LineOwners> owners_;
};

bool is_session(const ThreadUse& thread) { return thread.name.starts_with("session-"); }
bool is_background(const ThreadUse& thread) { return thread.name.starts_with("foedus-"); }

// The sessions that touched one line, and how.
struct LineUsers {
  std::vector<std::pair<const ThreadUse*, const LineUse*>> sessions;
  std::vector<std::pair<const ThreadUse*, const LineUse*>> background;

  static bool writes(const LineUse* use) { return use->txns_written != 0; }
  std::size_t session_writers() const {
    return std::count_if(sessions.begin(), sessions.end(),
                         [](const auto& user) { return writes(user.second); });
  }
  bool is_read_by_background() const { return !background.empty(); }
  bool is_written_by_background() const {
    return std::any_of(background.begin(), background.end(),
                       [](const auto& user) { return writes(user.second); });
  }
};

using UsersByLine = std::map<std::uintptr_t, LineUsers>;

UsersByLine by_line(const std::vector<ThreadUse>& threads) {
  UsersByLine lines;
  for (const ThreadUse& thread : threads) {
    if (!is_session(thread) && !is_background(thread)) continue;
    for (const LineUse& use : thread.uses) {
      LineUsers& users = lines[use.line];
      (is_session(thread) ? users.sessions : users.background).emplace_back(&thread, &use);
    }
  }
  return lines;
}

// ---- findings -----------------------------------------------------------------------------------

// Lines of one owner, summed over the transactions of all sessions.
struct Sums {
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::uint64_t written_and_seen_behind = 0;     // that a background thread reads or writes
  std::uint64_t read_and_written_behind = 0;     // that a background thread writes
  std::uint64_t written_and_read_beside = 0;     // that another session reads or writes
  std::uint64_t written_and_written_beside = 0;  // that another session writes
};

void print_sums(const std::map<std::string, Sums>& by_owner, double txns) {
  std::printf("%-42s %8s %8s %10s %10s %10s %10s\n", "lines per transaction", "written", "read",
              "w, seen by", "r, written", "w, seen by", "w, written");
  std::printf("%-42s %8s %8s %10s %10s %10s %10s\n", "", "", "", "background", "by backgr.",
              "sessions", "by sessions");
  const auto print = [txns](const std::string& owner, const Sums& sums) {
    std::printf("%-42s %8.3f %8.3f %10.3f %10.3f %10.4f %10.4f\n", owner.c_str(),
                sums.written / txns, sums.read / txns, sums.written_and_seen_behind / txns,
                sums.read_and_written_behind / txns, sums.written_and_read_beside / txns,
                sums.written_and_written_beside / txns);
  };
  Sums all;
  for (const auto& [owner, sums] : by_owner) {
    print(owner, sums);
    all.written += sums.written;
    all.read += sums.read;
    all.written_and_seen_behind += sums.written_and_seen_behind;
    all.read_and_written_behind += sums.read_and_written_behind;
    all.written_and_read_beside += sums.written_and_read_beside;
    all.written_and_written_beside += sums.written_and_written_beside;
  }
  print("all", all);
}

std::map<std::string, Sums> sums_of(const UsersByLine& lines, const LineOwners& owners) {
  std::map<std::string, Sums> by_owner;
  for (const auto& [line, users] : lines) {
    if (users.sessions.empty()) continue;
    Sums& sums = by_owner[owners.owner_of(line)];
    const std::size_t writers = users.session_writers();
    for (const auto& [thread, use] : users.sessions) {
      sums.written += use->txns_written;
      sums.read += use->txns_read;
      if (users.is_read_by_background()) sums.written_and_seen_behind += use->txns_written;
      if (users.is_written_by_background()) sums.read_and_written_behind += use->txns_read;
      if (writers > 1) sums.written_and_written_beside += use->txns_written;
      if (users.sessions.size() > 1) sums.written_and_read_beside += use->txns_written;
    }
  }
  return by_owner;
}

std::string describe(std::uintptr_t line, const LineUsers& users, const LineOwners& owners) {
  char at[64];
  std::snprintf(at, sizeof(at), " at 0x%zx", static_cast<std::size_t>(line));
  std::string text = owners.owner_of(line) + at + "\n";
  for (const auto& [thread, use] : users.sessions) {
    text += "    " + thread->name + ": written in " + std::to_string(use->txns_written) +
            ", read in " + std::to_string(use->txns_read) + " transactions";
    if (use->writer != nullptr) text += ", first written by " + place_of(use->writer);
    if (use->reader != nullptr) text += ", first read by " + place_of(use->reader);
    text += "\n";
  }
  return text;
}

// Lines that more than one session may touch although they are written, and in how many
// transactions.
struct Allowed {
  const char* owner;
  double per_txn_max;
};

// A line that a session writes this often belongs to its transactions. A rarer one that two
// sessions write may be of a page that one freed and the other allocated.
constexpr std::uint32_t kOften = kCounted / 20;

bool is_written_often(const LineUsers& users) {
  return std::any_of(users.sessions.begin(), users.sessions.end(),
                     [](const auto& user) { return user.second->txns_written > kOften; });
}

enum class Pages : std::uint8_t { kStay, kChangeHands };

void check_lines(const Trial& trial, const UsersByLine& lines, Pages pages,
                 const std::vector<Allowed>& allowed) {
  for (const auto& [line, users] : lines) {
    if (users.sessions.size() < 2 || users.session_writers() == 0) continue;
    const std::string owner = trial.owners().owner_of(line);
    const bool is_named = std::any_of(allowed.begin(), allowed.end(),
                                      [&](const Allowed& one) { return owner == one.owner; });
    if (is_named) continue;
    if (pages == Pages::kChangeHands && !is_written_often(users)) continue;
    const std::string text = describe(line, users, trial.owners());
    if (users.session_writers() == 1 && !is_written_often(users)) {
      std::printf("written by one session, seldom, and read by others: %s", text.c_str());
    } else {
      ADD_FAILURE() << "touched by several sessions: " << text;
    }
  }
}

// Reports the lines that the engine's threads write while sessions read them; they are no failure.
void print_written_behind(const UsersByLine& lines, const LineOwners& owners) {
  for (const auto& [line, users] : lines) {
    const bool is_read_often =
        std::any_of(users.sessions.begin(), users.sessions.end(),
                    [](const auto& user) { return user.second->txns_read > kOften; });
    if (!is_read_often || !users.is_written_by_background()) continue;
    std::printf("read by %zu sessions, written by", users.sessions.size());
    for (const auto& [thread, use] : users.background) {
      if (use->txns_written != 0) std::printf(" %s", thread->name.c_str());
    }
    std::printf(": %s, first read by %s\n", owners.owner_of(line).c_str(),
                place_of(users.sessions[0].second->reader).c_str());
  }
}

// Checks that the recorder works: it has seen the writes to a line that every transaction must
// write.
void check_recorder(Trial* trial, const UsersByLine& lines) {
  for (std::uint32_t i = 0; i < kSessions; ++i) {
    const std::uint32_t number = trial->session(i)->context().session();
    const auto slot =
        reinterpret_cast<std::uintptr_t>(&engine_of(trial->database()).clock().slot(number));
    const auto found = lines.find(slot);
    ASSERT_NE(found, lines.end());
    ASSERT_EQ(found->second.sessions.size(), 1u);
    EXPECT_EQ(found->second.sessions[0].second->txns_written, kCounted);
    EXPECT_FALSE(found->second.background.empty()) << "the clock looks at it";
  }
}

void check(const char* name, Work work, std::uint32_t socs, Pages pages,
           const std::vector<Allowed>& allowed) {
  Trial trial(work, socs);
  const UsersByLine lines = by_line(trial.threads());
  const double txns = static_cast<double>(kSessions * kCounted);
  const std::map<std::string, Sums> by_owner = sums_of(lines, trial.owners());
  std::printf("==== %s, %u sessions, SOCs: %u\n", name, kSessions, socs);
  print_sums(by_owner, txns);
  print_written_behind(lines, trial.owners());
  check_lines(trial, lines, pages, allowed);
  check_recorder(&trial, lines);
  for (const Allowed& one : allowed) {
    const auto found = by_owner.find(one.owner);
    if (found == by_owner.end()) continue;
    EXPECT_LE(found->second.written_and_written_beside / txns, one.per_txn_max) << one.owner;
  }
  EXPECT_EQ(trial.database().stats().rollbacks, 0u);
}

TEST(LineSharingTest, small_transactions_write_no_line_of_another_session) {
  check("one read, one overwrite", small_txn, 1, Pages::kStay, {});
  check("one read, one overwrite", small_txn, 2, Pages::kStay, {});
}

// A new page is counted in its storage, once in the 125 appends that fill it. A counter for each
// session would cost each storage as many lines.
TEST(LineSharingTest, transactions_in_all_storages_share_only_the_count_of_pages) {
  const std::vector<Allowed> allowed = {{"storage control, counters", 0.01}};
  check("all storages", mixed_txn, 1, Pages::kStay, allowed);
  check("all storages", mixed_txn, 2, Pages::kStay, allowed);
}

// New keys make pages more often, and a session takes free pages from its SOC by batches.
TEST(LineSharingTest, growing_storages_share_lines_only_where_pages_are_made) {
  const std::vector<Allowed> allowed = {{"storage control, counters", 0.15},
                                        {"page pool, free pages of a SOC", 0.01}};
  check("all storages, growing", growing_txn, 1, Pages::kChangeHands, allowed);
  check("all storages, growing", growing_txn, 2, Pages::kChangeHands, allowed);
}

// ---- the recorder itself ------------------------------------------------------------------------

alignas(64) std::atomic<std::uint64_t> shared_count{0};

Status counting_txn(Txn& txn, const Tables& tables, std::uint64_t session, std::uint64_t number) {
  shared_count.fetch_add(1, std::memory_order_relaxed);
  return small_txn(txn, tables, session, number);
}

TEST(LineSharingTest, a_counter_that_all_sessions_write_is_found) {
  Trial trial(counting_txn, 1);
  std::vector<std::uintptr_t> shared;
  for (const auto& [line, users] : by_line(trial.threads())) {
    if (users.session_writers() < 2) continue;
    shared.push_back(line);
    EXPECT_EQ(users.session_writers(), kSessions);
    for (const auto& [thread, use] : users.sessions) EXPECT_EQ(use->txns_written, kCounted);
  }
  EXPECT_EQ(shared, std::vector{reinterpret_cast<std::uintptr_t>(&shared_count)});
}

// Each word lies on a line of its own and is written in another way that the engine uses.
struct Ways {
  alignas(64) std::uint64_t plain[2];
  alignas(64) base::AtomicWord<std::uint64_t> stored;
  alignas(64) base::AtomicWord<std::uint64_t> exchanged;
  alignas(64) page::DualPagePointer pointer;
  alignas(64) char copied[64];
  alignas(64) char moved[64];
  alignas(64) char filled[64];
  alignas(64) char raced[64];
  alignas(64) std::mutex mutex;
  alignas(64) std::pair<std::uint64_t, std::uint64_t> assigned[4];
  alignas(64) std::uint64_t only_read;
  alignas(64) std::uint64_t of_one[2][8];
};

// Each thread writes its own half: the line is shared, but no word of it.
void write_all_ways(Ways* ways, std::size_t half, std::size_t bytes) {
  char from[32] = {};
  ways->plain[half] = bytes;
  ways->stored.store_release(bytes);
  std::uint64_t expected = bytes;
  ways->exchanged.compare_exchange_acq_rel(expected, 1);
  ways->pointer.compare_exchange({}, {});
  std::memcpy(ways->copied + half * 32, from, bytes);
  std::memmove(ways->moved + half * 32, from, bytes);
  std::memset(ways->filled + half * 32, 1, bytes);
  base::racy_write(ways->raced + half * 32, from, bytes);
  { const std::lock_guard lock(ways->mutex); }
  ways->assigned[half] = {bytes, bytes};
  ways->of_one[half][0] = ways->only_read;
}

TEST(LineRecorderTest, every_way_of_writing_is_seen) {
  Ways ways = {};
  start();
  for (std::size_t half = 0; half < 2; ++half) {
    std::thread([&ways, half] {
      pthread_setname_np(pthread_self(), "session-");
      write_all_ways(&ways, half, 24);
    }).join();
  }
  stop();
  const std::vector<ThreadUse> threads = recorded();
  const UsersByLine lines = by_line(threads);
  const auto writers_of = [&](const void* at) {
    const auto found = lines.find(reinterpret_cast<std::uintptr_t>(at) / kLineBytes * kLineBytes);
    return found == lines.end() ? 0 : found->second.session_writers();
  };
  for (const void* const at :
       {static_cast<const void*>(ways.plain), static_cast<const void*>(&ways.stored),
        static_cast<const void*>(&ways.exchanged), static_cast<const void*>(&ways.pointer),
        static_cast<const void*>(ways.copied), static_cast<const void*>(ways.moved),
        static_cast<const void*>(ways.filled), static_cast<const void*>(ways.raced),
        static_cast<const void*>(&ways.mutex), static_cast<const void*>(ways.assigned)}) {
    EXPECT_EQ(writers_of(at), 2u) << static_cast<const char*>(at) - reinterpret_cast<char*>(&ways);
  }
  EXPECT_EQ(writers_of(&ways.only_read), 0u);
  EXPECT_EQ(writers_of(ways.of_one[0]), 1u);
  EXPECT_EQ(writers_of(ways.of_one[1]), 1u);
}

}  // namespace
}  // namespace foedus::testing::lines
