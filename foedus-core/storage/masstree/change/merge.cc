// Two neighbouring border pages become one, or the boundary between them moves. So pages stay full
// while records come and go. The rules stand in change/pair.h.
//
//   M18  The new pages' count at birth is that of all records that came along, from both old pages.
//        A page-version of either old page holds as long as its successors have that count. It does
//        not matter which keys the transaction missed. So keys that are added to the new pages
//        conflict, and keys that were in one of the old pages do not.
#include "foedus-core/storage/masstree/change/merge.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/merge_interior.h"
#include "foedus-core/storage/masstree/change/move.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/change/pair.h"
#include "foedus-core/storage/masstree/change/split.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/moves/after_marks.h"

namespace foedus::storage::masstree {

namespace {

constexpr unsigned kRecordSpins = 100;
// The limit to which a new page may be filled.
constexpr unsigned kMergedEighths = 7;
// Two pages may share their records if their average fill is no more than this.
constexpr unsigned kSharedEighths = 6;
// A page is as good as empty if no more than one in this many of its records is live.
constexpr unsigned kEmptiedPart = 8;

// Guesses the load of records that are not deleted among the first `keys`. Stops looking once it is
// more than `enough`.
Load live_load(BorderPage* page, unsigned keys, const Load& enough) {
  Load load;
  for (unsigned i = 0; i < keys; ++i) {
    if (load.keys > enough.keys || load.record_bytes > enough.record_bytes) break;
    const Slot slot = page->slot(i);
    if (!slot.is_layer() && page->record(slot)->load_tid().is_deleted()) continue;
    load = load + Load{slot.record_bytes(), 1};
  }
  return load;
}

// Returns the largest load that two pages together may have to be merged.
Load merged_load(MergeInto into) {
  const unsigned eighths = into == MergeInto::kOnePage ? kMergedEighths : 2 * kSharedEighths;
  return {BorderPage::kBodyBytes / 8 * eighths, BorderPage::kKeysMax / 8 * eighths};
}

bool could_merge(const Load& both, MergeInto into) {
  if (into == MergeInto::kOnePage) return both.fits(kMergedEighths);
  const unsigned half = (both.keys + 1) / 2;
  return Load{both.record_bytes / 2, half}.fits(kSharedEighths);
}

class Merge {
 public:
  Merge(occ::TxnContext& ctx, MovingPage* page, BorderPage* neighbour, const Need& need)
      : ctx_(ctx),
        need_(need),
        other_(ctx, neighbour),
        left_(page->page()->low < neighbour->low ? page : &other_),
        right_(left_ == page ? &other_ : page) {}

  // Merges the pages. REQUIRES: the locks of both pages, and of the page's records.
  bool run(BorderPage* minor, BorderPage* major);

 private:
  const MovingPage::Live& live(unsigned index) const {
    const unsigned left = left_->live_count();
    return index < left ? left_->live()[index] : right_->live()[index - left];
  }
  Load needed() const { return {need_.bytes, need_.bytes == 0 ? 0u : 1u}; }
  bool choose_boundary();
  void fill(BorderPage* to, unsigned begin, unsigned end);
  void set_successors(MovingPage* page);
  void publish();

