#pragma once
// Two neighbours under one parent that are replaced together, by one page or by two with another
// boundary.
//
//   M16  The session holds the locks of both pages, of all their records, of the new pages and of
//        the parent, from before the first mark until the parent leads to the new pages. Except for
//        the first page's, it only tries for these locks (O1). The steps: set the foster words of
//        both pages, mark all records of both, mark the one page moved, then the other, then change
//        the parent's pointers. A session that comes to a new page by the page that was marked
//        first finds all old records marked. It can add no key or child before the other page is
//        marked, too, because the new page is locked.
//   M17  Only pages to which the parent itself leads are merged, not twins that it has not adopted
//        yet. So the successors of a moved page to which a parent still leads have no more slices
//        than that page, and adoption puts them into its place without a look.

#include "foedus-core/occ/record_lock.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// The number of tries for the lock of another page.
inline constexpr unsigned kPageSpins = 100;

// Tries the lock of a page, and if it is free holds it until the end of the block.
class TriedLock {
 public:
  explicit TriedLock(TreePage* page)
      : word_(&page->header.lock), held_(occ::try_lock_for(word_, &waiter_, kPageSpins)) {}
  ~TriedLock() {
    if (held_) occ::unlock(word_, &waiter_);
  }
  TriedLock(const TriedLock&) = delete;
  TriedLock& operator=(const TriedLock&) = delete;
  bool held() const { return held_; }

 private:
  occ::LockWord* const word_;
  occ::LockWaiter waiter_;
  const bool held_;
};

// Returns the page beside `page`, under the same parent, or null. Without locks this is a guess.
TreePage* neighbour_of(page::PagePool& pool, InteriorPage* parent, const TreePage* page,
                       bool right);

// The parent of two pages, locked.
class LockedParent {
 public:
  // Tries to lock the parent. REQUIRES: the locks of both pages are held. If is_theirs(), neither
  // page is moved.
  LockedParent(InteriorPage* parent, const TreePage* left, const TreePage* right);
  // Returns whether the parent is locked, and leads to both pages, one beside the other.
  bool is_theirs() const { return is_theirs_; }

  // Makes the pointers lead to the new page or pages; readers go on meanwhile (see InteriorPage).
  void replace_by_one(const TreePage* page);
  void replace_by_two(const TreePage* minor, const TreePage* major);

 private:
  void set_child(unsigned index, const TreePage* page);

  InteriorPage* const parent_;
  const TreePage* const right_;
  const TriedLock lock_;
  unsigned keys_ = 0;
  unsigned at_ = 0;  // place of the left page
  bool is_theirs_ = false;
};

}  // namespace foedus::storage::masstree
