// What a transaction remembers of records and pages follows them when they move, so that it sees
// its own writes and does not conflict with itself.
//
//   M9   A session that moves records of its own writes moves the entries with them. Records that
//        others moved are found when an operation lands on a page that was made by another session
//        since the transaction began, or by this one out of such a page, or when a record of own
//        writes turns out to have moved after it was found: only there could a lookup miss one. Own
//        writes that were seen where they are since the page was born need no other look (O17). A
//        page is born when those that it takes the place of say moved, or a record of theirs that
//        it is a layer, and is later than any transaction until then: who begins in a later epoch
//        finds nothing where it was.
//   M10  Entries of the page-version set are re-pointed late: before an own insert into a page made
//        since the transaction began, all entries of moved pages become entries of their twins and
//        new layers, at birth counts, if they were true to the end. Then the insert moves the
//        entries of its page. What is not true any more stays, and fails in verify.
#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/masstree/masstree_change.h"
#include "foedus-core/storage/masstree/masstree_storage.h"

namespace foedus::storage::masstree {

namespace {

// The maker may have read the clock just before it moved on.
bool is_recent(occ::TxnContext& ctx, const BorderPage* page) {
  // order: relaxed, at least as old as the page's pointer, which was acquired.
  const BirthStamp birth(birth_word(page).load_relaxed());
  return birth.epoch().next() >= ctx.begin_epoch();
}

// Adds entries for the layers that came to be after `observed`. False: one of them has changed.
bool add_layer_roots(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                     page::PageVersion observed, page::PageVersion now) {
  BorderPage* roots[BorderPage::kKeysMax];
  unsigned count = 0;
  for (unsigned i = 0; i < now.keys(); ++i) {
    const Slot slot = page->slot(i);
    if (!slot.is_layer() || slot.layer_ordinal() <= observed.layers()) continue;
    BorderPage* const root = founder_of(ctx.pool(), page, slot);
    if (root == nullptr) return false;
    roots[count++] = root;
  }
  // Not add(), which keeps one entry a page: all that was seen of a page must hold.
  for (unsigned i = 0; i < count; ++i) {
    ctx.page_set().entries().push_back({&roots[i]->header, roots[i]->birth(), control});
  }
  return true;
}

// One step of M10 for one entry. True if the entry changed and is to be looked at again.
bool follow_entry(occ::TxnContext& ctx, occ::StorageControl* control, std::size_t i) {
  occ::PageSet& set = ctx.page_set();
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
  if (ctx.write_set().contains(from)) ctx.write_set().move(from, to, place);
  if (!ctx.holds(from)) return nullptr;
  occ::LockWaiter* const waiter = ctx.waiters().take();  // of those reserved
  const bool locked = occ::try_lock(&to->lock, waiter);
  FOEDUS_INVARIANT(locked, from, to);
  return ctx.held().move(from, to, waiter);
}

bool may_hide_own(occ::TxnContext& ctx, const BorderPage* page) {
  if (ctx.write_set().is_empty()) return false;
  // order: relaxed; once it names this session, it did so before this session's search.
  const BirthStamp birth(birth_word(page).load_relaxed());
  return birth.session() != ctx.session() && is_recent(ctx, page) &&
         !ctx.has_settled(page->header.storage_id, birth.epoch());
}

Epoch birth_of(const occ::StorageControl* control, const Landing& at) {
  // order: relaxed twice, as in may_hide_own_cold() and may_hide_own().
  if (at.is_cold) return Epoch(control->drop_epoch.load_relaxed());
  return BirthStamp(birth_word(at.page).load_relaxed()).epoch();
}

Status settle_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth, bool* moved) {
  *moved = false;
  occ::WriteSet& set = ctx.write_set();
  const auto settled = ctx.begin_settling(control->id(), birth);
  for (std::uint32_t i = settled.count; i < set.size(); ++i) {
    occ::WriteEntry& entry = set[i];
    // A delta has the id of its storage: SettledWrites counts the own writes of both trees.
    if (entry.storage->id() != control->id()) continue;
    const page::Tid tid = entry.record->load_tid();
    if (!tid.is_moved() && !tid.is_next_layer()) continue;
    *moved = true;
    page::RecordHeader* to = nullptr;
    std::uint32_t place = 0;
    if (track_moved(ctx.pool(), entry.storage, entry.record, &to, &place)) {
      set.move(entry.record, to, place);
    } else {
      FOEDUS_CHECK(relocate(ctx, &entry));
    }
  }
  if (!*moved) ctx.end_settling(settled);
  return {};
}

void own_change(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                page::PageVersion before, page::PageVersion after) {
  occ::PageSet& set = ctx.page_set();
  if (set.is_empty()) return;
  if (!is_recent(ctx, page)) return set.own_change(&page->header, before, after);
  for (std::size_t i = 0; i < set.entries().size(); ++i) {
    if (set.entries()[i].storage != control) continue;
    while (follow_entry(ctx, control, i)) {
    }
  }
  // Several entries may have come to speak of one page.
  for (occ::PageEntry& entry : set.entries()) {
    if (entry.page == &page->header && entry.observed == before.counts()) {
      entry.observed = after.counts();
    }
  }
}

}  // namespace foedus::storage::masstree
