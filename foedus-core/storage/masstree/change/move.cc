// The common steps of moves of border pages.
//
//   M11  Deleted records that no transaction has locked are left out of the new pages, except those
//        that this transaction writes. The new pages' purged_tid is at least their TIDs (P7).
#include "foedus-core/storage/masstree/change/move.h"

#include <new>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/change/split.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

bool MovingPage::begin(Change* closed) {
  version_ = page_->header.load_version();
  keys_ = version_.keys();
  if (is_closed(version_, closed)) return false;
  purged_tid_ = page_->header.purged_tid;
  note_own();
  return true;
}

// Finds the records of the page that this transaction writes, by a walk through the write set: to
// ask for each record would be a search in the write set each time. If the write set is much larger
// than the page, those searches are fewer. (A transaction of very many inserts splits a page for
// some forty of them.)
void MovingPage::note_own() {
  constexpr std::size_t kWritesMax = 2 * BorderPage::kKeysMax;
  own_.reset();
  if (!ctx_.locks().held().is_empty() || ctx_.sets().writes().size() > kWritesMax) {
    own_.set();  // any of them may be: keep_lock() and is_purged() search
    return;
  }
  for (const occ::WriteEntry& entry : ctx_.sets().writes().entries()) {
    if (BorderPage::of_record(entry.record) == page_) own_.set(entry.place);
  }
}

bool MovingPage::lock_records(unsigned spins) {
  for (unsigned i = 0; i < keys_; ++i) {
    page::RecordHeader* const record = page_->record(i);
    holders_[i] = nullptr;
    if (ctx_.locks().holds(record)) continue;
    auto* const waiter = new (waiters_ + i * sizeof(occ::LockWaiter)) occ::LockWaiter;
    if (!occ::try_lock_for(&record->lock, waiter, spins)) {
      unlock_records(i);
      return false;
    }
    holders_[i] = waiter;
  }
  return true;
}

void MovingPage::unlock_records(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (holders_[i] != nullptr) occ::unlock(&page_->record(i)->lock, holders_[i]);
  }
}

bool MovingPage::is_purged(unsigned index, Slot slot, page::Tid tid) const {
  return tid.is_deleted() && !slot.is_layer() && holders_[index] != nullptr &&
         !(own_[index] && ctx_.sets().writes().contains(page_->record(slot)));
}

bool MovingPage::is_full_run(std::uint64_t slice) const {
  // order: relaxed, written under the page lock, which the caller holds.
  if (keys_ == 0 || page_->sorted_keys.load_relaxed() != keys_) return false;
  if (version_.layers() != 0 || page_->slice(keys_ - 1) >= slice) return false;
  for (unsigned i = 0; i < keys_; ++i) {
    const Slot slot = page_->slot(i);
    if (is_purged(i, slot, page_->record(slot)->load_tid())) return false;
  }
  return true;
}

void MovingPage::collect(const Need& need) {
  for (unsigned i = 0; i < keys_; ++i) {
    const Slot slot = page_->slot(i);
    const page::Tid tid = page_->record(slot)->load_tid();
    const bool grows = i == need.grown_index;
    if (!grows && is_purged(i, slot, tid)) {
      purged_tid_ = std::max(purged_tid_, tid.without(page::Tid::kFlags).word());
      continue;
    }
    Live& live = live_[load_.keys++];
    live.slice = page_->slice(i);
    live.capacity = slot.is_layer() ? kCapacityMin : slot.capacity();
    if (grows) live.capacity = std::max(live.capacity, need.grown_capacity);
    live.bytes = footprint(slot.is_layer() ? 0 : slot.remainder_bytes(), live.capacity);
    live.key_class = static_cast<std::uint8_t>(slot.key_class());
    live.index = static_cast<std::uint8_t>(i);
    load_.record_bytes += live.bytes;
  }
  // order: relaxed. The word is written under the page's lock, which the calling session holds.
  if (page_->sorted_keys.load_relaxed() == keys_) return;
  std::sort(live_.begin(), live_.begin() + load_.keys, [](const Live& a, const Live& b) {
    return a.slice != b.slice ? a.slice < b.slice : a.key_class < b.key_class;
  });
}

