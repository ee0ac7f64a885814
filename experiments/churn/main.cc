// churn: erases and inserts rows at a constant number of them, and shows what pages, memory and
// files do. Room of erased records is used again if they level off.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/glean_watch.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/progress.h"
#include "experiments/common/random.h"
#include "experiments/common/text.h"
#include "experiments/common/worker_threads.h"

DEFINE_uint64(rows, 200'000, "rows that are there at any time");
DEFINE_uint32(row_bytes_max, 400, "rows have 8 to so many bytes, at random");
DEFINE_string(storage, "masstree", "masstree or hash");
DEFINE_string(order, "random", "random: any row is erased; queue: the oldest, and keys ascend");
DEFINE_uint32(samples, 10, "samples of bytes in the line");

namespace experiments {
namespace {

constexpr std::uint64_t kBatchRows = 100;

// One session's share of the rows.
class Churner {
 public:
  Churner(FoedusWorker worker, FoedusTable table, std::uint32_t number, std::uint64_t rows)
      : worker_(std::move(worker)),
        table_(table),
        random_(FLAGS_seed + number),
        next_id_(std::uint64_t{number} << 48),
        rows_(rows) {}

  foedus::Status load() {
    while (rows_there_.size() < rows_) {
      const std::uint64_t first = rows_there_.size();
      const std::uint64_t count = std::min(kBatchRows, rows_ - first);
      for (std::uint64_t i = 0; i < count; ++i) rows_there_.push_back({next_id_++, row_bytes()});
      FOEDUS_CHECK(worker_.transact([&](FoedusTxn& txn) -> foedus::Status {
        for (std::uint64_t i = 0; i < count; ++i) FOEDUS_CHECK(insert(txn, rows_there_[first + i]));
        return {};
      }));
    }
    return {};
  }

  // One transaction: a row goes, a new one comes.
  foedus::Status step() {
    const std::uint64_t last = rows_there_.size() - 1;
    Row& victim = rows_there_[is_queue() ? oldest_ : random_.uniform(0, last)];
    oldest_ = oldest_ == last ? 0 : oldest_ + 1;  // the new one takes its place
    const Row row{next_id_++, row_bytes()};
    FOEDUS_CHECK(worker_.transact([&](FoedusTxn& txn) -> foedus::Status {
      FOEDUS_CHECK(txn.erase(table_, {0, key_of(victim.id)}));
      return insert(txn, row);
    }));
    victim = row;
    return {};
  }

  // Keys and rows that are there.
  std::uint64_t live_bytes() const {
    std::uint64_t bytes = 0;
    for (const Row& row : rows_there_) bytes += sizeof(std::uint64_t) + row.bytes;
    return bytes;
  }

 private:
  struct Row {
    std::uint64_t id;
    std::uint64_t bytes;
  };

  static bool is_queue() { return FLAGS_order == "queue"; }
  // At random they are spread over the key space, so that inserts and erasures meet every page.
  static foedus::Key key_of(std::uint64_t id) {
    return foedus::key(
        foedus::big_endian<std::uint64_t>(is_queue() ? id : id * 0x9e3779b97f4a7c15u));
  }

  std::uint64_t row_bytes() { return random_.uniform(8, FLAGS_row_bytes_max); }

  foedus::Status insert(FoedusTxn& txn, const Row& row) {
    return txn.insert(table_, {0, key_of(row.id)},
                      std::string(row.bytes, static_cast<char>(row.id)));
  }

  FoedusWorker worker_;
  FoedusTable table_;
  Random random_;
  std::uint64_t next_id_;
  std::uint64_t rows_;
  std::vector<Row> rows_there_;
  std::uint64_t oldest_ = 0;  // place in rows_there_, of a queue
};

// What is held at one moment.
struct Held {
  std::uint64_t page_bytes = 0;
  std::uint64_t resident_bytes = 0;  // of the process
  std::uint64_t snapshot_bytes = 0;  // of files
  std::uint64_t log_bytes = 0;       // the same
};

std::uint64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long long pages = 0;
  const int got = std::fscanf(file, "%*u %llu", &pages);
  std::fclose(file);
  return got == 1 ? pages * 4096 : 0;
}

Held held_now(FoedusBackend& backend) {
  Held held{.page_bytes = backend.database().stats().volatile_page_bytes,
            .resident_bytes = resident_bytes()};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(FLAGS_dir, error)) {
    std::error_code gone;  // the gleaner removes files
    const std::uint64_t bytes = entry.file_size(gone);
    if (gone) continue;
    const std::string name = entry.path().filename();
    if (name.starts_with("snapshot-")) held.snapshot_bytes += bytes;
    if (name.starts_with("log-")) held.log_bytes += bytes;
  }
  return held;
}

std::string samples_as_json(const std::vector<Held>& samples, std::uint64_t Held::*member) {
  std::string text = "[";
  for (const Held& sample : samples) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(sample.*member);
  }
  return text + "]";
}

