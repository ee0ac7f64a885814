// Purges rows of a delta that a snapshot covers, and merges its pages (M50, M51).
#include <algorithm>
#include <string>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/masstree/change/adopt.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/move.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/change/split.h"
#include "foedus-core/storage/masstree/install/cold_layer.h"
#include "foedus-core/storage/masstree/install/subtree.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/operations/apply.h"
#include "foedus-core/storage/masstree/operations/delta.h"
#include "foedus-core/storage/masstree/search/cold.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree::delta {

namespace {

// A page is moved if one in this many of its records is deleted, or more.
constexpr unsigned kDeletedPart = 3;
// A tree of more pages is not given up at once: all its locks would be held.
constexpr std::uint64_t kResetPagesMax = 1u << 12;

occ::TxnContext::Resources resources_of(const Installation& installation) {
  occ::TxnContext::Resources resources;
  resources.pool = installation.pool;
  resources.pages = installation.pages;
  resources.clock = installation.clock;
  resources.session = installation.session;
  resources.soc = installation.soc;
  return resources;
}

// Tries the lock of a record. Holds it until the end of the block, also if an exception for lack of
// memory ends the block.
class TriedRecord {
 public:
  explicit TriedRecord(page::RecordHeader* record)
      : word_(&record->lock), held_(occ::try_lock(word_, &waiter_)) {}
  ~TriedRecord() {
    if (held_) occ::unlock(word_, &waiter_);
  }
  TriedRecord(const TriedRecord&) = delete;
  TriedRecord& operator=(const TriedRecord&) = delete;
  bool held() const { return held_; }

 private:
  occ::LockWord* const word_;
  occ::LockWaiter waiter_;
  const bool held_;
};

class Purge {
 public:
  Purge(const Installation& installation, page::SnapshotPageId root, bool is_settled)
      : installation_(installation),
        root_(root),
        is_settled_(is_settled),
        main_(installation.control),
        delta_(main_->delta.get()),
        cold_(installation, 0, root),
        ctx_(resources_of(installation)) {}

  void run();

 private:
  void layer(const std::string& prefix);
  // Purges rows of one page. Returns whether so many of its records are deleted by then that the
  // page is worth moving.
  bool page(const KeyPosition& position, const std::string& prefix);
  bool is_covered(page::Tid tid) const {
    return (tid.word() & page::Tid::kFlags) == 0 && tid.epoch() <= installation_.covered;
  }
  // Returns whether the search for the key in the main tree ends at a page of the snapshot.
  bool is_in_snapshot(std::string_view key);
  bool leads_to_snapshot(const KeyPosition& position, const ColdPointer& cold);
  // Marks the record deleted, if it may go.
  bool erase(BorderPage* page, unsigned index, std::string_view key);
  void reset();

  const Installation& installation_;
  const page::SnapshotPageId root_;
  const bool is_settled_;
  occ::StorageControl* const main_;
  occ::StorageControl* const delta_;
  ColdLayer cold_;
  occ::TxnContext ctx_;              // of no transaction: it has no entries that could move along
  std::vector<std::string> layers_;  // prefixes of those that are still to be looked at
  std::uint64_t kept_ = 0;           // rows that stay
  page::DualPageIds asked_;          // the last pointer that leads_to_snapshot() was asked about
  bool answer_ = false;
};

// Returns whether the pointer leads to a page of the snapshot. After an installation that left
// pointers to earlier snapshots, this looks only at pointers of the first layer: rows below other
// pointers stay for the next installation.
bool Purge::leads_to_snapshot(const KeyPosition& position, const ColdPointer& cold) {
  if (is_settled_) return true;
  if (position.layer.owner != nullptr) return false;
  if (position.at.parent == nullptr) return cold.ids.snapshot_page == root_;
  if (cold.ids == asked_) return answer_;
  std::vector<ColdPage> level_pages;
  const unsigned level = position.at.parent->header.level - 1u;
  asked_ = cold.ids;
  answer_ = cold_.pages(level, position.slice, position.slice, &level_pages).is_ok() &&
            level_pages.size() == 1 && level_pages.front().id == cold.ids.snapshot_page;
  return answer_;
}

// Returns whether the search for the key in the main tree ends at a page of the snapshot. If so,
// that stays so until a session makes a copy of that page, because the installer alone drops
// volatile pages, and runs this. The copy has the snapshot's row.
bool Purge::is_in_snapshot(std::string_view key) {
  const KeyPosition position = find_below(*installation_.pool, {&main_->root, nullptr}, key);
  ColdPointer cold;
  return position.is_cut_short() && cold_pointer_of(position, key, &cold) &&
         leads_to_snapshot(position, cold);
}

bool Purge::erase(BorderPage* page, unsigned index, std::string_view key) {
  page::RecordHeader* const record = page->record(page->slot(index));
  if (!is_covered(record->load_tid()) || !is_in_snapshot(key)) return false;
  const TriedRecord lock(record);
  if (!lock.held()) return false;
  const page::Tid tid = record->load_tid();
  const bool may_go = is_covered(tid) && is_in_snapshot(key);
  FOEDUS_SYNC_POINT("masstree:delta_purging");
  if (may_go) purge_payload(ctx_, delta_, page, index);
  // order: release: a reader that sees the mark finds the pointers of the snapshot.
  if (may_go) record->tid.store_release(tid.with(page::Tid::kDeleted).word());
  return may_go;
}

bool Purge::page(const KeyPosition& position, const std::string& prefix) {
  BorderPage* const page = position.at.page;
  const unsigned keys = page->header.load_version().keys();
  unsigned deleted = 0;
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page->slot(i);
    std::string key(prefix.size() + 8, '\0');
    std::copy(prefix.begin(), prefix.end(), key.begin());
    put_slice(page->slice(i), key.data() + prefix.size());
    if (slot.is_layer()) {
      layers_.push_back(std::move(key));
      continue;
    }
    key.resize(prefix.size() + std::min<std::size_t>(slot.key_bytes(), 8));
    key += page->remainder(slot);
    const bool is_gone = page->record(slot)->load_tid().is_deleted() || erase(page, i, key);
    if (is_gone) {
      ++deleted;
    } else {
      ++kept_;
    }
  }
  return deleted != 0 && deleted * kDeletedPart >= keys;
}

