// recovery: how long a database that was killed takes to its first transaction, and to full speed.
// See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/page_cache.h"
#include "experiments/common/text.h"
#include "experiments/recovery/processor_time.h"
#include "experiments/recovery/verification.h"
#include "experiments/recovery/workload.h"

DEFINE_double(gigabytes, 1, "rows of 1 KiB in the database");
DEFINE_double(tail_megabytes, 128, "log behind the newest snapshot when the process is killed");
DEFINE_bool(at_bound, false, "the tail is as long as the store lets it become: the log at which "
            "writers wait for the gleaner. Instead of --tail-megabytes");
DEFINE_string(storage, "masstree", "masstree or hash");
DEFINE_double(theta, 0.99, "skew of the rows that are used, 0 (uniform) to below 1");
DEFINE_double(read_seconds, 2, "reads by the process that is killed, before the tail of the log");

namespace experiments::recovery {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFullSpeed = 0.9;  // of the throughput before the kill
// For how long, and how often, the snapshot of the tail is looked for.
constexpr double kSnapshotMs = 120e3;
constexpr useconds_t kLookUs = 10'000;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

foedus::Status check_flags() {
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_dir.empty()) return failed(code, "--dir is missing");
  if (std::filesystem::exists(FLAGS_dir) && !std::filesystem::is_empty(FLAGS_dir)) {
    return failed(code, "%s is not empty", FLAGS_dir.c_str());
  }
  if (!log_is_on()) return failed(code, "--log must be on: nothing else is recovered");
  if (FLAGS_sessions > kWorkersMax) return failed(code, "--sessions must be 1 .. %u", kWorkersMax);
  if (FLAGS_storage != "masstree" && FLAGS_storage != "hash") {
    return failed(code, "--storage must be masstree or hash");
  }
  if (!(FLAGS_gigabytes > 0) || !(FLAGS_tail_megabytes > 0)) {
    return failed(code, "--gigabytes and --tail-megabytes must be above 0");
  }
  if (!Zipf::is_valid(1, FLAGS_theta)) return failed(code, "--theta must be in [0, 1)");
  return {};
}

VictimPlan plan_by_flags() {
  return {.storage = FLAGS_storage == "hash" ? TableKind::kHash : TableKind::kOrdered,
          .tail_bytes = FLAGS_at_bound
                            ? 0
                            : static_cast<std::uint64_t>(FLAGS_tail_megabytes * (1u << 20)),
          .warm_seconds = FLAGS_read_seconds};
}

// Starts the victim, waits until its tail is written and durable, and kills it while it goes on.
foedus::Result<VictimReport> run_and_kill_victim(const Shape& shape) {
  const auto failure = foedus::ErrorCode::kIoError;
  int pipe[2];
  if (::pipe(pipe) != 0) return failed(failure, "pipe: errno %d", errno);
  const pid_t victim = ::fork();
  if (victim < 0) return failed(failure, "fork: errno %d", errno);
  if (victim == 0) {
    ::close(pipe[0]);
    const foedus::Status status = run_victim(shape, plan_by_flags(), pipe[1]);
    LOG(ERROR) << "recovery, before the kill: " << status.message();
    ::_exit(EXIT_FAILURE);
  }
  ::close(pipe[1]);
  VictimReport report{};
  const ssize_t got = ::read(pipe[0], &report, sizeof(report));
  constexpr useconds_t kGoesOnUs = 50'000;
  ::usleep(kGoesOnUs);
  ::kill(victim, SIGKILL);
  ::waitpid(victim, nullptr, 0);
  ::close(pipe[0]);
  if (got == static_cast<ssize_t>(sizeof(report))) return report;
  return failed(failure, "the process that was to be killed failed before");
}

// Names and sizes of the snapshot files.
std::map<std::string, std::uint64_t> snapshot_files() {
  std::map<std::string, std::uint64_t> files;
  for (const auto& entry : std::filesystem::directory_iterator(FLAGS_dir)) {
    const std::string name = entry.path().filename();
    std::error_code gone;  // recovery removes files
    const std::uint64_t bytes = entry.file_size(gone);
    if (name.starts_with("snapshot-") && !gone) files.emplace(name, bytes);
  }
  return files;
}

// What recovery wrote.
std::uint64_t pages_added_to(const std::map<std::string, std::uint64_t>& before) {
  constexpr std::uint64_t kPageBytes = 4096;
  std::uint64_t bytes = 0;
  for (const auto& [name, size] : snapshot_files()) bytes += before.contains(name) ? 0 : size;
  return bytes / kPageBytes;
}

struct Times {
  double open_ms = 0;
  double recovered_ms = 0;
  std::optional<double> first_snapshot_read_ms;
  double first_serializable_txn_ms = 0;
  std::optional<double> full_speed_ms;
  // From the start to the end of open(), and to the first serializable transaction.
  ProcessorTime open;
  ProcessorTime first_txn;
};

