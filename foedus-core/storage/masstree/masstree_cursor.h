#pragma once
// Cursor: the records of a range of a Master-Tree in the order of their keys, or in reverse (paper
// appendix C, algorithm 3).

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/storage_control.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// One session. Its buffers are kept from one scan to the next.
class Cursor {
 public:
  // Begins a scan of [low, high); an empty `high` means no upper bound. Moves to no record yet.
  void open(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view low,
            std::string_view high, bool reverse);
  // Moves to the next record, or to the end.
  Status next();
  bool at_end() const { return at_end_; }
  // Of the current record; valid until next(), open() or close().
  std::string_view key() const;
  std::string_view payload() const;
  void close();

 private:
  bool at_end_ = true;
};

}  // namespace foedus::storage::masstree
