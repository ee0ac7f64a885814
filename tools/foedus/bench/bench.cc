// The command `bench`.
#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/base/json.h"
#include "tools/foedus/bench/runs.h"
#include "tools/foedus/data/data_command.h"

namespace foedus::cli {

namespace {

constexpr std::string_view kStorage = "bench";

std::uint64_t per_second(std::uint64_t count, std::uint64_t us) {
  return us == 0 ? 0
                 : static_cast<std::uint64_t>(1e6 * static_cast<double>(count) /
                                              static_cast<double>(us));
}

void write_line(const BenchResult& result, std::ostream* out) {
  const double us = static_cast<double>(result.us);
  const double operations = static_cast<double>(result.operations);
  char line[160];
  std::snprintf(line, sizeof(line), "%-17s %10.3f us/op %12llu ops/s %9.1f MB/s",
                result.name.c_str(), operations == 0 ? 0 : us / operations,
                static_cast<unsigned long long>(per_second(result.operations, result.us)),
                us == 0 ? 0 : static_cast<double>(result.bytes) / us);
  *out << line;
  if (result.found != result.operations) {
    *out << "  (" << result.found << " of " << result.operations << " found)";
  }
  *out << '\n' << std::flush;
}

void write_json(const std::vector<BenchResult>& results, std::ostream* out) {
  base::Json json(out);
  json.begin_object();
  json.begin_array("runs");
  for (const BenchResult& result : results) {
    json.begin_object();
    json.text("name", result.name);
    json.number("operations", result.operations);
    json.number("found", result.found);
    json.number("bytes", result.bytes);
    json.number("us", result.us);
    json.number("ops_per_s", per_second(result.operations, result.us));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  *out << '\n';
}

// Opens the storage of the runs, which is made if it is missing.
Result<BenchStorage> open_storage(Database& db, const std::string& kind) {
  BenchStorage storage;
  if (kind == "hash") {
    FOEDUS_TRY(storage.rows, db.open_hash(kStorage));
  } else if (kind.empty() || kind == "masstree") {
    FOEDUS_TRY(storage.tree, db.open_masstree(kStorage));
    storage.rows = storage.tree;
  } else {
    return Status::error(ErrorCode::kInvalidArgument, "--kind is masstree or hash");
  }
  return storage;
}

// Returns kInvalidArgument if there is no run of one of these names.
Status check_names(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = bench_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string text = "there is no run \"" + name + "\"; there are:";
    for (const std::string_view one : known) text.append(" ").append(one);
    return Status::error(ErrorCode::kInvalidArgument, text);
  }
  return {};
}

}  // namespace

Result<ExitStatus> run_bench(const DataCommand& command, Console* console) {
  std::vector<std::string> names = command.runs;
  if (names.empty()) names = {"fillseq", "overwrite", "readrandom", "readseq", "readwhilewriting"};
  FOEDUS_CHECK(check_names(names));
  FOEDUS_CHECK(check(command.bench));
  return with_database(command, true, console, [&](Database& db) -> Result<ExitStatus> {
    FOEDUS_TRY(const BenchStorage storage, open_storage(db, command.kind));
    std::vector<BenchResult> results;
    for (const std::string& name : names) {
      const auto show = [&](std::uint64_t operations) {
        if (!console->progress) return;
        console->progress(name + ": " + std::to_string(operations) + " of " +
                          std::to_string(command.bench.rows) + " operations");
      };
      FOEDUS_TRY(BenchResult result, run_bench(&db, storage, name, command.bench, show));
      if (!command.is_json) write_line(result, console->out);
      results.push_back(std::move(result));
    }
    if (command.is_json) write_json(results, console->out);
    FOEDUS_CHECK(check_output(*console->out));
    return ExitStatus::kFine;
  });
}

}  // namespace foedus::cli
