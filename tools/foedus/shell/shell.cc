#include "tools/foedus/shell/shell.h"

#include <algorithm>
#include <ostream>

#include "tools/foedus/data/report.h"
#include "tools/foedus/data/row_printer.h"
#include "tools/foedus/shell/line_source.h"
#include "tools/foedus/shell/words.h"

namespace foedus::cli {

const Shell::ShellVerb Shell::kVerbs[] = {
    {"use", "STORAGE", "the storage of the commands below", 1, 1, &Shell::use},
    {"create", "STORAGE KIND", "make a storage: masstree, hash, sequential, array:RECORDS:BYTES", 2,
     2, &Shell::create},
    {"storages", "", "names and kinds of all storages", 0, 0, &Shell::storages},
    {"get", "KEY", "the value of a key", 1, 1, &Shell::get},
    {"put", "KEY VALUE", "write a record", 2, 2, &Shell::put},
    {"append", "VALUE", "append a record to a sequential storage", 1, 1, &Shell::append},
    {"erase", "KEY", "erase a record", 1, 1, &Shell::erase},
    {"scan", "[--prefix P | --low L --high H] [--reverse] [--limit N] [--keys-only]",
     "records, one a line", 0, 8, &Shell::scan},
    {"begin", "", "begin a transaction; without one each command is a transaction", 0, 0,
     &Shell::begin},
    {"commit", "", "commit the transaction", 0, 0, &Shell::commit},
    {"rollback", "", "undo the transaction", 0, 0, &Shell::rollback},
    {"glean", "", "make a snapshot of all commits", 0, 0, &Shell::glean},
    {"stats", "", "counters of the database", 0, 0, &Shell::stats},
    {"explain", "[ERROR]", "the meaning of an error", 0, 1, &Shell::explain},
    {"help", "", "this list", 0, 0, &Shell::help},
    {"quit", "", "roll back an open transaction, close the database and end", 0, 0, &Shell::quit},
};

namespace {

Status mistake(std::string text) {
  return Status::error(ErrorCode::kInvalidArgument, std::move(text));
}

// Parses the options of scan.
Status parse_scan_words(const std::vector<std::string>& words, RangeText* range,
                        bool* has_keys_only) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--reverse") {
      range->is_reverse = true;
      continue;
    }
    if (word == "--keys-only") {
      *has_keys_only = true;
      continue;
    }
    std::optional<std::string>* const bound = word == "--prefix" ? &range->prefix
                                              : word == "--low"  ? &range->low
                                              : word == "--high" ? &range->high
                                                                 : nullptr;
    if (bound == nullptr && word != "--limit") {
      return mistake("scan has no option \"" + word + "\"; see help");
    }
    if (++i == words.size()) return mistake("a value is missing after " + word);
    if (bound != nullptr) {
      *bound = words[i];
    } else {
      FOEDUS_TRY(range->limit, parse_number(words[i], "a limit"));
    }
  }
  return {};
}

}  // namespace

template <typename Operation>
auto Shell::in_transaction(const Operation& operation, bool is_snapshot)
    -> decltype(operation(std::declval<Txn&>())) {
  if (txn_.has_value()) return operation(*txn_);
  if (!is_snapshot) return db_->transact(operation);
  SnapshotOptions options;
  options.timeout_us = Ticket::kForever;
  return db_->snapshot(operation, options);
}

Status Shell::run(std::string_view line) {
  FOEDUS_TRY(Words words, split_words(line));
  if (words.empty()) return {};
  for (const ShellVerb& verb : kVerbs) {
    if (verb.name != words[0]) continue;
    words.erase(words.begin());
    if (words.size() < verb.words_min || words.size() > verb.words_max) {
      return mistake("the command is: " + std::string(verb.name) + " " +
                     std::string(verb.arguments));
    }
    return (this->*verb.run)(words);
  }
  return mistake("there is no command \"" + words[0] + "\"; help lists them");
}

std::string Shell::prompt() const {
  std::string text = "foedus";
  if (storage_.has_value()) {
    text += "(" + format_bytes(storage_->name(), ByteForm::kText) + ")";
  }
  return text + (txn_.has_value() ? "*> " : "> ");
}

std::vector<std::string> Shell::complete(std::string_view before) const {
  std::vector<std::string> words;
  const Result<Words> typed = split_words(before);
  if (!typed.is_ok() || typed->empty()) {
    for (const ShellVerb& verb : kVerbs) words.emplace_back(verb.name);
  } else if (typed->size() == 1 && typed->front() == "use") {
    for (const StorageInfo& info : db_->storages()) {
      words.push_back(format_bytes(info.name, ByteForm::kText));
    }
  } else if (typed->front() == "scan") {
    words = {"--prefix", "--low", "--high", "--reverse", "--limit", "--keys-only"};
  }
  return words;
}

bool Shell::end() {
  const bool is_open = txn_.has_value();
  txn_.reset();
  return is_open;
}

Result<const AnyStorage*> Shell::used() const {
  if (storage_.has_value()) return &*storage_;
  return mistake("no storage is chosen; begin with: use STORAGE");
}

Status Shell::use(const Words& words) {
  FOEDUS_TRY(const std::string name, parse_bytes(words[0], ByteForm::kText));
  FOEDUS_TRY(storage_, find_storage(*db_, name));
  return {};
}

