// Inserters that pass a moved page repair the tree (paper §8.2). The parent adopts the twins, a
// full parent is split first, and a layer whose root has moved gets a new root.
//
//   M12  A pointer to a moved page is replaced once. This is done under the lock of the page that
//        has the pointer, after a look at that page's moved flag (O1, P5). The session that did it
//        retires the moved page. A storage's own root is replaced by compare-and-swap.
#include "foedus-core/storage/masstree/change/adopt.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/copy.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/cold.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

page::DualPageIds volatile_only(std::uint64_t id) {
  return {page::VolatilePageId(id), page::SnapshotPageId()};
}

struct Twins {
  std::uint64_t minor_id;
  std::uint64_t major_id;  // 0: the minor one took all
  std::uint64_t boundary;  // first slice of the major one
};

Twins twins_of(page::PagePool& pool, const TreePage* moved) {
  // order: acquire, as in twin_of().
  Twins twins{moved->foster_minor.load_acquire(), moved->foster_major.load_acquire(), 0};
  if (twins.major_id != 0) {
    twins.boundary = TreePage::of(pool.resolve(page::VolatilePageId(twins.major_id)))->low;
  }
  return twins;
}

// Shifts the children after `at`, and puts the twins at `at` and after it.
void insert_twins(InteriorPage* parent, unsigned at, unsigned keys, const Twins& twins) {
  for (unsigned i = keys; i > at; --i) {
    parent->child(i + 1).store(parent->child(i).load());
    parent->set_separator(i, parent->separator(i - 1));
  }
  FOEDUS_SYNC_POINT("masstree:adopt_shifted");
  parent->child(at + 1).store(volatile_only(twins.major_id));
  parent->set_separator(at, twins.boundary);
  parent->child(at).store(volatile_only(twins.minor_id));
}

void copy_children(InteriorPage* from, unsigned begin, unsigned end, InteriorPage* to) {
  for (unsigned i = begin; i < end; ++i) {
    to->child(i - begin).store(from->child(i).load());
    if (i + 1 < end) to->set_separator(i - begin, from->separator(i));
  }
  const page::PageVersion birth(end - begin - 1, 0);
  to->header.birth_version = birth.word();
  to->header.store_version(birth);
}

}  // namespace

Change adopt(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* parent,
             TreePage* child) {
  const Twins twins = twins_of(ctx.pool(), child);
  FOEDUS_SYNC_POINT("masstree:adopt_searched");
  {
    occ::LockGuard guard(&parent->header.lock);
    const page::PageVersion version = parent->header.load_version();
    Change closed;
    if (is_closed(version, &closed)) return closed;
    const unsigned keys = version.keys();
    const unsigned at = parent->child_of(child->low, keys);
    if (parent->child(at).load_volatile() != child->header.volatile_id()) {
      return Change::kAgain;
    }
    if (twins.major_id == 0) {
      parent->child(at).store(volatile_only(twins.minor_id));
    } else {
      if (keys == InteriorPage::kSeparatorsMax) return Change::kNoRoom;
      insert_twins(parent, at, keys, twins);
      parent->header.store_version(version.plus_key());
    }
  }
  FOEDUS_SYNC_POINT("masstree:adopted");
  retire(ctx, control, child);
  return Change::kDone;
}

Change split_interior(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* page,
                      std::uint64_t slice) {
  const std::uint8_t layer = page->header.layer;
  InteriorPage* const minor = make_interior(ctx, control, layer, page->header.level);
  InteriorPage* const major = make_interior(ctx, control, layer, page->header.level);
  const auto give_up = [&](Change change) {
    discard(ctx, control, minor);
    discard(ctx, control, major);
    return change;
  };
  if (minor == nullptr || major == nullptr) return give_up(Change::kNoPage);
  FOEDUS_SYNC_POINT("masstree:interior_searched");
  occ::LockGuard guard(&page->header.lock);
  const page::PageVersion version = page->header.load_version();
  const unsigned keys = version.keys();
  Change closed;
  if (is_closed(version, &closed) || keys < InteriorPage::kSeparatorsMax) return give_up(closed);

  // At either end the keys probably come in order. Then the split leaves a full page behind.
  const unsigned at = page->child_of(slice, keys);
  const unsigned middle = at == keys ? keys - 1 : at == 0 ? 0 : keys / 2;
  const std::uint64_t boundary = page->separator(middle);
  set_range(minor, page->low, boundary - 1);
  set_range(major, boundary, page->last);
  copy_children(page, 0, middle + 1, minor);
  copy_children(page, middle + 1, keys + 1, major);
  // order: release, pairs with twin_of(); before the flag that makes readers look (M4).
  page->foster_major.store_release(major->header.page_id);
  page->foster_minor.store_release(minor->header.page_id);
  page->header.store_version(version.with(page::PageVersion::kMoved));
  FOEDUS_SYNC_POINT("masstree:interior_split");
  return Change::kDone;
}

