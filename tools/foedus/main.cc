// foedus: the command line tool of the engine. info, verify, log, snapshots and salvage read the
// files of a closed database and change nothing there; the other commands open it. See README.md.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <mutex>

#include <unistd.h>

#include "foedus/foedus_c.h"
#include "tools/foedus/commands.h"
#include "tools/foedus/data/data_command.h"
#include "tools/foedus/demo/demo.h"

namespace {

using foedus::cli::ByteForm;
using foedus::cli::Command;
using foedus::cli::Console;
using foedus::cli::DataCommand;
using foedus::cli::DataVerb;
using foedus::cli::DemoPlan;
using foedus::cli::ExitStatus;
using foedus::cli::Verb;

// Returns what --help says of an argument.
std::string about_place(const std::string& name) {
  if (name == "DIR") return "directory of the database, unless --dir names it";
  if (name == "STORAGE") return "name of a storage; \\xNN is a byte, \\\\ a backslash";
  if (name == "KEY") return "a key, written like a name; of an array: an index";
  if (name == "VALUE") return "a value, written like a key";
  return "name or number; none: all";
}

// An argument that has a place: DIR, STORAGE, ...
struct Place {
  std::string name;
  CLI::Option* option = nullptr;
  std::string word;
};

// A command of the line: what CLI11 fills in, and what runs.
struct Subcommand {
  CLI::App* app = nullptr;
  CLI::Option* dir = nullptr;  // null: the command opens no database
  std::vector<std::unique_ptr<Place>> places;
  std::size_t places_min = 0;  // without DIR
  std::vector<std::string*> targets;
  std::size_t taken = 0;  // of `targets`

  // Stores the words to their targets: the first one is the directory, unless --dir names that.
  // Returns what is wrong; empty: nothing.
  std::string take_words(std::string* directory) {
    std::vector<std::string> words;
    for (const auto& place : places) {
      if (place->option->count() != 0) words.push_back(place->word);
    }
    auto word = words.begin();
    if (dir != nullptr && dir->count() == 0) {
      if (words.empty()) return "which directory? Name it as DIR, before --dirs, or by --dir";
      *directory = *word++;
    }
    const auto count = static_cast<std::size_t>(words.end() - word);
    if (count < places_min)
      return places[places.size() - targets.size() + count]->name + " is missing";
    if (count > targets.size()) return "\"" + words.back() + "\" is one word too many";
    for (; taken < count; ++taken) *targets[taken] = *word++;
    return {};
  }
};

struct Line {
  CLI::App app{"Looks into foedus databases, reads and writes their records.", "foedus"};
  Command command;
  DataCommand data;
  DemoPlan demo;
  std::string value;
  bool is_hex = false;
  std::vector<std::unique_ptr<Subcommand>> all;

