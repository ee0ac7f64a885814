// Completing the indexes that were added to a table which has rows, while others write to it.
//
//   Y4  Before an index is filled, the definition row says that it is there, and its storage is
//       empty. From then on each writer keeps its entries (Y2), so what is filled stays right: an
//       entry behind the place that the filling has reached follows its row, and one ahead of it
//       that a row loses is not missed yet.
//
// Batches find the entries that are there already: a filling that a crash or an error has ended is
// begun again at the first row, and two at once do no harm.
#include <optional>
#include <string>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/table/definition_row.h"
#include "foedus-core/table/entry_key.h"
#include "foedus/database.h"
#include "foedus/table_storages.h"

namespace foedus::internal {

namespace {

// A batch ends after this many rows, or bytes of entries.
constexpr std::size_t kRowsMax = 256;  // a power of 16
constexpr std::size_t kBytesMax = 64u << 10;
// A batch that conflicts so often is tried with fewer rows.
constexpr std::uint32_t kTriesMax = 20;

}  // namespace

Status TableStorages::fill(Database& db) const {
  return base::catching([&]() -> Status {
    std::size_t rows_max = kRowsMax;
    // Losing batches, and the mark, in a crash means filling again.
    TxnOptions options{.durability = Durability::kAsync, .tries_max = kTriesMax};
    std::optional<std::string> from = std::string();
    while (from.has_value()) {
      if (rows_max == 1) options.tries_max = TxnOptions().tries_max;
      Result<std::optional<std::string>> next =
          db.transact([&](Txn& txn) { return fill_batch(txn, rows_max, *from); }, options);
      if (next.is_ok()) {
        from = *std::move(next);
      } else if (rows_max > 1 &&
                 (next.code() == ErrorCode::kConflict || next.code() == ErrorCode::kTooLarge)) {
        rows_max /= 16;  // too many writers, or too small a LogOptions::buffer_bytes
      } else {
        return next.status();
      }
    }
    options.tries_max = TxnOptions().tries_max;
    return db.transact([&](Txn& txn) { return mark_complete(txn); }, options);
  });
}

// Adds the entries of some rows, beginning with the key `from`. Returns the last key that it has
// looked at, or nothing if there are no rows behind it.
Result<std::optional<std::string>> TableStorages::fill_batch(Txn& txn, std::size_t rows_max,
                                                             const std::string& from) const {
  FOEDUS_TRY(const std::uint64_t complete, writable(txn));
  bool is_all_complete = true;
  for (std::size_t at = 0; at < indexes_.size(); ++at) {
    is_all_complete = is_all_complete && is_complete(complete, at);
  }
  if (is_all_complete) return std::optional<std::string>();

  std::size_t rows = 0;
  std::size_t bytes = 0;
  Scan scan = txn.scan(rows_, from, {});
  for (const Row& row : scan) {
    if (row.key == from) continue;  // of the batch before: the row behind has no key to name it by
    IndexEntries entries;
    FOEDUS_CHECK(at_row(definition_->extract(row.payload, &entries), row.key));
    FOEDUS_CHECK(check_sizes(row.key, {}, entries));
    FOEDUS_CHECK(fill_entries(txn, complete, row.key, entries));
    for (const IndexEntries::Entry& entry : entries.all()) {
      bytes += entry.columns.size() + row.key.size();
    }
    if (++rows >= rows_max || bytes > kBytesMax) {
      return std::optional<std::string>(row.key);
    }
  }
  if (auto failure = scan.failure()) return *std::move(failure);
  return std::optional<std::string>();
}

Status TableStorages::fill_entries(Txn& txn, std::uint64_t complete, std::string_view key,
                                   const IndexEntries& entries) const {
  for (const IndexEntries::Entry& entry : entries.all()) {
    if (is_complete(complete, entry.index)) continue;
    const OpenIndex& index = indexes_[entry.index];
    const bool is_unique = definition_of(entry.index).is_unique;
    const Key name = table::entry_key(entry, is_unique, key);
    Status inserted = txn.insert(index.storage, name, is_unique ? key : std::string_view());
    if (inserted.is_ok()) continue;
    if (inserted.code() != ErrorCode::kAlreadyExists) return inserted;
    if (!is_unique) continue;
    FOEDUS_TRY(const std::string found, txn.get(index.storage, name));
    if (found == key) continue;
    return at_row(Status::error(ErrorCode::kAlreadyExists,
                                described(entry.index) +
                                    " cannot be unique: another row has this row's value"),
                  key);
  }
  return {};
}

Status TableStorages::mark_complete(Txn& txn) const {
  FOEDUS_TRY(const std::uint64_t complete, writable(txn));
  FOEDUS_TRY(const std::string payload, txn.get(definitions_, row_key_));
  FOEDUS_TRY(table::DefinitionRow row, table::decoded(payload));
  bool is_changed = false;
  for (std::size_t at = 0; at < indexes_.size(); ++at) {
    if (is_complete(complete, at)) continue;
    row.find(definition_of(at).name)->is_complete = true;
    is_changed = true;
  }
  return is_changed ? txn.put(definitions_, row_key_, table::encoded(row)) : Status();
}

}  // namespace foedus::internal
