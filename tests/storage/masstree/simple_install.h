#pragma once
// SimpleInstall: installs a snapshot of a Master-Tree for tests of later calls. A pointer gets the
// snapshot page of its range if there is one of the same level, or any for a root. A subtree whose
// records are all in the snapshot is dropped (O11). Sessions may be at work.

#include <cstdint>
#include <vector>

#include "foedus-core/storage/base/installation.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/make.h"

namespace foedus::storage::masstree {

class SimpleInstall {
 public:
  explicit SimpleInstall(const Installation& installation) : to_(installation) {}

  static Result<InstallCounts> install(const Installation& installation,
                                       page::SnapshotPageId root) {
    SimpleInstall all(installation);
    if (root.is_null()) return all.counts_;
    all.below({&installation.control->root, nullptr, 0, true}, root);
    return all.counts_;
  }

 private:
  struct Place {
    page::DualPagePointer* pointer;
    TreePage* holder;     // null: the storage's root
    std::uint64_t slice;  // of a child in its holder
    bool is_root;         // of a layer
  };
  struct Lock {
    occ::LockWord* word;
    occ::LockWaiter* waiter;
  };

  TreePage* cold(page::SnapshotPageId id) {
    Status status;
    const page::PageHeader* const page = to_.cache->find(to_.soc, id, &status);
    FOEDUS_INVARIANT(page != nullptr, id.word());
    return TreePage::of(const_cast<page::PageHeader*>(page));
  }

  void below(const Place& place, page::SnapshotPageId snapshot) {
    const page::DualPageIds before = place.pointer->load();
    if (before.volatile_page.is_null()) {
      change(place, before, {{}, snapshot});
      return;
    }
    if (!change(place, before, {before.volatile_page, snapshot})) return;
    TreePage* const page = TreePage::of(to_.pool->resolve(before.volatile_page));
    if (try_drop(place, {before.volatile_page, snapshot}, page)) return;
    ++counts_.pages_kept;
    const page::PageVersion version = page->header.load_version();
    if (version.is_gone()) return;
    if (page->is_border()) return layers(BorderPage::of(page), version.keys(), snapshot);
    InteriorPage* const interior = InteriorPage::of(page);
    for (unsigned i = 0; i <= version.keys(); ++i) {
      const page::VolatilePageId id = interior->child(i).load_volatile();
      if (id.is_null()) continue;
      const TreePage* const child = TreePage::of(to_.pool->resolve(id));
      const page::SnapshotPageId same = same_range(snapshot, child);
      if (!same.is_null()) below({&interior->child(i), page, child->low, false}, same);
    }
  }

  void layers(BorderPage* page, unsigned keys, page::SnapshotPageId snapshot) {
    for (unsigned i = 0; i < keys; ++i) {
      const Slot slot = page->slot(i);
      if (!slot.is_layer()) continue;
      const std::uint64_t slice = page->slice(i);
      TreePage* at = cold(snapshot);
      while (!at->is_border()) at = cold(child_id(at, slice));
      BorderPage* const border = BorderPage::of(at);
      const unsigned index =
          find_slot(border, 0, border->header.load_version().keys(), slice, kRemainderClass);
      if (index == BorderPage::kNone || !border->slot(index).is_layer()) continue;
      below({page->layer_pointer(slot), page, slice, true},
            border->layer_pointer(border->slot(index))->load().snapshot_page);
    }
  }

  static page::SnapshotPageId child_id(TreePage* page, std::uint64_t slice) {
    InteriorPage* const interior = InteriorPage::of(page);
    const unsigned i = interior->child_of(slice, page->header.load_version().keys());
    return interior->child(i).load().snapshot_page;
  }
  page::SnapshotPageId same_range(page::SnapshotPageId id, const TreePage* page) {
    for (;;) {
      TreePage* const at = cold(id);
      if (at->header.level < page->header.level) return {};
      const bool same = at->low == page->low && at->last == page->last;
      if (same && at->header.level == page->header.level) return id;
      if (at->is_border()) return {};
      id = child_id(at, page->low);
    }
  }

  // ---- O10, for pointers that are shifted

