#pragma once
// MergedCursor: the rows of a range of a Master-Tree that has a delta (operations/delta.h), in the
// order of their keys, or in reverse. It merges two cursors; the delta's row wins where both have a
// key. Without a delta it is the cursor of the tree.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foedus-core/storage/masstree/scan/cursor.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// A cursor of one session. Its buffers are kept from one scan to the next.
class MergedCursor {
 public:
  // Does what Cursor::open() does; next() and try_next() do, too.
  void open(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view low,
            std::string_view high, bool reverse);
  // Does what Cursor::open_in_snapshot() does. A snapshot has the rows of main tree and delta.
  void open_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                        page::SnapshotPageId root, std::string_view low, std::string_view high,
                        bool reverse) {
    row_ = &main_;
    is_merging_ = false;
    main_.open_in_snapshot(ctx, control, root, low, high, reverse);
  }
  Status next(std::uint64_t limit = ~std::uint64_t{0}) {
    if (!is_merging_) [[likely]]
      return main_.next(limit);
    return next_merged(limit);
  }
  bool try_next() { return !is_merging_ && main_.try_next(); }
  bool at_end() const { return row_->at_end(); }
  std::string_view key() const { return row_->key(); }
  std::string_view payload() const { return row_->payload(); }
  void close();

 private:
  // Opens both cursors on a range of which neither has passed a row.
  void open_both(std::string_view low, std::string_view high);
  Status next_merged(std::uint64_t limit);
  Status merge(std::uint64_t limit);
  Status step(std::uint64_t limit);
  // Begins again after the current row. False: no row can follow.
  bool reopen();

  Cursor main_;
  Cursor* row_ = &main_;  // the cursor that is at the current row
  bool is_merging_ = false;

  // While merging.
  std::unique_ptr<Cursor> delta_;  // made by the first scan that needs it
  occ::TxnContext* ctx_ = nullptr;
  occ::StorageControl* control_ = nullptr;
  bool reverse_ = false;
  bool is_started_ = false;
  bool is_same_key_ = false;  // both are at the current row's key
  occ::WriteSet::State writes_;  // own writes when the cursors moved
  std::string low_;
  std::string high_;
};

}  // namespace foedus::storage::masstree
