#pragma once
// Drops volatile pages of a hash storage for those of a snapshot (O11, H13, H14).

#include <cstdint>
#include <vector>

#include "foedus-core/occ/txn_locks.h"
#include "foedus-core/storage/base/installation.h"
#include "foedus-core/storage/hash/bin.h"

namespace foedus::storage::hash {

// All volatile pages below one pointer. One object serves many pointers, one after the other, and
// its vectors keep their memory.
class Subtree {
 public:
  explicit Subtree(const Installation& installation);
  ~Subtree() { release(); }
  Subtree(const Subtree&) = delete;
  Subtree& operator=(const Subtree&) = delete;

  // Drops `page` and all pages below it, or returns false and drops none. `pointer` leads to
  // `page`, and its snapshot half is `snapshot`. `holder`: the page in which the pointer lies, null
  // for the root. Adds the dropped pages to *pages_dropped.
  bool try_drop(page::DualPagePointer* pointer, page::PageHeader* holder, page::PageHeader* page,
                page::SnapshotPageId snapshot, std::uint64_t* pages_dropped);

 private:
  struct Interior {
    HashInteriorPage* page;
    std::uint32_t children;  // volatile ones
  };
  struct Member {
    page::RecordHeader* record;
    HashBinPage* page;
    std::uint32_t place;
  };
  struct Lock {
    occ::LockWord* word;
    occ::LockWaiter* waiter;
  };

  bool collect(page::PageHeader* page);
  bool collect_bin(HashBinPage* bin);
  bool try_lock(occ::LockWord* word, unsigned spins);
  bool lock_interiors();
  void mark();
  std::uint64_t retire();
  void release();

  const Installation& installation_;
  const PageSource source_;
  std::vector<HashBinPage*> bins_;
  std::vector<Interior> interiors_;  // children before parents
  std::vector<Member> members_;
  std::vector<Lock> locks_;
  occ::WaiterPool waiters_;
};

}  // namespace foedus::storage::hash
