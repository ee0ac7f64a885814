#pragma once
// AccessSets: all that a transaction has to remember until it commits: records read, pointers
// followed, pages in which keys have to stay absent, writes, and savepoints (paper §6, §8, appendix
// D.3).
//
//   O4  A serializable transaction remembers every record it looked at, present or deleted. It also
//       remembers every page in which it missed a key or scanned, and every pointer that it
//       followed to a snapshot page.
//
// The sets are private to the session, and lie on cache lines of its own. The arrays keep their
// room from one transaction to the next, so nothing is allocated once a session has seen its usual
// load. Arrays that a large transaction has made larger than kKeptBytesMax are freed at its end.
// Large allocations count against the memory of the database: once that memory is spent, a call
// that adds to a set throws base::BudgetSpent.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/occ/read_sets.h"
#include "foedus-core/occ/write_set.h"

namespace foedus::occ {

// Savepoints: the points of the open transaction to which it can go back, in the order in which
// they were made. A rollback to one ends those after it.
class Savepoints {
 public:
  struct Point {
    std::uint64_t number;  // of all savepoints of the session, ascending
    std::uint32_t writes;  // entries of the write set at the time
    log::LogBuffer::Mark log;
  };

  explicit Savepoints(base::MemorySource* source) : points_(base::LineAllocator<Point>(source)) {}

  // Makes a point, and returns its number.
  std::uint64_t add(std::size_t writes, const log::LogBuffer::Mark& log) {
    points_.push_back({last_ + 1, static_cast<std::uint32_t>(writes), log});
    return ++last_;
  }
  // Returns the point, or null if it has ended.
  const Point* find(std::uint64_t number) const {
    const auto at = std::ranges::lower_bound(points_, number, {}, &Point::number);
    return at == points_.end() || at->number != number ? nullptr : &*at;
  }
  // Ends all points from `number` on.
  void end_from(std::uint64_t number) {
    points_.erase(std::ranges::lower_bound(points_, number, {}, &Point::number), points_.end());
  }
  void clear() {
    if (points_.empty()) [[likely]]
      return;
    points_.clear();
    base::trim(&points_, kKeptBytesMax);
  }

 private:
  base::LineVector<Point> points_;
  std::uint64_t last_ = 0;
};

class AccessSets {
 public:
  explicit AccessSets(base::MemorySource* source)
      : reads_(source), pointers_(source), pages_(source), writes_(source), savepoints_(source) {
    reads_.reserve(kReadsReserved);
    pointers_.reserve(kPointersReserved);
  }

  // Begins a transaction. `remembers_reads`: the transaction is serializable, so commit has to
  // verify its reads.
  void begin(bool remembers_reads) { remembers_reads_ = remembers_reads; }
  void clear() {
    reads_.clear();
    pointers_.clear();
    pages_.clear();
    writes_.clear();
    savepoints_.clear();
  }

  ReadSet& reads() { return reads_; }
  PointerSet& pointers() { return pointers_; }
  PageSet& pages() { return pages_; }
  WriteSet& writes() { return writes_; }
  Savepoints& savepoints() { return savepoints_; }

  void remember_read(page::RecordHeader* record, page::Tid observed, StorageControl* storage) {
    if (remembers_reads_) reads_.add({record, observed, storage});
  }
  // Remembers the read if that needs no allocation. Returns false if it would need one; the read is
  // not remembered then.
  [[gnu::always_inline]] bool try_remember_read(page::RecordHeader* record, page::Tid observed,
                                                StorageControl* storage) {
    if (!remembers_reads_) [[unlikely]]
      return true;
    if (!reads_.has_room()) [[unlikely]]
      return false;
    reads_.add_reserved({record, observed, storage});
    return true;
  }
  void remember_page(page::PageHeader* page, page::PageVersion observed, StorageControl* storage) {
    if (remembers_reads_) pages_.add(page, observed, storage);
  }
  void remember_pointer(page::DualPagePointer* pointer, page::PageHeader* holder,
                        const page::DualPageIds& observed, StorageControl* storage,
                        std::uint64_t place = 0) {
    if (remembers_reads_) pointers_.add({pointer, holder, observed, storage, place});
  }

  // Removes the pointer-set entries of `storage` that observed `observed`. The transaction itself
  // has made a volatile copy of the snapshot page in `observed`, so these entries would not verify.
  // Returns whether there were any. If so, the caller remembers the records and pointers of the
  // copy instead, as the snapshot page has them.
  bool forget_pointer(const StorageControl* storage, const page::DualPageIds& observed) {
    ++materialized_;
    return pointers_.remove(storage, observed);
  }
  // Returns the number of calls of forget_pointer(). An open scan of a snapshot page compares the
  // number with that of its last search: if it has grown, the page may be volatile now and have own
  // writes, so the scan seeks again.
  std::uint64_t materialized() const { return materialized_; }
  // Cuts the read set and the pointer set back to these sizes. The entries beyond these sizes were
  // added for a page that was made but not installed, or by a prefetch, which gives the transaction
  // no data.
  void forget_since(std::size_t reads, std::size_t pointers) {
    reads_.truncate(reads);
    pointers_.truncate(pointers);
  }
  // Makes room in the sets: up to `records` records can move to other pages without allocation.
  void reserve_moves(std::size_t records) {
    writes_.reserve_moves(std::min(records, writes_.size()));
    if (!pages_.is_empty()) pages_.reserve(kPageMovesMax);
  }

 private:
  // Numbers of entries that most transactions never exceed.
  static constexpr std::size_t kReadsReserved = 4096;
  static constexpr std::size_t kPointersReserved = 256;
  // Most entries that are added to the page-version set when keys of one page move, or of two pages
  // that are merged.
  static constexpr std::size_t kPageMovesMax = 4;

  bool remembers_reads_ = true;
  ReadSet reads_;
  PointerSet pointers_;
  PageSet pages_;
  WriteSet writes_;
  Savepoints savepoints_;
  std::uint64_t materialized_ = 0;
};

}  // namespace foedus::occ
