#pragma once
// TailRow: applies the log records of one row in memory, so that a row with many records is written
// to its storage once.

#include <cstdint>
#include <string>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::engine {

class TailRow {
 public:
  // `root`: the storage's root in the snapshot that precedes the tail; null: the storage has no
  // page in that snapshot.
  TailRow(occ::StorageControl* control, page::SnapshotPageId root)
      : control_(control), root_(root) {}

  // Returns whether the record sets or erases the whole row, so that earlier records do not matter.
  bool is_whole(const log::LogRecord& record) const;

  // Reads the row as the snapshot before the tail has it, in an open transaction. The current row
  // would be wrong: it may lie in a page of the tail's own snapshot, and have the changes already.
  Status read(occ::TxnContext& txn, std::string_view key);
  // Applies a record of the row in memory. REQUIRES: records come in the order of the log. Before
  // the first one, read() was called, or is_whole() is true for that record.
  // kCorruption: the record changes bytes that the row does not have.
  Status change(const log::LogRecord& record);
  // Writes the row to its storage, or erases it there, in an open transaction.
  Status write(occ::TxnContext& txn, std::string_view key) const;

 private:
  bool is_array() const { return control_->meta.kind == StorageKind::kArray; }
  Status contradiction(const log::LogRecord& record) const;

  Status read_before(occ::TxnContext& txn, std::string_view key, occ::ReadRange* range) const;

  occ::StorageControl* const control_;
  const page::SnapshotPageId root_;
  bool is_there_ = false;
  std::string payload_;
};

// Returns the array index in the key of a log record. REQUIRES: the record is of an array.
std::uint64_t index_of_key(std::string_view key);

// Searches for the row of `key` in an open transaction, without copying its payload. Errors: those
// of the storages' get().
Status look_for(occ::TxnContext& txn, occ::StorageControl* control, std::string_view key);

}  // namespace foedus::engine
