#pragma once
// The commands that open the database and use its records, as main.cc has parsed them. They are
// users of the public interface. A database that another process has open is refused.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/engine/setup/directory_names.h"
#include "foedus/database.h"
#include "tools/foedus/bench/runs.h"
#include "tools/foedus/commands.h"
#include "tools/foedus/data/any_storage.h"
#include "tools/foedus/data/text_form.h"

namespace foedus::cli {

enum class DataVerb : std::uint8_t {
  kGet,
  kPut,
  kAppend,
  kErase,
  kScan,
  kDump,
  kLoad,
  kChanges,
  kGlean,
  kBackup,
  kStats,
  kShell,
  kBench,
  kExplain,  // opens no database
};

// Where a command reads and writes.
struct Console {
  std::istream* in = nullptr;
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  // Replaces the line of progress on a terminal; may be empty. Any thread.
  std::function<void(std::string_view line)> progress = {};
  bool is_interactive = false;  // `in` and `out` are a terminal
};

struct DataCommand {
  DataVerb verb = DataVerb::kGet;
  engine::DirectoryNames directories;
  std::vector<std::string> options;  // "name=value", as foedus_options_set() takes them
  bool is_json = false;              // glean, backup, stats, bench

  std::string storage;  // in the text form
  std::string key;      // in `form`; arrays: a decimal number
  std::optional<std::string> value;
  std::string value_file;  // put, append: the value is the bytes of this file; "-": of the input
  ByteForm form = ByteForm::kText;
  bool is_raw = false;         // get: the bytes of the value and nothing else
  std::string create;          // put, append: the shape of a storage that is missing
  RangeText range;             // scan
  bool has_keys_only = false;  // scan

  std::uint64_t after = 0;                        // changes: the position
  std::uint64_t changes_max = ~std::uint64_t{0};  // changes: the last epoch is whole, though

  std::vector<std::string> storages;  // dump; empty: all
  std::string format;                 // dump: empty is jsonl; load: empty is what the input says
  std::string file;                   // dump, load; empty or "-": output and input. backup: to
  std::string backup_files;           // backup: empty is auto
  bool is_comparing_all = false;      // backup
  bool is_merge = false;              // load: also into storages that exist

  std::string error;  // explain; empty: all

  std::vector<std::string> runs;  // bench; empty: the usual ones
  std::string kind;               // bench: masstree or hash; empty: masstree, or as it is there
  BenchSetup bench;
};

// Runs a command. Results go to console->out, failures to console->err.
ExitStatus run(const DataCommand& command, Console* console);

// Opens the database of a command. kNotFound: there is none, and `may_create` is false.
// kInvalidArgument: also, of --option. Other errors: those of Database::open().
Result<Database> open_database(const DataCommand& command, bool may_create, Console* console);

// Runs `use`, a Result<ExitStatus>(Database&), on the database of a command, and closes it.
using DatabaseUse = std::function<Result<ExitStatus>(Database&)>;
Result<ExitStatus> with_database(const DataCommand& command, bool may_create, Console* console,
                                 const DatabaseUse& use);

// Returns kIoError if earlier output could not be written.
Status check_output(const std::ostream& out);

// The commands.
Result<ExitStatus> run_get(const DataCommand& command, Console* console);
Result<ExitStatus> run_put(const DataCommand& command, Console* console);
Result<ExitStatus> run_append(const DataCommand& command, Console* console);
Result<ExitStatus> run_erase(const DataCommand& command, Console* console);
Result<ExitStatus> run_scan(const DataCommand& command, Console* console);
Result<ExitStatus> run_dump(const DataCommand& command, Console* console);
Result<ExitStatus> run_load(const DataCommand& command, Console* console);
Result<ExitStatus> run_changes(const DataCommand& command, Console* console);
Result<ExitStatus> run_glean(const DataCommand& command, Console* console);
Result<ExitStatus> run_backup(const DataCommand& command, Console* console);
Result<ExitStatus> run_stats(const DataCommand& command, Console* console);
Result<ExitStatus> run_shell(const DataCommand& command, Console* console);
Result<ExitStatus> run_bench(const DataCommand& command, Console* console);
Result<ExitStatus> run_explain(const DataCommand& command, Console* console);

}  // namespace foedus::cli
