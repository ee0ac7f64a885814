// cold_reads: how fast rows come from the device that are not in memory: one at a time, many at a
// time, and in scans, beside what the device gives by itself. See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "experiments/cold_reads/device_rate.h"
#include "experiments/common/foedus_backend.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/page_cache.h"
#include "experiments/common/progress.h"
#include "experiments/common/text.h"
#include "experiments/ycsb/ycsb_row.h"

DEFINE_uint64(rows, 2'000'000, "rows to load, where the directory has none yet");
DEFINE_uint32(row_bytes, 1'000, "payload of a row; its key has 8 bytes");
DEFINE_uint32(keys, 32, "keys of one get_many()");
DEFINE_uint64(scan_rows, 100'000, "rows of one scan");

namespace experiments::cold_reads {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kRowBytesMax = 64u << 10;
constexpr std::uint32_t kKeysMax = 1'000;
constexpr std::uint64_t kRowsPerTxn = 1'000;

foedus::Status check_flags() {
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_rows == 0) return failed(code, "--rows must be 1 or more");
  if (FLAGS_row_bytes == 0 || FLAGS_row_bytes > kRowBytesMax) {
    return failed(code, "--row-bytes must be 1 .. %u", kRowBytesMax);
  }
  if (FLAGS_keys == 0 || FLAGS_keys > kKeysMax) {
    return failed(code, "--keys must be 1 .. %u", kKeysMax);
  }
  if (FLAGS_scan_rows == 0) return failed(code, "--scan-rows must be 1 or more");
  return {};
}

enum class Way { kGet, kGetMany, kScan, kScanReverse, kScanSnapshot };
constexpr const char* kWayNames[] = {"get", "get_many", "scan", "scan_reverse", "scan_snapshot"};

// What the sessions of one way have read.
struct Measured {
  std::uint64_t rows = 0;
  std::uint64_t misses = 0;
  double seconds = 0;
};

foedus::Status load(FoedusBackend& backend) {
  FOEDUS_TRY(const FoedusTable table,
             backend.open_table({.name = "rows", .kind = TableKind::kOrdered}));
  FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
  const std::string row(FLAGS_row_bytes, 'r');
  Progress progress("load", FLAGS_rows);
  for (std::uint64_t first = 0; first < FLAGS_rows; first += kRowsPerTxn) {
    const std::uint64_t end = std::min(first + kRowsPerTxn, FLAGS_rows);
    FOEDUS_CHECK(worker.transact([&](FoedusTxn& txn) -> foedus::Status {
      for (std::uint64_t i = first; i < end; ++i) {
        FOEDUS_CHECK(txn.put(table, {i, YcsbKey(i, true).view()}, row));
      }
      return {};
    }));
    progress.add(end - first);
  }
  return backend.wait_durable();
}

// One session's transactions of one way, until the time is over.
class Reader {
 public:
  Reader(foedus::Database& db, foedus::Masstree rows, std::uint64_t seed)
      : db_(db), rows_(std::move(rows)), random_(seed) {}

  foedus::Status run(Way way, Clock::time_point end) {
    while (Clock::now() < end) {
      const auto body = [&](foedus::Txn& txn) { return read(way, txn); };
      FOEDUS_CHECK(way == Way::kScanSnapshot ? db_.snapshot(body) : db_.transact(body));
    }
    return {};
  }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t any_row() { return random_() % FLAGS_rows; }

  foedus::Status read(Way way, foedus::Txn& txn) {
    switch (way) {
      case Way::kGet: return get(txn);
      case Way::kGetMany: return get_many(txn);
      default: return scan(way, txn);
    }
  }

  foedus::Status get(foedus::Txn& txn) {
    std::vector<std::byte> row(FLAGS_row_bytes);
    FOEDUS_CHECK(txn.get(rows_, YcsbKey(any_row(), true).view(), row).status());
    ++count_;
    return {};
  }

  foedus::Status get_many(foedus::Txn& txn) {
    std::vector<YcsbKey> keys(FLAGS_keys);
    std::vector<std::byte> rows(std::size_t{FLAGS_keys} * FLAGS_row_bytes);
    std::vector<foedus::ReadRequest> requests(FLAGS_keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i] = YcsbKey(any_row(), true);
      requests[i].key = keys[i].view();
      requests[i].out = std::span(rows).subspan(i * FLAGS_row_bytes, FLAGS_row_bytes);
    }
    FOEDUS_CHECK(txn.get_many(rows_, requests));
    count_ += keys.size();
    return {};
  }

  foedus::Status scan(Way way, foedus::Txn& txn) {
    const std::uint64_t first = any_row();
    const YcsbKey low(first, true);
    const YcsbKey high(std::min(first + FLAGS_scan_rows, FLAGS_rows), true);
    const foedus::ScanOptions options{.reverse = way == Way::kScanReverse};
    foedus::Scan rows = txn.scan(rows_, low.view(), high.view(), options);
    for (const foedus::Row& row : rows) count_ += row.payload.size() == FLAGS_row_bytes;
    if (auto failure = rows.failure()) return *std::move(failure);
    return {};
  }

  foedus::Database& db_;
  const foedus::Masstree rows_;
  std::mt19937_64 random_;
  std::uint64_t count_ = 0;
};

// Opens the database anew, so that no page is in memory.
foedus::Result<Measured> measure(Way way) {
  drop_page_cache(FLAGS_dir);
  FOEDUS_TRY(FoedusBackend backend, open_foedus_by_flags());
  foedus::Database& db = backend.database();
  FOEDUS_TRY(const foedus::Masstree rows, db.open_masstree("rows"));
  std::vector<Reader> readers;
  for (std::uint32_t i = 0; i < FLAGS_sessions; ++i) readers.emplace_back(db, rows, FLAGS_seed + i);
  std::vector<foedus::Status> ends(FLAGS_sessions);
  const std::uint64_t misses = db.stats().cache_misses;
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::milliseconds(static_cast<int>(FLAGS_seconds * 1e3));
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < FLAGS_sessions; ++i) {
      threads.emplace_back([&, i] { ends[i] = readers[i].run(way, end); });
    }
  }
  Measured measured;
  measured.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (foedus::Status& status : ends) FOEDUS_CHECK(std::move(status));
  for (const Reader& reader : readers) measured.rows += reader.count();
  measured.misses = db.stats().cache_misses - misses;
  FOEDUS_CHECK(backend.close());
  return measured;
}

