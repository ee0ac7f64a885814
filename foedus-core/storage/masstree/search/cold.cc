#include "foedus-core/storage/masstree/search/cold.h"

#include <array>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/search/lines.h"
#include "foedus-core/storage/masstree/search/snapshot_find.h"

namespace foedus::storage::masstree {

namespace {

// The result of a step of a search.
enum class Step : std::uint8_t { kDone, kDown, kAgain, kNoPage, kNoTree };

// A search from the root, through volatile pages to where they end.
class ColdSearch {
 public:
  ColdSearch(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
             Extent extent, KeyPosition* position, ColdPointer* cold, ColdTop* top)
      : ctx_(ctx),
        control_(control),
        key_(key),
        extent_(extent),
        position_(position),
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
  // Searches as far as one attempt comes.
  void run_once() { static_cast<void>(attempt()); }

 private:
  Step attempt() {
    *position_ = {};
    position_->layer = {&control_->root, nullptr};
    position_->rest = key_;
    std::uint64_t place = 0;
    for (;;) {
      position_->slice = slice_of(position_->rest);
      const page::DualPageIds ids = position_->layer.pointer->load();
      if (ids.volatile_page.is_null()) return follow_root(ids, place);
      const Step step = descend(TreePage::of(ctx_.pool().resolve(ids.volatile_page)));
      if (step != Step::kDown) return step;
      if (find_in_page(position_)) return Step::kDone;
      place = position_->slice;
      position_->rest.remove_prefix(8);
    }
  }

  Step follow_root(const page::DualPageIds& ids, std::uint64_t place) {
    BorderPage* const owner = position_->layer.owner;
    if (owner == nullptr && has_no_tree(control_)) return Step::kNoTree;
    FOEDUS_SYNC_POINT("masstree:cold_seen");
    if (ids.is_null() || position_->layer.pointer->load() != ids) return Step::kAgain;
    return follow(
        {position_->layer.pointer, owner == nullptr ? nullptr : &owner->header, ids, place});
  }

  // Goes down to the border page of the slice. kDown: position_->at is that page.
  Step descend(TreePage* page) {
    for (InteriorPage* parent = nullptr;;) {
      const page::PageVersion version = page->header.load_version();
      if (version.is_moved()) {
        page = twin_of(ctx_.pool(), page, position_->slice);
        continue;
      }
      // In a storage that is dropped pages stay as they are, for older transactions (M15).
      if (version.is_dropped() && !control_->is_dropped()) return Step::kAgain;
      if (page->is_border()) {
        position_->at = {BorderPage::of(page), version, parent};
        return Step::kDown;
      }
      parent = InteriorPage::of(page);
      const Step step = choose_child(parent, version.keys(), &page);
      if (step != Step::kDown) return step;
    }
  }

