#pragma once
// The operations of transactions on a Master-Tree, twice: on one tree, and on a tree together with
// its delta (operations/delta.h). storage.h chooses between the two, and describes them.

#include <cstdint>
#include <string_view>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/keyed/write_mode.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// Work on a delta, or on a main tree without a look at its delta (operations/operations.cc).
namespace one_tree {
Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range);
Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range);
Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload);
Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, log::LogRecordType type,
                  std::string_view key, std::uint32_t offset, const std::string_view& part);
Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);
// A record in a volatile page.
struct Made {
  page::RecordHeader* record = nullptr;
  std::uint32_t place = 0;  // its slot
  bool is_new = false;      // and deleted
};
// Finds the record of the key, or makes one.
Status materialize(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                   Made* made);
// Holds the record of the key until the transaction ends, whether the row is there or not.
Status hold_any(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);
}  // namespace one_tree

// Work on a main tree and its delta (operations/delta.cc). REQUIRES: control->has_delta().
namespace with_delta {
Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range);
Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range);
Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload);
Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, log::LogRecordType type,
                  std::string_view key, std::uint32_t offset, const std::string_view& part);
Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);
}  // namespace with_delta

// storage/dispatch.h has the contract.
Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry);

}  // namespace foedus::storage::masstree
