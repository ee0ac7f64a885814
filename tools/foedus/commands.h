#pragma once
// The commands of `foedus`, as main.cc has parsed them. They read a closed database and write what
// they find; a failure is a Status, so that the exit status follows from both.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/engine/setup/directory_names.h"
#include "foedus/status.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

enum class ExitStatus : int {
  kFine = 0,
  kDamaged = 1,    // some bytes are not those that were written
  kNotFound = 1,   // get, erase: there is no such record
  kCannotRead = 2  // usage; no database, or one that is open, unreadable or of another version
};

enum class Verb : std::uint8_t { kInfo, kVerify, kLog, kSnapshots, kSalvage };

struct Command {
  Verb verb = Verb::kInfo;
  engine::DirectoryNames directories;
  bool is_json = false;
  Progress progress;  // may be empty

  bool skips_pages = false;  // info: no counts of records, no walk over pages

  bool is_of_all = false;  // verify: every manifest, not the newest alone

  // log
  std::string storage;  // name or id; empty: all
  std::uint64_t from_epoch = 0;
  std::uint64_t to_epoch = ~std::uint64_t{0};
  std::uint64_t limit = ~std::uint64_t{0};
  bool is_summary = false;

  // salvage
  std::vector<std::string> storages;  // in the text form; empty: all
  std::string format;                 // of the dump; empty: jsonl
  std::string file;                   // to which the dump goes
  bool is_newest = false;             // also what checks out after the whole epoch
};

// Runs a command. Results go to `out`, and so does a failure if JSON was asked for; otherwise a
// failure goes to `err`.
ExitStatus run(const Command& command, std::ostream* out, std::ostream* err);

// Run one command each. On failure nothing of a JSON document was written. kBusy: the database is
// open. kNotFound: there is none. kCorruption: a file that the command needs is damaged.
// kWrongVersion, kIoError.
Result<ExitStatus> run_info(const Command& command, std::ostream* out);
Result<ExitStatus> run_verify(const Command& command, std::ostream* out);
Result<ExitStatus> run_log(const Command& command, std::ostream* out);
Result<ExitStatus> run_snapshots(const Command& command, std::ostream* out);
// Also kInvalidArgument, and kNotFound: there is no such storage. kCorruption: nothing can be read.
Result<ExitStatus> run_salvage(const Command& command, std::ostream* out);

}  // namespace foedus::cli
