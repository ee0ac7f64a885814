// The command load: makes the storages of a dump. Rows of a new Master-Tree that come in the order
// of their keys, as in dumps of this program, are bulk-loaded; others go into batches of
// transactions.
#include <algorithm>
#include <fstream>
#include <istream>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "tools/foedus/data/data_command.h"
#include "tools/foedus/dump/dump_reader.h"
#include "tools/foedus/dump/row_rate.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

class Loader {
 public:
  Loader(Database* db, bool is_merge, const Console& console)
      : db_(db), is_merge_(is_merge), rate_("loaded", console.progress) {}

  // Loads a dump. After a failure, rows() of it are committed.
  Status load(DumpReader* reader) {
    Status loaded = load_items(reader);
    Status ended = end_bulk();
    return loaded.is_ok() ? std::move(ended) : std::move(loaded);
  }
  std::uint64_t rows() const { return rate_.rows(); }
  std::size_t storages() const { return names_.size(); }
  std::string line() const { return rate_.line(); }
  // Returns the name of the storage that was loaded last, in quotes.
  std::string last_storage() const { return quoted(name_); }

 private:
  // A batch is far below the limit of a transaction, which is half of log.buffer_bytes, but for a
  // single large row.
  static constexpr std::size_t kBatchRows = 512;
  static constexpr std::size_t kBatchBytes = 256u << 10;

  Status load_items(DumpReader* reader) {
    while (true) {
      FOEDUS_TRY(DumpItem item, reader->next());
      if (auto* const row = std::get_if<DumpRow>(&item)) {
        FOEDUS_CHECK(add(std::move(*row)));
        continue;
      }
      FOEDUS_CHECK(end_bulk());
      FOEDUS_CHECK(commit_batch());
      if (std::holds_alternative<DumpEnd>(item)) return {};
      FOEDUS_CHECK(begin_storage(std::get<DumpStorage>(item), *reader));
    }
  }
  Status begin_storage(const DumpStorage& found, const DumpReader& reader) {
    if (!names_.insert(found.name).second) {
      return reader.damaged("storage " + quoted(found.name) + " comes twice");
    }
    const std::vector<StorageInfo> infos = db_->storages();
    const bool is_there = std::any_of(infos.begin(), infos.end(), [&](const StorageInfo& info) {
      return info.name == found.name;
    });
    if (is_there && !is_merge_) {
      names_.erase(found.name);
      return Status::error(ErrorCode::kAlreadyExists,
                           "the database has a storage " + quoted(found.name) +
                               "; --merge loads into it, over the records that are there");
    }
    name_ = found.name;
    shape_ = found.shape;
    const bool is_new_tree = found.shape.kind == StorageKind::kMasstree && !is_there;
    Status begun = is_new_tree ? begin_bulk() : open_storage();
    if (!begun.is_ok()) names_.erase(found.name);
    return begun;
  }
  Status begin_bulk() {
    Result<BulkLoad> load = db_->load_masstree(name_);
    if (load.code() == ErrorCode::kNotSupported) return open_storage();  // there are no snapshots
    if (!load.is_ok()) return load.status();
    bulk_.emplace(*std::move(load));
    return {};
  }
  // Makes the storage with the rows that were added so far. Later ones go into transactions.
  Status end_bulk() {
    if (!bulk_.has_value()) return {};
    FOEDUS_CHECK(bulk_->finish());
    bulk_.reset();
    return open_storage();
  }
  Status open_storage() {
    FOEDUS_TRY(storage_, make_storage(*db_, name_, shape_));
    return {};
  }
  Status add(DumpRow row) {
    if (bulk_.has_value()) {
      Status added = bulk_->add(row.key, row.value);
      if (added.is_ok()) rate_.add(1);
      if (added.code() != ErrorCode::kInvalidArgument) return added;
      FOEDUS_CHECK(end_bulk());  // the row is not above the one before
    }
    batch_bytes_ += row.key.size() + row.value.size();
    batch_.push_back(std::move(row));
    if (batch_.size() < kBatchRows && batch_bytes_ < kBatchBytes) return {};
    return commit_batch();
  }
  Status commit_batch() {
    if (batch_.empty()) return {};
    FOEDUS_CHECK(db_->transact([&](Txn& txn) -> Status {
      for (const DumpRow& row : batch_) {
        if (storage_.shape.kind == StorageKind::kSequential) {
          FOEDUS_CHECK(append_row(txn, storage_, row.value));
        } else {
          FOEDUS_CHECK(put_row(txn, storage_, {row.key, row.index}, row.value));
        }
      }
      return {};
    }));
    rate_.add(batch_.size());
    batch_.clear();
    batch_bytes_ = 0;
    return {};
  }

  Database* const db_;
  const bool is_merge_;
  RowRate rate_;
  std::set<std::string> names_;  // of storages that were begun
  std::string name_;             // of the storage to which rows go, and its shape
  StorageShape shape_;
  std::optional<BulkLoad> bulk_;  // makes that storage; nothing: it is storage_
  AnyStorage storage_;
  std::vector<DumpRow> batch_;   // rows that are not committed yet
  std::size_t batch_bytes_ = 0;
};

// Prints how much of a dump was loaded before a failure.
void report_part(const Loader& loader, std::ostream* err) {
  *err << "foedus: before the failure " << count_of(loader.rows(), "row") << " of "
       << count_of(loader.storages(), "storage") << " were loaded";
  if (loader.storages() != 0) *err << ", the last one " << loader.last_storage();
  *err << "; they stay in the database\n";
}

// Returns the exit status of a failure: damage to the dump is told apart from all others.
Result<ExitStatus> end_of(Status failure, const DumpReader& reader, std::ostream* err) {
  if (reader.damage().empty()) return failure;
  *err << "foedus: " << reader.damage() << '\n';
  return ExitStatus::kDamaged;
}

}  // namespace

Result<ExitStatus> run_load(const DataCommand& command, Console* console) {
  std::istream* in = console->in;
  std::ifstream file;
  if (!command.file.empty() && command.file != "-") {
    file.open(command.file, std::ios::binary);
    if (!file) {
      return Status::error(ErrorCode::kIoError, "cannot open the file " + command.file);
    }
    in = &file;
  }
  std::optional<DumpFormat> format = find_dump_format(in);
  if (!command.format.empty()) {
    FOEDUS_TRY(format, parse_dump_format(command.format));
  }
  if (!format.has_value()) {
    *console->err << "foedus: the input does not begin as a dump does\n";
    return ExitStatus::kDamaged;
  }
  const std::unique_ptr<DumpReader> reader = make_dump_reader(*format, in);
  const Status begun = reader->begin();  // before a database is made
  if (!begun.is_ok()) return end_of(begun, *reader, console->err);
  return with_database(command, true, console, [&](Database& db) -> Result<ExitStatus> {
    Loader loader(&db, command.is_merge, *console);
    const Status loaded = loader.load(reader.get());
    if (!loaded.is_ok()) {
      report_part(loader, console->err);
      return end_of(loaded, *reader, console->err);
    }
    FOEDUS_CHECK(db.wait_durable());
    *console->out << "loaded " << count_of(loader.rows(), "row") << " of "
                  << count_of(loader.storages(), "storage") << '\n';
    return ExitStatus::kFine;
  });
}

}  // namespace foedus::cli
