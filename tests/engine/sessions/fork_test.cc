// ctest-labels: concurrency
// fork() under an open database: the child's calls are refused with an error that names the fork,
// do not wait and do no damage, and the parent goes on undisturbed. Method: the child makes all
// forbidden calls and reports by its exit code; an alarm ends a child that waits.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>

#include "foedus-core/base/system/sync_point.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

// Defined only if the executable measures coverage (tools/coverage.py).
extern "C" int __llvm_profile_write_file() __attribute__((weak));

namespace foedus::fork_test {
namespace {

using testing::must;
using testing::TestDatabase;
using testing::TestDirectory;

constexpr unsigned kChildSeconds = 60;

#define EXPECT_FORKED(...)                                                        \
  do {                                                                            \
    const Status refused = ::foedus::internal::take_status(__VA_ARGS__);          \
    if (refused.code() != ErrorCode::kForked) {                                   \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, refused.message().c_str()); \
      return 1;                                                                   \
    }                                                                             \
  } while (false)

// Runs `work` in a child, whose exit code it returns; -1 if a signal ended the child.
int in_child(const std::function<int()>& work) {
  std::fflush(nullptr);  // otherwise the child's exit() would write the buffer again
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    const int said = work();
    if (__llvm_profile_write_file != nullptr) __llvm_profile_write_file();
    _exit(said);
  }
  int result = 0;
  EXPECT_EQ(waitpid(child, &result, 0), child);
  return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

// Makes all calls of a database except close() and the destructor.
int use(Database* db, const Masstree& tree) {
  EXPECT_FORKED(db->transact([&](Txn& txn) { return txn.put(tree, key(1u), 7u); }));
  EXPECT_FORKED(db->open_masstree("tree"));
  EXPECT_FORKED(db->open_hash("hash"));
  EXPECT_FORKED(db->open_array("array", 1, 8));
  EXPECT_FORKED(db->open_sequential("log"));
  EXPECT_FORKED(db->drop_storage("tree"));
  EXPECT_FORKED(db->new_session());
  EXPECT_FORKED(db->wait_durable());
  if (!db->storages().empty() || db->stats().commits != 0) return 2;
  return db->effective_options().options.dir.empty() ? 3 : 0;
}

Status put(Database& db, const Masstree& tree, std::uint32_t number) {
  return db.transact([&](Txn& txn) { return txn.put(tree, key(number), number); },
                     {.durability = Durability::kSync});
}

void expect_kept(TestDatabase* db, std::uint32_t count) {
  db->reopen();
  const Masstree tree = must((*db)->open_masstree("tree"));
  must((*db)->transact([&](Txn& txn) -> Status {
    for (std::uint32_t i = 0; i < count; ++i) {
      FOEDUS_TRY(const auto value, txn.get_as<std::uint32_t>(tree, key(i)));
      EXPECT_EQ(value, i);
    }
    return {};
  }));
}

TEST(ForkTest, calls_of_a_child_are_refused_by_name) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(put(*db, tree, 0));
  EXPECT_EQ(in_child([&] { return use(&*db, tree); }), 0);
  EXPECT_EQ(in_child([&] {
              const Status status = db->close();
              return status.message().find("fork()") == std::string::npos ? 1 : 0;
            }),
            0);
  must(put(*db, tree, 1));
  expect_kept(&db, 2);
}

