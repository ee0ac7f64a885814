// Physical inserts (paper §8). An insert makes a record, with room for its payload, that is deleted
// until its transaction commits.
#include "foedus-core/storage/masstree/change/insert.h"

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/change/adopt.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/layer.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/change/split.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

// The number of tries for a page with locked records before the transaction conflicts.
constexpr unsigned kBusyTries = 16;

// Returns whether a new record may have a capacity of `wanted` bytes (crowded_capacity()). A key
// above all others of the page shares its slice with none. So if key and payload are not large, no
// other record has to be looked at.
bool has_crowded_room(BorderPage* page, unsigned keys, std::uint64_t slice, std::size_t key_bytes,
                      std::uint32_t wanted) {
  // order: relaxed, written under the lock, which the caller has.
  const bool is_alone =
      page->sorted_keys.load_relaxed() == keys && (keys == 0 || page->slice(keys - 1) < slice);
  if (is_alone && wanted + key_bytes <= kAloneBytes) [[likely]]
    return true;
  return wanted <= crowded_capacity(page, keys, slice, key_bytes, BorderPage::kNone);
}

// Makes the record for `position`, which found none, in its page. On kNoRoom `need` is filled in.
Change add_record(occ::TxnContext& ctx, occ::StorageControl* control, std::size_t payload_bytes,
                  KeyPosition* position, Need* need) {
  BorderPage* const page = position->at.page;
  occ::LockGuard guard(&page->header.lock);
  FOEDUS_SYNC_POINT("masstree:insert_locked");
  // prefetch_next_record() has loaded this line before, but not here if another session made the
  // last insert, or not lately.
  base::prefetch_line_to_write(page->at(page->heap_begin) - 64);
  const page::PageVersion before = page->header.load_version();
  Change closed;
  if (is_closed(before, &closed)) return closed;
  const unsigned keys = before.keys();
  const std::size_t key_bytes = position->rest.size();
  const unsigned seen = position->at.version.keys();
  const bool has_come = seen != keys && find_slot(page, seen, keys, position->slice,
                                                  class_of(key_bytes)) != BorderPage::kNone;
  if (has_come) return Change::kAgain;

  const std::uint32_t wanted = capacity_for(payload_bytes);
  NewRecord record;
  record.slice = position->slice;
  record.key_bytes = static_cast<std::uint32_t>(key_bytes);
  if (key_bytes > 8) record.remainder = position->rest.substr(8);
  record.capacity =
      has_crowded_room(page, keys, position->slice, key_bytes, wanted) ? wanted : kCapacityMin;
  // P7: the TID is above all that was purged here.
  record.tid = page::Tid(page->header.purged_tid).with(page::Tid::kDeleted);
  const std::uint32_t bytes = footprint(record.remainder.size(), record.capacity);
  if (!page->has_room(keys, bytes)) {
    need->slice = position->slice;
    need->bytes = bytes;
    return Change::kNoRoom;
  }

  // Own entries are updated first, because that may fail for lack of memory. A record that is laid
  // out has to be counted. Otherwise sorted_keys, which includes it already, would be wrong for the
  // next record, which is laid out in its place.
  advance_page_version(ctx, control, page, before, before.plus_key());
  position->slot = lay_record(page, keys, record);
  position->index = keys;
  page->header.store_version(before.plus_key());
  position->at.version = before.plus_key();
  prefetch_next_record(page, keys + 1);
  return Change::kDone;
}

// Translates a system transaction's outcome for the operation: go on, or fail.
Status after_change(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                    Change change, unsigned* busy) {
  if (change == Change::kNoPage) return ctx.out_of_pages(control);
  if (change == Change::kDropped && control->is_dropped()) {
    return ctx.conflict(ConflictReason::kPageDropped, control, key);
  }
  if (change == Change::kBusy && ++*busy >= kBusyTries) {
    return ctx.conflict(ConflictReason::kRecordLocked, control, key);
  }
  return {};
}

}  // namespace

Status place(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
             std::size_t payload_bytes, KeyPosition* position, bool* is_made) {
  *is_made = false;
  unsigned busy = 0;
  bool is_found = !position->is_cut_short() && !position->at.passed_moved;
  for (;;) {
    if (!is_found) FOEDUS_CHECK(find_adopting(ctx, control, key, position));
    is_found = false;
    if (position->found()) return {};
    FOEDUS_SYNC_POINT("masstree:place_searched");
    Change change;
    if (position->differs) {
      change = add_layer(ctx, control, *position);
    } else {
      Need need;
      change = add_record(ctx, control, payload_bytes, position, &need);
      *is_made = change == Change::kDone;
      if (*is_made) return {};
      if (change == Change::kNoRoom) {
        need.parent = position->at.parent;
        need.layer = position->layer;
        change = reorganize(ctx, control, position->at.page, need);
      }
    }
    FOEDUS_CHECK(after_change(ctx, control, key, change, &busy));
  }
}

Status make_room(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 const KeyPosition& position, std::size_t payload_bytes, bool* again, bool* chain) {
  *again = false;
  *chain = false;
  BorderPage* const page = position.at.page;
  const std::uint32_t wanted = capacity_for(payload_bytes);
  // Keys of this slice may come after this look at the count; reorganize() checks again under the
  // lock.
  const std::uint32_t room = crowded_capacity(page, page->header.load_version().keys(),
                                              position.slice, position.rest.size(), position.index);
  if (wanted > room) {
    *chain = true;
    return {};
  }
  // A payload that has grown once will grow again.
  const std::uint32_t generous = capacity_for(std::min<std::size_t>(
      position.slot.capacity() + position.slot.capacity() / 2, kInlinePayloadBytesMax));
  Need need;
  need.slice = position.slice;
  need.grown_index = position.index;
  need.grown_capacity = std::max(wanted, std::min(generous, room));
  FOEDUS_SYNC_POINT("masstree:room_searched");
  unsigned busy = 0;
  Change change;
  do {
    change = reorganize(ctx, control, page, need);
    FOEDUS_CHECK(after_change(ctx, control, key, change, &busy));
  } while (change == Change::kBusy);
  // A move for a larger record leaves a moved page behind, as one for an insert does. So this
  // session adopts the twins.
  *again = true;
  KeyPosition adopted;
  return find_adopting(ctx, control, key, &adopted);
}

}  // namespace foedus::storage::masstree
