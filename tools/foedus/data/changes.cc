// The command changes: what commits have changed, from the log, as JSON lines.
#include <map>
#include <ostream>

#include "foedus/changes.h"
#include "tools/foedus/data/data_command.h"
#include "tools/foedus/dump/json_line.h"

namespace foedus::cli {

namespace {

class ChangePrinter {
 public:
  ChangePrinter(const Database& db, std::ostream* out) : out_(out) {
    for (const StorageInfo& info : db.storages()) kinds_[info.id] = info.kind;
  }

  Status print(const ChangeBatch& batch) {
    for (const Change& change : batch.changes) {
      *out_ << "{\"epoch\":" << batch.epoch.number() << ",\"transaction\":" << change.transaction
            << ",\"change\":\"" << to_string(change.kind)
            << "\",\"storage\":" << json_bytes(change.storage);
      print_subject(change);
      print_value(change);
      *out_ << "}\n";
      FOEDUS_CHECK(check_output(*out_));
    }
    return {};
  }

 private:
  void print_subject(const Change& change) {
    if (const StorageInfo* const created = change.created) {
      kinds_[change.storage_id] = created->kind;
      *out_ << ",\"kind\":\"" << to_string(created->kind) << '"';
      if (created->kind == StorageKind::kArray) {
        *out_ << ",\"records\":" << created->records
              << ",\"payload_bytes\":" << created->payload_bytes;
      }
    } else if (change.kind == ChangeKind::kAppend || change.kind == ChangeKind::kDropStorage) {
      return;
    } else if (is_array(change.storage_id)) {
      *out_ << ",\"index\":" << change.index();
    } else {
      *out_ << ",\"key\":" << json_bytes(change.key);
    }
  }

  void print_value(const Change& change) {
    switch (change.kind) {
      case ChangeKind::kWriteAt:
        *out_ << ",\"offset\":" << change.payload_offset;
        [[fallthrough]];
      case ChangeKind::kPut:
      case ChangeKind::kAppend:
        *out_ << ",\"value\":" << json_bytes(change.payload);
        return;
      case ChangeKind::kIncrement:
        *out_ << ",\"offset\":" << change.payload_offset << ",\"add\":" << change.addend();
        return;
      default:
        return;
    }
  }

  bool is_array(std::uint32_t id) const {
    const auto found = kinds_.find(id);
    return found != kinds_.end() && found->second == StorageKind::kArray;
  }

  std::ostream* const out_;
  std::map<std::uint32_t, StorageKind> kinds_;  // of arrays that are gone: keys are bytes
};

}  // namespace

Result<ExitStatus> run_changes(const DataCommand& command, Console* console) {
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    FOEDUS_TRY(ChangeStream stream, db.changes(Epoch(command.after)));
    ChangePrinter printer(db, console->out);
    Epoch position(command.after);
    for (std::uint64_t printed = 0; printed < command.changes_max;) {
      FOEDUS_TRY(const ChangeBatch batch, stream.next());
      position = batch.position;
      if (batch.changes.empty()) break;
      FOEDUS_CHECK(printer.print(batch));
      printed += batch.changes.size();
    }
    *console->out << "{\"position\":" << position.number() << "}\n" << std::flush;
    FOEDUS_CHECK(check_output(*console->out));
    return ExitStatus::kFine;
  });
}

}  // namespace foedus::cli
