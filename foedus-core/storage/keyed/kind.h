#pragma once
// Requirements of operations.h on a kind of keyed storage: finding a key, making room in a page.
//
//   Q5  What an insert makes, a record or the first page of a layer, may be found before the page's
//       version counts it. The inserter holds its lock from before it can be found until it is
//       counted. No other session can have that lock before, and its holder waits for nothing
//       meanwhile, so O1 stands. Others may find the new record and write to it, but none of them
//       gets to its serialization point while a transaction that missed the key still sees the old
//       count. (Counted first, it would not be safe: a search between the two would miss a key that
//       is counted, or a layer that the count says is there.)

#include <concepts>
#include <cstdint>
#include <string_view>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage/moves/own_writes.h"
#include "foedus/status.h"

namespace foedus::storage::keyed {

// Why a writer looks for a record.
enum class Access : std::uint8_t {
  kLock,    // get_for_update
  kInsert,  // a new row
  kChange,  // of a row or a part of it, or a put
  kErase,
};

// The payload of a record as its slot says.
struct Payload {
  bool is_chain = false;    // it lies in overflow pages
  std::uint32_t bytes = 0;  // if it does not
};

// A kind K is a class of static functions.
//
//   K::Key        a key with what a search computes from it, once an operation
//   K::Position   what a search finds: a record, or the page in which the key is missing. Between
//                 find and use, other sessions may move the record; then its TID says moved
//   K::ReadScope  lives as long as a get(); around looks at pages of snapshots (O14)
//
//   key_of          bytes is the caller's, and outlives the Key
//   find_to_read    may end at a page of a snapshot: is_cold(); REQUIRES: a ReadScope
//   read_cold       copies what the range asks for; kNotFound
//   find_to_write   the record is in a volatile page, or missing from one
//   remember_missing  adds what verifies that the key stays missing (O4)
//   read            with own writes over it, where the record is now. kMoved: find it again.
//                   kConflict: unsettled()
//   read_here       the same of the record that was found, whose lock the caller holds
//   insert          makes a deleted record for a position that was found missing, if no other
//                   session has (*is_made); with room for so many bytes if that is possible
//   find_or_insert  the same from the root, for relocate()
//   has_room        for an inline payload of so many bytes
//   make_room       moves the record to more room. *again: find it again; *chain: there is no such
//                   room, the payload has to be a chain. One of the two
//   erased          after an erasure was added to the write set
//   track_moved     moves::TrackMoved
//
// find_to_read and find_to_write see to own writes whose records other sessions have moved: on
// success they are where a search finds them. insert need not: the key was missing when they were.
template <typename K>
concept Kind = requires(occ::TxnContext& ctx, occ::StorageControl* control,
                        const typename K::Key& key, std::string_view bytes,
                        typename K::Position* found, const typename K::Position& position,
                        occ::ReadRange* range, std::size_t payload_bytes, bool* flag) {
  { K::key_of(bytes) } -> std::same_as<typename K::Key>;
  { K::find_to_read(ctx, control, key, range, found) } -> std::same_as<Status>;
  { K::is_cold(position) } -> std::same_as<bool>;
  { K::read_cold(ctx, control, position, range) } -> std::same_as<Status>;
  { K::find_to_write(ctx, control, key, Access::kLock, found) } -> std::same_as<Status>;
  { K::is_found(position) } -> std::same_as<bool>;
  { K::record(position) } -> std::same_as<page::RecordHeader*>;
  { K::place(position) } -> std::same_as<std::uint32_t>;
  { K::payload(position) } -> std::same_as<Payload>;
  { K::remember_missing(ctx, control, position) } -> std::same_as<void>;
  { K::read(ctx, control, position, range) } -> std::same_as<occ::Found>;
  { K::read_here(ctx, control, position, range) } -> std::same_as<occ::Found>;
  { K::insert(ctx, control, key, payload_bytes, found, flag) } -> std::same_as<Status>;
  { K::find_or_insert(ctx, control, key, payload_bytes, found) } -> std::same_as<Status>;
  { K::has_room(position, payload_bytes) } -> std::same_as<bool>;
  { K::make_room(ctx, control, key, position, payload_bytes, flag, flag) } -> std::same_as<Status>;
  { K::erased(ctx, control, position) } -> std::same_as<void>;
  { &K::track_moved } -> std::convertible_to<moves::TrackMoved*>;
};

}  // namespace foedus::storage::keyed
