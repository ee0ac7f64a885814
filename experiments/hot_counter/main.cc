// hot_counter: sessions add 1 to the same few counters in different ways, which take turns. Shows
// what a wait for a record's lock costs when threads outnumber processors. See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/progress.h"
#include "experiments/common/random.h"
#include "experiments/common/text.h"
#include "experiments/common/worker_threads.h"

DEFINE_string(threads, "4", "numbers of threads, comma-separated; each is measured in turn");
DEFINE_string(storage, "masstree", "masstree, hash or array");
DEFINE_string(op, "increment,get_put",
              "comma-separated: increment, get_put (get, then put), or get_for_update (the same, "
              "with the lock taken first)");
DEFINE_uint32(rounds, 3, "runs of --seconds of each op, alternating");
DEFINE_uint64(records, 1, "counters, 1 .. 1,000,000; which one is drawn at random");

namespace experiments::hot_counter {
namespace {

using Clock = std::chrono::steady_clock;

enum class Op { kIncrement, kGetPut, kGetForUpdate };

struct NamedOp {
  std::string name;
  Op op;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

foedus::Status bad(const char* what, const std::string& value) {
  return failed(foedus::ErrorCode::kInvalidArgument, "--%s: '%s'", what, value.c_str());
}

foedus::Result<std::vector<NamedOp>> ops_by_flag() {
  const std::map<std::string, Op> known{{"increment", Op::kIncrement},
                                        {"get_put", Op::kGetPut},
                                        {"get_for_update", Op::kGetForUpdate}};
  std::vector<NamedOp> ops;
  for (const std::string& word : words_of(FLAGS_op)) {
    const auto found = known.find(word);
    if (found == known.end()) return bad("op", word);
    ops.push_back({word, found->second});
  }
  return ops;
}

foedus::Result<std::vector<std::uint32_t>> threads_by_flag() {
  std::vector<std::uint32_t> threads;
  for (const std::string& word : words_of(FLAGS_threads)) {
    const unsigned long number = std::strtoul(word.c_str(), nullptr, 10);
    if (number < 1 || number > 1024) return bad("threads", word);
    threads.push_back(static_cast<std::uint32_t>(number));
  }
  return threads;
}

// The counters, and the ways to add 1 to one of them.
class Counters {
 public:
  static foedus::Result<Counters> open(foedus::Database* db) {
    Counters counters(db);
    FOEDUS_CHECK(counters.open_storage());
    return counters;
  }

  foedus::Status add(foedus::Txn& txn, std::uint64_t i, Op op) const {
    if (is_array_) return add_to(txn, array_, i, op);
    return add_to(txn, keyed_, foedus::key(i), op);
  }

  // Sum of all counters.
  foedus::Result<std::int64_t> sum() const {
    return db_->transact([&](foedus::Txn& txn) -> foedus::Result<std::int64_t> {
      std::int64_t total = 0;
      for (std::uint64_t i = 0; i < FLAGS_records; ++i) {
        FOEDUS_TRY(const std::int64_t value,
                   is_array_ ? txn.get_as<std::int64_t>(array_, i)
                             : txn.get_as<std::int64_t>(keyed_, foedus::key(i)));
        total += value;
      }
      return total;
    });
  }

 private:
  explicit Counters(foedus::Database* db) : db_(db) {}

  foedus::Status open_storage() {
    is_array_ = FLAGS_storage == "array";
    if (is_array_) {
      FOEDUS_TRY(array_, db_->open_array("counters", FLAGS_records, sizeof(std::int64_t)));
      return {};
    }
    if (FLAGS_storage == "hash") {
      FOEDUS_TRY(keyed_, db_->open_hash("counters"));
    } else {
      FOEDUS_TRY(keyed_, db_->open_masstree("counters"));
    }
    for (std::uint64_t i = 0; i < FLAGS_records; ++i) {
      FOEDUS_CHECK(db_->transact(
          [&](foedus::Txn& txn) { return txn.put(keyed_, foedus::key(i), std::int64_t{0}); }));
    }
    return {};
  }

  template <typename Storage, typename Key>
  static foedus::Status add_to(foedus::Txn& txn, const Storage& storage, const Key& key, Op op) {
    if (op == Op::kIncrement) return txn.increment(storage, key, 0, 1);
    std::int64_t value = 0;
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&value, 1));
    if (op == Op::kGetPut) {
      FOEDUS_CHECK(status_of(txn.get(storage, key, bytes)));
    } else {
      FOEDUS_CHECK(status_of(txn.get_for_update(storage, key, bytes)));
    }
    return txn.put(storage, key, value + 1);
  }
  static foedus::Status status_of(foedus::Status status) { return status; }
  static foedus::Status status_of(const foedus::Result<std::size_t>& size) { return size.status(); }

