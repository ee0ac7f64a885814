#include "tools/foedus/bench/runs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <span>
#include <thread>

#include "foedus-core/base/system/clock.h"

namespace foedus::cli {

namespace {

enum class Act : std::uint8_t { kPut, kGet, kErase, kScan };
enum class Order : std::uint8_t { kSequential, kRandom };

struct Run {
  std::string_view name;
  Act act;
  Order order;
  bool is_sync = false;     // each commit is durable before the next operation
  bool has_writer = false;  // one more thread overwrites rows until the others are done
};

constexpr std::array kRuns = {
    Run{"fillseq", Act::kPut, Order::kSequential},
    Run{"fillrandom", Act::kPut, Order::kRandom},
    Run{"fillsync", Act::kPut, Order::kRandom, true},
    Run{"overwrite", Act::kPut, Order::kRandom},
    Run{"readseq", Act::kScan, Order::kSequential},
    Run{"readrandom", Act::kGet, Order::kRandom},
    Run{"readwhilewriting", Act::kGet, Order::kRandom, false, true},
    Run{"deleteseq", Act::kErase, Order::kSequential},
    Run{"deleterandom", Act::kErase, Order::kRandom},
};

Status bad(const std::string& text) { return Status::error(ErrorCode::kInvalidArgument, text); }

// Returns the number in decimal digits, with zeroes before it.
void write_key(std::uint64_t number, std::span<char> key) {
  for (std::size_t i = key.size(); i != 0; number /= 10) {
    key[--i] = static_cast<char>('0' + number % 10);
  }
}

// Random bytes, of which values are parts.
std::string random_bytes(std::size_t bytes, std::uint64_t seed) {
  base::Random random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

// What the threads of a run share.
struct Shared {
  Database* db;
  BenchStorage storage;
  const Run* run;
  BenchSetup setup;
  std::string values;  // more than a value's bytes
  const BenchProgress* progress;

  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> found{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> ends{false};
  std::mutex mutex = {};  // guards `failure`
  Status failure = {};

  void fail(const Status& status) {
    const std::lock_guard guard(mutex);
    if (failure.is_ok()) failure = status;
    ends = true;
  }
};

// One thread of a run.
class Worker {
 public:
  // `begin`, `count`: the operations of this thread, and its keys if they come in order.
  Worker(Shared* shared, Act act, std::uint64_t begin, std::uint64_t count, std::uint64_t seed)
      : shared_(shared),
        act_(act),
        next_(begin),
        left_(count),
        random_(seed),
        key_(shared->setup.key_bytes, '0'),
        read_(shared->setup.value_bytes, '\0') {}

  // Makes all operations, or as many as there are until the run ends. `counts`: they are reported.
  Status work(bool counts = true) {
    const Durability durability = shared_->run->is_sync ? Durability::kSync : Durability::kAsync;
    while (left_ != 0 && !shared_->ends.load()) {
      const std::uint64_t count = std::min<std::uint64_t>(left_, shared_->setup.batch);
      choose(count);
      FOEDUS_CHECK(shared_->db->transact([&](Txn& txn) { return operate(txn); },
                                         {.durability = durability}));
      left_ -= count;
      done_ += count;
      found_ += found_now_;
      bytes_ += bytes_now_;
      if (counts && done_ % kReported < count) report();
    }
    return {};
  }
  void report() {
    const std::uint64_t all = shared_->operations.fetch_add(done_ - reported_) + done_ - reported_;
    reported_ = done_;
    if (*shared_->progress) (*shared_->progress)(all);
  }
  void add_up() {
    report();
    shared_->found += found_;
    shared_->bytes += bytes_;
  }

 private:
  static constexpr std::uint64_t kReported = 1 << 12;  // operations between two reports

  // Chooses the keys of the next transaction. They stay the same if it is run again.
  void choose(std::uint64_t count) {
    numbers_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool is_random = shared_->run->order == Order::kRandom;
      numbers_.push_back(is_random ? random_.below(shared_->setup.rows) : next_++);
    }
    value_at_ = random_.below(shared_->values.size() - shared_->setup.value_bytes + 1);
  }
  Status operate(Txn& txn) {
    found_now_ = bytes_now_ = 0;
    for (const std::uint64_t number : numbers_) {
      write_key(number, key_);
      Status status = operate_on_key(txn);
      if (status.is_ok()) {
        ++found_now_;
        bytes_now_ += key_.size() + shared_->setup.value_bytes;
      } else if (status.code() != ErrorCode::kNotFound) {
        return status;
      }
    }
    return {};
  }
  Status operate_on_key(Txn& txn) {
    const KeyedStorage& rows = shared_->storage.rows;
    if (act_ == Act::kErase) return txn.erase(rows, key_);
    if (act_ == Act::kGet) {
      return txn.get(rows, key_, std::as_writable_bytes(std::span(read_))).status();
    }
    const std::string_view values = shared_->values;
    return txn.put(rows, key_, values.substr(value_at_, shared_->setup.value_bytes));
  }

  Shared* const shared_;
  const Act act_;
  std::uint64_t next_;
  std::uint64_t left_;
  base::Random random_;
  std::string key_;
  std::string read_;
  std::vector<std::uint64_t> numbers_;
  std::uint64_t value_at_ = 0;
  std::uint64_t found_now_ = 0;  // by the transaction that runs
  std::uint64_t bytes_now_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t reported_ = 0;
  std::uint64_t found_ = 0;
  std::uint64_t bytes_ = 0;
};

// Reads the rows of the tree in order. A transaction reads some of them, so that no read set grows
// with their number.
Status scan_all(Shared* shared) {
  constexpr std::uint64_t kRowsOfTxn = 10'000;
  std::string low;
  for (std::uint64_t rows = kRowsOfTxn; rows == kRowsOfTxn;) {
    std::uint64_t bytes = 0;
    std::string last;
    FOEDUS_CHECK(shared->db->transact([&](Txn& txn) -> Status {
      rows = bytes = 0;
      Scan scan = txn.scan(shared->storage.tree, low, "", {.limit = kRowsOfTxn});
      for (const Row& row : scan) {
        bytes += row.key.size() + row.payload.size();
        if (++rows == kRowsOfTxn) last = row.key;
      }
      const auto failure = scan.failure();
      return failure ? *failure : Status();
    }));
    low = last + '\0';
    shared->found += rows;
    shared->bytes += bytes;
    const std::uint64_t all = shared->operations += rows;
    if (*shared->progress) (*shared->progress)(all);
  }
  return {};
}

// Returns a seed that no other thread, and no other run, has.
std::uint64_t seed_of(const Shared& shared, std::uint32_t thread) {
  const auto run = static_cast<std::uint64_t>(shared.run - kRuns.data());
  return (shared.setup.seed * kRuns.size() + run) * 1'000 + thread + 1;
}

void run_thread(Shared* shared, std::uint32_t number) {
  if (shared->run->act == Act::kScan) {
    const Status status = scan_all(shared);
    if (!status.is_ok()) shared->fail(status);
    return;
  }
  const std::uint64_t rows = shared->setup.rows;
  const std::uint64_t begin = rows * number / shared->setup.threads;
  const std::uint64_t end = rows * (number + 1) / shared->setup.threads;
  Worker worker(shared, shared->run->act, begin, end - begin, seed_of(*shared, number));
  const Status status = worker.work();
  if (!status.is_ok()) shared->fail(status);
  worker.add_up();
}

// Overwrites rows until the run ends. Its operations do not count.
void run_writer(Shared* shared) {
  Worker worker(shared, Act::kPut, 0, ~std::uint64_t{0}, seed_of(*shared, 999));
  const Status status = worker.work(false);
  if (!status.is_ok()) shared->fail(status);
}

}  // namespace

Status check(const BenchSetup& setup) {
  constexpr std::uint32_t kThreadsMax = 512;
  constexpr std::uint32_t kBatchMax = 10'000;
  if (setup.rows == 0) return bad("--rows must be at least 1");
  if (setup.key_bytes < 4 || setup.key_bytes > kMaxKeyBytes) {
    return bad("--key-bytes must be 4 .. " + std::to_string(kMaxKeyBytes));
  }
  std::uint64_t keys = 1;
  for (std::uint32_t i = 0; i < setup.key_bytes && keys < setup.rows; ++i) keys *= 10;
  if (keys < setup.rows) return bad("--key-bytes has too few digits for --rows");
  if (setup.value_bytes > kMaxPayloadBytes) {
    return bad("--value-bytes must be at most " + std::to_string(kMaxPayloadBytes));
  }
  if (setup.threads == 0 || setup.threads > kThreadsMax) {
    return bad("--threads must be 1 .. " + std::to_string(kThreadsMax));
  }
  if (setup.batch == 0 || setup.batch > kBatchMax) {
    return bad("--batch must be 1 .. " + std::to_string(kBatchMax));
  }
  return {};
}

std::vector<std::string_view> bench_names() {
  std::vector<std::string_view> names;
  for (const Run& run : kRuns) names.push_back(run.name);
  return names;
}

Result<BenchResult> run_bench(Database* db, const BenchStorage& storage, std::string_view name,
                              const BenchSetup& setup, const BenchProgress& progress) {
  const auto* const run =
      std::find_if(kRuns.begin(), kRuns.end(), [&](const Run& one) { return one.name == name; });
  if (run == kRuns.end()) return bad("there is no run \"" + std::string(name) + "\"");
  if (run->act == Act::kScan && storage.tree.id() == 0) {
    return bad("the rows of a hash storage have no order: readseq needs --kind masstree");
  }
  constexpr std::size_t kValuesBytes = 1 << 20;
  Shared shared{.db = db,
                .storage = storage,
                .run = run,
                .setup = setup,
                .values = random_bytes(kValuesBytes + setup.value_bytes, setup.seed),
                .progress = &progress};
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::vector<std::thread> threads;
  const std::uint32_t count = run->act == Act::kScan ? 1 : setup.threads;
  for (std::uint32_t i = 0; i < count; ++i) threads.emplace_back(run_thread, &shared, i);
  std::thread writer;
  if (run->has_writer) writer = std::thread(run_writer, &shared);
  for (std::thread& thread : threads) thread.join();
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  shared.ends = true;
  if (writer.joinable()) writer.join();
  FOEDUS_CHECK(shared.failure);
  return BenchResult{std::string(name), shared.operations, shared.found, shared.bytes,
                     static_cast<std::uint64_t>(took.count())};
}

}  // namespace foedus::cli
