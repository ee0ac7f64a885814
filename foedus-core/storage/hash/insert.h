#pragma once
// Physical inserts: system transactions that change where records are, never what a user sees.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/hash/bin.h"

namespace foedus::storage::hash {

// The caller for which a record is made.
//
//   kCall      an operation. The record's TID begins above what was purged (P7), and in the current
//              epoch, so it is not purged before its transaction ends.
//   kRelocate  the commit protocol or relocate_own(). The TID is as with kCall, but the search does
//   not
//              call relocate_own().
enum class Purpose : std::uint8_t { kCall, kRelocate };

// Finds the record of `key`, or makes a deleted one with room for a payload of `room` bytes. A
// record that is found may have less room.
Status find_or_insert(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      std::uint64_t hash, std::uint32_t room, Purpose purpose, KeyPosition* found);

// Makes the record of a key that look_up() has just found missing, or search() with kRelocate. If
// another session has made the record meanwhile, `found` is that one, and *is_made is false.
Status insert(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
              std::uint64_t hash, std::uint32_t room, Purpose purpose, KeyPosition* found,
              bool* is_made);

// Moves a record to a place with `room` bytes for its payload, in the same bin. After kOk the
// caller looks the record up again, because this call or another session has moved it. kConflict:
// the record's lock could not be had.
Status expand(occ::TxnContext& ctx, occ::StorageControl* control, const KeyPosition& found,
              std::uint64_t hash, std::uint32_t room);

}  // namespace foedus::storage::hash
