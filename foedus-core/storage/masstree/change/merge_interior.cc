// Merges interior pages that have few children left: two neighbours become one (M16), and a root
// with a single child is replaced by that child.
#include "foedus-core/storage/masstree/change/merge_interior.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/pair.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

constexpr unsigned kChildrenMax = InteriorPage::kSeparatorsMax + 1;
// A page with no more children than this looks for a neighbour.
constexpr unsigned kFewChildren = kChildrenMax / 4;
// The limit of children of the page that two pages become.
constexpr unsigned kMergedChildren = kChildrenMax / 4 * 3;
static_assert(kMergedChildren < kChildrenMax);  // a page that splits has more

// Returns the page above, or null. Without locks this is a guess.
InteriorPage* parent_of(page::PagePool& pool, TreePage* root, const TreePage* page) {
  TreePage* at = root;
  for (;;) {
    if (at == nullptr) return nullptr;
    const page::PageVersion version = at->header.load_version();
    if (version.is_moved()) {
      at = twin_of(pool, at, page->low);
      continue;
    }
    if (at->header.level <= page->header.level) return nullptr;
    InteriorPage* const interior = InteriorPage::of(at);
    if (at->header.level == page->header.level + 1) return interior;
    at = child_for(pool, interior, version.keys(), page->low);
  }
}

unsigned children_of(const TreePage* page) { return page->header.load_version().keys() + 1; }

InteriorPage* neighbour_for(page::PagePool& pool, InteriorPage* parent, const InteriorPage* page) {
  for (const bool right : {true, false}) {
    TreePage* const found = neighbour_of(pool, parent, page, right);
    if (found == nullptr) continue;
    if (children_of(page) + children_of(found) <= kMergedChildren) return InteriorPage::of(found);
  }
  return nullptr;
}

// Puts the children of `from` after the first `count` of `to`.
void append_children(InteriorPage* from, InteriorPage* to, unsigned count) {
  const unsigned children = children_of(from);
  if (count != 0) to->set_separator(count - 1, from->low);
  for (unsigned i = 0; i < children; ++i) {
    to->child(count + i).store(from->child(i).load());
    if (i + 1 < children) to->set_separator(count + i, from->separator(i));
  }
  const page::PageVersion birth(count + children - 1, 0);
  to->header.birth_version = birth.word();
  to->header.store_version(birth);
}

void move_to(InteriorPage* from, const TreePage* to) {
  const page::PageVersion version = from->header.load_version();
  // order: release, pairs with twin_of(); before the flag that makes readers look (M4).
  from->foster_minor.store_release(to->header.page_id);
  from->header.store_version(version.with(page::PageVersion::kMoved));
}

// Merges two interior pages: copies their children to `merged`, marks the two moved, and changes
// the parent's pointers (M16). REQUIRES: `merged` is not reachable.
//
// Whether the two pages are moved or dropped need not be checked, because the page above is
// neither, and leads to both. A session that merges, exchanges or drops one of the two changes or
// marks the page above before it releases the locks. A session that drops the storage marks the
// page above before it comes to the two (M15). A page that has split, and whose twins are not
// adopted yet, had as many children as there is room for, so it is not merged.
bool merge_locked(InteriorPage* parent, InteriorPage* left, InteriorPage* right,
                  InteriorPage* merged) {
  const TriedLock left_lock(left);
  if (!left_lock.held()) return false;
  const TriedLock right_lock(right);
  if (!right_lock.held() || children_of(left) + children_of(right) > kMergedChildren) return false;
  LockedParent above(parent, left, right);
  if (!above.is_theirs()) return false;
  FOEDUS_INVARIANT(!left->header.load_version().is_gone(), left->header.page_id);
  FOEDUS_INVARIANT(!right->header.load_version().is_gone(), right->header.page_id);
  const occ::LockGuard guard(&merged->header.lock);
  set_range(merged, left->low, right->last);
  append_children(left, merged, 0);
  append_children(right, merged, children_of(left));
  move_to(left, merged);
  FOEDUS_SYNC_POINT("masstree:merge_interior_half_moved");
  move_to(right, merged);
  FOEDUS_SYNC_POINT("masstree:merge_interior_moved");
  above.replace_by_one(merged);
  FOEDUS_SYNC_POINT("masstree:interior_merged");
  return true;
}

bool merge_with_neighbour(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* parent,
                          InteriorPage* page) {
  InteriorPage* const neighbour = neighbour_for(ctx.pool(), parent, page);
  if (neighbour == nullptr) return false;
  InteriorPage* const merged = make_interior(ctx, control, page->header.layer, page->header.level);
  if (merged == nullptr) return false;
  FOEDUS_SYNC_POINT("masstree:merge_interior_searched");
  const bool is_left = page->low < neighbour->low;
  if (!merge_locked(parent, is_left ? page : neighbour, is_left ? neighbour : page, merged)) {
    discard(ctx, control, merged);
    return false;
  }
  retire(ctx, control, page);
  retire(ctx, control, neighbour);
  return true;
}

// Makes the root's only child the root. The pointer is changed first: if it leads to another page
// by now, nothing has changed. The root's lock keeps the root as it is until it is marked moved.
// Returns null if nothing has changed, also where the child is a snapshot page, which no foster
// word can name.
TreePage* give_way(page::PagePool& pool, const LayerRoot& layer, InteriorPage* root) {
  const page::VolatilePageId child = root->child(0).load_volatile();
  const page::DualPageIds before = layer.pointer->load();
  if (child.is_null() || before.volatile_page != root->header.volatile_id() ||
      !layer.pointer->compare_exchange(before, {child, before.snapshot_page})) {
    return nullptr;
  }
  TreePage* const page = TreePage::of(pool.resolve(child));
  move_to(root, page);
  return page;
}

// Reverses grow(). Returns the new root, or null.
TreePage* shrink(page::PagePool& pool, const LayerRoot& layer, InteriorPage* root) {
  const TriedLock lock(root);
  Change closed;
  const page::PageVersion version = root->header.load_version();
  if (!lock.held() || is_closed(version, &closed) || version.keys() != 0) return nullptr;
  if (layer.owner == nullptr) return give_way(pool, layer, root);
  const TriedLock owner_lock(layer.owner);  // P5
  if (!owner_lock.held() || is_closed(layer.owner->header.load_version(), &closed)) return nullptr;
  return give_way(pool, layer, root);
}

}  // namespace

void merge_interior(occ::TxnContext& ctx, occ::StorageControl* control, const LayerRoot& layer,
                    InteriorPage* page) {
  page::PagePool& pool = ctx.pool();
  for (;;) {
    const page::PageVersion version = page->header.load_version();
    if (version.is_moved() || version.keys() + 1 > kFewChildren) return;
    TreePage* const root = root_page(pool, layer);
    if (root == page) {
      if (version.keys() != 0) return;
      FOEDUS_SYNC_POINT("masstree:shrink_searched");
      TreePage* const child = shrink(pool, layer, page);
      if (child == nullptr) return;
      FOEDUS_SYNC_POINT("masstree:shrunk");
      retire(ctx, control, page);
      if (child->is_border()) return;
      page = InteriorPage::of(child);
      continue;
    }
    InteriorPage* const parent = parent_of(pool, root, page);
    if (parent == nullptr || !merge_with_neighbour(ctx, control, parent, page)) return;
    page = parent;
  }
}

}  // namespace foedus::storage::masstree
