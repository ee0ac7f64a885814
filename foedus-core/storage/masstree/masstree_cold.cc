#include "foedus-core/storage/masstree/masstree_cold.h"

#include <array>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/occ/overflow.h"
#include "foedus-core/occ/record_lock.h"

namespace foedus::storage::masstree {

namespace {

TreePage* tree_page(const page::PageHeader* cold) {
  return TreePage::of(const_cast<page::PageHeader*>(cold));
}

// Header and directory of a page of snapshots, which are full: some sixty keys.
constexpr page::PagePart kSearched{.offset = 0, .bytes = 1024};

// What a step of a search came to.
enum class Step : std::uint8_t { kDone, kDown, kAgain, kNoPage, kNoTree };

// A search from the root, through volatile pages to where they end.
class ColdSearch {
 public:
  ColdSearch(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
             Extent extent, Spot* spot, ColdPointer* cold, ColdTop* top)
      : ctx_(ctx),
        control_(control),
        key_(key),
        extent_(extent),
        spot_(spot),
        cold_(cold),
        top_(top) {}

  Status run() {
    base::SpinWait spin;
    for (unsigned i = 0; i < occ::kReadTries; ++i, spin.once()) {
      switch (attempt()) {
        case Step::kDone:
          return {};
        case Step::kNoPage:
          return ctx_.no_page(control_);
        case Step::kNoTree:
          return no_tree(ctx_, control_, key_);
        default:
          break;
      }
    }
    return ctx_.conflict(ConflictReason::kRetryBound, control_, key_);
  }
  // As far as it comes.
  void run_once() { static_cast<void>(attempt()); }

 private:
  Step attempt() {
    *spot_ = {};
    spot_->layer = {&control_->root, nullptr};
    spot_->rest = key_;
    std::uint64_t place = 0;
    for (;;) {
      spot_->slice = slice_of(spot_->rest);
      const page::DualPageIds ids = spot_->layer.pointer->load();
      if (ids.volatile_page.is_null()) return follow_root(ids, place);
      const Step step = descend(TreePage::of(ctx_.pool().resolve(ids.volatile_page)));
      if (step != Step::kDown) return step;
      if (find_in_page(spot_)) return Step::kDone;
      place = spot_->slice;
      spot_->rest.remove_prefix(8);
    }
  }

  Step follow_root(const page::DualPageIds& ids, std::uint64_t place) {
    BorderPage* const owner = spot_->layer.owner;
    if (owner == nullptr && has_no_tree(control_)) return Step::kNoTree;
    FOEDUS_SYNC_POINT("masstree:cold_seen");
    if (ids.is_null() || spot_->layer.pointer->load() != ids) return Step::kAgain;
    return follow({spot_->layer.pointer, owner == nullptr ? nullptr : &owner->header, ids, place});
  }

  // To the border page of the slice, in spot_->at: kDown.
  Step descend(TreePage* page) {
    for (InteriorPage* parent = nullptr;;) {
      const page::PageVersion version = page->header.load_version();
      if (version.is_moved()) {
        page = twin_of(ctx_.pool(), page, spot_->slice);
        continue;
      }
      // In a storage that is dropped pages stay as they are, for transactions that are older (M15).
      if (version.is_dropped() && !control_->is_dropped()) return Step::kAgain;
      if (page->is_border()) {
        spot_->at = {BorderPage::of(page), version, parent};
        return Step::kDown;
      }
      parent = InteriorPage::of(page);
      const Step step = choose_child(parent, version.keys(), &page);
      if (step != Step::kDown) return step;
    }
  }

