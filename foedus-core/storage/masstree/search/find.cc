#include "foedus-core/storage/masstree/search/find.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

TreePage* child_for(page::PagePool& pool, InteriorPage* page, unsigned keys, std::uint64_t slice) {
  const unsigned i = page->child_of(slice, keys);
  TreePage* child = child_unseen(pool, page, i);
  if (child == nullptr) [[unlikely]]
    return nullptr;
  if (child->contains(slice)) [[likely]]
    return child;
  // A shift has moved it to the place beside, unless there were several (see InteriorPage).
  const bool right = slice > child->last;
  if (i == (right ? InteriorPage::kSeparatorsMax : 0)) return nullptr;
  child = child_unseen(pool, page, right ? i + 1 : i - 1);
  return child != nullptr && child->contains(slice) ? child : nullptr;
}

namespace {

// Returns why child_for() found none: true if the child is a snapshot page. The fences of such a
// page cannot be looked at here. So the answer counts only if no shift was under way; after many
// looks it counts in any case.
[[gnu::noinline]] bool leads_to_snapshot(InteriorPage* page, std::uint64_t slice) {
  base::SpinWait spin;
  for (unsigned i = 0;; ++i, spin.once()) {
    const page::PageVersion version = page->header.load_version();
    // order: acquire twice, around the look: a shifting session holds the lock, and counts before
    // it releases it.
    const bool was_locked = occ::is_held(page->header.lock.load_acquire());
    if (version.is_gone()) return false;
    const bool is_cold =
        page->child(page->child_of(slice, version.keys())).load_volatile().is_null();
    const bool was_quiet = !was_locked && !occ::is_held(page->header.lock.load_acquire()) &&
                           page->header.load_version() == version;
    if (was_quiet || i == occ::kReadTries) return is_cold;
  }
}

}  // namespace

BorderPosition find_border(page::PagePool& pool, TreePage* from, std::uint64_t slice) {
  TreePage* page = from;
  InteriorPage* parent = nullptr;
  bool passed_moved = false;
  if (page == nullptr) [[unlikely]]
    return {};
  FOEDUS_INVARIANT(page->contains(slice), slice, page->low, page->last);
  for (;;) {
    const page::PageVersion version = page->header.load_version();
    if (version.is_gone()) [[unlikely]] {
      if (!version.is_moved()) return {nullptr, version};  // M23
      page = twin_of(pool, page, slice);
      passed_moved = true;
      continue;
    }
    if (page->is_border()) return {BorderPage::of(page), version, parent, passed_moved};
    InteriorPage* const interior = InteriorPage::of(page);
    TreePage* const child = child_for(pool, interior, version.keys(), slice);
    if (child == nullptr) [[unlikely]] {
      if (leads_to_snapshot(interior, slice)) return {nullptr, version, interior};
      continue;  // look again, in this page (M1)
    }
    parent = interior;
    page = child;
  }
}

namespace {

// Takes `page` for the border page of the slice. False: it has not the slice, or is moved or
// dropped. M8: this transaction reached the page, or a pointer to it, when the page above was
// unmoved.
bool try_border_at(page::PageHeader* page, void* parent, std::uint64_t slice, BorderPosition* at) {
  *at = {BorderPage::of(page), page->load_version(), static_cast<InteriorPage*>(parent)};
  return at->page->contains(slice) && !at->version.is_moved() && !at->version.is_dropped();
}

}  // namespace

namespace {

// Loads, all at once, the lines that find_slot() may look at: every group of keys but the first,
// which came with the header.
void prefetch_groups(const BorderPosition& at) {
  for (unsigned i = BorderPage::Group::kKeys; i < at.version.keys();
       i += BorderPage::Group::kKeys) {
    base::prefetch_line(at.page->group(i).slices);
  }
}

}  // namespace

