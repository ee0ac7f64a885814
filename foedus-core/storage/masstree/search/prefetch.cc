// Loads the lines that a key needs ahead of its use. A record is found only when the lines of its
// page are there. So each call begins one key and finishes the one that was begun a few calls
// before.

#include "foedus-core/storage/masstree/search/prefetch.h"

#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/cold.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

// Returns the border page that seems to have the slice, without a look at it, because this would
// wait for it. Null: a page on the way is a snapshot page, or shifts hide it. `page`: the root, or
// null.
TreePage* begin_search(page::PagePool& pool, TreePage* page, std::uint64_t slice,
                       InteriorPage** parent) {
  while (page != nullptr && !page->is_border()) {
    const page::PageVersion version = page->header.load_version();
    if (version.is_moved()) {
      page = twin_of(pool, page, slice);
      continue;
    }
    InteriorPage* const interior = *parent = InteriorPage::of(page);
    const unsigned keys = version.keys();
    if (page->header.level == 1) {
      return child_unseen(pool, interior, interior->child_of(slice, keys));
    }
    page = child_for(pool, interior, keys, slice);
  }
  return page;
}

// Loads the first of the records with this slice, which is right often enough. If there is a layer,
// the search goes on at its root. False: that is a snapshot page.
bool finish_search(page::PagePool* pool, const occ::PrefetchedLookup& prefetched) {
  BorderPage* const page = BorderPage::of(prefetched.page);
  const unsigned keys = page->header.load_version().keys();
  // order: relaxed, a lower bound (find_slot()).
  const unsigned sorted = std::min(keys, page->sorted_keys.load_relaxed());
  const unsigned index = lower_bound(page, 0, sorted, prefetched.number);
  if (index == sorted) return true;
  const Slot slot = page->slot(index);
  if (!slot.is_layer()) {
    base::prefetch_lines(page->record(slot), slot.record_bytes());
    return true;
  }
  const TreePage* const root = root_page(*pool, {page->layer_pointer(slot), page});
  if (root == nullptr) return false;
  prefetch_page(root);
  return true;
}

}  // namespace

void prefetch(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  if (control->has_delta()) [[unlikely]]
    prefetch(ctx, control->delta.get(), key);
  const std::uint64_t slice = slice_of(key);
  occ::PrefetchedLookup& prefetched = ctx.hints().prefetched(control, slice);
  if (prefetched.number == slice && prefetched.txn == ctx.turn() && prefetched.storage == control) {
    if (!finish_search(&ctx.pool(), prefetched)) prefetch_cold(ctx, control, key);
    return;
  }
  InteriorPage* parent = nullptr;
  TreePage* const page =
      begin_search(ctx.pool(), root_page(ctx.pool(), {&control->root, nullptr}), slice, &parent);
  if (page == nullptr) return prefetch_cold(ctx, control, key);
  prefetched = {ctx.turn(), control, slice, &page->header, parent};
  const occ::PrefetchedLookup* const earlier = ctx.hints().exchange_turn(&prefetched);
  // The place of the earlier search may have been taken by this one, or by another transaction's.
  if (earlier == nullptr || earlier == &prefetched || earlier->txn != ctx.turn()) return;
  // It may have been taken by a search in pages of a snapshot.
  if (!earlier->cold_page.is_null()) return;
  static_cast<void>(finish_search(&ctx.pool(), *earlier));  // its key is not known here
}

}  // namespace foedus::storage::masstree
