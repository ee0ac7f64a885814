// What a handle of a table checks before it acts: that its indexes are those of the table (Y2).
#include <span>
#include <string>
#include <utility>

#include "foedus-core/table/definition_row.h"
#include "foedus/table_storages.h"

namespace foedus::internal {

namespace {

Result<table::DefinitionHead> head_of(Txn& txn, const Masstree& definitions, std::string_view key) {
  table::DefinitionHead head;
  FOEDUS_CHECK(txn.read_at(definitions, key, 0,
                           std::as_writable_bytes(std::span<table::DefinitionHead, 1>(&head, 1))));
  return head;
}

Result<table::DefinitionRow> row_of(Txn& txn, const Masstree& definitions, std::string_view key) {
  FOEDUS_TRY(const std::string payload, txn.get(definitions, key));
  return table::decoded(payload);
}

}  // namespace

Result<std::uint64_t> TableStorages::writable(Txn& txn) const {
  const Result<table::DefinitionHead> head = head_of(txn, definitions_, row_key_);
  if (head.is_ok() && head->generation == generation_) [[likely]]
    return head->complete;
  if (head.is_ok()) return slowly_writable(txn);
  if (head.code() != ErrorCode::kNotFound) return head.status();
  return std::move(Status::error(ErrorCode::kNotFound, "the table was dropped; open it anew")
                       .at_storage(name()));
}

// Compares the indexes of the handle with those of the table one by one, after others were added or
// dropped.
Result<std::uint64_t> TableStorages::slowly_writable(Txn& txn) const {
  FOEDUS_TRY(table::DefinitionRow row, row_of(txn, definitions_, row_key_));
  std::uint64_t complete = 0;
  std::size_t kept = 0;
  for (const table::StoredIndex& stored : row.indexes) kept += stored.is_dropped ? 0 : 1;
  bool is_same = !row.is_dropped && kept == indexes_.size();
  for (std::size_t at = 0; is_same && at < indexes_.size(); ++at) {
    const table::StoredIndex* const stored = row.find(definition_of(at).name);
    is_same = stored != nullptr && stored->added == indexes_[at].added;
    if (is_same && stored->is_complete) complete |= std::uint64_t{1} << indexes_[at].slot;
  }
  if (is_same) return complete;
  return std::move(
      Status::error(ErrorCode::kInvalidArgument,
                    "the indexes of the table have changed since this handle of it was opened; "
                    "open the table again, with the indexes that it has now")
          .at_storage(name()));
}

Status TableStorages::check_readable(Txn& txn, std::size_t index) const {
  const Result<table::DefinitionHead> head = head_of(txn, definitions_, row_key_);
  if (!head.is_ok() && head.code() != ErrorCode::kNotFound) return head.status();
  if (head.is_ok() && head->generation == generation_ && is_complete(head->complete, index)) {
    return {};
  }
  return slowly_check_readable(txn, index);
}

// Returns why an index is not readable. It is if only other indexes have changed.
Status TableStorages::slowly_check_readable(Txn& txn, std::size_t index) const {
  Result<table::DefinitionRow> row = row_of(txn, definitions_, row_key_);
  if (!row.is_ok() && row.code() != ErrorCode::kNotFound) return row.status();
  const char* problem = " is not there: it was dropped, or made after the snapshot that is read";
  if (row.is_ok() && !row->is_dropped) {
    const table::StoredIndex* const stored = row->find(definition_of(index).name);
    const bool is_there = stored != nullptr && stored->added == indexes_[index].added;
    if (is_there && stored->is_complete) return {};
    if (is_there) problem = " is not complete; Table::fill() completes it";
  }
  return std::move(
      Status::error(ErrorCode::kNotSupported, described(index) + problem).at_storage(name()));
}

Status TableStorages::corrupt(Txn& txn, std::size_t index, std::string_view key,
                              const char* problem) const {
  FOEDUS_CHECK(txn.verify());
  return at_row(Status::error(ErrorCode::kCorruption,
                              described(index) + " " + problem +
                                  "; drop the index, and open the table to make it anew"),
                key);
}

Status TableStorages::at_row(Status status, std::string_view key) const {
  return std::move(status.at_storage(name()).at_key(key.data(), key.size()));
}

std::string TableStorages::described(std::size_t index) const {
  return "index '" + std::string(definition_of(index).name) + "' of table '" + std::string(name()) +
         "'";
}

}  // namespace foedus::internal
