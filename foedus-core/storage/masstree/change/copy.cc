// Puts volatile pages in place of snapshot pages (M21, M22; in figure 2 of the paper, from "null,
// Y" to "X, Y").
#include "foedus-core/storage/masstree/change/copy.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/cold.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

// Adds all pointers of the page to the access sets (M22), with the ids that they have in `cold`.
// That is the page that the transaction has read, and `page` may have changed since.
void take_over_interior(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* page,
                        InteriorPage* cold) {
  const unsigned keys = cold->header.load_version().keys();
  for (unsigned i = 0; i <= keys; ++i) {
    const std::uint64_t low = i == 0 ? cold->low : cold->separator(i - 1);
    ctx.sets().remember_pointer(&page->child(i), &page->header, cold->child(i).load(), control,
                                low);
  }
}

void take_over_border(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                      BorderPage* cold) {
  const unsigned keys = cold->header.load_version().keys();
  ctx.sets().remember_page(&page->header, cold->birth(), control);
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = cold->slot(i);
    if (slot.is_layer()) {
      ctx.sets().remember_pointer(page->layer_pointer(slot), &page->header,
                                  cold->layer_pointer(slot)->load(), control, cold->slice(i));
    } else {
      ctx.sets().remember_read(page->record(slot), cold->record(slot)->load_tid(), control);
    }
  }
}

void take_over(occ::TxnContext& ctx, occ::StorageControl* control, TreePage* page,
               const page::PageHeader* cold) {
  TreePage* const before = TreePage::of(const_cast<page::PageHeader*>(cold));
  if (page->is_border()) {
    take_over_border(ctx, control, BorderPage::of(page), BorderPage::of(before));
  } else {
    take_over_interior(ctx, control, InteriorPage::of(page), InteriorPage::of(before));
  }
}

// Sets the birth of a copy (Q3), which is read after the install. A pointer that has the ids that
// were seen may have had others meanwhile: another copy may have been installed, written to and
// dropped since this one was made. That drop was announced before the pointer lost the other copy,
// so the birth that is read now is not older.
void give_birth_to(TreePage* page, moves::Birth stamp) {
  if (page->is_border()) give_birth(page, stamp);
}

// Installs a copy. install(ids) changes the pointer, if it is as it was seen.
template <typename Install>
Change install_copy(occ::TxnContext& ctx, occ::StorageControl* control,
                    const page::DualPageIds& before, const page::PageHeader* cold,
                    Install&& install) {
  TreePage* const made = copy_page(ctx.pool(), ctx.pages(), control, ctx.soc(), cold);
  if (made == nullptr) return Change::kNoPage;
  give_birth_to(made, moves::kNotBorn);
  FOEDUS_SYNC_POINT("masstree:before_install");
  if (!install(page::DualPageIds{made->header.volatile_id(), before.snapshot_page})) {
    discard(ctx, control, made);
    return Change::kAgain;
  }
  give_birth_to(made, moves::birth_of_copy(*control));
  if (ctx.sets().forget_pointer(control, before)) take_over(ctx, control, made, cold);
  return Change::kDone;
}

}  // namespace

TreePage* copy_page(page::PagePool& pool, page::SessionPages& pages, occ::StorageControl* control,
                    std::uint32_t soc, const page::PageHeader* cold) {
  FOEDUS_INVARIANT(cold->storage_id == control->id(), cold->page_id);
  page::PageHeader* const page = pages.allocate();
  if (page == nullptr) return nullptr;
  copy_snapshot_page(cold, pool.id_of(page), soc, page);
  if (cold->kind == page::PageKind::kMasstreeBorder) {
    page->kind_word = moves::birth_of_copy(*control).word();
  } else {
    InteriorPage* const interior = InteriorPage::of(TreePage::of(page));
    const unsigned keys = page->load_version().keys();
    for (unsigned i = 0; i <= keys; ++i) interior->child(i).clear_hint();
  }
  control->volatile_pages.fetch_add_relaxed(1);  // order: relaxed, statistics
  return TreePage::of(page);
}

std::optional<ColdPlace> place_of(InteriorPage* parent, std::uint64_t slice,
                                  const page::DualPageIds& ids) {
  const occ::LockGuard guard(&parent->header.lock);
  const page::PageVersion version = parent->header.load_version();
  if (version.is_gone() || !parent->contains(slice)) return {};
  const unsigned child = parent->child_of(slice, version.keys());
  if (parent->child(child).load() != ids) return {};
  return ColdPlace::below(*parent, child, version.keys());
}

bool exchange_child(InteriorPage* parent, std::uint64_t low, const page::DualPageIds& before,
                    const page::DualPageIds& after) {
  const occ::LockGuard guard(&parent->header.lock);
  const page::PageVersion version = parent->header.load_version();
  if (version.is_gone() || !parent->contains(low)) return false;
  return parent->child(parent->child_of(low, version.keys())).compare_exchange(before, after);
}

Change materialize_root(occ::TxnContext& ctx, occ::StorageControl* control,
                        const LayerRoot& layer) {
  const occ::ColdReads reads(&ctx.cold_pages());
  const page::DualPageIds before = layer.pointer->load();
  if (!before.volatile_page.is_null() || before.is_null()) return Change::kAgain;
  const page::PageHeader* const cold = ctx.cold_pages().page(before.snapshot_page);
  if (cold == nullptr) return Change::kNoPage;
  const ColdRoot root{control->id(), layer.owner == nullptr ? 0 : layer.owner->header.layer + 1u};
  if (!root.is_of(*cold)) {
    ctx.cold_pages().refuse(before.snapshot_page);
    return Change::kNoPage;
  }
  page::PageHeader* const holder = layer.owner == nullptr ? nullptr : &layer.owner->header;
  return install_copy(ctx, control, before, cold, [&](const page::DualPageIds& after) {
    return change_pointer(layer.pointer, holder, before, after);
  });
}

Change materialize_child(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* parent,
                         std::uint64_t slice) {
  const occ::ColdReads reads(&ctx.cold_pages());
  const page::PageVersion version = parent->header.load_version();
  if (version.is_gone()) return Change::kAgain;
  const page::DualPageIds before = parent->child(parent->child_of(slice, version.keys())).load();
  if (!before.volatile_page.is_null() || before.is_null()) return Change::kAgain;
  const page::PageHeader* const cold = ctx.cold_pages().page(before.snapshot_page);
  const std::optional<ColdPlace> place = place_of(parent, slice, before);
  if (!place.has_value()) {  // of two shifted pointers, whose page may not be there (M38)
    ctx.cold_pages().forget_failure();
    return Change::kAgain;
  }
  if (cold == nullptr) return Change::kNoPage;
  if (!place->is_of(*cold)) {
    ctx.cold_pages().refuse(before.snapshot_page);
    return Change::kNoPage;
  }
  return install_copy(ctx, control, before, cold, [&](const page::DualPageIds& after) {
    return exchange_child(parent, place->low, before, after);
  });
}

}  // namespace foedus::storage::masstree