  foedus::Database* db_;
  bool is_array_ = false;
  foedus::Array array_;
  foedus::KeyedStorage keyed_;
};

// What one run came to.
struct Run {
  double txn_per_s = 0;
  double least_share = 0;      // commits of the slowest thread, of its even share
  double longest_wait_ms = 0;  // the longest time that a thread took for kBatch commits
  std::uint64_t commits = 0;
};

// What the runs of one op came to.
struct Measured {
  std::vector<double> txn_per_s;
  double least_share = 1;
  double longest_wait_ms = 0;
};

// Commits between two looks at the clock.
constexpr std::uint64_t kBatch = 16;

foedus::Result<Run> run_once(foedus::Database& db, const Counters& counters, std::uint32_t threads,
                             Op op) {
  std::atomic<bool> stop{false};
  std::vector<std::uint64_t> commits(threads, 0);
  std::vector<double> waits_ms(threads, 0);
  WorkerThreads workers(
      threads, [&](std::uint32_t number, WorkerThreads::Gate& gate) -> foedus::Status {
        Random random(FLAGS_seed, number);
        std::uint64_t done = 0;
        gate.arrive_and_wait();
        auto begin = Clock::now();
        while (!stop.load(std::memory_order_relaxed)) {  // order: a wish to stop, some time
          const std::uint64_t i = FLAGS_records == 1 ? 0 : random.uniform(0, FLAGS_records - 1);
          FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) { return counters.add(txn, i, op); }));
          if (++done % kBatch != 0) continue;
          const auto now = Clock::now();
          const double ms = std::chrono::duration<double, std::milli>(now - begin).count();
          waits_ms[number] = std::max(waits_ms[number], ms);
          begin = now;
        }
        commits[number] = done;
        return {};
      });
  FOEDUS_TRY(const double seconds, workers.work_for(FLAGS_seconds, &stop));
  Run run;
  for (const std::uint64_t done : commits) run.commits += done;
  run.txn_per_s = static_cast<double>(run.commits) / seconds;
  const auto least = static_cast<double>(*std::min_element(commits.begin(), commits.end()));
  run.least_share = run.commits == 0 ? 0 : least * threads / static_cast<double>(run.commits);
  run.longest_wait_ms = *std::max_element(waits_ms.begin(), waits_ms.end());
  return run;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One number of threads: all ops in turn, and the ratio of the first to each other in each round.
JsonObject facts_of(const std::vector<NamedOp>& ops, const std::vector<Measured>& measured) {
  JsonObject object;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    JsonObject facts = spread_of(measured[i].txn_per_s);
    facts.add("least_share", measured[i].least_share);
    facts.add("longest_wait_ms", measured[i].longest_wait_ms);
    object.add(ops[i].name, facts);
    if (i == 0) continue;
    std::vector<double> ratios;
    for (std::size_t round = 0; round < FLAGS_rounds; ++round) {
      ratios.push_back(measured[0].txn_per_s[round] / measured[i].txn_per_s[round]);
    }
    object.add(ops[0].name + "_to_" + ops[i].name, spread_of(ratios));
  }
  return object;
}

foedus::Status check_flags() {
  if (FLAGS_dir.empty()) return bad("dir", "");
  if (FLAGS_storage != "masstree" && FLAGS_storage != "hash" && FLAGS_storage != "array") {
    return bad("storage", FLAGS_storage);
  }
  if (FLAGS_rounds < 1 || FLAGS_rounds > 1000) return bad("rounds", std::to_string(FLAGS_rounds));
  if (FLAGS_records < 1 || FLAGS_records > 1'000'000) {
    return bad("records", std::to_string(FLAGS_records));
  }
  return {};
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(parse_command_line(argc, argv, "hot_counter --dir D [--threads N,...] ..."));
  FOEDUS_CHECK(check_flags());
  FOEDUS_TRY(const std::vector<NamedOp> ops, ops_by_flag());
  FOEDUS_TRY(const std::vector<std::uint32_t> threads, threads_by_flag());
  FOEDUS_TRY(foedus::Database db, foedus::Database::open(foedus_options_by_flags()));
  FOEDUS_TRY(const Counters counters, Counters::open(&db));
  Progress progress("hot_counter", threads.size() * FLAGS_rounds * ops.size());
  JsonObject runs;
  std::uint64_t commits = 0;
  double last_txn_per_s = 0;
  FOEDUS_TRY(const std::int64_t sum_before, counters.sum());
  for (const std::uint32_t count : threads) {
    std::vector<Measured> measured(ops.size());
    for (std::uint32_t round = 0; round < FLAGS_rounds; ++round) {
      for (std::size_t i = 0; i < ops.size(); ++i) {
        FOEDUS_TRY(const Run done, run_once(db, counters, count, ops[i].op));
        measured[i].txn_per_s.push_back(done.txn_per_s);
        measured[i].least_share = std::min(measured[i].least_share, done.least_share);
        measured[i].longest_wait_ms = std::max(measured[i].longest_wait_ms, done.longest_wait_ms);
        commits += done.commits;
        progress.add(1);
      }
    }
    runs.add(std::to_string(count), facts_of(ops, measured));
    last_txn_per_s = median(measured[0].txn_per_s);
  }
  FOEDUS_TRY(const std::int64_t sum, counters.sum());
  const bool is_exact = static_cast<std::uint64_t>(sum - sum_before) == commits;
  const foedus::Stats stats = db.stats();
  JsonObject line = begin_line("hot_counter");
  line.add("txn_per_s", last_txn_per_s);
  line.add("threads", runs);
  line.add("commits", commits);
  line.add("counted_exactly", is_exact);
  line.add("rollbacks", stats.rollbacks);
  line.add("writers_waited_us", stats.writers_waited_us);
  line.add("peak_memory_bytes", peak_memory_bytes());
  FOEDUS_CHECK(db.close());
  print_line(line);
  if (!is_exact) {
    return failed(foedus::ErrorCode::kCorruption, "the counters hold %lld more, of %llu commits",
                  static_cast<long long>(sum - sum_before),
                  static_cast<unsigned long long>(commits));
  }
  return {};
}

}  // namespace
}  // namespace experiments::hot_counter

int main(int argc, char** argv) {
  const foedus::Status status = experiments::hot_counter::run(argc, argv);
  if (status.is_ok()) return 0;
  LOG(ERROR) << "hot_counter: " << status.message();
  return 1;
}
