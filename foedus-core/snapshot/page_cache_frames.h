#pragma once
// CacheFrames: memory of one SOC's part of the page cache, and the frames that wait until nobody
// can read them. All but the constants is guarded by the part's lock.
//
//     | index | a FrameWords for each frame | frame 1 | frame 2 | … | not committed |
//
//   K9  Memory is committed by extents of 2 MiB (less when the budget runs out) and charged to the
//       budget before; the index, the words and the first kFramesMin frames when the cache is made,
//       so that it can always do its work. All is given back when the cache is destroyed.
//   K10 Leaving frames form a list in the order of their stamps, which only grow. The words lie
//       beside the frames, not in them: others may still be reading there.
//   K13 Borrowed frames are pages of the pool of volatile pages, lent by it (P19): frame
//       own_max() + 1 + i is page i of the SOC's slice. They have a list of leaving frames and a
//       stack of fresh ones for themselves, so that they can be given back without a look at the
//       others. A frame is given back when it could be taken: it is fresh, or due by K4. From then
//       on the pool's sessions write it. Readers do not find it; a stale hint (P18) still names it,
//       and is compared as a number and loaded from, which is harmless, for the pool unmaps
//       nothing. A frame that a device is reading into is neither, and stays.

#include <cstdint>
#include <memory>

#include "foedus-core/base/memory_budget.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/snapshot/page_cache_index.h"
#include "foedus/status.h"

namespace foedus::snapshot {

class CacheFrames {
 public:
  static constexpr std::uint64_t kFramesMin = 64;
  static constexpr std::uint64_t kExtentBytes = numa::SocMemory::kHugePageBytes;
  static constexpr std::uint64_t kExtentFrames = kExtentBytes / page::kPageBytes;
  // What kFramesMin frames need.
  static constexpr std::uint64_t kBytesMin = (kFramesMin + 1) * page::kPageBytes;

  // Uses at most `bytes_max` of `budget`, and what `lender` lends, which may be null. Fails with
  // kInvalidArgument if that is less than kBytesMin or more than an entry can name, with
  // kOutOfMemory, and as SocMemory does.
  static Result<std::unique_ptr<CacheFrames>> make(const numa::Topology& topology,
                                                   std::uint32_t soc, base::MemoryBudget* budget,
                                                   std::uint64_t bytes_max, Facility huge_pages,
                                                   Facility numa_binding,
                                                   page::PagePool* lender = nullptr);
  ~CacheFrames() { budget_->give_back(bytes_taken_); }
  CacheFrames(const CacheFrames&) = delete;
  CacheFrames& operator=(const CacheFrames&) = delete;

  // Constant.
  char* index_memory() const { return memory_.begin(); }
  CacheIndex::Places places() const;
  std::uint64_t own_max() const { return layout_.frames; }
  std::uint64_t borrowed_max() const { return layout_.borrowed; }

  // Bytes that own frames, index and lists have taken of the budget.
  std::uint64_t bytes_taken() const { return bytes_taken_; }
  // Frames on loan from the pool now (K13).
  std::uint64_t borrowed() const { return borrowed_; }
  // Frames that may be written, borrowed ones among them.
  std::uint64_t usable() const { return committed_ + borrowed_; }
  // Frames that hold no page and wait for nobody.
  std::uint64_t fresh() const {
    return committed_ - unused_begin_ + free_own_.count + free_borrowed_.count;
  }
  std::uint64_t leaving() const { return leaving_own_.count + leaving_borrowed_.count; }
  // Borrowed frames that are fresh or leaving.
  std::uint64_t borrowed_ready() const { return free_borrowed_.count + leaving_borrowed_.count; }

  // A fresh frame; 0 if there is none.
  CacheFrame take_fresh();
  // Takes back a frame that nobody else has ever found the page of.
  void release(CacheFrame frame);
  // Commits more, else borrows some. False: own_max or the budget is reached, and so is
  // borrowed_max, or the lender has nothing to spare.
  bool grow() { return commit_more() || borrow(); }
  // Gives borrowed frames back: the lender's sessions write them from now on. REQUIRES: they were
  // taken by the next two; 0 < count <= PagePool::kBatchPages.
  void give_back(const CacheFrame* frames, std::uint32_t count);
  // A borrowed frame that is fresh; 0 if there is none.
  CacheFrame take_fresh_borrowed() { return pop(&free_borrowed_); }
  // The borrowed frame that has been leaving for longest, if it is due by K4; else 0.
  CacheFrame take_due_borrowed(std::uint64_t reclaimable) {
    return take_due_of(leaving_borrowed_, reclaimable);
  }

  // K3: entries of this frame are unlinked, and a fence was between that and the reading of stamp.
  void leave(CacheFrame frame, std::uint64_t stamp);
  // The frame is not leaving any more.
  void stay(CacheFrame frame);
  // The frame that is leaving for longest, if its stamp is not above `reclaimable`; else 0.
  CacheFrame take_due(std::uint64_t reclaimable);
  // Stamp of the frame that take_due() gives next; kNever if none is leaving.
  std::uint64_t oldest_stamp() const;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

 private:
  struct FrameWords {
    CacheFrame previous;  // in its list of leaving frames
    CacheFrame next;      // in that list, or in the stack of free ones
    std::uint64_t stamp;  // of a leaving frame; 0: it is not leaving
  };
  struct Layout {
    std::uint64_t words_offset;
    std::uint64_t frames_offset;
    std::uint64_t frames;
    std::uint64_t borrowed;  // frames that may be, behind those
  };
  struct List {
    CacheFrame first = 0;
    CacheFrame last = 0;
    std::uint64_t count = 0;
  };
  struct Stack {
    CacheFrame first = 0;
    std::uint64_t count = 0;
  };

  CacheFrames(numa::SocMemory memory, const Layout& layout, base::MemoryBudget* budget,
              page::PagePool* lender, std::uint32_t soc);

  static Layout layout_for(std::uint64_t bytes_max, std::uint64_t pages_to_borrow);
  Status commit_first();
  bool commit_more();
  bool borrow();
  bool is_borrowed(CacheFrame frame) const { return frame > layout_.frames; }
  List& leaving_of(CacheFrame frame) {
    return is_borrowed(frame) ? leaving_borrowed_ : leaving_own_;
  }
  CacheFrame pop(Stack* stack);
  CacheFrame take_due_of(const List& list, std::uint64_t reclaimable);
  std::uint64_t stamp_of(const List& list) const {
    return list.first == 0 ? kNever : words_of(list.first).stamp;
  }
  void check_used(CacheFrame frame) const;
  FrameWords& words_of(CacheFrame frame) const {
    return reinterpret_cast<FrameWords*>(memory_.begin() + layout_.words_offset)[frame - 1];
  }

  // Constant after construction.
  base::MemoryBudget* const budget_;
  const Layout layout_;
  numa::SocMemory memory_;
  page::PagePool* const lender_;  // null: nothing is borrowed
  const std::uint32_t soc_;

  // Guarded by the part's lock.
  std::uint64_t bytes_taken_ = 0;
  std::uint64_t committed_ = 0;     // frames 1..committed_ may be written
  std::uint64_t unused_begin_ = 0;  // frames 1..unused_begin_ were taken at least once
  std::uint64_t borrowed_ = 0;
  Stack free_own_;
  Stack free_borrowed_;
  List leaving_own_;
  List leaving_borrowed_;
};

}  // namespace foedus::snapshot