  Subcommand* add(const std::string& name, const std::string& about,
                  const std::vector<std::string>& place_names, std::size_t places_min,
                  const std::vector<std::string*>& targets) {
    Subcommand* const made = all.emplace_back(std::make_unique<Subcommand>()).get();
    made->app = app.add_subcommand(name, about);
    made->places_min = places_min;
    made->targets = targets;
    for (const std::string& place_name : place_names) {
      Place* const place = made->places.emplace_back(std::make_unique<Place>()).get();
      place->name = place_name;
      place->option = made->app->add_option(place_name, place->word, about_place(place_name));
    }
    return made;
  }
  // Adds a command on a database.
  CLI::App* add_on_database(const std::string& name, const std::string& about,
                            const std::vector<std::string>& place_names = {},
                            const std::vector<std::string*>& targets = {},
                            std::size_t places_min = ~std::size_t{0}) {
    std::vector<std::string> names = {"DIR"};
    names.insert(names.end(), place_names.begin(), place_names.end());
    Subcommand* const made = add(name, about, names, std::min(places_min, targets.size()), targets);
    foedus::engine::DirectoryNames& directories = command.directories;
    made->dir = made->app->add_option("--dir", directories.dir, "directory of the database");
    made->app
        ->add_option("--dirs", directories.dirs,
                     "directories of its large files, as FileOptions::dirs")
        ->delimiter(',');
    made->app
        ->add_option("--ssd-dirs", directories.ssd_dirs,
                     "directories of the SSD tier, as TierOptions::ssd_dirs")
        ->delimiter(',');
    return made->app;
  }
};

void add_json(CLI::App* verb, Line* line) {
  verb->add_flag("--json", line->command.is_json, "one JSON document instead of lines");
}

// Adds the commands that read the files of a closed database.
void add_inspections(Line* line) {
  Command& command = line->command;
  CLI::App* const info = line->add_on_database("info", "formats, epochs, storages, files, log");
  add_json(info, line);
  info->add_flag("--no-counts", command.skips_pages, "do not count records: reads no pages");

  CLI::App* const verify =
      line->add_on_database("verify", "checks the pages of the newest snapshot, and the log");
  add_json(verify, line);
  verify->add_flag("--all", command.is_of_all, "those of every snapshot that is kept");

  CLI::App* const log = line->add_on_database("log", "records of the log, one a line");
  add_json(log, line);
  log->add_option("--storage", command.storage, "only those of this storage: name or id");
  log->add_option("--from-epoch", command.from_epoch, "only those of this epoch and later");
  log->add_option("--to-epoch", command.to_epoch, "only those of this epoch and before");
  log->add_option("--limit", command.limit, "so many at most");
  log->add_flag("--summary", command.is_summary, "how many there are of each sort");

  add_json(line->add_on_database("snapshots", "snapshots that are kept"), line);
}

void add_salvage(Line* line) {
  Command& command = line->command;
  CLI::App* const salvage = line->add_on_database(
      "salvage", "what can be read of a damaged database, as a dump for load");
  add_json(salvage, line);
  salvage->add_option("--out", command.file, "write the dump to this file")->required();
  salvage->add_option("--storage", command.storages, "only this one; repeatable")
      ->allow_extra_args(false);
  salvage->add_option("--format", command.format, "jsonl (default), csv or binary");
  salvage->add_flag("--newest", command.is_newest,
                    "also the log after a damage, though the result may be inconsistent");
}

CLI::App* add_opening(Line* line, const std::string& name, const std::string& about,
                      const std::vector<std::string>& place_names = {},
                      const std::vector<std::string*>& targets = {},
                      std::size_t places_min = ~std::size_t{0}) {
  CLI::App* const verb = line->add_on_database(name, about, place_names, targets, places_min);
  verb->add_option("--option", line->data.options,
                   "NAME=VALUE: an option of the database, such as memory_bytes=256MiB; repeatable")
      ->allow_extra_args(false);
  return verb;
}

void add_hex(CLI::App* verb, Line* line) {
  verb->add_flag("--hex", line->is_hex, "keys and values are given and printed as 0x0a0b");
}

// Adds the commands on single records.
void add_records(Line* line) {
  DataCommand& data = line->data;
  CLI::App* const get = add_opening(line, "get", "the value of a key", {"STORAGE", "KEY"},
                                    {&data.storage, &data.key});
  add_hex(get, line);
  get->add_flag("--raw", data.is_raw, "the bytes of the value, and no newline");

  CLI::App* const put = add_opening(line, "put", "writes a record", {"STORAGE", "KEY", "VALUE"},
                                    {&data.storage, &data.key, &line->value}, 2);
  CLI::App* const append = add_opening(line, "append", "appends a record to a sequential storage",
                                       {"STORAGE", "VALUE"}, {&data.storage, &line->value}, 1);
  for (CLI::App* const verb : {put, append}) {
    add_hex(verb, line);
    verb->add_option("--file", data.value_file,
                     "the value is the bytes of this file; -: of the input");
    verb->add_option("--create", data.create,
                     "make what is missing; the kind of the storage: masstree, hash, sequential or "
                     "array:RECORDS:PAYLOAD_BYTES");
  }
  add_hex(
      add_opening(line, "erase", "erases a record", {"STORAGE", "KEY"}, {&data.storage, &data.key}),
      line);

  CLI::App* const scan =
      add_opening(line, "scan", "records of a storage, one a line", {"STORAGE"}, {&data.storage});
  add_hex(scan, line);
  scan->add_option("--prefix", data.range.prefix, "keys that begin so");
  scan->add_option("--low", data.range.low, "this key and those above");
  scan->add_option("--high", data.range.high, "keys below this one");
  scan->add_flag("--reverse", data.range.is_reverse, "from high to low");
  scan->add_option("--limit", data.range.limit, "so many at most");
  scan->add_flag("--keys-only", data.has_keys_only, "no values");
}

void add_bench(Line* line) {
  DataCommand& data = line->data;
  CLI::App* const bench =
      add_opening(line, "bench",
                  "times reads and writes of a storage \"bench\", which it makes if it is missing");
  add_json(bench, line);
  bench
      ->add_option("--runs", data.runs,
                   "with commas: fillseq, fillrandom, fillsync, overwrite, readseq, readrandom, "
                   "readwhilewriting, deleteseq, deleterandom")
      ->delimiter(',');
  bench->add_option("--rows", data.bench.rows, "keys, and operations of each run");
  bench->add_option("--key-bytes", data.bench.key_bytes, "of each key");
  bench->add_option("--value-bytes", data.bench.value_bytes, "of each value");
  bench->add_option("--threads", data.bench.threads, "which share the operations");
  bench->add_option("--batch", data.bench.batch, "operations of a transaction");
  bench->add_option("--kind", data.kind, "masstree (default) or hash");
  bench->add_option("--seed", data.bench.seed, "of the random keys and values");
}

void add_demo(Line* line) {
  DemoPlan& demo = line->demo;
  CLI::App* const verb =
      line->add("demo", "two databases under TPC-C, with a button that kills them, on a web page",
                {}, 0, {})
          ->app;
  verb->add_option("--port", demo.port, "of the page, at 127.0.0.1; 0: any (default: 8047)");
  verb->add_option("--dir", demo.dir,
                   "holds the directory of the databases, which goes at the end");
  verb->add_option("--warehouses", demo.warehouses, "of each database")->check(CLI::Range(1, 1000));
  verb->add_option("--sessions", demo.sessions, "of each database")->check(CLI::Range(1, 256));
  verb->add_flag("--small", demo.is_small, "a hundredth of the rows of TPC-C; for tests");
}

// Adds the commands on a database as a whole.
void add_wholes(Line* line) {
  DataCommand& data = line->data;
  CLI::App* const dump =
      add_opening(line, "dump", "storages with all records, for load (jsonl, csv or binary)");
  dump->add_option("--storage", data.storages, "only this one; repeatable")
      ->allow_extra_args(false);
  dump->add_option("--out", data.file, "write to this file, not to the output");
  dump->add_option("--format", data.format, "jsonl (default), csv or binary");

  CLI::App* const load = add_opening(line, "load", "makes storages and records of a dump");
  load->add_option("--in", data.file, "read this file, not the input");
  load->add_flag("--merge", data.is_merge, "also into storages that exist");
  load->add_option("--format", data.format, "jsonl, csv or binary; default: as the dump begins");

  CLI::App* const changes = add_opening(
      line, "changes", "what commits have changed, in their order, as JSON lines, and a position");
  changes->add_option("--after", data.after, "only later than this position; none: from the first");
  changes->add_option("--limit", data.changes_max, "so many, and the rest of the last one's epoch");

  add_json(add_opening(line, "glean", "makes a snapshot of all commits"), line);
  CLI::App* const backup =
      add_opening(line, "backup", "makes a backup in a directory, or replaces an older one there",
                  {"TO"}, {&data.file});
  add_json(backup, line);
  backup->add_option("--files", data.backup_files, "auto (default), link or copy");
  backup->add_flag("--compare-all", data.is_comparing_all,
                   "all pages of files that an older backup has, not a sample");
  add_json(add_opening(line, "stats", "counters of the database, once it is open"), line);
  add_hex(add_opening(line, "shell", "reads commands, one a line"), line);
  add_bench(line);
  add_demo(line);
  line->add("explain", "the meaning of an error, by name or number, and what to do", {"ERROR"}, 0,
            {&data.error});
}

// Returns a function that shows a line of progress on a terminal, at most ten times a second. The
// next output overwrites it.
std::function<void(std::string_view)> progress_for_person() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  struct Shown {
    std::mutex mutex;
    std::chrono::steady_clock::time_point last;
  };
  return [shown = std::make_shared<Shown>()](std::string_view line) {
    const std::lock_guard guard(shown->mutex);
    const auto now = std::chrono::steady_clock::now();
    if (now - shown->last < std::chrono::milliseconds(100)) return;
    shown->last = now;
    std::cerr << line << "\x1b[K\r" << std::flush;
  };
}

