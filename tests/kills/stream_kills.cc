// stream_kills: a consumer of a change stream, killed and resumed with its database under load,
// gets every durable change once, in order. One process after another opens the database, compares
// the consumer's copy with all rows, writes, and dies by SIGKILL.

#include <gflags/gflags.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foedus/foedus.h"
#include "tests/kills/journal.h"

DEFINE_string(kill_dir, "", "a directory that is made, and removed after a success");
DEFINE_uint32(kills, 100, "processes that are killed");
DEFINE_uint64(kill_seed, 1, "of the times and of the changes");
DEFINE_uint32(life_ms_max, 400, "longest time from the end of the comparison to the kill");
DEFINE_uint32(writers, 2, "threads that write");
DEFINE_uint32(damage_at, 0, "leaves a batch out of the journal in this life: the run must fail");

namespace kills {
namespace {

using foedus::Database;
using foedus::ErrorCode;
using foedus::Result;
using foedus::Status;
using foedus::Txn;

constexpr std::uint64_t kKeys = 300;
constexpr std::uint64_t kCounters = 16;

struct Storages {
  foedus::Masstree tree;
  foedus::Hash hash;
  foedus::Array array;
  foedus::Sequential list;
};

Result<Storages> open_storages(Database& db) {
  Storages all;
  FOEDUS_TRY(all.tree, db.open_masstree("tree"));
  FOEDUS_TRY(all.hash, db.open_hash("hash"));
  FOEDUS_TRY(all.array, db.open_array("array", kCounters, 16));
  FOEDUS_TRY(all.list, db.open_sequential("list"));
  return all;
}

Status differs(const std::string& what) { return Status::error(ErrorCode::kCorruption, what); }

// ---- the comparison

Status compare_rows(const Copy::Storage& copy, foedus::Scan rows, const char* name) {
  std::size_t count = 0;
  for (const foedus::Row& row : rows) {
    const auto found = copy.rows.find(std::string(row.key));
    if (found == copy.rows.end()) return differs(std::string("the copy lacks a row of ") + name);
    if (found->second != row.payload) return differs(std::string("another row in ") + name);
    ++count;
  }
  if (const auto failure = rows.failure()) return *failure;
  return count == copy.rows.size() ? Status() : differs(std::string("a row is gone from ") + name);
}

Status compare_counters(const Copy::Storage& copy, foedus::ArrayScan rows) {
  for (const foedus::ArrayRow& row : rows) {
    const std::string key(reinterpret_cast<const char*>(&row.index), sizeof(row.index));
    const auto found = copy.rows.find(key);
    const std::string of_copy = found == copy.rows.end() ? std::string(16, '\0') : found->second;
    if (of_copy != row.payload) return differs("another record " + std::to_string(row.index));
  }
  return rows.failure().value_or(Status());
}

Status compare_records(const Copy::Storage& copy, foedus::Scan rows) {
  std::size_t at = 0;
  for (const foedus::Row& row : rows) {
    if (at == copy.records.size() || copy.records[at] != row.payload) {
      return differs("another record " + std::to_string(at) + " of the list");
    }
    ++at;
  }
  if (const auto failure = rows.failure()) return *failure;
  return at == copy.records.size() ? Status() : differs("a record is gone from the list");
}

Status compare(Database& db, const Storages& all, const Copy& copy) {
  for (const foedus::StorageInfo& info : db.storages()) {
    if (!copy.storages().contains(info.name)) return differs("the copy lacks " + info.name);
  }
  if (copy.storages().size() != db.storages().size()) return differs("the copy has more storages");
  const auto& of = copy.storages();
  return db.transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(compare_rows(of.at("tree"), txn.scan(all.tree, "", ""), "tree"));
    FOEDUS_CHECK(compare_rows(of.at("hash"), txn.scan(all.hash), "hash"));
    FOEDUS_CHECK(compare_counters(of.at("array"), txn.scan(all.array)));
    return compare_records(of.at("list"), txn.scan(all.list));
  });
}

// ---- the life of a process

Status write_once(Database& db, const Storages& all, std::mt19937_64& random) {
  const auto draw = [&](std::uint64_t below) { return random() % below; };
  return db.transact([&](Txn& txn) -> Status {
    for (std::uint64_t step = draw(5) + 1; step > 0; --step) {
      const std::string key = "key " + std::to_string(draw(kKeys));
      const bool is_tree = draw(2) == 0;
      const auto& keyed = is_tree ? static_cast<const foedus::KeyedStorage&>(all.tree) : all.hash;
      Status status;
      switch (draw(8)) {
        case 0:
          status = txn.erase(keyed, key);
          break;
        case 1:
          status = txn.write_at(keyed, key, 4, "part");
          break;
        case 2:
          status = txn.increment(keyed, key, 0, 3);
          break;
        case 3:
          status = txn.increment(all.array, draw(kCounters), 8, 1);
          break;
        case 4:
          status = draw(20) == 0 ? txn.append(all.list, key) : Status();
          break;
        default:
          status = txn.put(keyed, key, std::string(8 + draw(400), 'p'));
      }
      if (!status.is_ok() && status.code() != ErrorCode::kNotFound) return status;
    }
    return {};
  });
}

