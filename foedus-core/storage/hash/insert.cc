#include "foedus-core/storage/hash/insert.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/find.h"
#include "foedus-core/storage/hash/rebuild.h"
#include "foedus-core/storage/hash/trie.h"

namespace foedus::storage::hash {

namespace {

// Returns a page of the bin with room for such a record. If none has room, replaces the bin, or
// chains a new page if it cannot be replaced now. Null: the bin was replaced (*replaced), or no
// page is free. REQUIRES: the bin's lock is held and it is not moved.
HashBinPage* page_with_room(occ::TxnContext& ctx, occ::StorageControl* control, HashBinPage* bin,
                            std::uint32_t key_bytes, std::uint32_t room, bool* replaced) {
  HashBinPage* last = bin;
  for (HashBinPage* page = bin; page != nullptr; page = next_of(ctx.pool(), page)) {
    if (page->has_room(key_bytes, room)) return page;
    last = page;
  }
  *replaced = try_replace(ctx, control, bin, space_of(key_bytes, room));
  if (*replaced) return nullptr;
  HashBinPage* const page =
      make_bin_page(source_of(ctx, control), bin->prefix, bin->prefix_bits(), bin);
  if (page == nullptr) return nullptr;
  // order: release, pairs with next_of().
  last->next_page.store_release(page->header.page_id);
  return page;
}

page::Tid first_tid_of(occ::TxnContext& ctx, const HashBinPage* bin) {
  const std::uint64_t now = page::Tid(ctx.clock().current(), 0).word();
  return page::Tid(std::max(bin->header.purged_tid, now)).with(page::Tid::kDeleted);
}

// Updates reads of a key whose deleted record was purged since, and which now has a new record:
// they become reads of the new one. This is sound, because the key was absent all the time. A
// commit to the key after the read would be of an epoch that is not reclaimable while the
// transaction is open, so the record of that commit would not have been purged.
void follow_purged_reads(occ::TxnContext& ctx, const KeyPosition& made, std::string_view key) {
  // order: relaxed, under the bin's lock.
  if (!moves::Birth(made.bin->birth.load_relaxed()).is_since(ctx.begin_epoch())) return;
  const Epoch reclaimable = ctx.clock().reclaimable();
  const page::StorageId storage = made.bin->header.storage_id;
  for (occ::ReadEntry& read : ctx.sets().reads()) {
    if (!read.observed.is_deleted() || read.observed.epoch() > reclaimable) continue;
    if (read.storage->id() != storage || !read.record->load_tid().is_moved()) continue;
    if (key_at(read.record) != key) continue;
    read.record = made.record;
    read.observed = made.record->load_tid();
  }
}

enum class Attempt : std::uint8_t { kDone, kAgain, kNoPage };

// Makes the record. kAgain: the bin is moved or dropped, has the key by now, or was replaced here
// (*replaced). REQUIRES: the lock of found->bin is held.
Attempt insert_locked(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      std::uint64_t hash, std::uint32_t room, KeyPosition* found, bool* replaced) {
  HashBinPage* const bin = found->bin;
  const page::PageVersion before = bin->header.load_version();
  if (before.is_gone()) return Attempt::kAgain;
  if (search_bin(ctx.pool(), bin, hash, key, found) != Search::kMissing) return Attempt::kAgain;
  const auto key_bytes = static_cast<std::uint32_t>(key.size());
  HashBinPage* const page = page_with_room(ctx, control, bin, key_bytes, room, replaced);
  if (page == nullptr) return *replaced ? Attempt::kAgain : Attempt::kNoPage;
  // Page-versions are updated first, because that may allocate memory. A transaction that makes a
  // purged record again (Purpose::kRelocate) has not updated them before. order: relaxed, under the
  // bin's lock.
  const moves::Birth birth(bin->birth.load_relaxed());
  if (birth.is_since(ctx.begin_epoch())) follow_pages(ctx, control);
  found->version = before.plus_key();
  found->page = page;
  found->place = page->load_count();
  found->record = place_record(page, hash, key, room, 0, first_tid_of(ctx, bin));
  {
    const occ::LockGuard uncounted(&found->record->lock);  // Q5
    publish_record(page);
    FOEDUS_SYNC_POINT("hash:inserted");
    bin->header.store_version(found->version);
  }
  ctx.sets().pages().advance_page_version(&bin->header, before, found->version);
  follow_purged_reads(ctx, *found, key);
  return Attempt::kDone;
}

// Moves the record to `page`, with `room` bytes for its payload. REQUIRES: the locks of bin and
// record are held.
void move_within(occ::TxnContext& ctx, const KeyPosition& found, HashBinPage* page,
                 std::uint64_t hash, std::uint32_t room) {
  const HashSlot slot = found.slot();
  const page::Tid tid = found.record->load_tid();
  const std::uint32_t place = page->load_count();
  const std::string_view key(key_of(found.record), slot.key_bytes());
  page::RecordHeader* const copy = place_record(page, hash, key, room, slot.length(), tid);
  std::memcpy(payload_of(copy, page->slot(place)), payload_of(found.record, slot),
              slot.body_bytes());
  // order: release, H4: marked before the copy can be found.
  found.record->tid.store_release(tid.with(page::Tid::kMoved).word());
  follow_record(ctx, found.record, copy, place);
  // order: release, pairs with the acquire in needs_relocation().
  found.bin->birth.store_release(birth_now(ctx, found.bin).word());
  publish_record(page);
}

}  // namespace

namespace {

Status find(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
            std::uint64_t hash, Purpose purpose, KeyPosition* found) {
  return purpose == Purpose::kCall ? look_up(ctx, control, key, hash, Intent::kWrite, found)
                                   : search(ctx, control, key, hash, Intent::kWrite, found);
}

}  // namespace

Status find_or_insert(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      std::uint64_t hash, std::uint32_t room, Purpose purpose, KeyPosition* found) {
  FOEDUS_CHECK(find(ctx, control, key, hash, purpose, found));
  if (found->record != nullptr) return {};
  bool is_made = false;
  return insert(ctx, control, key, hash, room, purpose, found, &is_made);
}

Status insert(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
              std::uint64_t hash, std::uint32_t room, Purpose purpose, KeyPosition* found,
              bool* is_made) {
  for (;;) {
    HashBinPage* const bin = found->bin;
    bool replaced = false;
    Attempt attempt;
    {
      const occ::LockGuard guard(&bin->header.lock);
      attempt = insert_locked(ctx, control, key, hash, room, found, &replaced);
    }
    if (replaced) retire_bin(source_of(ctx, control), bin);
    *is_made = attempt == Attempt::kDone;
    if (*is_made) return {};
    if (attempt == Attempt::kNoPage) return ctx.out_of_pages(control);
    FOEDUS_CHECK(find(ctx, control, key, hash, purpose, found));
    if (found->record != nullptr) return {};
  }
}

Status expand(occ::TxnContext& ctx, occ::StorageControl* control, const KeyPosition& found,
              std::uint64_t hash, std::uint32_t room) {
  bool replaced = false;
  bool no_page = false;
  bool no_lock = false;
  ctx.reserve_moves(1);
  {
    const occ::LockGuard guard(&found.bin->header.lock);
    if (found.bin->header.load_version().is_gone() || found.record->load_tid().is_moved()) {
      return {};
    }
    const std::uint32_t key_bytes = found.slot().key_bytes();
    HashBinPage* const page = page_with_room(ctx, control, found.bin, key_bytes, room, &replaced);
    no_page = page == nullptr && !replaced;
    if (page != nullptr) {
      occ::LockWaiter waiter;
      const bool held = ctx.locks().holds(found.record);
      no_lock = !held && !occ::try_lock_for(&found.record->lock, &waiter, occ::kTriesLong);
      if (!no_lock) {
        move_within(ctx, found, page, hash, room);
        if (!held) occ::unlock(&found.record->lock, &waiter);
      }
    }
  }
  if (replaced) retire_bin(source_of(ctx, control), found.bin);
  if (no_page) return ctx.out_of_pages(control);
  if (no_lock) {
    const std::string_view key(key_of(found.record), found.slot().key_bytes());
    return ctx.conflict(ConflictReason::kRecordLocked, control, key);
  }
  return {};
}

}  // namespace foedus::storage::hash
