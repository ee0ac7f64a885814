#pragma once
// Requirements of operations.h on a kind of keyed storage: finding a key, making room in a page.
//
//   Q5  An insert makes a record or the first page of a layer. Other sessions may find it before
//       the version of the page counts it. The inserter holds the lock of what it makes from before
//       it can be found until it is counted. No other session can hold that lock before, and the
//       inserter waits for nothing while it holds it, so O1 stands. Other sessions may find a new
//       record and write to it, but their commits need its lock. So none of them gets to its
//       serialization point while a transaction that missed the key still sees the old count. (To
//       count first would not be safe: a search between the two steps would miss a key that is
//       counted, or a layer that the count says is there.)

#include <concepts>
#include <cstdint>
#include <string_view>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage/moves/own_writes.h"
#include "foedus/status.h"

namespace foedus::storage::keyed {

// For what a call looks for a record in a volatile page (find_to_write).
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
//   K::Key        a key, and what searches for it need; an operation computes it once
//   K::Position   what a search finds: a record, or the page in which the key is missing. Between
//                 find and use, other sessions may move the record; then its TID says moved
//   K::ReadScope  get() holds one, so that it may look at pages of snapshots (O14)
//
//   key_of          bytes is the caller's, and outlives the Key
//   find_to_read    finds the key. If that ends in a page of a snapshot (is_cold()), it may copy
//                   what the range asks for. REQUIRES: a ReadScope
//   read_cold       copies that, unless find_to_read has; kNotFound
//   find_to_write   finds the key's record in a volatile page, or a volatile page that lacks it
//   remember_missing  adds the entry by which commit verifies that the key stays missing (O4)
//   read            reads the record, with the transaction's own writes over it; may follow it to
//                   where it is now. kMoved: the caller has to find it again. kConflict:
//                   tries_exhausted() says why
//   read_here       reads as read does, but does not follow the record. REQUIRES: the caller holds
//                   the record's lock
//   insert          finds or makes a deleted record for a key that a search has missed. *is_made:
//                   this call has made it. It has room for payload_bytes if a page can give that
//   find_or_insert  searches from the root, and then does what insert does; for relocate()
//   has_room        returns whether an inline payload of payload_bytes fits
//   make_room       moves the record to where it has more room, and sets *again: the caller has to
//                   find it again. Or sets *chain: no page has the room, make the payload a chain
//   erased          is called after an erasure was added to the write set
//   track_moved     see moves::TrackMoved
//
// find_to_read and find_to_write settle own writes whose records other sessions have moved (Q2): on
// success these are where a search finds them. insert need not: the search that missed the key has
// done so, and a transaction has no write to a key that is missing then.
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
  { K::read(ctx, control, position, range) } -> std::same_as<occ::ReadOutcome>;
  { K::read_here(ctx, control, position, range) } -> std::same_as<occ::ReadOutcome>;
  { K::insert(ctx, control, key, payload_bytes, found, flag) } -> std::same_as<Status>;
  { K::find_or_insert(ctx, control, key, payload_bytes, found) } -> std::same_as<Status>;
  { K::has_room(position, payload_bytes) } -> std::same_as<bool>;
  { K::make_room(ctx, control, key, position, payload_bytes, flag, flag) } -> std::same_as<Status>;
  { K::erased(ctx, control, position) } -> std::same_as<void>;
  { &K::track_moved } -> std::convertible_to<moves::TrackMoved*>;
};

}  // namespace foedus::storage::keyed
