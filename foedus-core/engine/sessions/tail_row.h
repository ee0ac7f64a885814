#pragma once
// TailRow: collects the changes that log records make to one row, so that a row of many changes is
// written once.

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
  // `root`: the storage's root in the snapshot before; null: it has no page there.
  TailRow(occ::StorageControl* control, page::SnapshotPageId root)
      : control_(control), root_(root) {}

  // Returns whether the record sets the whole row, so that nothing before it matters.
  bool is_whole(const log::LogRecord& record) const;

  // Begins with the row of the snapshot before, in an open transaction. The row as it is now will
  // not do: it may lie in a page of the tail's snapshot, and have the changes already.
  Status read(occ::TxnContext& txn, std::string_view key);
  // Applies a record of the row. They come in their order, after read() or from a whole one on.
  // kCorruption: the log does not fit the row.
  Status change(const log::LogRecord& record);
  // Writes the row, in an open transaction.
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

// Returns the array index that the bytes of a log record's key are.
std::uint64_t index_of_key(std::string_view key);

// Looks for the row of that key, in an open transaction. Errors: those of the storages' get().
Status look_for(occ::TxnContext& txn, occ::StorageControl* control, std::string_view key);

}  // namespace foedus::engine