void find_first_layer_border(occ::TxnContext& ctx, occ::StorageControl* control,
                             std::uint64_t slice, BorderPosition* at) {
  occ::LastPage& last = ctx.hints().last_page(control);
  const bool is_known = last.storage == control && last.txn == ctx.turn();
  if (is_known && try_border_at(last.page, last.parent, slice, at)) return;
  const occ::PrefetchedLookup& prefetched = ctx.hints().prefetched(control, slice);
  if (prefetched.number == slice && prefetched.txn == ctx.turn() && prefetched.storage == control &&
      try_border_at(prefetched.page, prefetched.parent, slice, at)) {
    last = {ctx.turn(), control, prefetched.page, prefetched.parent};
    return prefetch_groups(*at);
  }
  *at = find_border(ctx.pool(), root_page(ctx.pool(), {&control->root, nullptr}), slice);
  if (at->page == nullptr) [[unlikely]]
    return;
  last = {ctx.turn(), control, &at->page->header, at->parent};
  prefetch_groups(*at);
}

namespace {

// Does what find_slot() does where the first sorted key of the slice is not the one, or keys are
// not sorted.
[[gnu::noinline]] unsigned find_slot_from(BorderPage* page, unsigned at, unsigned begin,
                                          unsigned sorted, unsigned keys, std::uint64_t slice,
                                          unsigned key_class) {
  const auto matches = [&](unsigned i) { return page->slot(i).key_class() == key_class; };
  for (unsigned i = at; i < sorted && page->slice(i) == slice; ++i) {
    if (matches(i)) return i;
  }
  for (unsigned i = std::max(begin, sorted); i < keys; ++i) {
    if (page->slice(i) == slice && matches(i)) return i;
  }
  return BorderPage::kNone;
}

}  // namespace

unsigned find_slot(BorderPage* page, unsigned begin, unsigned keys, std::uint64_t slice,
                   unsigned key_class) {
  // order: relaxed, at least as new as the count, and it only grows.
  const unsigned sorted = std::min(keys, page->sorted_keys.load_relaxed());
  const unsigned at = lower_bound(page, begin, sorted, slice);
  const bool is_behind = at == sorted || page->slice(at) != slice;
  if (is_behind && sorted == keys) return BorderPage::kNone;
  if (!is_behind && page->slot(at).key_class() == key_class) return at;
  return find_slot_from(page, at, begin, sorted, keys, slice, key_class);
}

bool find_in_page(KeyPosition* position) {
  BorderPage* const page = position->at.page;
  position->differs = false;
  position->index = find_slot(page, 0, position->at.version.keys(), position->slice,
                              class_of(position->rest.size()));
  if (position->index == BorderPage::kNone) return true;
  position->slot = page->slot(position->index);
  if (position->rest.size() <= 8) return true;
  if (position->slot.is_layer()) {
    position->layer = {page->layer_pointer(position->slot), page};
    return false;
  }
  position->differs = page->remainder(position->slot) != position->rest.substr(8);
  return true;
}

KeyPosition find_below(page::PagePool& pool, const LayerRoot& layer, std::string_view rest) {
  KeyPosition position;
  position.layer = layer;
  position.rest = rest;
  for (;;) {
    position.slice = slice_of(position.rest);
    position.at = find_border(pool, root_page(pool, position.layer), position.slice);
    if (position.is_cut_short()) return position;
    prefetch_groups(position.at);
    if (find_in_page(&position)) return position;
    position.rest.remove_prefix(8);
  }
}

void find(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
          KeyPosition* position) {
  position->layer = {&control->root, nullptr};
  position->rest = key;
  position->slice = slice_of(key);
  find_first_layer_border(ctx, control, position->slice, &position->at);
  if (position->is_cut_short() || find_in_page(position)) [[likely]]
    return;
  *position = find_below(ctx.pool(), position->layer, position->rest.substr(8));
}

occ::ReadOutcome read_at(occ::TxnContext& ctx, occ::StorageControl* control,
                         page::RecordHeader* record, std::uint32_t place, occ::ReadRange* range) {
  BorderPage* const page = BorderPage::of_record(record);
  const Slot slot = page->slot(place);
  return read_payload(ctx, control, record, page->payload(slot), range,
                      [page, place] { return page->slot(place).payload_bytes(); });
}

// Waits without a bound, because the caller cannot go on without an answer. The session that makes
// the layer is between two stores and waits for no other. If that session has no processor, this
// one sleeps.
Slot wait_for_layer(BorderPage* page, unsigned index) {
  base::SpinWait spin;
  for (;;) {
    const Slot slot = page->slot(index);
    if (slot.is_layer()) return slot;
    spin.once();
  }
}

}  // namespace foedus::storage::masstree