ExitStatus run_inspection(Verb verb, const std::function<void(std::string_view)>& progress,
                          Line* line) {
  Command& command = line->command;
  command.verb = verb;
  if (progress) {
    command.progress = [progress](std::uint64_t done, std::uint64_t total) {
      progress(std::to_string(done) + " of " + std::to_string(total) + " pages");
    };
  }
  return foedus::cli::run(command, &std::cout, &std::cerr);
}

ExitStatus run_data(DataVerb verb, const std::function<void(std::string_view)>& progress,
                    bool has_value, Line* line) {
  DataCommand& data = line->data;
  data.verb = verb;
  data.directories = line->command.directories;
  data.is_json = line->command.is_json;
  data.form = line->is_hex ? ByteForm::kHex : ByteForm::kText;
  if (has_value) data.value = line->value;
  Console console{&std::cin, &std::cout, &std::cerr, progress, false};
  console.is_interactive = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  return foedus::cli::run(data, &console);
}

constexpr std::pair<std::string_view, Verb> kInspections[] = {{"info", Verb::kInfo},
                                                              {"verify", Verb::kVerify},
                                                              {"log", Verb::kLog},
                                                              {"snapshots", Verb::kSnapshots},
                                                              {"salvage", Verb::kSalvage}};
constexpr std::pair<std::string_view, DataVerb> kDataVerbs[] = {
    {"get", DataVerb::kGet},         {"put", DataVerb::kPut},        {"append", DataVerb::kAppend},
    {"erase", DataVerb::kErase},     {"scan", DataVerb::kScan},      {"dump", DataVerb::kDump},
    {"load", DataVerb::kLoad},       {"glean", DataVerb::kGlean},    {"backup", DataVerb::kBackup},
    {"changes", DataVerb::kChanges}, {"stats", DataVerb::kStats},    {"shell", DataVerb::kShell},
    {"bench", DataVerb::kBench},     {"explain", DataVerb::kExplain}};

