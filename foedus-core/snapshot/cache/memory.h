#pragma once
// CacheMemory: memory of one SOC's part of the page cache. Its stripes (K16) share it.
//
//     | index | links | a FrameWords for each frame | frame 1 | frame 2 | … | not committed |
//
//   K9  Memory is committed by extents of 2 MiB and charged to the budget before. Extents are
//       smaller when the budget runs out, so that each stripe finds some. The index, links, words
//       and the first kFramesMin frames of each stripe are committed when the cache is made. So
//       every stripe can always do its work. All is given back when the cache is destroyed.
//   K13 Borrowed frames are pages of the pool of volatile pages, lent by it (P19): frame own_max()
//       + 1 + i is page i of the SOC's slice. A frame is given back when it could be taken: it is
//       fresh, or due by K4. From then on the pool's sessions write it. Readers do not find it. A
//       stale hint (P18) still names it, and it is prefetched while its link is looked at, which is
//       harmless, for the pool unmaps nothing. A frame that a device is reading into is neither
//       fresh nor due, and stays.

#include <cstdint>
#include <memory>
#include <mutex>

#include "foedus-core/base/memory_budget.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/snapshot/cache/index.h"
#include "foedus/status.h"

namespace foedus::snapshot {

class CacheMemory {
 public:
  static constexpr std::uint64_t kFramesMin = 64;  // of a stripe
  static constexpr std::uint64_t kExtentBytes = numa::SocMemory::kHugePageBytes;
  static constexpr std::uint64_t kExtentFrames = kExtentBytes / page::kPageBytes;
  static constexpr std::uint32_t kBorrowFrames = page::PagePool::kBatchPages;
  // Bytes that kFramesMin frames need.
  static constexpr std::uint64_t kBytesMin = (kFramesMin + 1) * page::kPageBytes;

  // Uses at most `bytes_max` of `budget`, and what `lender` lends, which may be null.
  // kInvalidArgument: `bytes_max` is less than kBytesMin, or more than entries of the index can
  // name. kOutOfMemory. Also, the errors of SocMemory.
  static Result<std::unique_ptr<CacheMemory>> make(const numa::Topology& topology,
                                                   std::uint32_t soc, base::MemoryBudget* budget,
                                                   std::uint64_t bytes_max, Facility huge_pages,
                                                   Facility numa_binding,
                                                   page::PagePool* lender = nullptr);
  ~CacheMemory() { budget_->give_back(bytes_taken_); }
  CacheMemory(const CacheMemory&) = delete;
  CacheMemory& operator=(const CacheMemory&) = delete;

  // Constant.
  char* index_memory() const { return memory_.begin(); }
  CacheIndex::Places places() const;
  std::uint32_t soc() const { return soc_; }
  std::uint32_t stripes() const { return CacheIndex::stripes_for(layout_.frames); }
  std::uint64_t own_max() const { return layout_.frames; }
  std::uint64_t borrowed_max() const { return layout_.borrowed; }
  bool is_borrowed(CacheFrame frame) const { return frame > layout_.frames; }

  // Words that CacheFrames keeps of a frame. Only the stripe that the frame was given to touches
  // them.
  struct FrameWords {
    CacheFrame previous;  // in its list of leaving frames
    CacheFrame next;      // in that list, or in the stack of free ones
    std::uint64_t stamp;  // of a leaving frame; 0: it is not leaving
  };
  FrameWords& words_of(CacheFrame frame) const {
    return reinterpret_cast<FrameWords*>(memory_.begin() + layout_.words_offset)[frame - 1];
  }

  // ---- own synchronization -------------------------------------------------------------------

  // Frames that follow one another; no frame if `count` is 0.
  struct Frames {
    CacheFrame first = 0;
    std::uint64_t count = 0;
  };
  // Commits more, at most `count_max` frames, which are the caller's. None: all is committed, or
  // the budget is used up; in the second case it takes no lock.
  Frames commit_more(std::uint64_t count_max);
  // Borrows some frames, which are the caller's; returns how many. 0: the lender has nothing to
  // spare. Takes no lock of the part: while the lender spares nothing, each miss asks it, and
  // misses of different stripes should write no common word.
  std::uint32_t borrow(CacheFrame (&frames)[kBorrowFrames]);
  // Gives borrowed frames of the caller back: the lender's sessions write them from now on.
  // REQUIRES: 0 < count <= kBorrowFrames; each is fresh, or due by K4.
  void give_back(const CacheFrame* frames, std::uint32_t count);
  // Returns how many bytes own frames, index, links and words have taken of the budget.
  std::uint64_t bytes_taken() const {
    const std::lock_guard lock(lock_);
    return bytes_taken_;
  }

 private:
  struct Layout {
    std::uint64_t links_offset;
    std::uint64_t words_offset;
    std::uint64_t frames_offset;
    std::uint64_t frames;
    std::uint64_t borrowed;  // frames that may be borrowed, numbered after the own ones
  };

  CacheMemory(numa::SocMemory memory, const Layout& layout, base::MemoryBudget* budget,
              page::PagePool* lender, std::uint32_t soc);

  static Layout layout_for(std::uint64_t bytes_max, std::uint64_t pages_to_borrow);
  Status commit_first();

  // Constant after construction.
  base::MemoryBudget* const budget_;
  const Layout layout_;
  numa::SocMemory memory_;
  page::PagePool* const lender_;  // null: nothing is borrowed
  const std::uint32_t soc_;

  alignas(64) mutable std::mutex lock_;  // after that of a stripe (K16)
  // Guarded by lock_.
  std::uint64_t bytes_taken_ = 0;
  std::uint64_t committed_ = 0;  // frames 1..committed_ have owners
};

}  // namespace foedus::snapshot