foedus::Status run(int argc, char** argv) {
  gflags::SetCommandLineOptionWithMode("memory_bytes", std::to_string(512u << 20).c_str(),
                                       gflags::SET_FLAGS_DEFAULT);
  FOEDUS_CHECK(parse_command_line(argc, argv,
                                  "cold_reads --dir D [--rows N] [--memory-bytes B] [--keys K]"));
  FOEDUS_CHECK(check_flags());
  {
    FOEDUS_TRY(FoedusBackend backend, open_foedus_by_flags());
    const bool is_loaded = !backend.database().storages().empty();
    if (!is_loaded) FOEDUS_CHECK(load(backend));
    FOEDUS_CHECK(backend.database().glean().status());
    FOEDUS_CHECK(backend.close());
  }
  JsonObject line = begin_line("cold_reads");
  line.add("is_cold", drop_page_cache(FLAGS_dir));
  for (const std::uint32_t in_flight : {1u, 8u, 32u}) {
    FOEDUS_TRY(const double rate,
               device_rate(FLAGS_dir, in_flight, std::min(FLAGS_seconds, 3.0), FLAGS_seed));
    line.add("device_reads_per_s_" + std::to_string(in_flight), rate);
  }
  for (const Way way : {Way::kGet, Way::kGetMany, Way::kScan, Way::kScanReverse,
                        Way::kScanSnapshot}) {
    const std::string name = kWayNames[static_cast<int>(way)];
    FOEDUS_TRY(const Measured measured, measure(way));
    LOG(INFO) << name << ": " << measured.rows << " rows";
    line.add(name + "_rows_per_s", static_cast<double>(measured.rows) / measured.seconds);
    line.add(name + "_pages_read_per_s", static_cast<double>(measured.misses) / measured.seconds);
  }
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments::cold_reads

int main(int argc, char** argv) {
  const foedus::Status status = experiments::cold_reads::run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "cold_reads: " << status.message();
  return EXIT_FAILURE;
}
