// The command scan: the records of a storage, one a line.
#include <ostream>

#include "tools/foedus/data/data_command.h"
#include "tools/foedus/data/row_printer.h"

namespace foedus::cli {

RowSink print_rows(const AnyStorage& storage, ByteForm form, bool has_keys_only,
                   std::ostream* out) {
  return [kind = storage.shape.kind, form, has_keys_only, out](const DataRow& row) -> Status {
    if (kind == StorageKind::kArray) {
      *out << row.index;
    } else if (kind != StorageKind::kSequential) {
      *out << format_bytes(row.key, form);
    }
    if (!has_keys_only || kind == StorageKind::kSequential) {
      if (kind != StorageKind::kSequential) *out << '\t';
      *out << format_bytes(row.value, form);
    }
    *out << '\n';
    return check_output(*out);
  };
}

Result<ExitStatus> run_scan(const DataCommand& command, Console* console) {
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    FOEDUS_TRY(const std::string name, parse_bytes(command.storage, ByteForm::kText));
    FOEDUS_TRY(const AnyStorage storage, find_storage(db, name));
    FOEDUS_TRY(const RowRange range, parse_range(storage, command.range, command.form));
    const RowSink print = print_rows(storage, command.form, command.has_keys_only, console->out);
    // A snapshot has no conflicts, so each row is printed as it is read, once.
    SnapshotOptions options;
    options.timeout_us = Ticket::kForever;
    FOEDUS_CHECK(
        db.snapshot([&](Txn& txn) { return scan_rows(txn, storage, range, print); }, options));
    return ExitStatus::kFine;
  });
}

}  // namespace foedus::cli
