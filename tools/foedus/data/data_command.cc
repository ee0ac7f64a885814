#include "tools/foedus/data/data_command.h"

#include <memory>
#include <mutex>
#include <ostream>

#include "foedus-core/named_options/named_options.h"
#include "tools/foedus/closed_database.h"

namespace foedus::cli {

namespace {

Result<ExitStatus> dispatch_data(const DataCommand& command, Console* console) {
  switch (command.verb) {
    case DataVerb::kGet:
      return run_get(command, console);
    case DataVerb::kPut:
      return run_put(command, console);
    case DataVerb::kAppend:
      return run_append(command, console);
    case DataVerb::kErase:
      return run_erase(command, console);
    case DataVerb::kScan:
      return run_scan(command, console);
    case DataVerb::kDump:
      return run_dump(command, console);
    case DataVerb::kLoad:
      return run_load(command, console);
    case DataVerb::kChanges:
      return run_changes(command, console);
    case DataVerb::kGlean:
      return run_glean(command, console);
    case DataVerb::kBackup:
      return run_backup(command, console);
    case DataVerb::kStats:
      return run_stats(command, console);
    case DataVerb::kShell:
      return run_shell(command, console);
    case DataVerb::kBench:
      return run_bench(command, console);
    case DataVerb::kExplain:
      return run_explain(command, console);
  }
  return Status::error(ErrorCode::kInvalidArgument, "no such command");
}

Result<Options> options_of(const DataCommand& command) {
  Options options;
  for (const std::string& one : command.options) {
    const std::size_t sign = one.find('=');
    if (sign == one.npos) {
      return Status::error(
          ErrorCode::kInvalidArgument,
          "an option is NAME=VALUE, such as memory_bytes=256MiB, not \"" + one + "\"");
    }
    const std::string_view name = std::string_view(one).substr(0, sign);
    if (name == "dir") {
      return Status::error(ErrorCode::kInvalidArgument,
                           "the directory is DIR or --dir, and no --option");
    }
    FOEDUS_CHECK(named_options::set_option(name, std::string_view(one).substr(sign + 1), &options));
  }
  options.dir = command.directories.dir;
  if (!command.directories.dirs.empty()) options.files.dirs = command.directories.dirs;
  if (!command.directories.ssd_dirs.empty()) options.tiers.ssd_dirs = command.directories.ssd_dirs;
  return options;
}

}  // namespace

ExitStatus run(const DataCommand& command, Console* console) {
  const Result<ExitStatus> done = dispatch_data(command, console);
  if (done.is_ok()) return *done;
  *console->err << "foedus: " << done.status().message() << '\n';
  return ExitStatus::kCannotRead;
}

Result<Database> open_database(const DataCommand& command, bool may_create, Console* console) {
  FOEDUS_TRY(Options options, options_of(command));
  if (!may_create) {
    // Database::open() would make a database that is missing.
    FOEDUS_CHECK(ClosedDatabase::open({options.dir, options.files.dirs, options.tiers.ssd_dirs}));
  }
  options.log_sink = [err = console->err, mutex = std::make_shared<std::mutex>()](
                         LogLevel level, std::string_view line) {
    if (level == LogLevel::kInfo) return;
    const std::lock_guard guard(*mutex);
    *err << "foedus: " << line << '\n';
  };
  return Database::open(std::move(options));
}

Result<ExitStatus> with_database(const DataCommand& command, bool may_create, Console* console,
                                 const DatabaseUse& use) {
  FOEDUS_TRY(Database db, open_database(command, may_create, console));
  Result<ExitStatus> done = use(db);
  const Status closed = db.close();
  if (done.is_ok() && !closed.is_ok()) return closed;
  return done;
}

Status check_output(const std::ostream& out) {
  if (out.good()) return {};
  return Status::error(ErrorCode::kIoError,
                       "the output cannot be written: the reader has ended, or the device is full");
}

}  // namespace foedus::cli