  // Does what child_for() does, for children of both kinds.
  Step choose_child(InteriorPage* page, unsigned keys, TreePage** child) {
    const unsigned at = page->child_of(position_->slice, keys);
    for (const unsigned i : {at, at + 1, at - 1}) {
      if (i > keys) continue;  // also for -1, which wraps around
      page::DualPagePointer* const pointer = &page->child(i);
      const page::DualPageIds ids = pointer->load();
      if (!ids.volatile_page.is_null()) {
        *child = TreePage::of(ctx_.pool().resolve(ids.volatile_page));
        if ((*child)->contains(position_->slice)) return Step::kDown;
        continue;
      }
      FOEDUS_SYNC_POINT("masstree:cold_seen");
      if (ids.snapshot_page.is_null() || pointer->load() != ids) return Step::kAgain;  // M19
      const page::PageHeader* const cold =
          ctx_.cold_pages().page(ids.snapshot_page, looked_at(*page, i, keys));
      const bool has_begun = cold == nullptr && ctx_.cold_pages().is_prefetching();
      if (has_begun) return Step::kNoPage;  // without the look under a lock: a hint may be wrong
      if (cold == nullptr || !ColdPlace::below(*page, i, keys).is_of(*cold) ||
          !tree_page(cold)->contains(position_->slice)) {
        const std::optional<ColdPlace> place = place_of(page, position_->slice, ids);
        if (!place.has_value()) {  // of two shifted pointers, whose page may not be there (M38)
          ctx_.cold_pages().forget_failure();
          continue;
        }
        if (cold == nullptr) return Step::kNoPage;
        if (!place->is_of(*cold)) {
          ctx_.cold_pages().refuse(ids.snapshot_page);
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
    const bool found = find_in_snapshot(ctx_, control_, layer(), cold.ids.snapshot_page,
                                        position_->rest, extent_, position_, top_);
    return found ? Step::kDone : Step::kNoPage;
  }

  // Returns the part of a child that the search looks at first. `page` may change meanwhile, so
  // this is a guess.
  page::PagePart looked_at(const InteriorPage& page, unsigned child, unsigned keys) const {
    if (extent_ != Extent::kPart) return kSearched;
    if (page.header.level != 1) {
      return ctx_.cold_pages().reads_interior_in_part() ? kInteriorInPart : kSearched;
    }
    const std::uint64_t low = page.low_of(child);
    const std::uint64_t last = page.last_of(child, keys);
    if (low > position_->slice || position_->slice > last) return kSearchedInPart;
    return searched_in_part(ctx_, control_->id(), low, last, position_->slice);
  }

  unsigned layer() const { return static_cast<unsigned>(key_.size() - position_->rest.size()) / 8; }

  occ::TxnContext& ctx_;
  occ::StorageControl* const control_;
  const std::string_view key_;
  const Extent extent_;
  KeyPosition* const position_;
  ColdPointer* const cold_;
  ColdTop* const top_;
};

}  // namespace

void remember_cold(occ::TxnContext& ctx, occ::StorageControl* control, const ColdPointer& cold) {
  if (!ctx.sets().pointers().is_empty()) {
    const occ::PointerEntry& last = ctx.sets().pointers().back();
    if (last.storage == control && last.holder == cold.holder && last.observed == cold.ids) return;
  }
  ctx.sets().remember_pointer(cold.pointer, cold.holder, cold.ids, control, cold.place);
}

namespace {

// Gives the pointer to the child for the slice, if it leads to a snapshot page only. Under the
// page's lock there is no shift, so the snapshot page itself need not be looked at. False: the
// child has a volatile page, or `page` has moved or was dropped.
bool is_cold_child(InteriorPage* page, std::uint64_t slice, ColdPointer* cold) {
  const occ::LockGuard guard(&page->header.lock);
  const page::PageVersion version = page->header.load_version();
  if (version.is_gone()) return false;
  page::DualPagePointer* const pointer = &page->child(page->child_of(slice, version.keys()));
  *cold = {pointer, &page->header, pointer->load(), slice};
  return cold->ids.volatile_page.is_null() && !cold->ids.snapshot_page.is_null();
}

}  // namespace

bool cold_pointer_of(const KeyPosition& position, std::string_view key, ColdPointer* cold) {
  if (position.at.parent != nullptr) return is_cold_child(position.at.parent, position.slice, cold);
  BorderPage* const owner = position.layer.owner;
  *cold = {position.layer.pointer, nullptr, position.layer.pointer->load(), 0};
  if (!cold->ids.volatile_page.is_null() || cold->ids.is_null()) return false;
  if (owner == nullptr) return true;
  cold->holder = &owner->header;
  cold->place = slice_of(key.substr(key.size() - position.rest.size() - 8));
  // M8: if the page has moved, its pointer may be out of date.
  return !owner->header.load_version().is_gone();
}

Status remember_if_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                        bool* is_cold) {
  *is_cold = false;
  base::SpinWait spin;
  for (unsigned i = 0; i < occ::kReadTries; ++i, spin.once()) {
    KeyPosition position;
    find(ctx, control, key, &position);
    if (!position.is_cut_short()) return {};
    if (has_no_tree(control)) return no_tree(ctx, control, key);
    ColdPointer cold;
    if (!cold_pointer_of(position, key, &cold)) continue;
    remember_cold(ctx, control, cold);
    *is_cold = true;
    return {};
  }
  return ctx.conflict(ConflictReason::kRetryBound, control, key);
}

Status find_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 Extent extent, KeyPosition* position, ColdPointer* cold, ColdTop* top) {
  return ColdSearch(ctx, control, key, extent, position, cold, top).run();
}

void prefetch_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  const occ::ColdPrefetch prefetch(&ctx.cold_pages());
  const std::size_t pointers = ctx.sets().pointers().size();
  KeyPosition position;
  ColdPointer cold;
  ColdTop top;
  ColdSearch(ctx, control, key, Extent::kPart, &position, &cold, &top).run_once();
  ctx.sets().forget_since(ctx.sets().reads().size(), pointers);  // nothing was read
  ctx.cold_pages().forget_failure();
}

bool has_no_tree(const occ::StorageControl* control) {
  return control->is_dropped() || control->root.load().is_null();
}

Status no_tree(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  ctx.cold_pages().forget_failure();
  if (control->is_dropped()) return ctx.conflict(ConflictReason::kPageDropped, control, key);
  return std::move(Status(ErrorCode::kNotFound).at_storage(control->meta.name));
}

}  // namespace foedus::storage::masstree