  occ::TxnContext& ctx_;
  const Need& need_;
  MovingPage other_;
  MovingPage* const left_;
  MovingPage* const right_;
  BorderPage* minor_ = nullptr;
  BorderPage* major_ = nullptr;  // null: one page
  std::uint64_t boundary_ = 0;   // first slice of major_
  unsigned minor_count_ = 0;     // live records that go to minor_
};

// Chooses the boundary between two new pages. False: there is none that suits.
bool Merge::choose_boundary() {
  const Load all = left_->load() + right_->load();
  std::uint32_t best_bytes = ~std::uint32_t{0};
  Load before;
  for (unsigned i = 0; i < all.keys; ++i) {
    if (i != 0 && live(i).slice != live(i - 1).slice) {
      Load minor = before;
      Load major{all.record_bytes - before.record_bytes, all.keys - before.keys};
      Load& side = need_.slice < live(i).slice ? minor : major;
      side = side + needed();
      const std::uint32_t larger = std::max(minor.body_bytes(), major.body_bytes());
      const bool suits = minor.fits(kMergedEighths) && major.fits(kMergedEighths);
      if (suits && larger < best_bytes) {
        best_bytes = larger;
        boundary_ = live(i).slice;
        minor_count_ = i;
      }
    }
    before = before + Load{live(i).bytes, 1};
  }
  return best_bytes != ~std::uint32_t{0};
}

void Merge::fill(BorderPage* to, unsigned begin, unsigned end) {
  const unsigned left = left_->live_count();
  left_->copy_records(to, std::min(begin, left), std::min(end, left));
  right_->copy_records(to, std::max(begin, left) - left, std::max(end, left) - left);
  left_->complete(to);
  right_->complete(to);
}

void Merge::set_successors(MovingPage* page) {
  if (major_ == nullptr || page->page()->last < boundary_) {
    page->set_successors(minor_, nullptr);
  } else if (page->page()->low >= boundary_) {
    page->set_successors(major_, nullptr);
  } else {
    page->set_successors(minor_, major_);
  }
}

// Publishes the new pages (M16, M9).
void Merge::publish() {
  give_birth(minor_, moves::kNotBorn);
  if (major_ != nullptr) give_birth(major_, moves::kNotBorn);
  set_successors(left_);
  set_successors(right_);
  FOEDUS_SYNC_POINT("masstree:merge_successors_set");
  left_->mark_records();
  FOEDUS_SYNC_POINT("masstree:merge_half_marked");
  right_->mark_records();
  FOEDUS_SYNC_POINT("masstree:merge_records_moved");
  left_->mark_page();
  FOEDUS_SYNC_POINT("masstree:merge_half_moved");
  right_->mark_page();
  FOEDUS_SYNC_POINT("masstree:merge_moved");
  const moves::Birth stamp = moves::birth_now(ctx_, left_->hides_own() || right_->hides_own());
  give_birth(minor_, stamp);
  if (major_ != nullptr) give_birth(major_, stamp);
}

bool Merge::run(BorderPage* minor, BorderPage* major) {
  Change closed;
  if (!other_.begin(&closed) || !other_.lock_records(kRecordSpins)) return false;
  other_.collect(need_);
  minor_ = minor;
  major_ = major;
  const Load all = left_->load() + right_->load();
  bool merges = major == nullptr ? (all + needed()).fits(kMergedEighths) : choose_boundary();
  if (merges) {
    LockedParent parent(need_.parent, left_->page(), right_->page());
    merges = parent.is_theirs();
    if (merges) {
      const occ::LockGuard minor_guard(&minor->header.lock);
      set_range(minor, left_->page()->low, major == nullptr ? right_->page()->last : boundary_ - 1);
      fill(minor, 0, major == nullptr ? all.keys : minor_count_);
      if (major == nullptr) {
        publish();
        parent.replace_by_one(minor);
      } else {
        const occ::LockGuard major_guard(&major->header.lock);
        set_range(major, boundary_, right_->page()->last);
        fill(major, minor_count_, all.keys);
        publish();
        parent.replace_by_two(minor, major);
      }
      FOEDUS_SYNC_POINT("masstree:merged");
    }
  }
  other_.unlock_records();
  return merges;
}

}  // namespace

BorderPage* neighbour_for(page::PagePool& pool, InteriorPage* parent, BorderPage* page,
                          const Load& load, MergeInto into) {
  BorderPage* best = nullptr;
  std::uint32_t best_bytes = ~std::uint32_t{0};
  Load enough = merged_load(into);
  enough.record_bytes -= std::min(enough.record_bytes, load.body_bytes());
  enough.keys -= std::min(enough.keys, load.keys);
  for (const bool right : {true, false}) {
    TreePage* const found = neighbour_of(pool, parent, page, right);
    if (found == nullptr) continue;
    BorderPage* const neighbour = BorderPage::of(found);
    const unsigned keys = neighbour->header.load_version().keys();
    const Load both = load + live_load(neighbour, keys, enough);
    if (!could_merge(both, into) || both.record_bytes >= best_bytes) continue;
    best = neighbour;
    best_bytes = both.record_bytes;
  }
  return best;
}

bool merge(occ::TxnContext& ctx, occ::StorageControl* control, MovingPage* page,
           BorderPage* neighbour, const Need& need, BorderPage* minor, BorderPage* major) {
  FOEDUS_SYNC_POINT("masstree:merge_searched");
  {
    const TriedLock lock(neighbour);
    if (!lock.held()) return false;
    if (!Merge(ctx, page, neighbour, need).run(minor, major)) return false;
  }
  retire(ctx, control, page->page());
  retire(ctx, control, neighbour);
  return true;
}

namespace {

// Merges the page with a neighbour if it is as good as empty, and returns the merged page. Null:
// both stay as they are.
BorderPage* merge_once_emptied(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                               const Need& need) {
  const unsigned keys = page->header.load_version().keys();
  const unsigned keys_max = keys / kEmptiedPart + 1;
  const Load load = live_load(page, keys, {BorderPage::kBodyBytes, keys_max});
  if (load.keys > keys_max) return nullptr;
  BorderPage* const neighbour =
      neighbour_for(ctx.pool(), need.parent, page, load, MergeInto::kOnePage);
  if (neighbour == nullptr) return nullptr;
  ctx.reserve_moves(2 * BorderPage::kKeysMax);
  BorderPage* const merged = make_border(ctx.pool(), ctx.pages(), control, page->header.layer);
  if (merged == nullptr) return nullptr;
  FOEDUS_SYNC_POINT("masstree:emptied_searched");
  bool done = false;
  {
    const TriedLock lock(page);
    MovingPage from(ctx, page);
    Change closed;
    if (lock.held() && from.begin(&closed) && from.lock_records(kRecordSpins)) {
      from.collect(need);
      done = merge(ctx, control, &from, neighbour, need, merged, nullptr);
      from.unlock_records();
    }
  }
  if (done) return merged;
  discard(ctx, control, merged);
  return nullptr;
}

}  // namespace

void merge_emptied(occ::TxnContext& ctx, occ::StorageControl* control,
                   const KeyPosition& position) {
  if (position.at.parent == nullptr) return;
  Need need;
  need.slice = position.slice;
  need.parent = position.at.parent;
  need.layer = position.layer;
  // A page that two empty pages became looks for the next neighbour. The last child of an interior
  // page has no neighbour any more when it is emptied, and no session comes back to it. It gets a
  // neighbour when interior pages are merged, and is then merged with that one here.
  BorderPage* page = position.at.page;
  while (BorderPage* const merged = merge_once_emptied(ctx, control, page, need)) page = merged;
  if (page != position.at.page) merge_interior(ctx, control, need.layer, need.parent);
}

}  // namespace foedus::storage::masstree
