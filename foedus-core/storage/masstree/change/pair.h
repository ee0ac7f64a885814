#pragma once
// Two neighbours under one parent that are replaced together, by one page or by two with another
// boundary.
//
//   M16  Held are the locks of both pages, of all their records, of the new pages and of the
//        parent. They are held from before the first mark until the parent leads to the new pages.
//        All but the first page's are only tried (O1). Steps: the foster words of both pages, the
//        marks of all records of both, the moved flag of the one page, that of the other, the
//        parent's pointers. A session that comes to a new page by the first moved page finds all
//        old records marked. It can add no key nor child before the other page says moved, too: the
//        new page's lock is held.
//   M17  Pages that are not in the parent itself, but twins that it has not adopted yet, are not
//        merged. So the successors of a page whose pointer is still in a parent cover no more than
//        the page did, and adoption need not care.

#include "foedus-core/occ/record_lock.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// The number of tries for the lock of another page.
inline constexpr unsigned kPageSpins = 100;

// Holds a lock that is only tried, for the length of a block.
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

// Returns the page beside `page`, under the same parent, or null. A guess.
TreePage* neighbour_of(page::PagePool& pool, InteriorPage* parent, const TreePage* page,
                       bool right);

// The parent of two pages, locked.
class LockedParent {
 public:
  // REQUIRES: the locks of both pages, of which neither is moved if it is theirs.
  LockedParent(InteriorPage* parent, const TreePage* left, const TreePage* right);
  // Returns whether it is locked, and leads to both pages, one beside the other.
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
  unsigned at_ = 0;  // the left page's
  bool is_theirs_ = false;
};

}  // namespace foedus::storage::masstree
