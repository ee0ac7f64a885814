#pragma once
// Locks volatile pages of a Master-Tree, and drops them for those of a snapshot, all or nothing.
//
//   M30 All locks are only tried, so that no order of locks matters (O1). A page is locked before
//       its records and before the pages below it. A session that unlinks a page changes the
//       pointer to it, under the lock of the interior page, or of the page of the layer's record,
//       in which that pointer lies. So while these pages are locked, no page below them is
//       unlinked.
//   M31 A border page is quiet if the snapshot covers the epochs of all its records (O11) and of
//       all records that were purged from it. The new record of an open transaction is marked
//       deleted, with the TID of what was purged before it. So it may be dropped, and the write
//       makes it again. The TID of a record that became a layer does not count, but the pages of
//       the layer do.
//   M32 The steps: mark the pages dropped, then their records moved, announce the drop, change the
//       pointers, retire the pages. A reader that sees a record marked sees its page dropped, too,
//       and follows no foster word.

#include <cstdint>
#include <vector>

#include "foedus-core/occ/txn_locks.h"
#include "foedus-core/storage/base/installation.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// The slices low..last; none if low is above last.
struct SliceRange {
  std::uint64_t low = 1;
  std::uint64_t last = 0;

  bool is_empty() const { return low > last; }
  bool contains(std::uint64_t slice) const { return low <= slice && slice <= last; }
};
inline constexpr SliceRange kAllSlices{0, kLastSlice};

// What is volatile at a page and below it.
struct VolatileContents {
  std::uint64_t pages = 0;
  std::uint64_t records = 0;
  bool is_quiet = true;
  bool leads_to_cold = false;  // to pages of snapshots, or payloads in files of earlier ones (O16)

  void add(const VolatileContents& other) {
    pages += other.pages;
    records += other.records;
    is_quiet = is_quiet && other.is_quiet;
    leads_to_cold = leads_to_cold || other.leads_to_cold;
  }
};
// Returns what is volatile at a page and below it. An estimate, because no lock is taken. REQUIRES:
// the caller is pinned and reached the page as readers do (M8).
VolatileContents volatile_contents_of(const Installation& installation, TreePage* page);
// Returns the same of a border page alone, without its layers.
VolatileContents volatile_contents_of_records(const Installation& installation, BorderPage* page);

// Pages that are dropped together. One object serves many exchanges, one after the other, and its
// vectors keep their memory.
class Subtree {
 public:
  explicit Subtree(const Installation& installation) : installation_(installation) {}
  ~Subtree() { release(); }
  Subtree(const Subtree&) = delete;
  Subtree& operator=(const Subtree&) = delete;

  // Locks `page` and all pages and records that go with it. Slices outside of `dropped` live on in
  // another page: their records are locked, but nothing below these is. False: something is not
  // quiet, or `dropped` cuts a child of an interior page. The caller calls release() in both cases.
  bool collect(TreePage* page, const SliceRange& dropped);
  // Tries the lock of a page that is not dropped.
  bool try_lock(page::PageHeader* page);
  // Tries the lock of the page that leads to the pages that are exchanged, for longer if other
  // threads install the same storage.
  bool try_lock_above(page::PageHeader* page);

  // Notes that `page`, collected with nothing to drop, is to move to `replacement` (M4).
  void set_replacement(const TreePage* page, const TreePage* replacement);
  // Marks the pages dropped and their records moved, and announces the drop (M32). A page with a
  // replacement is not marked dropped: its foster word is set instead. REQUIRES: all was collected;
  // replacement pages are locked, and complete except for their birth.
  void mark();
  // Marks pages with replacements as moved.
  void mark_moved();
  // Unlocks all.
  void release();
  // Retires the pages that were marked, and their chains, and forgets all. Returns the number of
  // pages, chains aside. REQUIRES: released, and no pointer leads to them.
  std::uint64_t retire();
  void forget();

 private:
  struct Member {
    TreePage* page;
    SliceRange dropped;
    bool was_moved;               // it has twins, which are members, too
    const TreePage* replacement;  // of all of it; null: it is dropped
  };
  struct Lock {
    occ::LockWord* word;
    occ::LockWaiter* waiter;
  };

  bool try_lock_word(occ::LockWord* word, unsigned tries);
  bool collect_twins(TreePage* page, const SliceRange& dropped);
  bool collect_border(BorderPage* page, const SliceRange& dropped);
  bool collect_interior(InteriorPage* page, const SliceRange& dropped);
  void mark_records(BorderPage* page);
  void retire_chains(BorderPage* page, const SliceRange& dropped);

  const Installation& installation_;
  std::vector<Member> members_;
  std::vector<Lock> locks_;
  occ::WaiterPool waiters_;
};

// Retires a page that no pointer leads to any more.
void retire_page(const Installation& installation, page::PageHeader* page);

}  // namespace foedus::storage::masstree
