#pragma once
// The system transactions of the Master-Tree: they change where records are, never what a user
// sees, and write no log. Each takes the lock of one page and looks again before it changes
// anything; each leaves a valid tree behind whatever comes next.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/masstree_find.h"
#include "foedus-core/storage/masstree/masstree_page.h"

namespace foedus::storage::masstree {

// How a system transaction went. All but kDone changed nothing.
enum class Change : std::uint8_t {
  kDone,
  kAgain,    // somebody else was there first: look again
  kBusy,     // a record lock was not free for long
  kNoRoom,   // the page needs another change first
  kNoPage,   // out of pages
  kDropped,  // the page was dropped, for a snapshot page or with the storage
};
// Whether a page whose lock one has got is not to be changed any more, and how that ends.
inline bool is_closed(page::PageVersion version, Change* change) {
  *change = version.is_dropped() ? Change::kDropped : Change::kAgain;
  return version.is_dropped() || version.is_moved();
}

// ---- making pages (masstree_make.cc)

// A page that nobody else can reach; null: out of pages.
BorderPage* make_border(page::PagePool& pool, page::SessionPages& pages,
                        occ::StorageControl* control, std::uint8_t layer);
InteriorPage* make_interior(page::PagePool& pool, page::SessionPages& pages,
                            occ::StorageControl* control, std::uint8_t layer, std::uint8_t level);
inline InteriorPage* make_interior(occ::TxnContext& ctx, occ::StorageControl* control,
                                   std::uint8_t layer, std::uint8_t level) {
  return make_interior(ctx.pool(), ctx.pages(), control, layer, level);
}
void set_range(TreePage* page, std::uint64_t low, std::uint64_t last);
// Takes back a page that was never reachable; null is allowed.
void discard(page::SessionPages& pages, occ::StorageControl* control, TreePage* page);
inline void discard(occ::TxnContext& ctx, occ::StorageControl* control, TreePage* page) {
  discard(ctx.pages(), control, page);
}
// Gives away a page to which no pointer leads any more.
void retire(occ::TxnContext& ctx, occ::StorageControl* control, TreePage* page);

// What to lay out as a record.
struct NewRecord {
  std::uint64_t slice = 0;
  std::uint32_t key_bytes = 0;  // in this layer, or Slot::kLayerKeyBytes
  std::string_view remainder;
  std::uint32_t capacity = 0;
  page::Tid tid;
  std::uint32_t payload_field = 0;
};
// Lays it out behind the first `keys` of the page; the caller fills the payload and counts it.
// REQUIRES: the page's lock or a page of one's own, and room.
Slot lay_record(BorderPage* page, unsigned keys, const NewRecord& record);
// Starts to load the lines that lay_record() will write for the next record of a page with `keys`:
// they were never read, and the unlock after the next insert would wait for them.
void prefetch_next_record(BorderPage* page, unsigned keys);
// Fills the payload of `to_slot` from a record of another page. REQUIRES: its lock.
void copy_payload(BorderPage* from, Slot from_slot, BorderPage* to, Slot to_slot);

// M5: the most room for a payload that a record of this slice and length may have, so that all
// that can have the same slice still fits into the page. `own`: the record's slot, or kNone.
std::uint32_t crowded_capacity(BorderPage* page, unsigned keys, std::uint64_t slice,
                               std::size_t key_bytes, unsigned own);
// What a record of a longer key takes at least: it may be purged, and a longer one come instead. A
// layer stays. gleaner/compose/masstree_group.cc does the same.
inline constexpr std::uint32_t kLongestBytes = footprint(kMaxKeyBytes - 8, kCapacityMin);
// A record whose slice no other key of the page has may have so many bytes of key and payload: all
// others that can have the slice, one of each length, may come yet.
inline constexpr std::uint32_t kAloneBytes =
    BorderPage::kBodyBytes - BorderPage::directory_bytes(kRemainderClass + 1) - footprint(15, 0) -
    kRemainderClass * footprint(0, kCapacityMin) - kLongestBytes;

// ---- records (masstree_insert.cc)

// The record of `key`, made and deleted if there was none; with room for `payload_bytes` if it was
// made and that is possible. `spot`: what a search found just now, or an empty one.
Status place(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
             std::size_t payload_bytes, Spot* spot);

// Makes room for a payload in the record of `key` that was found, or says with `chain` that it can
// only be an overflow chain. `again`: the record is elsewhere now, find it again.
Status make_room(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 const Spot& spot, std::size_t payload_bytes, bool* again, bool* chain);

// masstree_apply.cc. Gives away the chain of a record that is going to say deleted, if it has one.
// REQUIRES: the record's lock; its TID is stored next.
void purge_payload(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                   unsigned index);
// M52. The record's payload, a chain of a snapshot, becomes empty. False: it is in use.
bool forget_chain(BorderPage* page, unsigned index);

// ---- pages

// What a border page has no room for.
struct Need {
  std::uint64_t slice = 0;
  std::uint32_t bytes = 0;                   // of a new record
  unsigned grown_index = BorderPage::kNone;  // or a record that needs a larger capacity
  std::uint32_t grown_capacity = 0;
  // For what is done together with a neighbour (M16): the page above, as far as it is known, or
  // null, and the layer of both.
  InteriorPage* parent = nullptr;
  LayerRoot layer;
};
// masstree_split.cc. The page moves, to foster twins or to one page in its place (M3), or together
// with a neighbour (M16).
Change reorganize(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                  const Need& need);

// masstree_join.cc. The page of `spot` becomes one with a neighbour if nearly all of it is deleted.
// An attempt.
void join_emptied(occ::TxnContext& ctx, occ::StorageControl* control, const Spot& spot);

// masstree_layer.cc. The record of `spot`, which differs from the key, becomes a next layer (M7).
Change add_layer(occ::TxnContext& ctx, occ::StorageControl* control, const Spot& spot);

// masstree_adopt.cc
// `parent` gets the twins of its moved child; the child is retired. kNoRoom: split it first.
Change adopt(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* parent,
             TreePage* child);
// A full interior page moves to foster twins. `slice`: where it will gain a child.
Change split_interior(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* page,
                      std::uint64_t slice);
// The moved root of a layer gets an interior page above its twins.
Change grow(occ::TxnContext& ctx, occ::StorageControl* control, const LayerRoot& layer,
            TreePage* root);
// masstree_thin.cc. An attempt to take away interior pages: `page`, which has lost a child, and
// those above it become one with a neighbour if both have few children, and a root with a single
// child gives way to it.
void thin_out(occ::TxnContext& ctx, occ::StorageControl* control, const LayerRoot& layer,
              InteriorPage* page);
// find(), adopting and growing on the way whatever has moved, and making volatile what is not
// (M21): it is never cut short.
Status find_adopting(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     Spot* spot);

// ---- what the transaction remembers of pages and records that changed (masstree_own.cc)

// The own entries of a record that this transaction moves go along. If it holds the record's lock,
// it holds that of `to` instead; returned is what to unlock `from` with once that says moved. Null:
// it is not held. REQUIRES: nobody can reach `to` yet.
occ::LockWaiter* move_own(occ::TxnContext& ctx, page::RecordHeader* from, page::RecordHeader* to,
                          std::uint32_t place);
// The BirthStamp of a border page: kNotBorn, later than any transaction, until nobody finds the
// pages that it takes the place of as they were any more; then it is given, once (M9, M23).
inline constexpr BirthStamp kNotBorn(Epoch(std::uint64_t{1} << (Epoch::kBits - 1)),
                                     BirthStamp::kSeveral);
inline base::AtomicWord<std::uint64_t>& birth_word(const TreePage* page) {
  static_assert(sizeof(base::AtomicWord<std::uint64_t>) == sizeof(page->header.kind_word));
  return *reinterpret_cast<base::AtomicWord<std::uint64_t>*>(
      const_cast<std::uint64_t*>(&page->header.kind_word));
}
inline void give_birth(const TreePage* page, BirthStamp stamp) {
  // order: relaxed: a later birth than it has only makes others look once more.
  birth_word(page).store_relaxed(stamp.word());
}
// True if records that this transaction wrote may have come to `page` without its doing.
bool may_hide_own(occ::TxnContext& ctx, const BorderPage* page);
// Finds the own writes of this storage whose records have moved, to a page that was born in `birth`
// perhaps. *moved: some have, so that what was found before may not be so.
Status settle_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth, bool* moved);
// Of a page to which a search has come; of one in a snapshot, that of the newest copies.
Epoch birth_of(const occ::StorageControl* control, const Landing& at);
// An own insert changes the counts of a page: what is remembered of it goes along if it was true.
// REQUIRES: the page's lock; the page still says `before`.
void own_change(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                page::PageVersion before, page::PageVersion after);

// True if no key was added to `page` since it had these counts (masstree_track.cc).
bool is_unchanged(page::PagePool& pool, BorderPage* page, page::PageVersion observed);
// The root of a layer that came to be in `page` after it had so many; null: it is no longer the
// page that was made for it, or was dropped. REQUIRES: slot.is_layer().
BorderPage* founder_of(page::PagePool& pool, BorderPage* page, Slot slot);

}  // namespace foedus::storage::masstree
