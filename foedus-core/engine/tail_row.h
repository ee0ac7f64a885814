#pragma once
// TailRow: what the log records of one row make of it, so that a row of many changes is written
// once.

#include <cstdint>
#include <string>

#include "foedus-core/log/log_record.h"
#include "foedus-core/occ/storage_control.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus/status.h"

namespace foedus::engine {

class TailRow {
 public:
  // `root`: where the storage begins in the snapshot before; null: it has no page there.
  TailRow(occ::StorageControl* control, page::SnapshotPageId root)
      : control_(control), root_(root) {}

  // Whether nothing that was there before such a record matters.
  bool is_whole(const log::LogRecord& record) const;

  // Begins with what the snapshot before has of the row, in an open transaction. Not with what is
  // there: that may be a page of the tail's snapshot, and have been changed already.
  Status read(occ::TxnContext& txn, std::string_view key);
  // The records of the row in their order, from read() or a whole one on. kCorruption: the log does
  // not belong to what is there.
  Status change(const log::LogRecord& record);
  // Writes it, in an open transaction.
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

// The bytes of a log record's key as the index of an array.
std::uint64_t index_of_key(std::string_view key);

// Looks for the row of that key, in an open transaction. Failures as of the storages' get().
Status look_for(occ::TxnContext& txn, occ::StorageControl* control, std::string_view key);

}  // namespace foedus::engine
