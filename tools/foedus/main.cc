// foedus: looks into the directory of a closed database and changes nothing there. See README.md.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

#include <unistd.h>

#include "tools/foedus/commands.h"

namespace {

using foedus::cli::Command;
using foedus::cli::ExitStatus;
using foedus::cli::Verb;

CLI::App* add_verb(CLI::App* app, const char* name, const char* about, Command* command) {
  CLI::App* const verb = app->add_subcommand(name, about);
  foedus::engine::DirectoryNames& names = command->directories;
  verb->add_option("--dir", names.dir, "directory of the database")->required();
  verb->add_option("--dirs", names.dirs, "directories of its large files, as FileOptions::dirs")
      ->delimiter(',');
  verb->add_option("--ssd-dirs", names.ssd_dirs,
                   "directories of the SSD tier, as TierOptions::ssd_dirs")
      ->delimiter(',');
  verb->add_flag("--json", command->is_json, "one JSON document instead of lines");
  return verb;
}

// Returns a callback that shows progress on a terminal, at most ten times a second. The next output
// overwrites it.
foedus::cli::Progress progress_for_person() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  return [last = std::chrono::steady_clock::time_point()](std::uint64_t done,
                                                          std::uint64_t total) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    std::cerr << done << " of " << total << " pages\x1b[K\r" << std::flush;
  };
}

}  // namespace

int main(int argc, char** argv) {
  Command command;
  CLI::App app("Looks into the directory of a closed foedus database; changes nothing there.",
               "foedus");
  app.require_subcommand(1);
  app.footer("Exit status: 0 fine, 1 damaged, 2 usage, or cannot be read (open, missing, ...).");

  CLI::App* const info = add_verb(&app, "info", "formats, epochs, storages, files, log", &command);
  info->add_flag("--no-counts", command.skips_pages, "do not count records: reads no pages");

  CLI::App* const verify =
      add_verb(&app, "verify", "checks the pages of the newest snapshot, and the log", &command);
  verify->add_flag("--all", command.is_of_all, "those of every snapshot that is kept");

  CLI::App* const log = add_verb(&app, "log", "records of the log, one a line", &command);
  log->add_option("--storage", command.storage, "only those of this storage: name or id");
  log->add_option("--from-epoch", command.from_epoch, "only those of this epoch and later");
  log->add_option("--to-epoch", command.to_epoch, "only those of this epoch and before");
  log->add_option("--limit", command.limit, "so many at most");
  log->add_flag("--summary", command.is_summary, "how many there are of each sort");

  CLI::App* const snapshots = add_verb(&app, "snapshots", "snapshots that are kept", &command);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = app.exit(error) == 0;
    return static_cast<int>(is_help ? ExitStatus::kFine : ExitStatus::kCannotRead);
  }
  if (info->parsed()) command.verb = Verb::kInfo;
  if (verify->parsed()) command.verb = Verb::kVerify;
  if (log->parsed()) command.verb = Verb::kLog;
  if (snapshots->parsed()) command.verb = Verb::kSnapshots;
  command.progress = progress_for_person();

  const ExitStatus status = foedus::cli::run(command, &std::cout, &std::cerr);
  std::cout.flush();
  if (command.progress) std::cerr << "\x1b[K";
  if (!std::cout) {
    std::cerr << "foedus: cannot write the result\n";
    return static_cast<int>(ExitStatus::kCannotRead);
  }
  return static_cast<int>(status);
}
