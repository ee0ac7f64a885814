// The command dump: storages with all their records, in one consistent state.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <ostream>

#include "tools/foedus/data/data_command.h"
#include "tools/foedus/dump/dump_writer.h"
#include "tools/foedus/dump/row_rate.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

// Returns the storages to dump, by name, or in the order that the command gives.
Result<std::vector<AnyStorage>> storages_to_dump(Database& db, const DataCommand& command) {
  std::vector<std::string> names;
  for (const std::string& text : command.storages) {
    FOEDUS_TRY(names.emplace_back(), parse_bytes(text, ByteForm::kText));
  }
  if (names.empty()) {
    for (const StorageInfo& info : db.storages()) names.push_back(info.name);
  }
  std::vector<AnyStorage> storages;
  for (const std::string& name : names) {
    FOEDUS_TRY(storages.emplace_back(), find_storage(db, name));
  }
  return storages;
}

// Dumps storages from one snapshot, which has all commits up to now and never conflicts.
Status dump_storages(Database& db, const std::vector<AnyStorage>& storages, DumpFormat format,
                     const Console& console, std::ostream* out) {
  const std::unique_ptr<DumpWriter> writer = make_dump_writer(format, out);
  RowRate rate("dumped", console.progress);
  SnapshotOptions options;
  options.timeout_us = Ticket::kForever;
  return db.snapshot(
      [&](Txn& txn) -> Status {
        writer->begin();
        for (const AnyStorage& storage : storages) {
          writer->storage(storage.name(), storage.shape);
          FOEDUS_CHECK(scan_rows(txn, storage, {}, [&](const DataRow& row) -> Status {
            writer->row(row);
            rate.add(1);
            return check_output(*out);
          }));
        }
        writer->end({storages.size(), rate.rows()});
        out->flush();
        return check_output(*out);
      },
      options);
}

}  // namespace

Result<ExitStatus> run_dump(const DataCommand& command, Console* console) {
  FOEDUS_TRY(const DumpFormat format,
             parse_dump_format(command.format.empty() ? "jsonl" : command.format));
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    FOEDUS_TRY(const auto storages, storages_to_dump(db, command));
    if (command.file.empty() || command.file == "-") {
      FOEDUS_CHECK(dump_storages(db, storages, format, *console, console->out));
      return ExitStatus::kFine;
    }
    std::ofstream file(command.file, std::ios::binary | std::ios::trunc);
    if (!file) {
      return Status::error(ErrorCode::kIoError, "cannot make the file " + command.file);
    }
    FOEDUS_CHECK(dump_storages(db, storages, format, *console, &file));
    file.close();
    FOEDUS_CHECK(check_output(file));
    return ExitStatus::kFine;
  });
}

}  // namespace foedus::cli
