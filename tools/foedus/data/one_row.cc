// The commands get, put, append and erase: a transaction of one operation each.
#include <fstream>
#include <iterator>
#include <ostream>

#include "tools/foedus/data/data_command.h"

namespace foedus::cli {

namespace {

ExitStatus report_missing(const DataCommand& command, Console* console) {
  *console->err << "foedus: not found: key \"" << command.key << "\" in storage \""
                << command.storage << "\"\n";
  return ExitStatus::kNotFound;
}

Result<AnyStorage> storage_to_read(Database& db, const DataCommand& command) {
  FOEDUS_TRY(const std::string name, parse_bytes(command.storage, ByteForm::kText));
  return find_storage(db, name);
}

Result<AnyStorage> storage_to_write(Database& db, const DataCommand& command) {
  FOEDUS_TRY(const std::string name, parse_bytes(command.storage, ByteForm::kText));
  if (command.create.empty()) return find_storage(db, name);
  FOEDUS_TRY(const StorageShape shape, parse_shape(command.create));
  return make_storage(db, name, shape);  // of another kind or shape: kInvalidArgument
}

Result<std::string> all_of(std::istream* in, const std::string& name) {
  std::string bytes{std::istreambuf_iterator<char>(*in), std::istreambuf_iterator<char>()};
  if (in->bad()) return Status::error(ErrorCode::kIoError, "cannot read " + name);
  return bytes;
}

Result<std::string> value_of(const DataCommand& command, Console* console) {
  if (command.value.has_value() != command.value_file.empty()) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "a value is given as the last argument, or in the file of --file");
  }
  if (command.value.has_value()) return parse_bytes(*command.value, command.form);
  if (command.value_file == "-") return all_of(console->in, "the input");
  std::ifstream file(command.value_file, std::ios::binary);
  if (!file) {
    return Status::error(ErrorCode::kIoError, "cannot open the file " + command.value_file);
  }
  return all_of(&file, command.value_file);
}

// Checks --create before a database is made.
Status check_create(const DataCommand& command) {
  if (command.create.empty()) return {};
  return Status(parse_shape(command.create).status());
}

}  // namespace

Result<ExitStatus> run_get(const DataCommand& command, Console* console) {
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    FOEDUS_TRY(const AnyStorage storage, storage_to_read(db, command));
    FOEDUS_TRY(const RowKey key, parse_key(storage, command.key, command.form));
    const Result<std::string> value =
        db.transact([&](Txn& txn) { return get_row(txn, storage, key); }, {.read_only = true});
    if (value.code() == ErrorCode::kNotFound) return report_missing(command, console);
    if (!value.is_ok()) return value.status();
    if (command.is_raw) {
      *console->out << *value;
    } else {
      *console->out << format_bytes(*value, command.form) << '\n';
    }
    FOEDUS_CHECK(check_output(*console->out));
    return ExitStatus::kFine;
  });
}

Result<ExitStatus> run_put(const DataCommand& command, Console* console) {
  FOEDUS_CHECK(check_create(command));
  FOEDUS_TRY(const std::string value, value_of(command, console));
  return with_database(
      command, !command.create.empty(), console, [&](Database& db) -> Result<ExitStatus> {
        FOEDUS_TRY(const AnyStorage storage, storage_to_write(db, command));
        FOEDUS_TRY(const RowKey key, parse_key(storage, command.key, command.form));
        FOEDUS_CHECK(db.transact([&](Txn& txn) { return put_row(txn, storage, key, value); },
                                 {.durability = Durability::kSync}));
        return ExitStatus::kFine;
      });
}

Result<ExitStatus> run_append(const DataCommand& command, Console* console) {
  FOEDUS_CHECK(check_create(command));
  FOEDUS_TRY(const std::string value, value_of(command, console));
  return with_database(
      command, !command.create.empty(), console, [&](Database& db) -> Result<ExitStatus> {
        FOEDUS_TRY(const AnyStorage storage, storage_to_write(db, command));
        FOEDUS_CHECK(db.transact([&](Txn& txn) { return append_row(txn, storage, value); },
                                 {.durability = Durability::kSync}));
        return ExitStatus::kFine;
      });
}

Result<ExitStatus> run_erase(const DataCommand& command, Console* console) {
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    FOEDUS_TRY(const AnyStorage storage, storage_to_read(db, command));
    FOEDUS_TRY(const RowKey key, parse_key(storage, command.key, command.form));
    const Status erased = db.transact([&](Txn& txn) { return erase_row(txn, storage, key); },
                                      {.durability = Durability::kSync});
    if (erased.code() == ErrorCode::kNotFound) return report_missing(command, console);
    FOEDUS_CHECK(erased);
    return ExitStatus::kFine;
  });
}

}  // namespace foedus::cli