TEST(ForkTest, sessions_transactions_and_scans_of_the_parent_are_refused) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  for (std::uint32_t i = 0; i < 10; ++i) must(put(*db, tree, i));
  {
    Session idle = must(db->new_session());
    Session session = must(db->new_session());
    Txn txn = must(session.begin());
    must(txn.put(tree, key(10u), 10u));
    Scan rows = txn.scan(tree, {}, {});
    ASSERT_NE(rows.begin(), rows.end());
    EXPECT_EQ(in_child([&] {
                EXPECT_FORKED(idle.begin());
                EXPECT_FORKED(session.begin());
                EXPECT_FORKED(txn.get(tree, key(1u)));
                EXPECT_FORKED(txn.put(tree, key(1u), 8u));
                EXPECT_FORKED(txn.erase(tree, key(1u)));
                EXPECT_FORKED(txn.verify());
                ++rows.begin();
                if (!rows.failure().has_value()) return 2;
                EXPECT_FORKED(*rows.failure());
                txn.prefetch(tree, key(1u));
                Scan other = txn.scan(tree, {}, {});
                EXPECT_FORKED(*other.failure());
                EXPECT_FORKED(txn.commit());
                txn.rollback();
                return 0;
              }),
              0);
    must(txn.commit());
  }
  must(put(*db, tree, 11));
  expect_kept(&db, 12);
}

// Goal: in the child a ticket that was not durable fails, and its callback gets the error.
TEST(ForkTest, a_ticket_that_is_not_durable_never_is_in_the_child) {
  Options options = testing::small_options("");
  options.epoch_interval_us = 1'000'000;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  Ticket ticket;
  must(db->transact([&](Txn& txn) { return txn.put(tree, key(0u), 0u); }, {.ticket = &ticket}));
  ASSERT_FALSE(ticket.is_durable());
  EXPECT_EQ(in_child([&] {
              EXPECT_FORKED(ticket.wait_durable());
              Status told;
              ticket.on_durable([&](const Status& status) { told = status; });
              EXPECT_FORKED(told);
              return 0;
            }),
            0);
  must(ticket.wait_durable());
  expect_kept(&db, 1);
}

// A thread of the parent is in the stream when it forks, and holds the locks of the stream and of
// the log's directory.
TEST(ForkTest, a_change_stream_of_the_parent_is_refused) {
  Options options = testing::small_options("");
  options.log.change_bytes = 1u << 20;
  TestDatabase db(options);
  std::optional<ChangeStream> stream = must(db->changes());
  std::optional<ChangeStream> other = must(db->changes());
  static std::atomic<bool> holds;
  static std::atomic<bool> goes_on;
  holds = goes_on = false;
  base::set_sync_point_hook([](const char* place) {
    if (std::string_view(place) != "log:hold_moves") return;
    holds = true;
    while (!goes_on) testing::nap();
  });
  std::thread reader([&] { must(stream->next()); });
  while (!holds) testing::nap();
  EXPECT_EQ(in_child([&] {
              EXPECT_FORKED(db->changes());
              EXPECT_FORKED(other->next());
              EXPECT_FORKED(stream->next());
              other.reset();
              stream.reset();
              return 0;
            }),
            0);
  goes_on = true;
  reader.join();
  base::set_sync_point_hook(nullptr);
  const Masstree tree = must(db->open_masstree("tree"));
  must(put(*db, tree, 0));
  EXPECT_GT(must(other->next(60'000'000)).changes.size(), 0u);
  expect_kept(&db, 1);
}

TEST(ForkTest, a_child_that_forks_within_a_transaction_cannot_commit_it) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(put(*db, tree, 0));
  const pid_t parent = getpid();
  pid_t child = -1;
  const Status status = db->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(tree, key(1u), 1u));
    child = fork();
    if (child == 0) alarm(kChildSeconds);
    return {};
  });
  if (getpid() != parent) _exit(status.code() == ErrorCode::kForked ? 0 : 1);
  must(status);
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  expect_kept(&db, 2);
}