void Purge::layer(const std::string& prefix) {
  std::string key(prefix.size() + 8, '\0');
  std::copy(prefix.begin(), prefix.end(), key.begin());
  for (std::uint64_t slice = 0;;) {
    put_slice(slice, key.data() + prefix.size());
    KeyPosition position;
    if (!find_adopting(ctx_, delta_, key, &position).is_ok()) {
      ++kept_;  // rows that are not known to be gone
      return;
    }
    const std::uint64_t last = position.at.page->last;
    if (page(position, prefix)) {
      Need need;
      need.slice = slice;
      need.parent = position.at.parent;
      need.layer = position.layer;
      (void)reorganize(ctx_, delta_, position.at.page, need);  // an attempt
    }
    if (last == ~std::uint64_t{0}) return;
    slice = last + 1;
  }
}

// Gives the delta a new root in place of all its pages (M51).
void Purge::reset() {
  Installation of_delta = installation_;
  of_delta.control = delta_;
  Subtree subtree(of_delta);
  BorderPage* const made = make_border(*installation_.pool, *installation_.pages, delta_, 0);
  if (made == nullptr) return;
  give_birth(made, moves::kNotBorn);
  const page::DualPageIds before = delta_->root.load();
  TreePage* const root = TreePage::of(installation_.pool->resolve(before.volatile_page));
  bool ready = false;
  base::trying([&] { ready = subtree.collect(root, kAllSlices) && delta_->root.load() == before; });
  if (ready) {
    subtree.mark();
    FOEDUS_SYNC_POINT("masstree:delta_dropped");
    const bool taken = delta_->root.compare_exchange(before, {made->header.volatile_id(), {}});
    FOEDUS_INVARIANT(taken, root->header.page_id);
    give_birth(made, moves::birth_of_copy(*delta_));  // announced by mark()
    delta_->layers.store_relaxed(0);                  // order: a statistic
  }
  subtree.release();
  if (ready) {
    subtree.retire();
  } else {
    subtree.forget();
    discard(*installation_.pages, delta_, made);
  }
}

void Purge::run() {
  layers_.emplace_back();
  while (!layers_.empty()) {
    const std::string prefix = std::move(layers_.back());
    layers_.pop_back();
    layer(prefix);
  }
  // order: relaxed, a statistic.
  const std::uint64_t pages = delta_->volatile_pages.load_relaxed();
  if (kept_ == 0 && pages > 1 && pages <= kResetPagesMax) reset();
}

}  // namespace

std::uint64_t purge(const Installation& installation, page::SnapshotPageId root, bool is_settled) {
  const occ::StorageControl& delta = *installation.control->delta;
  // order: relaxed twice, a statistic.
  const std::uint64_t before = delta.volatile_pages.load_relaxed();
  Purge(installation, root, is_settled).run();
  return before - std::min(before, delta.volatile_pages.load_relaxed());
}

}  // namespace foedus::storage::masstree::delta
