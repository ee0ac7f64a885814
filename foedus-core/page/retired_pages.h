#pragma once
// RetiredPages: a FIFO of pages that were unlinked, each with the epoch that must be over before it
// is used again. Others may still read a retired page, so the FIFO cannot be threaded through them:
// it is a chain of chunks, each stored in a page of its own that nobody else knows.
//
//   P20  No call allocates but try_add_chunk(), and that is due once in kEntriesPerChunk pushes. If
//       the pool has no page for a chunk, the chunk comes from the heap. If that is spent, too,
//       what was to be retired is lost until the pool goes: retiring never fails.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"

namespace foedus::page {

// One session, or the holder of a lock, at a time.
class RetiredPages {
 public:
  // The stamp of nothing: later than every epoch.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  RetiredPages() = default;
  ~RetiredPages();
  RetiredPages(const RetiredPages&) = delete;
  RetiredPages& operator=(const RetiredPages&) = delete;

  // Any thread.
  std::uint64_t count() const { return count_.load_relaxed(); }  // order: a statistic for others
  // Stamp of the page that pop() gives; kNever if there is none.
  std::uint64_t oldest_stamp() const;

  bool has_room() const;
  // Makes room. `page` belongs to this object until pop() hands it out; null: uses the heap. False:
  // that is spent, too.
  bool try_add_chunk(PageHeader* page);
  // REQUIRES: has_room().
  void push(VolatilePageId id, std::uint64_t stamp);

  // Removes the oldest page. `emptied` becomes a page given to try_add_chunk() that is not needed
  // any more, or null. REQUIRES: count() != 0.
  VolatilePageId pop(PageHeader** emptied);

  // Moves all of `other` behind what is here.
  void append(RetiredPages* other);

 private:
  struct Chunk;

  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
  base::AtomicWord<std::uint64_t> count_;  // written by the owner
};

}  // namespace foedus::page