Change grow(occ::TxnContext& ctx, occ::StorageControl* control, const LayerRoot& layer,
            TreePage* root) {
  const Twins twins = twins_of(ctx.pool(), root);
  InteriorPage* above = nullptr;
  std::uint64_t root_id = twins.minor_id;
  if (twins.major_id != 0) {
    above = make_interior(ctx, control, root->header.layer,
                          static_cast<std::uint8_t>(root->header.level + 1));
    if (above == nullptr) return Change::kNoPage;
    above->child(0).store(volatile_only(twins.minor_id));
    above->child(1).store(volatile_only(twins.major_id));
    above->set_separator(0, twins.boundary);
    const page::PageVersion birth(1, 0);
    above->header.birth_version = birth.word();
    above->header.store_version(birth);
    root_id = above->header.page_id;
  }
  FOEDUS_SYNC_POINT("masstree:grow_searched");
  {
    // The root pointer of a deeper layer lies in a page that may itself move, so that page is
    // locked (P5). For the storage's own pointer the lock of the moved root is taken, because
    // drop() marks the root under that lock.
    page::PageHeader* const guardian =
        layer.owner != nullptr ? &layer.owner->header : &root->header;
    occ::LockGuard guard(&guardian->lock);
    const page::PageVersion version = guardian->load_version();
    Change closed;
    const bool is_shut =
        is_closed(version, &closed) && (layer.owner != nullptr || closed == Change::kDropped);
    // The snapshot half stays, because the new root has the same slices.
    const page::DualPageIds before = layer.pointer->load();
    if (is_shut || before.volatile_page != root->header.volatile_id() ||
        !layer.pointer->compare_exchange(before,
                                         {page::VolatilePageId(root_id), before.snapshot_page})) {
      discard(ctx, control, above);
      return closed;
    }
  }
  FOEDUS_SYNC_POINT("masstree:grown");
  retire(ctx, control, root);
  return Change::kDone;
}

namespace {

Change again_after(Change copied) { return copied == Change::kDone ? Change::kAgain : copied; }

// Does what find_border() does, but adopts and copies on the way. kAgain: search again from the
// storage's root. kNoPage: TxnContext::no_page() says why.
Change find_border_adopting(occ::TxnContext& ctx, occ::StorageControl* control,
                            const LayerRoot& layer, std::uint64_t slice, BorderPosition* at) {
  page::PagePool& pool = ctx.pool();
  TreePage* page = root_page(pool, layer);
  if (page == nullptr) [[unlikely]]
    return again_after(materialize_root(ctx, control, layer));
  if (page->header.load_version().is_moved()) {
    const Change grown = grow(ctx, control, layer, page);
    if (grown == Change::kDone || grown == Change::kAgain) return Change::kAgain;
  }
  InteriorPage* parent = nullptr;
  for (;;) {
    const page::PageVersion version = page->header.load_version();
    if (version.is_moved()) {
      page = twin_of(pool, page, slice);
      continue;
    }
    if (version.is_dropped()) return Change::kAgain;  // M23
    if (page->is_border()) {
      *at = {BorderPage::of(page), version, parent};
      return Change::kDone;
    }
    InteriorPage* const interior = InteriorPage::of(page);
    TreePage* const child = child_for(pool, interior, version.keys(), slice);
    if (child == nullptr) {
      const Change copied = materialize_child(ctx, control, interior, slice);
      if (copied == Change::kNoPage) return copied;
      continue;
    }
    if (child->header.load_version().is_moved()) {
      const Change adopted = adopt(ctx, control, interior, child);
      if (adopted == Change::kDone || adopted == Change::kAgain) continue;
      // kNoRoom: `interior` is split, and the next search from the root adopts its twins. If there
      // is no page for that, this search goes on by foster words, as readers do.
      Change split = adopted;
      if (adopted == Change::kNoRoom) split = split_interior(ctx, control, interior, slice);
      if (split == Change::kDone || split == Change::kAgain) return Change::kAgain;
    }
    parent = interior;
    page = child;
  }
}

}  // namespace

Status find_adopting(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     KeyPosition* position) {
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    *position = {};
    position->layer = {&control->root, nullptr};
    position->rest = key;
    Change change = Change::kDone;
    for (;;) {
      position->slice = slice_of(position->rest);
      change = find_border_adopting(ctx, control, position->layer, position->slice, &position->at);
      if (change != Change::kDone) break;
      if (position->layer.owner == nullptr) {
        ctx.hints().last_page(control) = {ctx.turn(), control, &position->at.page->header,
                                          position->at.parent};
      }
      if (find_in_page(position)) return {};
      position->rest.remove_prefix(8);
    }
    if (has_no_tree(control)) return no_tree(ctx, control, key);
    if (change == Change::kNoPage) return ctx.no_page(control);
  }
  return ctx.conflict(ConflictReason::kRetryBound, control, key);
}

}  // namespace foedus::storage::masstree
