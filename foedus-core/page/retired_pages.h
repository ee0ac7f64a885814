#pragma once
// RetiredPages: a FIFO of unlinked pages, each with the epoch that must be over before it is used
// again. Sessions may still read a retired page, so the FIFO cannot be threaded through the pages.
// It is a chain of chunks, each in a page of its own that only the FIFO knows.
//
//   P20  Retiring never fails. No call allocates but try_add_chunk(), which is needed once in
//        Chunk::kEntries pushes. If the pool has no page for a chunk, the chunk comes from the
//        heap. If the heap is spent, too, the pages to be retired are lost until the pool is
//        destroyed.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"

namespace foedus::page {

// Used by one session, or by the holder of a lock, at a time.
class RetiredPages {
 public:
  // The stamp of an empty FIFO, later than every epoch.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  RetiredPages() = default;
  ~RetiredPages();
  RetiredPages(const RetiredPages&) = delete;
  RetiredPages& operator=(const RetiredPages&) = delete;

  // Returns the number of pages in it. Any thread.
  std::uint64_t count() const { return count_.load_relaxed(); }  // order: a statistic for others
  // Returns the stamp of the page that pop() would remove; kNever if there is none.
  std::uint64_t oldest_stamp() const;

  bool has_room() const;
  // Makes room for more pushes. `page` belongs to this object until pop() hands it out; if it is
  // null, the heap is used. Returns false if the heap is spent.
  bool try_add_chunk(PageHeader* page);
  // REQUIRES: has_room().
  void push(VolatilePageId id, std::uint64_t stamp);

  // Removes the oldest page. *emptied becomes the page of a chunk that is empty now, which the
  // caller gets back, or null. REQUIRES: count() != 0.
  VolatilePageId pop(PageHeader** emptied);

  // Moves all of `other` to the end of this FIFO.
  void append(RetiredPages* other);

 private:
  struct Chunk;

  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
  base::AtomicWord<std::uint64_t> count_;  // written by the owner
};

}  // namespace foedus::page
