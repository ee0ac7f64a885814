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

#include <cstdint>
#include <memory>

#include "foedus-core/base/memory_budget.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
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

  // Uses at most `bytes_max` of `budget`. Fails with kInvalidArgument if that is less than
  // kBytesMin or more than an entry can name, with kOutOfMemory, and as SocMemory does.
  static Result<std::unique_ptr<CacheFrames>> make(const numa::Topology& topology,
                                                   std::uint32_t soc, base::MemoryBudget* budget,
                                                   std::uint64_t bytes_max, Facility huge_pages,
                                                   Facility numa_binding);
  ~CacheFrames() { budget_->give_back(bytes_taken_); }
  CacheFrames(const CacheFrames&) = delete;
  CacheFrames& operator=(const CacheFrames&) = delete;

  // Constant.
  char* index_memory() const { return memory_.begin(); }
  char* frames_begin() const { return memory_.begin() + layout_.frames_offset; }
  std::uint64_t frames_max() const { return layout_.frames; }

  std::uint64_t bytes_taken() const { return bytes_taken_; }
  std::uint64_t committed() const { return committed_; }
  // Frames that hold no page and wait for nobody.
  std::uint64_t fresh() const { return committed_ - unused_begin_ + free_count_; }
  std::uint64_t leaving() const { return leaving_count_; }

  // A fresh frame; 0 if there is none.
  CacheFrame take_fresh();
  // Takes back a frame that nobody else has ever found the page of.
  void release(CacheFrame frame);
  // Commits more. False: frames_max or the budget is reached.
  bool grow();

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
    CacheFrame previous;  // in the list of leaving frames
    CacheFrame next;      // in that list, or in the stack of free ones
    std::uint64_t stamp;  // of a leaving frame; 0: it is not leaving
  };
  struct Layout {
    std::uint64_t words_offset;
    std::uint64_t frames_offset;
    std::uint64_t frames;
  };

  CacheFrames(numa::SocMemory memory, const Layout& layout, base::MemoryBudget* budget);

  static Layout layout_for(std::uint64_t bytes_max);
  Status commit_first();
  FrameWords& words_of(CacheFrame frame) const {
    return reinterpret_cast<FrameWords*>(memory_.begin() + layout_.words_offset)[frame - 1];
  }

  // Constant after construction.
  base::MemoryBudget* const budget_;
  const Layout layout_;
  numa::SocMemory memory_;

  // Guarded by the part's lock.
  std::uint64_t bytes_taken_ = 0;
  std::uint64_t committed_ = 0;     // frames 1..committed_ may be written
  std::uint64_t unused_begin_ = 0;  // frames 1..unused_begin_ were taken at least once
  std::uint64_t free_count_ = 0;
  std::uint64_t leaving_count_ = 0;
  CacheFrame free_first_ = 0;
  CacheFrame leaving_first_ = 0;
  CacheFrame leaving_last_ = 0;
};

}  // namespace foedus::snapshot