  // As child_for(), for children of both kinds.
  Step choose_child(InteriorPage* page, unsigned keys, TreePage** child) {
    const unsigned at = page->child_of(spot_->slice, keys);
    for (const unsigned i : {at, at + 1, at - 1}) {
      if (i > keys) continue;  // below 0, too
      page::DualPagePointer* const pointer = &page->child(i);
      const page::DualPageIds ids = pointer->load();
      if (!ids.volatile_page.is_null()) {
        *child = TreePage::of(ctx_.pool().resolve(ids.volatile_page));
        if ((*child)->contains(spot_->slice)) return Step::kDown;
        continue;
      }
      FOEDUS_SYNC_POINT("masstree:cold_seen");
      if (ids.snapshot_page.is_null() || pointer->load() != ids) return Step::kAgain;  // M19
      const page::PageHeader* const cold =
          ctx_.cold_page(ids.snapshot_page, looked_at(*page, i, keys));
      const bool has_begun = cold == nullptr && ctx_.cold_pages().is_prefetching();
      if (has_begun) return Step::kNoPage;  // without the look under a lock: a hint may be wrong
      if (cold == nullptr || !ColdPlace::below(*page, i, keys).is_of(*cold) ||
          !tree_page(cold)->contains(spot_->slice)) {
        const std::optional<ColdPlace> place = place_of(page, spot_->slice, ids);
        if (!place.has_value()) {  // halves of two pointers, whose page need not be there (M38)
          ctx_.forget_page_failure();
          continue;
        }
        if (cold == nullptr) return Step::kNoPage;
        if (!place->is_of(*cold)) {
          ctx_.not_that_page(ids.snapshot_page);
          return Step::kNoPage;
        }
      }
      return follow({pointer, &page->header, ids, tree_page(cold)->low});
    }
    return Step::kAgain;
  }

  Step follow(const ColdPointer& cold) {
    FOEDUS_SYNC_POINT("masstree:cold_read");
    remember_cold(ctx_, control_, cold);
    *cold_ = cold;
    const bool found =
        find_in_snapshot(ctx_, control_, layer(), cold.ids.snapshot_page, spot_->rest, extent_,
                         spot_, top_);
    return found ? Step::kDone : Step::kNoPage;
  }

  // Returns which part of a child the search looks at first. The page may change meanwhile.
  page::PagePart looked_at(const InteriorPage& page, unsigned child, unsigned keys) const {
    if (extent_ != Extent::kPart) return kSearched;
    if (page.header.level != 1) {
      return ctx_.cold_pages().reads_interior_in_part() ? kInteriorInPart : kSearched;
    }
    const std::uint64_t low = page.low_of(child);
    const std::uint64_t last = page.last_of(child, keys);
    if (low > spot_->slice || spot_->slice > last) return kSearchedInPart;
    return searched_in_part(ctx_, control_->id(), low, last, spot_->slice);
  }

  unsigned layer() const { return static_cast<unsigned>(key_.size() - spot_->rest.size()) / 8; }

