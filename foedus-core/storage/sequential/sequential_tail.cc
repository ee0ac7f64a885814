#include "foedus-core/storage/sequential/sequential_tail.h"

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/sequential/sequential_pages.h"

namespace foedus::storage::sequential {

namespace {

// The functions below that make a page return false if no page is free. True: the page was made, by
// the calling session or another, or a page on the way was dropped. Then the caller searches again
// from the root: once for each page that it lacks, and once for each drop.

// Makes the root of a storage that has none in memory. Returns false also if the storage was
// dropped.
[[gnu::cold]] bool make_root(occ::TxnContext& ctx, occ::StorageControl* control) {
  const page::DualPageIds before = control->root.load();
  if (!before.volatile_page.is_null()) return true;
  if (control->is_dropped()) return false;
  page::PageHeader* const made =
      make_page(&ctx.pool(), &ctx.pages(), control, page::PageKind::kSequentialHeads, 1);
  if (made == nullptr) return false;
  const page::DualPageIds after{made->volatile_id(), before.snapshot_page};
  FOEDUS_SYNC_POINT("sequential:before_root");
  if (!control->root.compare_exchange(before, after)) {
    release_page(&ctx.pages(), control, made);
    return true;
  }
  // A transaction that remembered the pointer without a root saw that no session had a chain. The
  // version of the new root says the same.
  if (ctx.sets().pointers().replace(&control->root, before, after)) {
    ctx.sets().remember_page(made, page::PageVersion(), control);
  }
  return true;
}

// Makes the heads page of the session.
[[gnu::cold]] bool make_heads(occ::TxnContext& ctx, occ::StorageControl* control,
                              SequentialRootPage* root, page::DualPagePointer* pointer) {
  FOEDUS_SYNC_POINT("sequential:before_heads");
  const occ::LockGuard guard(&root->header.lock);
  if (root->header.load_version().is_gone()) return true;
  if (!pointer->load_volatile().is_null()) return true;
  page::PageHeader* const made =
      make_page(&ctx.pool(), &ctx.pages(), control, page::PageKind::kSequentialHeads, 0);
  if (made == nullptr) return false;
  {
    const occ::LockGuard uncounted(&made->lock);  // S12
    const bool installed =
        pointer->compare_exchange({}, {made->volatile_id(), page::SnapshotPageId()});
    FOEDUS_INVARIANT(installed, control->id(), ctx.session());
    FOEDUS_SYNC_POINT("sequential:heads_installed");
    count_one(ctx, &root->header);
  }
  // A transaction that remembered the root without this heads page saw that none of the page's
  // sessions had a chain. The version of the new heads page says the same.
  if (ctx.sets().pages().find(&root->header) != nullptr) {
    ctx.sets().remember_page(made, page::PageVersion(), control);
  }
  return true;
}

SequentialPage* make_record_page(occ::TxnContext& ctx, occ::StorageControl* control) {
  page::PageHeader* const made =
      make_page(&ctx.pool(), &ctx.pages(), control, page::PageKind::kSequential, 0);
  if (made == nullptr) return nullptr;
  made->last_soc.store_relaxed(ctx.soc());  // order: relaxed, not reachable yet
  auto* const page = reinterpret_cast<SequentialPage*>(made);
  page->session = ctx.session();
  return page;
}

// Makes the first page of the calling session's chain; *page stays null if the caller has to search
// again. Takes the lock that drops take (S10), because the tail may have been null only while the
// installer looked at the session's pin.
[[gnu::cold]] bool start_chain(occ::TxnContext& ctx, occ::StorageControl* control,
                               HeadsPage* heads, Chain* chain, SequentialPage** page) {
  FOEDUS_SYNC_POINT("sequential:before_chain");
  const occ::LockGuard guard(&heads->header.lock);
  if (heads->header.load_version().is_gone()) return true;
  // order: relaxed, other threads write to the word under this lock only.
  if (chain->tail.load_relaxed() != 0) return true;
  SequentialPage* const made = make_record_page(ctx, control);
  if (made == nullptr) return false;
  const page::VolatilePageId id = made->header.volatile_id();
  // order: release, pairs with the cursor's acquire: a thread that sees the tail sees the page. The
  // tail is stored before the head, so that a thread that sees a head sees a tail, unless the chain
  // is being dropped.
  chain->tail.store_release(id.word());
  const bool installed = chain->head.compare_exchange({}, {id, page::SnapshotPageId()});
  FOEDUS_INVARIANT(installed, control->id(), ctx.session());
  count_one(ctx, &heads->header);
  *page = made;
  return true;
}

// Links a page after the last one of the calling session's chain, and returns it. Null: out of
// pages.
SequentialPage* link_page(occ::TxnContext& ctx, occ::StorageControl* control, Chain* chain,
                          SequentialPage* last) {
  if (!ctx.sets().pages().is_empty()) ctx.sets().pages().reserve(1);
  SequentialPage* const page = make_record_page(ctx, control);
  if (page == nullptr) return nullptr;
  // order: relaxed, the session's own word.
  last->header.kind_word = ctx.clock().slot(ctx.session()).pin.load_relaxed();  // S9
  const page::PageVersion version = last->header.load_version();
  last->next_page.store_release(page->header.page_id);  // order: release, S1
  FOEDUS_SYNC_POINT("sequential:linked");
  last->header.store_version(version.with(page::PageVersion::kMoved));
  FOEDUS_SYNC_POINT("sequential:moved");
  chain->tail.store_release(page->header.page_id);  // order: release, S1
  occ::PageEntry* const entry = ctx.sets().pages().find(&last->header);
  if (entry != nullptr && entry->page == &last->header && entry->observed == version.counts()) {
    ctx.sets().pages().repoint(entry, &page->header, page::PageVersion());
  }
  return page;
}

}  // namespace

SequentialPage* tail_with_room(occ::TxnContext& ctx, occ::StorageControl* control,
                               std::uint32_t payload_bytes) {
  for (;;) {
    const page::VolatilePageId root_id = control->root.load_volatile();
    if (root_id.is_null()) [[unlikely]] {
      if (!make_root(ctx, control)) return nullptr;
      continue;
    }
    auto* const root = page_of<SequentialRootPage>(ctx.pool(), root_id.word());
    page::DualPagePointer& pointer = root->pointers[ctx.session() / HeadsPage::kChains];
    const page::VolatilePageId heads_id = pointer.load_volatile();
    if (heads_id.is_null()) [[unlikely]] {
      if (!make_heads(ctx, control, root, &pointer)) return nullptr;
      continue;
    }
    auto* const heads = page_of<HeadsPage>(ctx.pool(), heads_id.word());
    Chain* const chain = &heads->chains[ctx.session() % HeadsPage::kChains];
    // order: acquire; another thread may have had the calling session's number before, and have
    // stored the tail.
    const std::uint64_t tail_id = chain->tail.load_acquire();
    if (tail_id == 0) [[unlikely]] {
      SequentialPage* first = nullptr;
      if (!start_chain(ctx, control, heads, chain, &first)) return nullptr;
      if (first == nullptr) continue;
      return first;
    }
    auto* const tail = page_of<SequentialPage>(ctx.pool(), tail_id);
    FOEDUS_INVARIANT(tail->session == ctx.session(), tail->session, ctx.session());
    if (!tail->has_room(payload_bytes)) [[unlikely]] return link_page(ctx, control, chain, tail);
    return tail;
  }
}

}  // namespace foedus::storage::sequential