void MovingPage::drop_growth(unsigned grown_index) {
  for (unsigned i = 0; i < load_.keys; ++i) {
    Live& live = live_[i];
    if (live.index != grown_index) continue;
    const std::uint32_t capacity = page_->slot(live.index).capacity();
    live.bytes -= live.capacity - capacity;
    load_.record_bytes -= live.capacity - capacity;
    live.capacity = capacity;
  }
}

void MovingPage::add_up() {
  std::uint32_t bytes_before = 0;
  for (unsigned i = 0; i < load_.keys; ++i) {
    live_[i].bytes_before = bytes_before;
    bytes_before += live_[i].bytes;
  }
}

// If this transaction holds the lock of the record, it takes that of the copy instead. The old lock
// is released with those of the other records then.
void MovingPage::keep_lock(unsigned index, page::RecordHeader* copied, unsigned place) {
  if (!own_[index]) return;
  occ::LockWaiter* const holder = move_own(ctx_, page_->record(index), copied, place);
  if (holder != nullptr) holders_[index] = holder;
}

void MovingPage::copy_records(BorderPage* to, unsigned begin, unsigned end) {
  unsigned keys = to->birth().keys();
  unsigned layers = to->birth().layers();
  for (unsigned i = begin; i < end; ++i) {
    const Live& live = live_[i];
    const Slot slot = page_->slot(live.index);
    NewRecord record;
    record.slice = live.slice;
    record.key_bytes = slot.is_layer() ? Slot::kLayerKeyBytes : slot.key_bytes();
    if (!slot.is_layer()) record.remainder = page_->remainder(slot);
    record.capacity = live.capacity;
    record.tid = page_->record(slot)->load_tid();
    record.payload_field = slot.is_layer() ? Slot::kLayer : slot.payload_field();
    const Slot copied = lay_record(to, keys, record);
    copy_payload(page_, slot, to, copied);
    keep_lock(live.index, to->record(copied), keys);
    ++keys;
    if (slot.is_layer()) ++layers;
  }
  to->header.birth_version = page::PageVersion(keys, layers).word();
}

void MovingPage::copy_whole(BorderPage* to) {
  // order: relaxed, this page's under its lock, the other one unreachable.
  to->sorted_keys.store_relaxed(page_->sorted_keys.load_relaxed());
  to->heap_begin = page_->heap_begin;
  base::racy_read(to->body, page_->body, BorderPage::directory_bytes(keys_));
  // Other sessions may write to the records' lock words meanwhile, to queue up for the locks.
  base::racy_read(to->at(to->heap_begin), page_->at(to->heap_begin),
                  page::kPageBytes - to->heap_begin);
  for (unsigned i = 0; i < keys_; ++i) {
    page::RecordHeader* const copied = to->record(i);
    copied->lock.store_relaxed(0);  // order: relaxed, unreachable
    keep_lock(i, copied, i);
  }
  to->header.birth_version = page::PageVersion(keys_, 0).word();
}

void MovingPage::complete(BorderPage* to) const {
  to->header.purged_tid = std::max(to->header.purged_tid, purged_tid_);
  to->header.last_soc.store_relaxed(page_->header.last_soc.load_relaxed());  // order: statistics
  to->header.store_version(to->birth());
}

void MovingPage::set_successors(const BorderPage* minor, const BorderPage* major) {
  // order: release, pairs with twin_of(): the successors are complete.
  page_->foster_major.store_release(major == nullptr ? 0 : major->header.page_id);
  page_->foster_minor.store_release(minor->header.page_id);
}

void MovingPage::mark_records() {
  for (unsigned i = 0; i < keys_; ++i) {
    page::RecordHeader* const record = page_->record(i);
    // order: release: a reader that sees the flag sees the foster words. All records are locked
    // (P2).
    record->tid.store_release(record->load_tid().with(page::Tid::kMoved).word());
  }
}

void MovingPage::mark_page() {
  page_->header.store_version(version_.with(page::PageVersion::kMoved));
}

}  // namespace foedus::storage::masstree