  occ::TxnContext& ctx_;
  occ::StorageControl* const control_;
  const std::string_view key_;
  const Extent extent_;
  Spot* const spot_;
  ColdPointer* const cold_;
  ColdTop* const top_;
};

}  // namespace

BorderPage* cold_border(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                        page::SnapshotPageId id, std::uint64_t slice, Extent extent, ColdTop* top) {
  // This may be a border page.
  const page::PagePart first = extent == Extent::kPart ? kSearchedInPart : kSearched;
  const page::PageHeader* read = ctx.cold_page(id, first);
  if (read == nullptr) return nullptr;
  if (read->level != 0 && ctx.cold_pages().is_in_part(read)) {
    if (ctx.cold_pages().reads_interior_in_part()) {
      InteriorPage* const interior = InteriorPage::of(tree_page(read));
      if (!is_page_of(*read, control->id(), layer, read->level) || !interior->contains(slice)) {
        return ctx.not_that_page(id);
      }
      *top = {id, interior->low, interior->last};
      ctx.cold_pages().expect(id, kInteriorInPart.lines);  // the next search waits once less
      return border_in_part(ctx, control, interior, slice);
    }
    read = ctx.cold_page(id, kSearched);
    if (read == nullptr) return nullptr;
  }
  TreePage* page = tree_page(read);
  // Its slices are for the caller to judge, who knows what led here.
  if (!is_page_of(*read, control->id(), layer, read->level) || !page->contains(slice)) {
    return ctx.not_that_page(id);
  }
  *top = {id, page->low, page->last};
  while (!page->is_border()) {
    InteriorPage* const above = InteriorPage::of(page);
    const unsigned keys = read->load_version().keys();
    const unsigned child = above->child_of(slice, keys);
    const ColdPlace place = ColdPlace::below(*above, child, keys);
    id = above->child(child).load().snapshot_page;
    const bool in_part = above->header.level == 1 && extent == Extent::kPart;
    const page::PagePart part =
        in_part ? searched_in_part(ctx, control->id(), place.low, place.last, slice) : kSearched;
    read = ctx.cold_child(&above->child(child), part);
    if (read == nullptr) return nullptr;
    if (!place.is_of(*read)) return ctx.not_that_page(id);
    page = tree_page(read);
  }
  return BorderPage::of(page);
}

InteriorPage* cold_parent(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                          page::SnapshotPageId id, std::uint64_t slice) {
  constexpr unsigned kAnyLevel = ~0u;
  for (unsigned level = kAnyLevel;;) {
    const page::PageHeader* const read = ctx.cold_pages().cached(id);
    if (read == nullptr) return nullptr;
    // Some were read ahead only: who comes to them finds out what is wrong.
    if (level == kAnyLevel) level = read->level;
    if (level == 0 || !is_page_of(*read, control->id(), layer, level)) return nullptr;
    InteriorPage* const interior = InteriorPage::of(tree_page(read));
    if (level == 1) return interior;
    id = interior->child(interior->child_of(slice, read->load_version().keys()))
             .load()
             .snapshot_page;
    --level;
  }
}

bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                      page::SnapshotPageId id, std::string_view rest, Extent extent, Spot* spot,
                      ColdTop* top) {
  spot->rest = rest;
  for (;; ++layer) {
    spot->slice = slice_of(spot->rest);
    BorderPage* const page = cold_border(ctx, control, layer, id, spot->slice, extent, top);
    if (page == nullptr) return false;
    spot->at = {page, page->header.load_version()};
    spot->at.is_cold = true;
    bool ends = true;
    if (!ctx.cold_pages().is_in_part(&page->header)) [[likely]] {
      ends = find_in_page(spot);
    } else if (!find_in_part(ctx, spot, &ends)) {
      return false;
    }
    if (ends) return true;
    id = spot->layer.pointer->load().snapshot_page;
    spot->rest.remove_prefix(8);
  }
}

bool read_cold(occ::TxnContext& ctx, BorderPage* page, Slot slot, occ::ReadRange* range) {
  const char* const body = page->payload(slot);
  const std::uint32_t begin = slot.payload_offset();
  if (slot.is_chain()) {
    if (!ctx.load(page, {.offset = begin, .bytes = page::kPayloadRoomBytesMin})) return false;
    const page::StorageId storage = page->header.storage_id;
    return occ::read_cold_overflow(ctx, storage, occ::load_overflow_id(body), range);
  }
  range->payload_bytes = slot.payload_bytes();
  const std::uint32_t wanted = range->wanted_of(slot.payload_bytes());
  if (wanted == 0) return true;
  if (!ctx.load(page, {.offset = begin + range->offset, .bytes = wanted})) return false;
  std::memcpy(range->out, body + range->offset, wanted);
  return true;
}

void remember_cold(occ::TxnContext& ctx, occ::StorageControl* control, const ColdPointer& cold) {
  if (!ctx.pointers().empty()) {
    const occ::PointerEntry& last = ctx.pointers().back();
    if (last.storage == control && last.holder == cold.holder && last.observed == cold.ids) return;
  }
  ctx.remember_pointer(cold.pointer, cold.holder, cold.ids, control, cold.place);
}

bool may_hide_own_cold(occ::TxnContext& ctx, const occ::StorageControl* control) {
  if (ctx.write_set().is_empty()) return false;
  // order: relaxed, after the acquire of the pointer that led here (M23).
  const Epoch dropped(control->drop_epoch.load_relaxed());
  return dropped >= ctx.begin_epoch() && !ctx.has_settled(control->id(), dropped);
}

