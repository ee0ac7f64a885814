// A border page moves: to foster twins, or to one page in its place (paper §8.2; M3, M4).
//
//   M11  Deleted records that nobody has locked stay behind, except those that this transaction
//        writes. The twins' purged_tid is at least their TIDs (P7).
#include <array>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/masstree/masstree_change.h"

namespace foedus::storage::masstree {

namespace {

// How long each record's lock is tried for (O1).
constexpr unsigned kRecordSpins = 1000;
// A page that is not fuller than this without its deleted records is replaced, not split. A lower
// bound copies less often, but random erasures leave ever emptier pages (experiments/churn).
constexpr std::uint32_t kReplaceBytes = BorderPage::kBodyBytes / 8 * 7;
constexpr unsigned kReplaceKeys = BorderPage::kKeysMax / 8 * 7;
// The same for a page of which one record needs more room.
constexpr std::uint32_t kReplaceGrownBytes = BorderPage::kBodyBytes / 4 * 3;

// Body bytes of so many records with this footprint.
constexpr std::uint32_t body_bytes(std::uint32_t record_bytes, unsigned count) {
  return record_bytes + BorderPage::directory_bytes(count);
}

class Reorganization {
 public:
  Reorganization(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                 const Need& need)
      : ctx_(ctx), control_(control), page_(page), need_(need) {}

  Change run();

 private:
  // A record that goes along.
  struct Live {
    std::uint64_t slice;
    std::uint32_t bytes;         // in the new page
    std::uint32_t bytes_before;  // of those with smaller keys
    std::uint32_t capacity;
    std::uint8_t key_class;
    std::uint8_t index;  // in the old page
  };
  // Records [0, left) and slices below `slice` go to the minor twin.
  struct Boundary {
    std::uint64_t slice = 0;
    unsigned left = 0;
    std::uint32_t larger_bytes = ~std::uint32_t{0};  // of the fuller side, the new record included
  };

  bool lock_records();
  void unlock_records(unsigned count);
  void collect();
  void drop_growth();
  bool wants_one_page() const;
  Boundary consider(const Boundary& best, std::uint64_t slice, unsigned begin) const;
  Boundary choose_boundary();
  bool is_descending() const;
  bool ends_run(unsigned smaller) const;
  void copy_records(BorderPage* to, unsigned begin, unsigned end);
  bool stays_whole(const Boundary& boundary) const;
  void copy_whole(BorderPage* to);
  void complete(BorderPage* to, page::PageVersion birth);
  void publish(bool one_page);

