#pragma once
// Physical inserts: system transactions that change where records are, never what a user sees.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/hash/bin.h"

namespace foedus::storage::hash {

// On whose behalf a record is made.
//
//   kCall      an operation. The record's TID begins above what was purged (P7), and in the current
//              epoch, which keeps the record from being purged before its transaction ends.
//   kRelocate  the same from within the commit protocol or catch_up(): without catching up.
enum class Purpose : std::uint8_t { kCall, kRelocate };

// Finds the record of `key`, or makes a deleted one with room for a payload of `room` bytes. What
// is found may have less room.
Status find_or_insert(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      std::uint64_t hash, std::uint32_t room, Purpose purpose, Lookup* found);

// Makes the record of a key that look_up() or, to relocate, search() has just found missing; or
// finds the one that another session has made meanwhile: *is_made says which.
Status insert(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
              std::uint64_t hash, std::uint32_t room, Purpose purpose, Lookup* found,
              bool* is_made);

// Moves a record to a place with `room` bytes for its payload, in the same bin. The caller looks it
// up again: also if somebody else moved it meanwhile. kConflict: its lock could not be had.
Status expand(occ::TxnContext& ctx, occ::StorageControl* control, const Lookup& found,
              std::uint64_t hash, std::uint32_t room);

}  // namespace foedus::storage::hash