namespace {

// The pointer to the child for the slice, under the page's lock: where it leads to a snapshot page
// only, which need not be looked at then. False: it has a volatile page, or is not there.
bool is_cold_child(InteriorPage* page, std::uint64_t slice, ColdPointer* cold) {
  const occ::LockGuard guard(&page->header.lock);
  const page::PageVersion version = page->header.load_version();
  if (version.is_gone()) return false;
  page::DualPagePointer* const pointer =
      &page->child(page->child_of(slice, version.keys()));
  *cold = {pointer, &page->header, pointer->load(), slice};
  return cold->ids.volatile_page.is_null() && !cold->ids.snapshot_page.is_null();
}

}  // namespace

bool cold_pointer_of(const Spot& spot, std::string_view key, ColdPointer* cold) {
  if (spot.at.parent != nullptr) return is_cold_child(spot.at.parent, spot.slice, cold);
  BorderPage* const owner = spot.layer.owner;
  *cold = {spot.layer.pointer, nullptr, spot.layer.pointer->load(), 0};
  if (!cold->ids.volatile_page.is_null() || cold->ids.is_null()) return false;
  if (owner == nullptr) return true;
  cold->holder = &owner->header;
  cold->place = slice_of(key.substr(key.size() - spot.rest.size() - 8));
  // M8: a page that has moved keeps its pointers as they were.
  return !owner->header.load_version().is_gone();
}

Status remember_if_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                        bool* is_cold) {
  *is_cold = false;
  base::SpinWait spin;
  for (unsigned i = 0; i < occ::kReadTries; ++i, spin.once()) {
    Spot spot;
    find(ctx, control, key, &spot);
    if (!spot.is_cut_short()) return {};
    if (has_no_tree(control)) return no_tree(ctx, control, key);
    ColdPointer cold;
    if (!cold_pointer_of(spot, key, &cold)) continue;
    remember_cold(ctx, control, cold);
    *is_cold = true;
    return {};
  }
  return ctx.conflict(ConflictReason::kRetryBound, control, key);
}

Status find_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 Extent extent, Spot* spot, ColdPointer* cold, ColdTop* top) {
  return ColdSearch(ctx, control, key, extent, spot, cold, top).run();
}

void prefetch_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  const occ::ColdPrefetch prefetch(&ctx.cold_pages());
  const std::size_t pointers = ctx.pointers().size();
  Spot spot;
  ColdPointer cold;
  ColdTop top;
  ColdSearch(ctx, control, key, Extent::kPart, &spot, &cold, &top).run_once();
  ctx.forget_since(ctx.reads().size(), pointers);  // nothing was read
  ctx.forget_page_failure();
}

bool has_no_tree(const occ::StorageControl* control) {
  return control->is_dropped() || control->root.load().is_null();
}

Status no_tree(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  ctx.forget_page_failure();
  if (control->is_dropped()) return ctx.conflict(ConflictReason::kPageDropped, control, key);
  return std::move(Status(ErrorCode::kNotFound).at_storage(control->meta.name));
}

// `spot`: what find() gave.
Status locate_slowly(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     Intent intent, Spot* spot) {
  for (;;) {
    if (spot->is_cut_short() && intent != Intent::kRead) {
      if (intent == Intent::kPut) control->cold_puts.fetch_add_relaxed(1);  // order: a statistic
      FOEDUS_CHECK(find_adopting(ctx, control, key, spot));
    } else if (spot->is_cut_short()) {
      ColdPointer cold;
      ColdTop top;
      FOEDUS_CHECK(find_cold(ctx, control, key, Extent::kPart, spot, &cold, &top));
    }
    const bool hides_own =
        spot->at.is_cold ? may_hide_own_cold(ctx, control) : may_hide_own(ctx, spot->at.page);
    if (!hides_own) return {};
    bool moved = false;
    FOEDUS_CHECK(settle_own(ctx, control, birth_of(control, spot->at), &moved));
    if (!moved) return {};
    *spot = {};
    find(ctx, control, key, spot);
  }
}

}  // namespace foedus::storage::masstree