  occ::TxnContext& ctx_;
  occ::StorageControl* const control_;
  BorderPage* const page_;
  Need need_;
  BorderPage* minor_ = nullptr;
  BorderPage* major_ = nullptr;
  page::PageVersion version_;
  unsigned keys_ = 0;
  unsigned live_count_ = 0;
  std::uint32_t live_bytes_ = 0;
  std::uint64_t purged_tid_ = 0;
  std::array<Live, BorderPage::kKeysMax> live_;
  // What to unlock each record with; null: its lock is and stays this transaction's.
  std::array<occ::LockWaiter*, BorderPage::kKeysMax> holders_;
  std::array<occ::LockWaiter, BorderPage::kKeysMax> waiters_;
};

bool Reorganization::lock_records() {
  for (unsigned i = 0; i < keys_; ++i) {
    page::RecordHeader* const record = page_->record(i);
    holders_[i] = nullptr;
    if (ctx_.holds(record)) continue;
    if (!occ::try_lock_for(&record->lock, &waiters_[i], kRecordSpins)) {
      unlock_records(i);
      return false;
    }
    holders_[i] = &waiters_[i];
  }
  return true;
}

void Reorganization::unlock_records(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (holders_[i] != nullptr) occ::unlock(&page_->record(i)->lock, holders_[i]);
  }
}

// Fills live_, ascending. REQUIRES: all records are locked.
void Reorganization::collect() {
  purged_tid_ = page_->header.purged_tid;
  for (unsigned i = 0; i < keys_; ++i) {
    const Slot slot = page_->slot(i);
    page::RecordHeader* const record = page_->record(slot);
    const page::Tid tid = record->load_tid();
    const bool purge = need_.deleted == Deleted::kPurge && tid.is_deleted() && !slot.is_layer() &&
                       holders_[i] != nullptr && i != need_.grown_index &&
                       !ctx_.write_set().contains(record);
    if (purge) {
      purged_tid_ = std::max(purged_tid_, tid.without(page::Tid::kFlags).word());
      continue;
    }
    Live& live = live_[live_count_++];
    live.slice = page_->slice(i);
    live.capacity = slot.is_layer() ? kCapacityMin : slot.capacity();
    if (i == need_.grown_index) live.capacity = std::max(live.capacity, need_.grown_capacity);
    live.bytes = footprint(slot.is_layer() ? 0 : slot.remainder_bytes(), live.capacity);
    live.key_class = static_cast<std::uint8_t>(slot.key_class());
    live.index = static_cast<std::uint8_t>(i);
    live_bytes_ += live.bytes;
  }
  // order: relaxed, written under the lock that we hold.
  if (page_->sorted_keys.load_relaxed() == keys_) return;
  std::sort(live_.begin(), live_.begin() + live_count_, [](const Live& a, const Live& b) {
    return a.slice != b.slice ? a.slice < b.slice : a.key_class < b.key_class;
  });
}

// The record will grow in a page of its own half; this split only makes room.
void Reorganization::drop_growth() {
  for (unsigned i = 0; i < live_count_; ++i) {
    Live& live = live_[i];
    if (live.index != need_.grown_index) continue;
    const std::uint32_t capacity = page_->slot(live.index).capacity();
    live.bytes -= live.capacity - capacity;
    live_bytes_ -= live.capacity - capacity;
    live.capacity = capacity;
  }
}

bool Reorganization::wants_one_page() const {
  if (live_count_ == 0) return true;
  if (need_.grown_index != BorderPage::kNone) {
    return body_bytes(live_bytes_, live_count_) <= kReplaceGrownBytes;
  }
  return body_bytes(live_bytes_ + need_.bytes, live_count_ + 1) <= kReplaceBytes &&
         live_count_ < kReplaceKeys;
}

bool Reorganization::is_descending() const {
  for (unsigned i = 1; i < keys_; ++i) {
    if (page_->slice(i - 1) <= page_->slice(i)) return false;
  }
  return true;
}

Reorganization::Boundary Reorganization::consider(const Boundary& best, std::uint64_t slice,
                                                  unsigned begin) const {
  if (slice <= page_->low || slice > page_->last) return best;
  unsigned left = begin;
  std::uint32_t left_bytes = begin < live_count_ ? live_[begin].bytes_before : live_bytes_;
  std::uint32_t right_bytes = live_bytes_ - left_bytes;
  unsigned right = live_count_ - left;
  if (need_.bytes != 0) {
    (need_.slice < slice ? left_bytes : right_bytes) += need_.bytes;
    (need_.slice < slice ? left : right) += 1;
  }
  const std::uint32_t larger =
      std::max(body_bytes(left_bytes, left), body_bytes(right_bytes, right));
  return larger < best.larger_bytes ? Boundary{slice, begin, larger} : best;
}

// Whether the new key, behind so many smaller ones, follows the one that was inserted last: keys
// that ascend in front of others, as the orders of one district do. The run gets a page of its own,
// to end in; a boundary at the new key would take the others along, split after split.
bool Reorganization::ends_run(unsigned smaller) const {
  return smaller > 0 && smaller < live_count_ && live_[smaller - 1].index == keys_ - 1 &&
         live_[smaller].slice > need_.slice &&
         body_bytes(live_[smaller].bytes_before + need_.bytes, smaller + 1) <=
             BorderPage::kBodyBytes;
}

// larger_bytes stays at its maximum if there is no boundary at all.
Reorganization::Boundary Reorganization::choose_boundary() {
  const bool inserts = need_.grown_index == BorderPage::kNone;
  const std::uint64_t least = live_[0].slice;
  const std::uint64_t greatest = live_[live_count_ - 1].slice;
  // order: relaxed, written under the lock that we hold.
  if (inserts && need_.slice > greatest && page_->sorted_keys.load_relaxed() == keys_) {
    return {need_.slice, live_count_, 0};  // ascending inserts leave full pages behind
  }
  if (inserts && need_.slice < least && is_descending()) return {least, 0, 0};

  std::uint32_t bytes_before = 0;
  for (unsigned i = 0; i < live_count_; ++i) {
    live_[i].bytes_before = bytes_before;
    bytes_before += live_[i].bytes;
  }
  unsigned smaller = live_count_;
  while (smaller > 0 && live_[smaller - 1].slice >= need_.slice) --smaller;
  if (inserts && ends_run(smaller)) return {live_[smaller].slice, smaller, 0};
  Boundary best;
  for (unsigned i = 0; i < live_count_; ++i) {
    if (i != 0 && live_[i].slice == live_[i - 1].slice) continue;
    const bool useless = i == 0 && (!inserts || need_.slice >= least);
    if (!useless) best = consider(best, live_[i].slice, i);
  }
  if (inserts && need_.slice > least) best = consider(best, need_.slice, smaller);
  return best;
}

void Reorganization::copy_records(BorderPage* to, unsigned begin, unsigned end) {
  unsigned keys = 0;
  unsigned layers = 0;
  for (unsigned i = begin; i < end; ++i) {
    const Live& live = live_[i];
    const Slot slot = page_->slot(live.index);
    page::RecordHeader* const from = page_->record(slot);
    NewRecord record;
    record.slice = live.slice;
    record.key_bytes = slot.is_layer() ? Slot::kLayerKeyBytes : slot.key_bytes();
    if (!slot.is_layer()) record.remainder = page_->remainder(slot);
    record.capacity = live.capacity;
    record.tid = from->load_tid();
    record.payload_field = slot.is_layer() ? Slot::kLayer : slot.payload_field();
    const Slot copied = lay_record(to, keys, record);
    copy_payload(page_, slot, to, copied);
    // The lock of a record that this transaction holds goes along; the old one is free to go then.
    occ::LockWaiter* const holder = move_own(ctx_, from, to->record(copied), keys);
    if (holder != nullptr) holders_[live.index] = holder;
    ++keys;
    if (slot.is_layer()) ++layers;
  }
  complete(to, page::PageVersion(keys, layers));
}

// Ascending inserts: all records go to the minor twin, and lie there as they do here.
bool Reorganization::stays_whole(const Boundary& boundary) const {
  return boundary.left == keys_ && version_.layers() == 0 &&
         need_.grown_index == BorderPage::kNone && boundary.larger_bytes == 0;
}

void Reorganization::copy_whole(BorderPage* to) {
  // order: relaxed, this page's under its lock, the other one unreachable.
  to->sorted_keys.store_relaxed(page_->sorted_keys.load_relaxed());
  to->heap_begin = page_->heap_begin;
  base::racy_read(to->body, page_->body, BorderPage::directory_bytes(keys_));
  // Others may be queueing up for the records' locks.
  base::racy_read(to->at(to->heap_begin), page_->at(to->heap_begin),
                  page::kPageBytes - to->heap_begin);
  for (unsigned i = 0; i < keys_; ++i) {
    page::RecordHeader* const copied = to->record(i);
    copied->lock.store_relaxed(0);  // order: relaxed, unreachable
    occ::LockWaiter* const holder = move_own(ctx_, page_->record(i), copied, i);
    if (holder != nullptr) holders_[i] = holder;
  }
  complete(to, page::PageVersion(keys_, 0));
}

void Reorganization::complete(BorderPage* to, page::PageVersion birth) {
  to->header.layer = page_->header.layer;
  to->header.purged_tid = purged_tid_;
  to->header.last_soc.store_relaxed(page_->header.last_soc.load_relaxed());  // order: statistics
  to->header.birth_version = birth.word();
  to->header.store_version(birth);
}

// M4.
void Reorganization::publish(bool one_page) {
  // order: release, pairs with twin_of(): the twins are complete.
  page_->foster_major.store_release(one_page ? 0 : major_->header.page_id);
  page_->foster_minor.store_release(minor_->header.page_id);
  FOEDUS_SYNC_POINT("masstree:split_twins_set");
  for (unsigned i = 0; i < keys_; ++i) {
    page::RecordHeader* const record = page_->record(i);
    // order: release, so that who sees the flag sees the foster words; P2: all are locked.
    record->tid.store_release(record->load_tid().with(page::Tid::kMoved).word());
  }
  FOEDUS_SYNC_POINT("masstree:split_records_moved");
  page_->header.store_version(version_.with(page::PageVersion::kMoved));
  FOEDUS_SYNC_POINT("masstree:split_page_moved");
}

Change Reorganization::run() {
  const BirthStamp stamp(ctx_.clock().current(), ctx_.session());
  minor_ = make_border(ctx_.pool(), ctx_.pages(), control_, page_->header.layer, stamp);
  major_ = make_border(ctx_.pool(), ctx_.pages(), control_, page_->header.layer, stamp);
  const auto give_up = [this](Change change) {
    discard(ctx_, control_, minor_);
    discard(ctx_, control_, major_);
    return change;
  };
  if (minor_ == nullptr || major_ == nullptr) return give_up(Change::kNoPage);

  occ::LockGuard guard(&page_->header.lock);
  version_ = page_->header.load_version();
  Change closed;
  if (is_closed(version_, &closed)) return give_up(closed);
  keys_ = version_.keys();
  if (!lock_records()) return give_up(Change::kBusy);
  FOEDUS_SYNC_POINT("masstree:split_locked");
  collect();

  bool one_page = wants_one_page();
  Boundary boundary;
  if (!one_page) {
    boundary = choose_boundary();
    if (boundary.larger_bytes > BorderPage::kBodyBytes &&
        need_.grown_index != BorderPage::kNone && live_[0].slice != live_[live_count_ - 1].slice) {
      drop_growth();
      boundary = choose_boundary();
    }
    one_page = boundary.slice == 0;  // all of one slice
  }
  if (one_page) {
    set_range(minor_, page_->low, page_->last);
    // Who knows the founder's record as no layer may still go by the count (is_unchanged()).
    if (page_->is_founder() && version_.counts() == page_->birth() && live_count_ == 1) {
      minor_->header.flags = BorderPage::kFounder;
    }
    copy_records(minor_, 0, live_count_);
  } else {
    set_range(minor_, page_->low, boundary.slice - 1);
    set_range(major_, boundary.slice, page_->last);
    if (stays_whole(boundary)) {
      copy_whole(minor_);
    } else {
      copy_records(minor_, 0, boundary.left);
    }
    copy_records(major_, boundary.left, live_count_);
  }
  publish(one_page);
  unlock_records(keys_);
  if (one_page) discard(ctx_, control_, major_);
  return Change::kDone;
}

}  // namespace

Change reorganize(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                  const Need& need) {
  const Change change = Reorganization(ctx, control, page, need).run();
  if (change == Change::kDone) FOEDUS_SYNC_POINT("masstree:split_done");
  return change;
}

}  // namespace foedus::storage::masstree
