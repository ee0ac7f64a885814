// beyond_memory: loads more rows than memory holds, in random or ascending order, and says how fast
// all along, what was written for it, and what the writer waited for. See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "experiments/beyond_memory/waits.h"
#include "experiments/common/foedus_backend.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/progress.h"
#include "experiments/common/text.h"
#include "experiments/ycsb/ycsb_row.h"

DEFINE_uint64(rows, 4'000'000, "rows to load, by one thread");
DEFINE_uint32(row_bytes, 100, "payload of a row; its key has 8 bytes");
DEFINE_string(order, "random", "random: keys are hashes of 0, 1, 2, ...; sorted: ascending");
DEFINE_uint32(rows_per_txn, 1'000, "rows that are put in one transaction");

namespace experiments::beyond_memory {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kStepRows = 250'000;
constexpr std::uint32_t kRowBytesMax = 1u << 20;

foedus::Status check_flags() {
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_order != "random" && FLAGS_order != "sorted") {
    return failed(code, "--order must be random or sorted");
  }
  if (FLAGS_rows == 0) return failed(code, "--rows must be 1 or more");
  if (FLAGS_row_bytes == 0 || FLAGS_row_bytes > kRowBytesMax) {
    return failed(code, "--row-bytes must be 1 .. %u", kRowBytesMax);
  }
  if (FLAGS_rows_per_txn == 0 || FLAGS_rows_per_txn > 100'000) {
    return failed(code, "--rows-per-txn must be 1 .. 100000");
  }
  return {};
}

class Loader {
 public:
  explicit Loader(FoedusBackend& backend)
      : backend_(backend), is_sorted_(FLAGS_order == "sorted"), row_(FLAGS_row_bytes, 'r') {}

  foedus::Status run() {
    FOEDUS_TRY(table_, backend_.open_table({.name = "rows", .kind = TableKind::kOrdered}));
    FOEDUS_TRY(FoedusWorker worker, backend_.new_worker());
    Progress progress("load", FLAGS_rows);
    const ThreadTime begin = ThreadTime::now();
    ThreadTime step_begin = begin;
    std::uint64_t step_first = 0;
    for (std::uint64_t first = 0; first < FLAGS_rows;) {
      const std::uint64_t end = std::min(first + FLAGS_rows_per_txn, FLAGS_rows);
      FOEDUS_CHECK(worker.transact([&](FoedusTxn& txn) { return put(txn, first, end); }));
      progress.add(end - first);
      first = end;
      if (first - step_first < kStepRows && first != FLAGS_rows) continue;
      const ThreadTime now = ThreadTime::now();
      rows_per_s_.push_back(rate(first - step_first, now.since(step_begin)));
      step_begin = now;
      step_first = first;
    }
    took_ = ThreadTime::now().since(begin);
    return backend_.wait_durable();
  }

  // Some of the rows, all along, are what they should be.
  foedus::Status verify() {
    constexpr std::uint64_t kRowsRead = 10'000;
    FOEDUS_TRY(FoedusWorker worker, backend_.new_worker());
    std::string row(FLAGS_row_bytes, '\0');
    const std::uint64_t step = std::max<std::uint64_t>(FLAGS_rows / kRowsRead, 1);
    for (std::uint64_t number = 0; number < FLAGS_rows; number += step) {
      FOEDUS_CHECK(worker.read_only([&](FoedusTxn& txn) {
        return txn.get(table_, {number, key_of(number).view()},
                       std::as_writable_bytes(std::span<char>(row)));
      }));
      mark(number);
      if (row != row_) return failed(foedus::ErrorCode::kCorruption, "a row is another one");
    }
    return {};
  }

  void add_members(JsonObject* line, const foedus::Stats& stats) const {
    std::string list;
    for (const double rows : rows_per_s_) {
      list += (list.empty() ? "" : ", ") + text("%.0f", rows);
    }
    line->add("rows_per_s", rate(FLAGS_rows, took_));
    line->add_raw("rows_per_s_by_250000", "[" + list + "]");
    line->add("seconds", static_cast<double>(took_.wall_us) * 1e-6);
    line->add("log_bytes", stats.log_bytes);
    line->add("gleans", stats.gleans);
    line->add("snapshot_pages_written", stats.snapshot_pages_written);
    line->add("snapshot_page_bytes_written", stats.snapshot_pages_written * kPageBytes);
    line->add("cache_misses", stats.cache_misses);
    JsonObject waited;
    const std::uint64_t for_gleaner_us = std::min(stats.writers_waited_us, took_.asleep_us());
    waited.add("processor", took_.for_processor_us);
    waited.add("gleaner", for_gleaner_us);
    waited.add("device_and_locks", took_.asleep_us() - for_gleaner_us);
    line->add("busy_us", took_.busy_us);
    line->add("waited_us", waited);
    line->add("peak_memory_bytes", peak_memory_bytes());
  }

 private:
  static double rate(std::uint64_t rows, const ThreadTime& time) {
    return static_cast<double>(rows) * 1e6 /
           static_cast<double>(std::max<std::uint64_t>(time.wall_us, 1));
  }

  YcsbKey key_of(std::uint64_t number) const { return {number, is_sorted_}; }

  // The row of that number: one of its bytes, which depends on it, says which it is.
  void mark(std::uint64_t number) {
    row_[marked_] = 'r';
    marked_ = number % row_.size();
    row_[marked_] = static_cast<char>(number);
  }

  foedus::Status put(FoedusTxn& txn, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t number = begin; number < end; ++number) {
      mark(number);
      FOEDUS_CHECK(txn.put(table_, {number, key_of(number).view()}, row_));
    }
    return {};
  }

  FoedusBackend& backend_;
  const bool is_sorted_;
  FoedusTable table_;
  std::string row_;
  std::size_t marked_ = 0;
  ThreadTime took_;
  std::vector<double> rows_per_s_;
};

foedus::Status run(int argc, char** argv) {
  gflags::SetCommandLineOptionWithMode("memory_bytes", std::to_string(256u << 20).c_str(),
                                       gflags::SET_FLAGS_DEFAULT);
  FOEDUS_CHECK(parse_command_line(
      argc, argv, "beyond_memory --dir D [--rows N] [--memory-bytes B] [--order random|sorted]"));
  FOEDUS_CHECK(check_flags());
  FOEDUS_TRY(FoedusBackend backend, open_foedus_by_flags());
  Loader loader(backend);
  FOEDUS_CHECK(loader.run());
  const foedus::Stats stats = backend.database().stats();
  FOEDUS_CHECK(loader.verify());
  FOEDUS_CHECK(backend.close());
  JsonObject line = begin_line("beyond_memory");
  loader.add_members(&line, stats);
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments::beyond_memory

int main(int argc, char** argv) {
  const foedus::Status status = experiments::beyond_memory::run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "beyond_memory: " << status.message();
  return EXIT_FAILURE;
}
