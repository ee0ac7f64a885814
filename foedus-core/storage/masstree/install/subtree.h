#pragma once
// Locking and giving up volatile pages of a Master-Tree for those of a snapshot, all or nothing.
//
//   M30 All locks are only tried, so that no order of locks matters (O1): pages with all that is
//       below them, pages before records. A lock of an interior page, or of the page that a layer's
//       root pointer lies in, keeps the pointers there. They change only to twins of moved pages. A
//       session that unlinks such a page holds one of these locks.
//   M31 A border page is quiet if all its records are (O11), and all that was purged from it is
//       covered. A deleted record that waits for its commit is of the epoch of what was purged
//       before it. So it may go, and the write makes it again. The TID of a record that became a
//       layer says nothing: the layer does.
//   M32 Steps: pages say dropped, then records moved, then the drop is announced, then pointers
//       change, then pages are retired. A reader looks at a record's mark after a look at its page.
//       If it sees the mark, it sees the page dropped, and follows no foster word.

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

// The volatile pages at a page and below it.
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
// Looks without locks. REQUIRES: the caller is pinned and reached the page as readers do (M8).
VolatileContents volatile_contents_of(const Installation& installation, TreePage* page);
// Looks at a border page alone, its layers aside.
VolatileContents volatile_contents_of_records(const Installation& installation, BorderPage* page);

// Pages that go together. Used again and again; its room is kept.
class Subtree {
 public:
  explicit Subtree(const Installation& installation) : installation_(installation) {}
  ~Subtree() { release(); }
  Subtree(const Subtree&) = delete;
  Subtree& operator=(const Subtree&) = delete;

  // Locks `page` and all that goes with it. Slices outside of `dropped` are to live on in another
  // page: records there are locked, but nothing below them is. False: something is not quiet, or
  // `dropped` cuts a child of an interior page. REQUIRES: release() after it.
  bool collect(TreePage* page, const SliceRange& dropped);
  // Locks a page that stays.
  bool try_lock(page::PageHeader* page);
  // Locks the page that leads to the pages that are exchanged. Tries for longer if other threads
  // install the same storage.
  bool try_lock_above(page::PageHeader* page);

  // Notes that `page`, collected with nothing to drop, is to move to `replacement` (M4).
  void set_replacement(const TreePage* page, const TreePage* replacement);
  // Does the steps of M32, up to the announcement. REQUIRES: all was collected; replacement pages
  // are complete, but for the stamp of their birth, and locked.
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