  page::DualPagePointer* find_locked(const Place& place) {
    if (place.holder == nullptr) return place.pointer;
    const page::PageVersion version = place.holder->header.load_version();
    if (version.is_gone()) return nullptr;
    if (place.is_root) return place.pointer;
    InteriorPage* const holder = InteriorPage::of(place.holder);
    return &holder->child(holder->child_of(place.slice, version.keys()));
  }
  bool change(const Place& place, const page::DualPageIds& before, const page::DualPageIds& after) {
    std::optional<occ::LockGuard> guard;
    if (place.holder != nullptr) guard.emplace(&place.holder->header.lock);
    page::DualPagePointer* const pointer = find_locked(place);
    return pointer != nullptr && pointer->compare_exchange(before, after);
  }

  // ---- O11

  bool try_drop(const Place& place, const page::DualPageIds& ids, TreePage* page) {
    bool dropped = collect(page);
    if (dropped) {
      std::optional<occ::LockGuard> guard;
      if (place.holder != nullptr) guard.emplace(&place.holder->header.lock);
      page::DualPagePointer* const pointer = find_locked(place);
      dropped = pointer != nullptr && pointer->load() == ids;
      if (dropped) {
        mark();
        const bool taken = pointer->compare_exchange(ids, {{}, ids.snapshot_page});
        FOEDUS_INVARIANT(taken);
        FOEDUS_SYNC_POINT("simple_install:dropped");
      }
    }
    for (std::size_t i = locks_.size(); i-- != 0;) occ::unlock(locks_[i].word, locks_[i].waiter);
    if (dropped) retire();
    locks_.clear();
    pages_.clear();
    waiters_.clear();
    return dropped;
  }

  bool try_lock(occ::LockWord* word) {
    occ::LockWaiter* const waiter = waiters_.take();
    if (!occ::try_lock(word, waiter)) return false;
    locks_.push_back({word, waiter});
    return true;
  }

  bool collect(page::VolatilePageId id) {
    return id.is_null() || collect(TreePage::of(to_.pool->resolve(id)));
  }
  bool collect(TreePage* page) {
    if (!try_lock(&page->header.lock)) return false;
    pages_.push_back(page);
    const page::PageVersion version = page->header.load_version();
    if (version.is_dropped() || version.is_retired()) return false;
    if (version.is_moved()) {
      return collect(page::VolatilePageId(page->foster_minor.load_acquire())) &&
             collect(page::VolatilePageId(page->foster_major.load_acquire()));
    }
    if (page->is_border()) return collect_records(BorderPage::of(page), version.keys());
    for (unsigned i = 0; i <= version.keys(); ++i) {
      if (!collect(InteriorPage::of(page)->child(i).load_volatile())) return false;
    }
    return true;
  }
  bool collect_records(BorderPage* page, unsigned keys) {
    if (page::Tid(page->header.purged_tid).epoch() > to_.covered) return false;
    for (unsigned i = 0; i < keys; ++i) {
      page::RecordHeader* const record = page->record(i);
      if (!try_lock(&record->lock)) return false;
      const page::Tid tid = record->load_tid();
      if (tid.is_being_written() || tid.epoch() > to_.covered) return false;
      const Slot slot = page->slot(i);
      if (slot.is_layer() && !collect(page->layer_pointer(slot)->load_volatile())) return false;
    }
    return true;
  }

  void mark() {
    for (TreePage* const page : pages_) {
      const page::PageVersion version = page->header.load_version();
      if (page->is_border() && !version.is_moved()) {
        for (unsigned i = 0; i < version.keys(); ++i) {
          page::RecordHeader* const record = BorderPage::of(page)->record(i);
          record->tid.store_release(record->load_tid().with(page::Tid::kMoved).word());
        }
      }
      page->header.store_version(version.with(page::PageVersion::kDropped));
    }
    base::fence_seq_cst();
    to_.control->drop_epoch.store_release(to_.clock->current().number());
  }

  void retire() {
    for (TreePage* const page : pages_) {
      const page::PageVersion version = page->header.load_version();
      if (page->is_border() && !version.is_moved()) {
        for (unsigned i = 0; i < version.keys(); ++i) {
          const Slot slot = BorderPage::of(page)->slot(i);
          if (!slot.is_overflow()) continue;
          const std::uint64_t chain = load_overflow_id(BorderPage::of(page)->payload(slot));
          retire_overflow(*to_.pool, *to_.pages, to_.control, chain);
        }
      }
      to_.pages->retire(&page->header);
      to_.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
      ++counts_.pages_dropped;
    }
  }

  const Installation to_;
  std::vector<TreePage*> pages_;
  std::vector<Lock> locks_;
  occ::WaiterPool waiters_;
  InstallCounts counts_;
};

}  // namespace foedus::storage::masstree