ExitStatus run_subcommand(Subcommand* sub, Line* line) {
  const std::string name = sub->app->get_name();
  const std::string wrong = sub->take_words(&line->command.directories.dir);
  if (!wrong.empty()) {
    std::cerr << "foedus " << name << ": " << wrong << "\nRun with --help for more information.\n";
    return ExitStatus::kCannotRead;
  }
  if (name == "demo") return foedus::cli::run_demo(line->demo, &std::cout, &std::cerr);
  const auto progress = progress_for_person();
  ExitStatus status = ExitStatus::kCannotRead;
  for (const auto& [verb_name, verb] : kInspections) {
    if (verb_name == name) status = run_inspection(verb, progress, line);
  }
  for (const auto& [verb_name, verb] : kDataVerbs) {
    const bool has_value = sub->places.back()->name == "VALUE" && sub->taken == sub->targets.size();
    if (verb_name == name) status = run_data(verb, progress, has_value, line);
  }
  std::cout.flush();
  if (progress) std::cerr << "\x1b[K";
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  // A reader of the output that ends early is an error of a write, after which the database is
  // closed as always.
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  Line line;
  line.app.require_subcommand(1);
  line.app.set_version_flag("--version", std::string("foedus ") + foedus_version());
  line.app.footer(
      "Exit status: 0 fine; 1 damaged, or no such record; 2 usage, or cannot be done (open in a "
      "process, missing, ...).");
  add_inspections(&line);
  add_salvage(&line);
  add_records(&line);
  add_wholes(&line);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = line.app.exit(error) == 0;
    return static_cast<int>(is_help ? ExitStatus::kFine : ExitStatus::kCannotRead);
  }
  ExitStatus status = ExitStatus::kCannotRead;
  for (const auto& sub : line.all) {
    if (sub->app->parsed()) status = run_subcommand(sub.get(), &line);
  }
  if (!std::cout && status != ExitStatus::kCannotRead) {
    std::cerr << "foedus: cannot write the result\n";
    return static_cast<int>(ExitStatus::kCannotRead);
  }
  return static_cast<int>(status);
}
