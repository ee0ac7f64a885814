// Changes a transaction's entries when their records and pages move. So the transaction sees its
// own writes and does not conflict with itself.
//
//   M9   A session that moves records of its own writes changes the entries with them. Records that
//        other sessions moved are looked for in two cases: when an operation comes to a page whose
//        birth concerns the transaction (storage/moves/birth.h, Q2), and when a record of own
//        writes turns out to have moved after it was found. The root of a layer gets its birth when
//        the slot says that it is a layer.
//   M10  Entries of the page-version set are updated late: before an own insert into a page to
//        which records came since the transaction began. If an entry was true until its page moved,
//        it is replaced by entries of the twins, and of layers that were made, with their counts at
//        birth. Then the insert raises the entries of its page. Entries that are not true any more
//        stay, and fail in verification.
#include "foedus-core/storage/masstree/change/own.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/masstree/change/track.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

// Returns the birth of a page that a search has come to.
moves::Birth birth_of(const BorderPage* page) {
  // order: relaxed. The pointer to the page was acquired, so this sees the birth that was stored
  // before the pointer, or a later one. A birth that names the calling session was stored before
  // that session's search.
  return moves::Birth(birth_word(page).load_relaxed());
}

// Adds entries for the layers that were made after `observed` was seen. False: one of them has
// changed.
bool add_layer_roots(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                     page::PageVersion observed, page::PageVersion now) {
  BorderPage* roots[BorderPage::kKeysMax];
  unsigned count = 0;
  for (unsigned i = 0; i < now.keys(); ++i) {
    const Slot slot = page->slot(i);
    if (!slot.is_layer() || slot.layer_ordinal() <= observed.layers()) continue;
    BorderPage* const root = layer_anchor_of(ctx.pool(), page, slot);
    if (root == nullptr) return false;
    roots[count++] = root;
  }
  // add() would keep only one entry for a page, but each count that was seen of it must hold.
  for (unsigned i = 0; i < count; ++i) {
    ctx.sets().pages().entries().push_back({&roots[i]->header, roots[i]->birth(), control});
  }
  return true;
}

// Updates an entry of the page-version set for one move of its page, or for layers that were made
// (M10). Returns true if the entry changed and is to be looked at again.
bool follow_entry(occ::TxnContext& ctx, occ::StorageControl* control, std::size_t i) {
  occ::PageSet& set = ctx.sets().pages();
  const occ::PageEntry entry = set.entries()[i];
  BorderPage* const page = BorderPage::of(entry.page);
  const page::PageVersion now = page->header.load_version();
  if (now.keys() != entry.observed.keys()) return false;
  if (now.layers() != entry.observed.layers()) {
    if (!add_layer_roots(ctx, control, page, entry.observed, now)) return false;
    set.entries()[i].observed = now.counts();
    return true;
  }
  if (!now.is_moved()) return false;
  BorderPage* const minor = BorderPage::of(twin_of(ctx.pool(), page, page->low));
  BorderPage* const major = BorderPage::of(twin_of(ctx.pool(), page, page->last));
  set.entries()[i].page = &minor->header;
  set.entries()[i].observed = minor->birth();
  if (major != minor) set.entries().push_back({&major->header, major->birth(), control});
  return true;
}

}  // namespace

occ::LockWaiter* move_own(occ::TxnContext& ctx, page::RecordHeader* from, page::RecordHeader* to,
                          std::uint32_t place) {
  if (ctx.sets().writes().contains(from)) ctx.sets().writes().move(from, to, place);
  if (!ctx.locks().holds(from)) return nullptr;
  occ::LockWaiter* const waiter = ctx.locks().waiters().take();  // reserve_moves() made it
  const bool locked = occ::try_lock(&to->lock, waiter);
  FOEDUS_INVARIANT(locked, from, to);
  return ctx.locks().held().move(from, to, waiter);
}

bool may_hide_own(occ::TxnContext& ctx, const BorderPage* page) {
  if (ctx.sets().writes().is_empty()) return false;
  const moves::Birth birth = birth_of(page);
  return birth.concerns(ctx.begin_epoch(), ctx.session()) &&
         !ctx.located_writes().has_all(page->header.storage_id, birth.epoch());
}

Epoch birth_of(const occ::StorageControl* control, const BorderPosition& at) {
  return (at.is_cold ? moves::birth_of_copy(*control) : birth_of(at.page)).epoch();
}

bool may_hide_own_cold(occ::TxnContext& ctx, const occ::StorageControl* control) {
  if (ctx.sets().writes().is_empty()) return false;
  const moves::Birth birth = moves::birth_of_copy(*control);
  return birth.is_since(ctx.begin_epoch()) &&
         !ctx.located_writes().has_all(control->id(), birth.epoch());
}

void advance_page_version(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                          page::PageVersion before, page::PageVersion after) {
  occ::PageSet& set = ctx.sets().pages();
  if (set.is_empty()) return;
  if (!birth_of(page).is_since(ctx.begin_epoch())) {
    return set.advance_page_version(&page->header, before, after);
  }
  for (std::size_t i = 0; i < set.entries().size(); ++i) {
    if (set.entries()[i].storage != control) continue;
    while (follow_entry(ctx, control, i)) {
    }
  }
  // By now several entries may be of this page.
  for (occ::PageEntry& entry : set.entries()) {
    if (entry.page == &page->header && entry.observed == before.counts()) {
      entry.observed = after.counts();
    }
  }
}

}  // namespace foedus::storage::masstree