void add_times(const Times& times, JsonObject* line) {
  line->add("open_ms", times.open_ms);
  line->add("recovered_ms", times.recovered_ms);
  if (times.first_snapshot_read_ms.has_value()) {
    line->add("first_snapshot_read_ms", *times.first_snapshot_read_ms);
  }
  line->add("first_serializable_txn_ms", times.first_serializable_txn_ms);
  if (times.full_speed_ms.has_value()) line->add("full_speed_ms", *times.full_speed_ms);
  line->add("open_cpu_ms", times.open.own_ms);
  line->add("first_txn_cpu_ms", times.first_txn.own_ms);
  line->add("first_txn_machine_cpu_ms", times.first_txn.all_ms);
  line->add("first_txn_stolen_ms", times.first_txn.stolen_ms);
  line->add("first_txn_io_wait_ms", times.first_txn.waited_ms);
}

foedus::Status run_first_snapshot_read(FoedusBackend& backend, const FoedusTable& table) {
  FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
  Row row;
  return worker.snapshot([&](FoedusTxn& txn) { return read_row(txn, table, 0, row); });
}

// Reads and updates one row.
foedus::Status run_first_txn(FoedusBackend& backend, const FoedusTable& table) {
  FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
  Row row;
  return worker.transact([&](FoedusTxn& txn) -> foedus::Status {
    FOEDUS_CHECK(read_row(txn, table, 0, row));
    return write_field(txn, table, make_field(0, kFieldAfter, 1));
  });
}

// A long tail becomes a snapshot behind the first transactions.
struct TailSnapshot {
  std::uint64_t number = 0;  // before there is one: of the newest before the kill
  std::uint64_t pages_written = 0;
  std::optional<double> ms;

  bool look(std::uint64_t newest, Clock::time_point start,
            const std::map<std::string, std::uint64_t>& files_before) {
    if (newest == number) return false;
    number = newest;
    ms = ms_since(start);
    pages_written = pages_added_to(files_before);
    return true;
  }
};

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(
      parse_command_line(argc, argv, "recovery --dir D [--gigabytes G] [--tail-megabytes T] ..."));
  FOEDUS_CHECK(check_flags());
  const auto groups = static_cast<std::uint64_t>(FLAGS_gigabytes * (1u << 20)) / FLAGS_sessions;
  const Shape shape(std::max<std::uint64_t>(groups, 1) * FLAGS_sessions, FLAGS_sessions,
                    FLAGS_theta, FLAGS_seed);
  // fork() comes before any thread.
  FOEDUS_TRY(const VictimReport victim, run_and_kill_victim(shape));
  const bool is_cold = drop_page_cache(FLAGS_dir);
  const auto files_before = snapshot_files();

  Times times;
  const ProcessorTime processor = ProcessorTime::now();
  const auto start = Clock::now();
  foedus::Options options = foedus_options_by_flags();
  options.open_until = foedus::OpenUntil::kSnapshotReadable;
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, durability_by_flags()));
  times.open_ms = ms_since(start);
  times.open = ProcessorTime::now().since(processor);
  FOEDUS_TRY(const FoedusTable table, open_rows(backend, shape, plan_by_flags().storage));
  const foedus::Status snapshot_read = run_first_snapshot_read(backend, table);
  if (snapshot_read.is_ok()) {
    times.first_snapshot_read_ms = ms_since(start);
  } else if (snapshot_read.code() != foedus::ErrorCode::kNotSupported) {
    return snapshot_read;
  }
  FOEDUS_CHECK(backend.database().wait_recovered());
  times.recovered_ms = ms_since(start);
  FOEDUS_CHECK(run_first_txn(backend, table));
  times.first_serializable_txn_ms = ms_since(start);
  times.first_txn = ProcessorTime::now().since(processor);
  TailSnapshot made;
  made.number = victim.snapshot;
  const auto look_for_snapshot = [&] {
    if (made.ms.has_value()) return true;
    return made.look(backend.database().stats().snapshot, start, files_before);
  };
  double txn_per_s = 0;
  Workload workload(backend, table, shape, Phase::kAfter);
  FOEDUS_CHECK(workload.run([&](double window) {
    txn_per_s = window;
    look_for_snapshot();
    if (window >= kFullSpeed * victim.txn_per_s) times.full_speed_ms = ms_since(start);
    return times.full_speed_ms.has_value() || ms_since(start) > FLAGS_seconds * 1e3;
  }));
  FOEDUS_TRY(const Verified verified, verify(backend, table, shape, victim));
  while (!look_for_snapshot() && ms_since(start) < kSnapshotMs) ::usleep(kLookUs);
  FOEDUS_CHECK(backend.close());

  JsonObject line = begin_line("recovery");
  line.add("rows", shape.rows);
  line.add("tail_bytes", victim.tail_bytes);
  line.add("pages_written", made.pages_written);
  line.add("is_cold_start", is_cold);
  line.add("snapshot_before_kill", victim.snapshot);
  line.add("snapshot_recovered", made.number);
  if (made.ms.has_value()) line.add("tail_snapshot_ms", *made.ms);
  add_times(times, &line);
  line.add("txn_per_s_before_kill", victim.txn_per_s);
  line.add("txn_per_s", txn_per_s);
  line.add("rows_verified", verified.rows);
  line.add("fields_updated_verified", verified.fields_updated);
  line.add("fields_newer_verified", verified.fields_newer);
  line.add("peak_memory_bytes", peak_memory_bytes());
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments::recovery

int main(int argc, char** argv) {
  const foedus::Status status = experiments::recovery::run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "recovery: " << status.message();
  return EXIT_FAILURE;
}