// Takes what there is; true: there was something.
Result<bool> take(foedus::ChangeStream* stream, Journal* journal, Copy* copy, bool leaves_out) {
  FOEDUS_TRY(const foedus::ChangeBatch batch, stream->next(leaves_out ? 0 : 20'000));
  if (batch.changes.empty()) return false;
  if (leaves_out) return true;
  FOEDUS_CHECK(journal->add(batch));
  for (const foedus::Change& change : batch.changes) FOEDUS_CHECK(copy->apply(change));
  return true;
}

// Returns only at an error, or if `ready` is negative: after the comparison.
Status live(std::uint32_t number, int ready) {
  std::mt19937_64 random(FLAGS_kill_seed * 1'000 + number);
  foedus::Options options;
  options.dir = FLAGS_kill_dir + "/db";
  options.memory_bytes = 128u << 20;
  options.log.segment_bytes = 1u << 20;
  options.log.change_bytes = 64u << 20;
  options.log.loggers_per_soc = 1 + number % 3;
  options.glean.log_bytes = 1u << 20;
  options.operator_log_bytes = 0;
  FOEDUS_TRY(Database db, Database::open(options));
  Copy copy;
  FOEDUS_TRY(Journal journal, Journal::open(FLAGS_kill_dir + "/journal", &copy));
  FOEDUS_TRY(const Storages all, open_storages(db));
  FOEDUS_CHECK(db.wait_durable());
  FOEDUS_TRY(foedus::ChangeStream stream, db.changes(journal.position()));
  if (FLAGS_damage_at != 0 && number == FLAGS_damage_at) {
    FOEDUS_CHECK(take(&stream, &journal, &copy, true).status());
  }
  for (bool has_more = true; has_more;) {
    FOEDUS_TRY(has_more, take(&stream, &journal, &copy, false));
  }
  FOEDUS_CHECK(compare(db, all, copy));
  FOEDUS_CHECK(journal.compact(copy));
  if (ready < 0) return db.close();
  const std::uint64_t caught_up = journal.batches();
  if (write(ready, &caught_up, sizeof(caught_up)) != sizeof(caught_up)) return differs("the pipe");

  std::atomic<bool> fails = false;
  std::vector<std::thread> writers;
  for (std::uint32_t i = 0; i < FLAGS_writers; ++i) {
    writers.emplace_back([&, seed = random()] {
      std::mt19937_64 own(seed);
      while (!fails) fails = fails || !write_once(db, all, own).is_ok();
    });
  }
  Status status;
  while (status.is_ok() && !fails) status = take(&stream, &journal, &copy, false).status();
  fails = true;
  for (std::thread& writer : writers) writer.join();
  return status.is_ok() ? differs("a writer failed") : status;
}

// ---- the keeper

[[noreturn]] void run_child(std::uint32_t number, int ready) {
  const Status status = live(number, ready);
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  std::fflush(stderr);
  _exit(status.is_ok() ? EXIT_SUCCESS : EXIT_FAILURE);
}

int fail(std::uint32_t number, const char* what) {
  std::fprintf(stderr, "stream_kills: process %u of seed %llu: %s\n", number,
               static_cast<unsigned long long>(FLAGS_kill_seed), what);
  return EXIT_FAILURE;
}

int run() {
  std::mt19937_64 random(FLAGS_kill_seed);
  std::uint64_t caught_up = 0;
  std::uint32_t early = 0;
  std::filesystem::create_directories(FLAGS_kill_dir);
  for (std::uint32_t number = 1; number <= FLAGS_kills + 1; ++number) {
    int ends[2];
    if (pipe(ends) != 0) return fail(number, "no pipe");
    const bool is_last = number == FLAGS_kills + 1;
    const pid_t child = fork();
    if (child == 0) run_child(number, is_last ? -1 : ends[1]);
    close(ends[1]);
    const bool is_early = !is_last && FLAGS_damage_at == 0 && random() % 5 == 0;
    std::uint64_t batches = 0;
    const bool is_ready =
        !is_early && !is_last && read(ends[0], &batches, sizeof(batches)) == sizeof(batches);
    caught_up += batches;
    early += is_early ? 1 : 0;
    if (is_ready || is_early) {
      usleep(static_cast<useconds_t>(random() % (is_early ? 30 : FLAGS_life_ms_max) * 1'000));
      kill(child, SIGKILL);
    }
    int result = 0;
    waitpid(child, &result, 0);
    close(ends[0]);
    const bool is_fine = is_last ? WIFEXITED(result) && WEXITSTATUS(result) == 0
                                 : WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL;
    if (!is_fine) return fail(number, "did not end as it should");
  }
  std::filesystem::remove_all(FLAGS_kill_dir);
  std::printf(
      "{\"kills\": %u, \"during_the_open_or_comparison\": %u, \"batches_after_kills\": %llu}\n",
      FLAGS_kills, early, static_cast<unsigned long long>(caught_up));
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace kills

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (FLAGS_kill_dir.empty() || std::filesystem::exists(FLAGS_kill_dir)) {
    std::fprintf(stderr, "stream_kills: --kill_dir names a directory that is missing\n");
    return 2;
  }
  return kills::run();
}
