// changes: what a change stream costs writers, how late it is, and how fast it reads a log that is
// there. See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/histogram.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/progress.h"
#include "experiments/common/random.h"
#include "experiments/common/text.h"
#include "experiments/common/worker_threads.h"

DEFINE_uint64(rows, 1'000'000, "rows, of which each transaction writes one, drawn at random");
DEFINE_uint32(row_bytes, 100, "payload of a row, 8 .. 100,000");
DEFINE_uint32(rounds, 3, "runs of --seconds without and with a stream, alternating");

namespace experiments::changes {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kWaitUs = 50'000;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// A stream that a thread of its own reads. Each row begins with the time at which its transaction
// began.
class Reader {
 public:
  explicit Reader(foedus::ChangeStream stream)
      : stream_(std::move(stream)), thread_([this] { status_ = read(); }) {}
  ~Reader() {
    if (thread_.joinable()) (void)stop().is_ok();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Ends the thread, once it has read all that was durable.
  foedus::Status stop() {
    stop_.store(true, std::memory_order_relaxed);  // order: a wish to stop, some time
    thread_.join();
    return status_;
  }
  // After stop().
  std::uint64_t changes() const { return changes_; }
  const Histogram& delays_ns() const { return delays_ns_; }

 private:
  foedus::Status read() {
    for (;;) {
      const bool must_stop = stop_.load(std::memory_order_relaxed);  // order: see above
      FOEDUS_TRY(const foedus::ChangeBatch batch, stream_.next(kWaitUs));
      if (batch.changes.empty() && must_stop) return {};
      const std::uint64_t now = now_ns();
      for (const foedus::Change& change : batch.changes) {
        std::uint64_t begun = 0;
        std::memcpy(&begun, change.payload.data(), sizeof(begun));
        delays_ns_.add(now - std::min(now, begun));
      }
      changes_ += batch.changes.size();
    }
  }

  foedus::ChangeStream stream_;
  std::atomic<bool> stop_{false};
  std::uint64_t changes_ = 0;
  Histogram delays_ns_;
  foedus::Status status_;
  std::thread thread_;
};

struct Writes {
  std::uint64_t commits = 0;
  double per_s = 0;
};

foedus::Result<Writes> write(foedus::Database& db, const foedus::Masstree& table) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> commits{0};
  WorkerThreads workers(
      FLAGS_sessions, [&](std::uint32_t number, WorkerThreads::Gate& gate) -> foedus::Status {
        Random random(FLAGS_seed, number);
        std::string row(FLAGS_row_bytes, 'r');
        std::uint64_t done = 0;
        gate.arrive_and_wait();
        while (!stop.load(std::memory_order_relaxed)) {  // order: a wish to stop, some time
          const std::uint64_t begun = now_ns();
          std::memcpy(row.data(), &begun, sizeof(begun));
          const auto key = foedus::key(random.uniform(0, FLAGS_rows - 1));
          FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) { return txn.put(table, key, row); }));
          ++done;
        }
        commits.fetch_add(done, std::memory_order_relaxed);  // order: join() is later
        return {};
      });
  FOEDUS_TRY(const double seconds, workers.work_for(FLAGS_seconds, &stop));
  FOEDUS_CHECK(db.wait_durable());
  return Writes{commits.load(), static_cast<double>(commits.load()) / seconds};
}

struct Measured {
  std::vector<double> without_per_s;
  std::vector<double> with_per_s;
  std::vector<double> with_to_without;
  std::vector<double> delay_ms_p50;
  std::vector<double> delay_ms_p99;
  std::uint64_t commits = 0;
};

foedus::Status run_round(foedus::Database& db, const foedus::Masstree& table, Measured* measured) {
  constexpr double kNsPerMs = 1e6;
  FOEDUS_TRY(const Writes without, write(db, table));
  FOEDUS_TRY(foedus::ChangeStream stream, db.changes());
  Reader reader(std::move(stream));
  FOEDUS_TRY(const Writes with, write(db, table));
  FOEDUS_CHECK(reader.stop());
  if (reader.changes() != with.commits) {
    return failed(foedus::ErrorCode::kCorruption, "%llu changes of %llu commits",
                  static_cast<unsigned long long>(reader.changes()),
                  static_cast<unsigned long long>(with.commits));
  }
  measured->without_per_s.push_back(without.per_s);
  measured->with_per_s.push_back(with.per_s);
  measured->with_to_without.push_back(with.per_s / without.per_s);
  measured->delay_ms_p50.push_back(reader.delays_ns().percentile(0.5) / kNsPerMs);
  measured->delay_ms_p99.push_back(reader.delays_ns().percentile(0.99) / kNsPerMs);
  measured->commits += without.commits + with.commits;
  return {};
}

// Reads everything from the first change on, as a consumer does that was away.
foedus::Result<double> read_all(foedus::Database& db, std::uint64_t commits) {
  FOEDUS_TRY(foedus::ChangeStream stream, db.changes(foedus::Epoch()));
  const auto begin = Clock::now();
  std::uint64_t changes = 0;
  for (;;) {
    FOEDUS_TRY(const foedus::ChangeBatch batch, stream.next());
    if (batch.changes.empty()) break;
    for (const foedus::Change& change : batch.changes) {
      changes += change.kind == foedus::ChangeKind::kPut ? 1 : 0;
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (changes == commits) return static_cast<double>(changes) / seconds;
  return failed(foedus::ErrorCode::kCorruption, "the log has %llu changes of %llu commits",
                static_cast<unsigned long long>(changes), static_cast<unsigned long long>(commits));
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(parse_command_line(argc, argv, "changes --dir D [--rows N] [--row-bytes B]"));
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_dir.empty()) return failed(code, "--dir names the directory of a new database");
  if (FLAGS_rows == 0 || FLAGS_rounds == 0) return failed(code, "--rows and --rounds: 1 or more");
  if (FLAGS_row_bytes < 8 || FLAGS_row_bytes > 100'000) {
    return failed(code, "--row-bytes must be 8 .. 100000");
  }
  foedus::Options options = foedus_options_by_flags();
  options.log.change_bytes = std::uint64_t{1} << 40;
  FOEDUS_TRY(foedus::Database db, foedus::Database::open(options));
  if (!db.storages().empty()) return failed(code, "--dir: %s has rows", FLAGS_dir.c_str());
  FOEDUS_TRY(const foedus::Masstree table, db.open_masstree("rows"));
  Measured measured;
  Progress progress("rounds", FLAGS_rounds);
  for (std::uint32_t round = 0; round < FLAGS_rounds; ++round) {
    FOEDUS_CHECK(run_round(db, table, &measured));
    progress.add(1);
  }
  FOEDUS_TRY(const double read_per_s, read_all(db, measured.commits));
  JsonObject line = begin_line("changes");
  line.add("txn_per_s", spread_of(measured.without_per_s));
  line.add("txn_per_s_with_stream", spread_of(measured.with_per_s));
  line.add("with_to_without", spread_of(measured.with_to_without));
  line.add("delay_ms_p50", spread_of(measured.delay_ms_p50));
  line.add("delay_ms_p99", spread_of(measured.delay_ms_p99));
  line.add("changes_read_per_s", read_per_s);
  line.add("log_bytes", db.stats().log_bytes);
  FOEDUS_CHECK(db.close());
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments::changes

int main(int argc, char** argv) {
  const foedus::Status status = experiments::changes::run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "changes: " << status.message();
  return EXIT_FAILURE;
}