Status Shell::create(const Words& words) {
  FOEDUS_TRY(const std::string name, parse_bytes(words[0], ByteForm::kText));
  FOEDUS_TRY(const StorageShape shape, parse_shape(words[1]));
  FOEDUS_TRY(storage_, make_storage(*db_, name, shape));
  return {};
}

Status Shell::storages(const Words& /*words*/) {
  write_storages(*db_, console_->out);
  return {};
}

Status Shell::get(const Words& words) {
  FOEDUS_TRY(const AnyStorage* const storage, used());
  FOEDUS_TRY(const RowKey key, parse_key(*storage, words[0], form_));
  const Result<std::string> value =
      in_transaction([&](Txn& txn) { return get_row(txn, *storage, key); });
  if (value.code() == ErrorCode::kNotFound) {
    *console_->out << "not found\n";
    return {};
  }
  if (!value.is_ok()) return value.status();
  *console_->out << format_bytes(*value, form_) << '\n';
  return {};
}

Status Shell::put(const Words& words) {
  FOEDUS_TRY(const AnyStorage* const storage, used());
  FOEDUS_TRY(const RowKey key, parse_key(*storage, words[0], form_));
  FOEDUS_TRY(const std::string value, parse_bytes(words[1], form_));
  return in_transaction([&](Txn& txn) { return put_row(txn, *storage, key, value); });
}

Status Shell::append(const Words& words) {
  FOEDUS_TRY(const AnyStorage* const storage, used());
  FOEDUS_TRY(const std::string value, parse_bytes(words[0], form_));
  return in_transaction([&](Txn& txn) { return append_row(txn, *storage, value); });
}

Status Shell::erase(const Words& words) {
  FOEDUS_TRY(const AnyStorage* const storage, used());
  FOEDUS_TRY(const RowKey key, parse_key(*storage, words[0], form_));
  const Status erased = in_transaction([&](Txn& txn) { return erase_row(txn, *storage, key); });
  if (erased.code() != ErrorCode::kNotFound) return erased;
  *console_->out << "not found\n";
  return {};
}

Status Shell::scan(const Words& words) {
  FOEDUS_TRY(const AnyStorage* const storage, used());
  RangeText text;
  bool has_keys_only = false;
  FOEDUS_CHECK(parse_scan_words(words, &text, &has_keys_only));
  FOEDUS_TRY(const RowRange range, parse_range(*storage, text, form_));
  const RowSink print = print_rows(*storage, form_, has_keys_only, console_->out);
  return in_transaction([&](Txn& txn) { return scan_rows(txn, *storage, range, print); }, true);
}

Status Shell::begin(const Words& /*words*/) {
  if (txn_.has_value()) return mistake("a transaction is open; end it with commit or rollback");
  if (!session_.has_value()) {
    FOEDUS_TRY(Session session, db_->new_session());
    session_.emplace(std::move(session));
  }
  FOEDUS_TRY(Txn txn, session_->begin());
  txn_.emplace(std::move(txn));
  return {};
}

Status Shell::commit(const Words& /*words*/) {
  if (!txn_.has_value()) return mistake("there is no transaction; begin with: begin");
  const Status committed = Status(txn_->commit().status());
  txn_.reset();
  return committed;
}

Status Shell::rollback(const Words& /*words*/) {
  if (!end()) return mistake("there is no transaction; begin with: begin");
  return {};
}

Status Shell::glean(const Words& /*words*/) {
  FOEDUS_TRY(const GleanReport report, db_->glean(show_glean(console_->progress)));
  write_report(report, false, console_->out);
  return {};
}

Status Shell::stats(const Words& /*words*/) {
  write_stats(*db_, false, console_->out);
  return {};
}

Status Shell::explain(const Words& words) {
  DataCommand command;
  if (!words.empty()) command.error = words[0];
  return Status(run_explain(command, console_).status());
}

Status Shell::help(const Words& /*words*/) {
  for (const ShellVerb& verb : kVerbs) {
    *console_->out << verb.name << ' ' << verb.arguments << "\n      " << verb.about << '\n';
  }
  *console_->out
      << "A word with blanks stands in double quotes; \\\\ is a backslash, \\xNN a byte.\n";
  return {};
}

Status Shell::quit(const Words& /*words*/) {
  has_quit_ = true;
  return {};
}

Result<ExitStatus> run_shell(const DataCommand& command, Console* console) {
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    Shell shell(&db, command.form, console);
    std::unique_ptr<LineSource> lines;
    if (console->is_interactive) {
      lines = make_edited_lines([&](std::string_view before) { return shell.complete(before); });
    }
    if (lines == nullptr) {
      lines = make_stream_lines(console->in, console->is_interactive ? console->out : nullptr);
    }
    std::string line;
    for (std::uint64_t number = 1; !shell.has_quit(); ++number) {
      if (!lines->read(shell.prompt(), &line)) break;
      const Status done = shell.run(line);
      if (console->is_interactive) console->out->flush();
      FOEDUS_CHECK(check_output(*console->out));
      if (done.is_ok()) continue;
      if (console->is_interactive) {
        *console->err << done.message() << '\n';
        continue;
      }
      // The rest of a script may depend on this line.
      *console->err << "foedus: line " << number << ": " << done.message() << '\n';
      return ExitStatus::kCannotRead;
    }
    if (shell.end()) *console->err << "foedus: the open transaction was rolled back\n";
    return ExitStatus::kFine;
  });
}

}  // namespace foedus::cli