// Goal: a revoked transaction is not rolled back in the child, which has no pages. Method: the
// transaction is revoked during a put, and its thread forks once that has returned, usually before
// the watch checks again.
TEST(ForkTest, a_child_that_forks_within_a_revoked_transaction_does_not_roll_it_back) {
  constexpr std::uint64_t kTimeoutUs = 50'000;
  Options options = testing::small_options("");
  options.transaction_timeout_us = kTimeoutUs;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  must(put(*db, tree, 0));
  const pid_t parent = getpid();
  pid_t child = -1;
  const Status status = db->transact([&](Txn& txn) -> Status {
    base::set_sync_point_hook([](const char* place) {
      if (std::string_view(place) == "masstree:insert_locked") usleep(4 * kTimeoutUs);
    });
    const Status ignored = txn.put(tree, key(1u), 1u);
    static_cast<void>(ignored.is_ok());
    child = fork();
    if (child == 0) {
      alarm(kChildSeconds);
      return {};
    }
    base::set_sync_point_hook(nullptr);
    return {};
  });
  if (getpid() != parent) _exit(status.code() == ErrorCode::kForked ? 0 : 1);
  EXPECT_FALSE(status.is_ok());
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  expect_kept(&db, 1);
}

// Goal: a child may end as any program does. Method: it runs its destructors and the functions of
// exit(); a leak checker, if there is one, decides about its exit code.
TEST(ForkTest, a_child_that_returns_from_main_ends_well) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(put(*db, tree, 0));
  for (const bool destroys : {false, true}) {
    EXPECT_EQ(in_child([&]() -> int {
                if (destroys) Database gone(std::move(*db));
                std::exit(0);
              }),
              0);
  }
  expect_kept(&db, 1);
}

// Goal: the destructors in the child neither hang nor harm the parent, whatever other threads did
// at the fork. Method: fork repeatedly while threads commit.
TEST(ForkTest, destructors_in_the_child_neither_wait_nor_harm) {
  TestDirectory directory;
  Options options = testing::small_options(directory.path());
  options.socs = 2;
  auto db = std::make_unique<Database>(must(Database::open(options)));
  const Masstree tree = must(db->open_masstree("tree"));
  must(put(*db, tree, 0));
  std::atomic<bool> stops{false};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; !stops.load(); ++i) {
        const auto work = [&](Txn& txn) { return txn.put(tree, key(t * 1'000'000 + i % 500), i); };
        must(db->transact(work,
                          {.durability = i % 8 == 0 ? Durability::kSync : Durability::kAsync}));
      }
    });
  }
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(in_child([&] {
                auto session = db->new_session();
                EXPECT_FORKED(session);
                EXPECT_FORKED(db->close());
                db.reset();
                return 0;
              }),
              0);
  }
  stops.store(true);
  for (std::thread& thread : threads) thread.join();
  must(put(*db, tree, 1));
  must(db->close());
}

// Goal: the lock belongs to the parent: a child's destructor does not release it, and a child that
// outlives the parent does not keep it.
TEST(ForkTest, the_directory_is_the_parents_until_it_closes) {
  TestDirectory directory;
  const Options options = testing::small_options(directory.path());
  auto db = std::make_unique<Database>(must(Database::open(options)));
  EXPECT_EQ(in_child([&] {
              db.reset();
              return Database::open(options).code() == ErrorCode::kBusy ? 0 : 1;
            }),
            0);
  EXPECT_EQ(Database::open(options).code(), ErrorCode::kBusy);

  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    for (;;) pause();
  }
  must(db->close());
  db.reset();
  EXPECT_TRUE(Database::open(options).is_ok());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

#ifndef FOEDUS_TSAN  // it refuses threads in a child of a process with threads
TEST(ForkTest, a_child_opens_databases_of_its_own) {
  TestDirectory mine;
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(put(*db, tree, 0));
  EXPECT_EQ(in_child([&] {
              auto own = Database::open(testing::small_options(mine.path()));
              if (!own.is_ok()) return 1;
              const auto own_tree = own->open_masstree("tree");
              if (!own_tree.is_ok() || !put(*own, *own_tree, 0).is_ok()) return 2;
              EXPECT_FORKED(put(*db, tree, 1));
              return own->close().is_ok() ? 0 : 3;
            }),
            0);
  EXPECT_TRUE(Database::open(testing::small_options(mine.path())).is_ok());
  expect_kept(&db, 1);
}
#endif

}  // namespace
}  // namespace foedus::fork_test
