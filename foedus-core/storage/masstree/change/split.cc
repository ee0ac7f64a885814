// A border page moves: to foster twins, or to one page in its place (paper §8.2; M3, M4). If it
// fits into one page with a neighbour, or the neighbour has room for what it has too much, both
// move (M16).
#include "foedus-core/storage/masstree/change/split.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/merge_interior.h"
#include "foedus-core/storage/masstree/change/move.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/moves/after_marks.h"

namespace foedus::storage::masstree {

namespace {

// A page that is not fuller than this without its deleted records is replaced, not split. A lower
// bound copies less often, but random erasures leave emptier pages (experiments/churn).
constexpr unsigned kReplaceEighths = 7;
// The limit for a replacement page in which one record gets more room.
constexpr std::uint32_t kReplaceGrownBytes = BorderPage::kBodyBytes / 4 * 3;
// A page that is not fuller than this looks for a neighbour to become one page with.
constexpr unsigned kMergeEighths = 5;

class Reorganization {
 public:
  Reorganization(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                 const Need& need)
      : ctx_(ctx), control_(control), page_(page), from_(ctx, page), need_(need) {}

  Change run();
  bool has_merged() const { return has_merged_; }

 private:
  // Records [0, left) and slices below `slice` go to the minor twin.
  struct Boundary {
    std::uint64_t slice = 0;
    unsigned left = 0;
    std::uint32_t larger_bytes = ~std::uint32_t{0};  // of the fuller side, the new record included
  };

  bool inserts() const { return need_.grown_index == BorderPage::kNone; }
  // Returns the load of the records that are not purged, and of the new record.
  Load load() const { return from_.load() + Load{need_.bytes, inserts() ? 1u : 0u}; }
  bool may_grow() const;
  bool wants_one_page() const;
  bool is_descending() const;
  bool ends_run(unsigned smaller) const;
  Boundary consider(const Boundary& best, std::uint64_t slice, unsigned begin) const;
  Boundary choose_boundary();
  Boundary choose_fitting_boundary();
  bool try_merge(MergeInto into);
  void fill_one();
  void fill_twins(const Boundary& boundary);
  void publish(bool one_page);

