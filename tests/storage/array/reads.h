#pragma once
// A read of an array as Txn::get() makes it.

#include <span>

#include "foedus-core/storage/array/array_calls.h"
#include "foedus-core/storage/array/array_storage.h"

namespace foedus::testing {

// REQUIRES: index and part are in range.
inline Status read_array(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
                         occ::ReadRange* range) {
  const std::span<char> out(range->out, range->out_bytes);
  page::RecordHeader* const record = storage::array::find_volatile(ctx.pool(), control, index);
  if (!storage::array::try_get(ctx, control, record, range->offset, std::as_writable_bytes(out))) {
    return storage::array::get(ctx, control, index, range);
  }
  range->payload_bytes = control->meta.payload_bytes;
  return {};
}

}  // namespace foedus::testing
