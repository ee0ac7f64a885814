#include "tools/foedus/commands.h"

#include <ostream>

#include "foedus-core/base/json.h"

namespace foedus::cli {

namespace {

Result<ExitStatus> dispatch(const Command& command, std::ostream* out) {
  switch (command.verb) {
    case Verb::kInfo:
      return run_info(command, out);
    case Verb::kVerify:
      return run_verify(command, out);
    case Verb::kLog:
      return run_log(command, out);
    case Verb::kSnapshots:
      return run_snapshots(command, out);
    case Verb::kSalvage:
      return run_salvage(command, out);
  }
  return Status::error(ErrorCode::kInvalidArgument, "no such command");
}

}  // namespace

ExitStatus run(const Command& command, std::ostream* out, std::ostream* err) {
  const Result<ExitStatus> done = dispatch(command, out);
  if (done.is_ok()) return *done;
  const Status& status = done.status();
  *err << "foedus: " << status.message() << '\n';
  if (command.is_json) {
    base::Json json(out);
    json.begin_object();
    json.text("directory", command.directories.dir);
    json.boolean("ok", false);
    json.text("error", to_string(status.code()));
    json.text("message", status.message());
    json.end_object();
  }
  // A salvage of a damaged database has failed only if it has found nothing.
  const bool is_damage = status.code() == ErrorCode::kCorruption && command.verb != Verb::kSalvage;
  return is_damage ? ExitStatus::kDamaged : ExitStatus::kCannotRead;
}

}  // namespace foedus::cli