  occ::TxnContext& ctx_;
  occ::StorageControl* const control_;
  BorderPage* const page_;
  MovingPage from_;
  const Need need_;
  BorderPage* minor_ = nullptr;
  BorderPage* major_ = nullptr;
  bool has_merged_ = false;
  bool is_full_run_ = false;
};

// Returns whether the record that is to grow still may (M5). The caller checked that without the
// page's lock, and keys of the same slice may have come since.
bool Reorganization::may_grow() const {
  const Slot slot = page_->slot(need_.grown_index);
  return !slot.is_layer() &&
         need_.grown_capacity <= crowded_capacity(page_, from_.keys(), need_.slice,
                                                  slot.key_bytes(), need_.grown_index);
}

bool Reorganization::wants_one_page() const {
  if (from_.live_count() == 0) return true;
  if (!inserts()) return load().body_bytes() <= kReplaceGrownBytes;
  return load().fits(kReplaceEighths);
}

bool Reorganization::is_descending() const {
  for (unsigned i = 1; i < from_.keys(); ++i) {
    if (page_->slice(i - 1) <= page_->slice(i)) return false;
  }
  return true;
}

// Returns whether the new key, which comes after `smaller` keys, directly follows the key that was
// inserted last. If so, keys ascend in front of greater ones, as the orders of one district do in
// front of those of the next. Then the boundary is after the new key, so that this run of keys has
// the end of a page. A boundary before it would copy the greater keys again at every split.
bool Reorganization::ends_run(unsigned smaller) const {
  if (smaller == 0 || smaller == from_.live_count()) return false;
  const MovingPage::Live& before = from_.live()[smaller - 1];
  const MovingPage::Live& behind = from_.live()[smaller];
  const Load run{behind.bytes_before + need_.bytes, smaller + 1};
  return before.index == from_.keys() - 1 && behind.slice > need_.slice &&
         run.body_bytes() <= BorderPage::kBodyBytes;
}

Reorganization::Boundary Reorganization::consider(const Boundary& best, std::uint64_t slice,
                                                  unsigned begin) const {
  if (slice <= page_->low || slice > page_->last) return best;
  const Load& all = from_.load();
  Load left{all.record_bytes, begin};
  if (begin < all.keys) left.record_bytes = from_.live()[begin].bytes_before;
  Load right{all.record_bytes - left.record_bytes, all.keys - begin};
  if (need_.bytes != 0) {
    Load& side = need_.slice < slice ? left : right;
    side = side + Load{need_.bytes, 1};
  }
  const std::uint32_t larger = std::max(left.body_bytes(), right.body_bytes());
  return larger < best.larger_bytes ? Boundary{slice, begin, larger} : best;
}

// Chooses a boundary. larger_bytes stays at its maximum if there is no boundary at all, and is 0 if
// the boundary follows an order that keys come in.
Reorganization::Boundary Reorganization::choose_boundary() {
  const auto& live = from_.live();
  const unsigned count = from_.live_count();
  const std::uint64_t least = live[0].slice;
  const std::uint64_t greatest = live[count - 1].slice;
  // order: relaxed. The word is written under the page's lock, which the calling session holds.
  const bool is_sorted = page_->sorted_keys.load_relaxed() == from_.keys();
  if (inserts() && need_.slice > greatest && is_sorted) {
    return {need_.slice, count, 0};  // ascending inserts leave full pages behind
  }
  if (inserts() && need_.slice < least && is_descending()) return {least, 0, 0};

  from_.add_up();
  unsigned smaller = count;
  while (smaller > 0 && live[smaller - 1].slice >= need_.slice) --smaller;
  if (inserts() && ends_run(smaller)) return {live[smaller].slice, smaller, 0};
  Boundary best;
  for (unsigned i = 0; i < count; ++i) {
    if (i != 0 && live[i].slice == live[i - 1].slice) continue;
    const bool useless = i == 0 && (!inserts() || need_.slice >= least);
    if (!useless) best = consider(best, live[i].slice, i);
  }
  if (inserts() && need_.slice > least) best = consider(best, need_.slice, smaller);
  return best;
}

// Chooses a boundary. If a record is to grow and no boundary makes room for that, chooses one as if
// the record kept its size. The record grows in a later move of its half.
Reorganization::Boundary Reorganization::choose_fitting_boundary() {
  const Boundary boundary = choose_boundary();
  const bool one_slice = from_.live()[0].slice == from_.live()[from_.live_count() - 1].slice;
  if (boundary.larger_bytes <= BorderPage::kBodyBytes || inserts() || one_slice) return boundary;
  from_.drop_growth(need_.grown_index);
  return choose_boundary();
}

bool Reorganization::try_merge(MergeInto into) {
  if (!inserts() || need_.parent == nullptr) return false;
  BorderPage* const neighbour = neighbour_for(ctx_.pool(), need_.parent, page_, load(), into);
  if (neighbour == nullptr) return false;
  BorderPage* const major = into == MergeInto::kOnePage ? nullptr : major_;
  has_merged_ = merge(ctx_, control_, &from_, neighbour, need_, minor_, major);
  return has_merged_;
}

void Reorganization::fill_one() {
  set_range(minor_, page_->low, page_->last);
  // A transaction that saw the record before it became a layer verifies by the count at birth of
  // the layer's anchor (is_unchanged()). The new page has the one record of that birth, so it is
  // the anchor from now on.
  if (page_->is_layer_anchor() && from_.version().counts() == page_->birth() &&
      from_.live_count() == 1) {
    minor_->header.flags = BorderPage::kLayerAnchor;
  }
  from_.copy_records(minor_, 0, from_.live_count());
  from_.complete(minor_);
}

void Reorganization::fill_twins(const Boundary& boundary) {
  set_range(minor_, page_->low, boundary.slice - 1);
  set_range(major_, boundary.slice, page_->last);
  if (is_full_run_) {
    from_.copy_whole(minor_);
    from_.copy_records(major_, 0, 0);
  } else {
    from_.copy_records(minor_, 0, boundary.left);
    from_.copy_records(major_, boundary.left, from_.live_count());
  }
  from_.complete(minor_);
  from_.complete(major_);
}

// Publishes the successors (M4, M9).
void Reorganization::publish(bool one_page) {
  give_birth(minor_, moves::kNotBorn);
  if (!one_page) give_birth(major_, moves::kNotBorn);
  from_.set_successors(minor_, one_page ? nullptr : major_);
  FOEDUS_SYNC_POINT("masstree:split_twins_set");
  from_.mark_records();
  FOEDUS_SYNC_POINT("masstree:split_records_moved");
  from_.mark_page();
  FOEDUS_SYNC_POINT("masstree:split_page_moved");
  const moves::Birth stamp = moves::birth_now(ctx_, from_.hides_own());
  give_birth(minor_, stamp);
  if (!one_page) give_birth(major_, stamp);
}

Change Reorganization::run() {
  ctx_.reserve_moves(2 * BorderPage::kKeysMax);  // with those of a neighbour
  minor_ = make_border(ctx_.pool(), ctx_.pages(), control_, page_->header.layer);
  major_ = make_border(ctx_.pool(), ctx_.pages(), control_, page_->header.layer);
  const auto give_up = [this](Change change) {
    discard(ctx_, control_, minor_);
    discard(ctx_, control_, major_);
    return change;
  };
  if (minor_ == nullptr || major_ == nullptr) return give_up(Change::kNoPage);

  occ::LockGuard guard(&page_->header.lock);
  Change closed;
  if (!from_.begin(&closed)) return give_up(closed);
  if (!inserts() && !may_grow()) return give_up(Change::kAgain);
  if (!from_.lock_records(occ::kTriesLong)) return give_up(Change::kBusy);
  FOEDUS_SYNC_POINT("masstree:split_locked");
  is_full_run_ = inserts() && from_.is_full_run(need_.slice);
  if (!is_full_run_) from_.collect(need_);

  bool one_page = !is_full_run_ && wants_one_page();
  Boundary boundary;
  if (is_full_run_) {
    boundary = {need_.slice, from_.keys(), 0};  // ascending inserts leave full pages behind
  } else if (one_page) {
    if (load().fits(kMergeEighths)) try_merge(MergeInto::kOnePage);
  } else {
    boundary = choose_fitting_boundary();
    one_page = boundary.slice == 0;  // all of one slice
    if (!one_page && boundary.larger_bytes != 0) try_merge(MergeInto::kTwoPages);
  }
  if (!has_merged_) {
    if (one_page) {
      fill_one();
    } else {
      fill_twins(boundary);
    }
    publish(one_page);
  }
  from_.unlock_records();
  if (one_page) discard(ctx_, control_, major_);
  return Change::kDone;
}

}  // namespace

Change reorganize(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                  const Need& need) {
  Reorganization reorganization(ctx, control, page, need);
  const Change change = reorganization.run();
  if (change == Change::kDone) FOEDUS_SYNC_POINT("masstree:split_done");
  if (reorganization.has_merged()) merge_interior(ctx, control, need.layer, need.parent);
  return change;
}

}  // namespace foedus::storage::masstree