// Runs until the time is over; the first session samples.
foedus::Status churn(FoedusBackend& backend, std::vector<Churner>* churners,
                     std::vector<Held>* samples, std::uint64_t* transactions) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::vector<std::uint64_t> done(churners->size(), 0);
  Progress progress("churn", static_cast<std::uint64_t>(FLAGS_seconds * 1000));
  FOEDUS_CHECK(run_workers(FLAGS_sessions, [&](std::uint32_t worker) -> foedus::Status {
    for (;;) {
      for (int i = 0; i < 1000; ++i) FOEDUS_CHECK((*churners)[worker].step());
      done[worker] += 1000;
      const std::chrono::duration<double> age = Clock::now() - begin;
      if (worker == 0) {
        const double due = FLAGS_seconds * static_cast<double>(samples->size()) / FLAGS_samples;
        const std::uint64_t bytes = backend.database().stats().volatile_page_bytes;
        if (age.count() >= due) samples->push_back(held_now(backend));
        progress.set(static_cast<std::uint64_t>(age.count() * 1000),
                     std::to_string(bytes >> 20) + " MiB of pages");
      }
      if (age.count() >= FLAGS_seconds) return {};
    }
  }));
  for (const std::uint64_t count : done) *transactions += count;
  return {};
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(parse_command_line(argc, argv, "churn --dir D [--rows R] [--seconds S] ..."));
  if (FLAGS_order != "random" && FLAGS_order != "queue") {
    return failed(foedus::ErrorCode::kInvalidArgument, "--order must be random or queue");
  }
  FOEDUS_TRY(FoedusBackend backend, open_foedus_by_flags());
  const TableKind kind = FLAGS_storage == "hash" ? TableKind::kHash : TableKind::kOrdered;
  FOEDUS_TRY(const FoedusTable table, backend.open_table({"churn", kind, FLAGS_rows, 0}));
  std::vector<Churner> churners;
  for (std::uint32_t i = 0; i < FLAGS_sessions; ++i) {
    FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
    churners.emplace_back(std::move(worker), table, i, FLAGS_rows / FLAGS_sessions);
  }
  for (Churner& churner : churners) FOEDUS_CHECK(churner.load());
  const std::uint64_t loaded = backend.database().stats().volatile_page_bytes;
  std::vector<Held> samples;
  std::uint64_t transactions = 0;
  GleanWatch watch(backend.database());
  FOEDUS_CHECK(churn(backend, &churners, &samples, &transactions));
  watch.stop();
  std::uint64_t live_bytes = 0;
  for (const Churner& churner : churners) live_bytes += churner.live_bytes();
  churners.clear();
  StatsLine stats;
  backend.fill_stats(stats);
  JsonObject line = begin_line("churn");
  line.add("txn_per_s", static_cast<double>(transactions) / FLAGS_seconds);
  line.add("transactions", transactions);
  line.add("live_bytes", live_bytes);
  line.add("loaded_page_bytes", loaded);
  line.add_raw("volatile_page_bytes", samples_as_json(samples, &Held::page_bytes));
  line.add_raw("resident_bytes", samples_as_json(samples, &Held::resident_bytes));
  line.add_raw("snapshot_file_bytes", samples_as_json(samples, &Held::snapshot_bytes));
  line.add_raw("log_file_bytes", samples_as_json(samples, &Held::log_bytes));
  watch.add_members(line, FLAGS_sessions);
  line.add("peak_memory_bytes", peak_memory_bytes());
  FOEDUS_CHECK(backend.close());
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments

int main(int argc, char** argv) {
  const foedus::Status status = experiments::run(argc, argv);
  if (status.is_ok()) return 0;
  LOG(ERROR) << status.message();
  return 1;
}
