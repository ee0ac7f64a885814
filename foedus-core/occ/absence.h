#pragma once
// A call that inserts a record physically, for a key that the transaction saw to be missing, and
// fails then. The insert has moved the page-version entry along that said so, and the write whose
// premise would say it is not made: the key's absence becomes a read (O4).

#include <string_view>
#include <utility>

#include "foedus-core/occ/txn_context.h"

namespace foedus::occ {

// The record that a call inserted physically; null: none.
struct Placed {
  page::RecordHeader* record = nullptr;
  std::uint32_t place = 0;
};

// A storage's track_moved().
using TrackMoved = bool(page::PagePool& pool, StorageControl* control, page::RecordHeader* record,
                        page::RecordHeader** to, std::uint32_t* place);

// `status`, the error of a write that was not made, or kConflict if the key has come to be there.
Status keep_absence(TxnContext& ctx, StorageControl* control, Placed placed, std::string_view key,
                    Status status, TrackMoved* track);

// A write to `key`: try_write(Placed*) makes it, and says which record it has inserted for it.
template <typename TryWrite>
Status write_placed(TxnContext& ctx, StorageControl* control, std::string_view key,
                    TrackMoved* track, TryWrite&& try_write) {
  Placed placed;
  Status status = try_write(&placed);
  if (status.is_ok() || placed.record == nullptr || ctx.page_set().is_empty()) [[likely]]
    return status;
  return keep_absence(ctx, control, placed, key, std::move(status), track);
}

}  // namespace foedus::occ
