// The command explain: the meaning of each error code and conflict reason, and its cure.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <ostream>

#include "tools/foedus/data/data_command.h"

namespace foedus::cli {

namespace {

struct Explanation {
  std::string_view meaning;
  std::string_view cure;
};

struct ExplainedCode {
  ErrorCode code;
  Explanation text;
};

constexpr ExplainedCode kCodes[] = {
    {ErrorCode::kOk, {"The call has succeeded.", "Nothing."}},
    {ErrorCode::kConflict,
     {"The transaction conflicted with another one, for one of the reasons below. It changed "
      "nothing.",
      "Run it again, as Database::transact() does by itself. If most tries conflict, read the "
      "contended records with get_for_update(), or make transactions smaller."}},
    {ErrorCode::kNotFound,
     {"The key does not exist, or the storage was dropped. In open(), the directory or a snapshot "
      "does not exist.",
      "Often this is an answer and no failure. Otherwise look at the name in the message."}},
    {ErrorCode::kAlreadyExists,
     {"insert() met a key that exists.",
      "Use put() to overwrite, or update() for keys that exist."}},
    {ErrorCode::kInvalidArgument,
     {"An argument or an option is outside its documented range, or does not fit the storage or "
      "the state of the transaction. Nothing was changed.",
      "Correct the call; the message names the argument."}},
    {ErrorCode::kTooLarge,
     {"A key, a payload or the log records of one transaction are above their limit.",
      "Split the transaction or the payload, or raise log.buffer_bytes: a transaction may log half "
      "of it."}},
    {ErrorCode::kOutOfMemory,
     {"memory_bytes is used up, or the system gave the process no memory, thread or descriptor.",
      "Raise memory_bytes, end old transactions, which keep pages, or raise the limits of the "
      "process. Writers may try again."}},
    {ErrorCode::kOutOfSpace,
     {"The file system is full, or a file would exceed the limit of file sizes. Reads go on.",
      "Free space; commits work again without a restart."}},
    {ErrorCode::kIoError,
     {"A file could not be read, written or synced; the message has the file and errno. After an "
      "error of the log no write commits any more.",
      "Check the device, then open the database again. A commit that was reported durable is not "
      "lost."}},
    {ErrorCode::kCorruption,
     {"Bytes of a file are not those that were written; the message has the file and the place.",
      "Run foedus verify to see how much is damaged, and restore the directory from a copy. foedus "
      "salvage writes what can still be read as a dump."}},
    {ErrorCode::kWrongVersion,
     {"Another format version wrote the directory. It was not touched.",
      "Open it with the version that wrote it, and move the records with foedus dump and load."}},
    {ErrorCode::kBusy,
     {"Another process, or another Database of this process, has the directory open. Or close() "
      "was called while transactions were open.",
      "Close the other one first, or end the transactions that the message names."}},
    {ErrorCode::kNotSupported,
     {"This build, this machine or the current state of the engine does not support the request.",
      "Choose another option; the message names the one that does not work."}},
    {ErrorCode::kClosed,
     {"The database was closed, or the transaction has ended.",
      "Begin another transaction, or open the database again and get its storages again."}},
    {ErrorCode::kTimeout,
     {"A time limit has passed. A transaction that was open for longer than "
      "transaction_timeout_us was rolled back.",
      "Wait again, make the transaction shorter, or raise the limit."}},
    {ErrorCode::kRolledBack,
     {"The function of transact() asked for its transaction to be rolled back.",
      "Nothing: the changes are undone, as was asked for."}},
    {ErrorCode::kForked,
     {"A child of fork() used an object that its parent has opened. Nothing was done.",
      "Open a database after fork(), or call exec() in the child."}},
};

struct ExplainedReason {
  ConflictReason reason;
  Explanation text;
};

constexpr ExplainedReason kReasons[] = {
    {ConflictReason::kNone, {"There was no conflict.", "Nothing."}},
    {ConflictReason::kRecordChanged,
     {"A record that was read was changed before the commit, or a write became impossible because "
      "its record was inserted, erased or resized.",
      "Run the transaction again. On contended records use get_for_update(), or increment() for "
      "counters."}},
    {ConflictReason::kRecordLocked,
     {"Another transaction was writing a record that was read, a wait for a record's lock took "
      "over 10 s, or a wait could have been a deadlock.",
      "Run the transaction again. Keep transactions that lock short; the message names the session "
      "that has the lock."}},
    {ConflictReason::kPageGained,
     {"Keys were added to a page in which a scan, or a read of a missing key, had searched: a "
      "phantom is possible.",
      "Run the transaction again. Scan smaller ranges, or scan in a snapshot."}},
    {ConflictReason::kPageInstalled,
     {"A snapshot page that was read has a volatile page now, because its first record since was "
      "written.",
      "Run the transaction again; it reads the volatile page then."}},
    {ConflictReason::kPageDropped,
     {"A volatile page that was read has given way to a snapshot page, or the storage was dropped.",
      "Run the transaction again. A long transaction that only reads belongs into a snapshot."}},
    {ConflictReason::kRetryBound,
     {"A read met a writer in each of its tries, or the commit found no free TID in its epoch.",
      "Run the transaction again, after a short wait."}},
};

// Returns a name without prefix, case and separators: "kNotFound", "FOEDUS_NOT_FOUND" and "not
// found" become "notfound".
std::string plain_name(std::string_view name) {
  for (const std::string_view prefix : {"foedus::", "ErrorCode::", "ConflictReason::", "FOEDUS_"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  const bool is_enumerator =
      name.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1])) != 0;
  if (is_enumerator) name.remove_prefix(1);
  std::string plain;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return plain;
}

template <typename Number>
bool is_asked(const std::string& asked, Number number) {
  if (asked.empty()) return true;
  if (asked == std::to_string(static_cast<unsigned>(number))) return true;
  return plain_name(asked) == plain_name(to_string(number));
}

template <typename Number>
void print_explained(std::string_view what, Number number, const Explanation& text,
                     std::ostream* out) {
  *out << what << ' ' << static_cast<unsigned>(number) << ", " << to_string(number)
       << "\n  Meaning: " << text.meaning << "\n  What to do: " << text.cure << '\n';
}

}  // namespace

Result<ExitStatus> run_explain(const DataCommand& command, Console* console) {
  bool is_known = false;
  for (const ExplainedCode& one : kCodes) {
    if (!is_asked(command.error, one.code)) continue;
    print_explained("error", one.code, one.text, console->out);
    is_known = true;
  }
  for (const ExplainedReason& one : kReasons) {
    if (!is_asked(command.error, one.reason)) continue;
    print_explained("conflict reason", one.reason, one.text, console->out);
    is_known = true;
  }
  if (is_known) return ExitStatus::kFine;
  std::string names;
  for (const ExplainedCode& one : kCodes) names += " " + std::string(to_string(one.code));
  for (const ExplainedReason& one : kReasons) names += " " + std::string(to_string(one.reason));
  return Status::error(ErrorCode::kInvalidArgument,
                       "there is no error \"" + command.error + "\"; there are" + names);
}

}  // namespace foedus::cli
