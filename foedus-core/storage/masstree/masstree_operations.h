#pragma once
// The operations of transactions on a Master-Tree, twice: on one tree, and on a tree together with
// its delta (masstree_delta.h). Which of the two a storage needs is asked in masstree_storage.h,
// which says what they do.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "foedus-core/occ/storage_control.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

enum class WriteMode : std::uint8_t {
  kPut,     // present or not, and without remembering which
  kInsert,  // kAlreadyExists if the key is there
  kUpdate,  // kNotFound if it is not
};

// What increment() does to the 64-bit number at `at`: modulo 2^64.
inline void add_number(char* at, std::int64_t added) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  value += static_cast<std::uint64_t>(added);
  std::memcpy(at, &value, sizeof(value));
}

// Payloads go down by reference: as the seventh parameter a view is in memory, where the caller has
// just put its two words, and each function that hands it on would load both at once and wait.

// On a delta, or on a main tree without a look at its delta (masstree_write.cc).
namespace one_tree {
Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range);
Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range);
Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload);
Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                std::uint32_t offset, const std::string_view& part);
Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 std::uint32_t offset, std::int64_t delta);
Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);
// A record in a volatile page.
struct Made {
  page::RecordHeader* record = nullptr;
  std::uint32_t place = 0;  // its slot
  bool is_new = false;      // and deleted
};
// Finds the record of the key, or makes one.
Status make_volatile(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     Made* made);
// Holds the record of the key until the transaction ends, whether the row is there or not.
Status hold_any(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);
}  // namespace one_tree

// On a main tree and its delta (masstree_delta.cc). REQUIRES: control->has_delta().
namespace with_delta {
Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range);
Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range);
Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload);
Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                std::uint32_t offset, const std::string_view& part);
Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 std::uint32_t offset, std::int64_t delta);
Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);
}  // namespace with_delta

}  // namespace foedus::storage::masstree
