#pragma once
// CacheFrames: the frames of one stripe of the page cache (K16): those that are free, and those
// that wait until no reader can look at them any more. All is guarded by the stripe's lock.
//
//   K10 Leaving frames form a list in the order of their stamps, which only grow. The list's words
//       lie beside the frames, not in them: readers may still be looking at the pages.
//   K17 A stripe has at most its even share of the part's own frames, and its even share of the
//       frames that the part may borrow (own_max_ and borrowed_max_). So a stripe of which many
//       pages are wanted takes no frames from other stripes.
//
// Borrowed frames (K13) have a list of leaving frames and a stack of fresh ones of their own. So
// they can be given back without a look at the own frames.

#include <cstdint>

#include "foedus-core/snapshot/cache/index.h"
#include "foedus-core/snapshot/cache/memory.h"

namespace foedus::snapshot {

class CacheFrames {
 public:
  // The first CacheMemory::kFramesMin frames of the stripe are its own from now on. `memory` must
  // outlive the object. REQUIRES: stripe < memory->stripes(), and is no other object's.
  CacheFrames(CacheMemory* memory, std::uint32_t stripe);
  CacheFrames(const CacheFrames&) = delete;
  CacheFrames& operator=(const CacheFrames&) = delete;

  // Returns how many frames are on loan from the pool now (K13).
  std::uint64_t borrowed() const { return borrowed_; }
  // Returns how many frames may be written, borrowed ones included.
  std::uint64_t usable() const { return own_ + borrowed_; }
  // Returns how many frames hold no page and wait for no reader.
  std::uint64_t fresh() const { return free_own_.count + free_borrowed_.count; }
  std::uint64_t leaving() const { return leaving_own_.count + leaving_borrowed_.count; }
  // Returns how many borrowed frames are fresh or leaving.
  std::uint64_t borrowed_ready() const { return free_borrowed_.count + leaving_borrowed_.count; }

  // Takes a fresh frame; 0 if there is none.
  CacheFrame take_fresh();
  // Takes back a frame whose page no other thread has ever found.
  void release(CacheFrame frame);
  // Gets more frames of the part's memory, else borrows some. False: the own share or the budget is
  // used up, and so is the share of borrowed frames, or the lender has nothing to spare.
  bool grow() { return commit_more() || borrow(); }
  // Takes a borrowed frame that is fresh; 0 if there is none. It belongs to the caller then, which
  // gives it back by CacheMemory::give_back().
  CacheFrame take_fresh_borrowed() { return given_up(pop(&free_borrowed_)); }
  // Takes the borrowed frame that has been leaving for longest, if it is due (K4); else 0. It
  // belongs to the caller then, as one of take_fresh_borrowed().
  CacheFrame take_due_borrowed(std::uint64_t reclaimable) {
    return given_up(take_due_of(leaving_borrowed_, reclaimable));
  }

  // Appends a frame to the leaving ones (K3). REQUIRES: its entry and link are removed, and a fence
  // came between that and the reading of `stamp`.
  void leave(CacheFrame frame, std::uint64_t stamp);
  // Removes a frame from the leaving ones.
  void stay(CacheFrame frame);
  // Takes the frame that has been leaving for longest, if its stamp is not above `reclaimable`;
  // else 0.
  CacheFrame take_due(std::uint64_t reclaimable);
  // Returns the stamp of the frame that take_due() gives next; kNever if none is leaving.
  std::uint64_t oldest_stamp() const;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

 private:
  using FrameWords = CacheMemory::FrameWords;
  struct List {
    CacheFrame first = 0;
    CacheFrame last = 0;
    std::uint64_t count = 0;
  };
  struct Stack {
    CacheFrame first = 0;
    std::uint64_t count = 0;
  };

  bool commit_more();
  bool borrow();
  void add_own(CacheMemory::Frames frames);
  CacheFrame given_up(CacheFrame frame) {
    if (frame != 0) --borrowed_;
    return frame;
  }
  List& leaving_of(CacheFrame frame) {
    return memory_->is_borrowed(frame) ? leaving_borrowed_ : leaving_own_;
  }
  CacheFrame pop(Stack* stack);
  CacheFrame take_due_of(const List& list, std::uint64_t reclaimable);
  std::uint64_t stamp_of(const List& list) const {
    return list.first == 0 ? kNever : words_of(list.first).stamp;
  }
  void check_used(CacheFrame frame) const;
  FrameWords& words_of(CacheFrame frame) const { return memory_->words_of(frame); }

  // Constant after construction.
  CacheMemory* const memory_;
  const std::uint64_t own_max_;
  const std::uint64_t borrowed_max_;

  // Guarded by the stripe's lock.
  std::uint64_t own_ = 0;
  std::uint64_t borrowed_ = 0;
  Stack free_own_;
  Stack free_borrowed_;
  List leaving_own_;
  List leaving_borrowed_;
};

}  // namespace foedus::snapshot
