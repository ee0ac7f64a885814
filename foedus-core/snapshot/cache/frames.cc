#include "foedus-core/snapshot/cache/frames.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"

namespace foedus::snapshot {

namespace {

// Returns the share of a stripe. Those of all stripes add up to `total`, and differ by one at most.
std::uint64_t share_of(std::uint64_t total, const CacheMemory& memory, std::uint32_t stripe) {
  FOEDUS_INVARIANT(stripe < memory.stripes(), stripe, memory.stripes());
  return total * (stripe + 1) / memory.stripes() - total * stripe / memory.stripes();
}

}  // namespace

CacheFrames::CacheFrames(CacheMemory* memory, std::uint32_t stripe)
    : memory_(memory),
      own_max_(share_of(memory->own_max(), *memory, stripe)),
      borrowed_max_(share_of(memory->borrowed_max(), *memory, stripe)) {
  constexpr std::uint64_t kFirst = CacheMemory::kFramesMin;
  FOEDUS_INVARIANT(own_max_ >= kFirst, own_max_, stripe);
  add_own({static_cast<CacheFrame>(stripe * kFirst + 1), kFirst});
}

// ---- frames come and go ----------------------------------------------------------------------

bool CacheFrames::commit_more() {
  if (own_ == own_max_) return false;
  const CacheMemory::Frames frames = memory_->commit_more(own_max_ - own_);
  add_own(frames);
  return frames.count != 0;
}

// Pushes the first frame last, so that it is taken first.
void CacheFrames::add_own(CacheMemory::Frames frames) {
  own_ += frames.count;
  FOEDUS_INVARIANT(own_ <= own_max_, own_, own_max_);
  for (std::uint64_t left = frames.count; left != 0; --left) {
    release(static_cast<CacheFrame>(frames.first + left - 1));
  }
}

bool CacheFrames::borrow() {
  if (borrowed_ + CacheMemory::kBorrowFrames > borrowed_max_) return false;
  CacheFrame frames[CacheMemory::kBorrowFrames];
  const std::uint32_t count = memory_->borrow(frames);
  borrowed_ += count;
  for (std::uint32_t i = 0; i < count; ++i) release(frames[i]);
  return count != 0;
}

// ---- free and leaving frames -----------------------------------------------------------------

CacheFrame CacheFrames::pop(Stack* stack) {
  if (stack->first == 0) return 0;
  FOEDUS_INVARIANT(stack->count != 0);
  const CacheFrame frame = stack->first;
  stack->first = words_of(frame).next;
  --stack->count;
  return frame;
}

// Takes own frames first: the pool may call the others in.
CacheFrame CacheFrames::take_fresh() {
  const CacheFrame frame = pop(&free_own_);
  return frame != 0 ? frame : pop(&free_borrowed_);
}

void CacheFrames::check_used(CacheFrame frame) const {
  FOEDUS_INVARIANT(frame - 1u < memory_->own_max() + memory_->borrowed_max(), frame);
  FOEDUS_INVARIANT(words_of(frame).stamp == 0, words_of(frame).stamp);
}

void CacheFrames::release(CacheFrame frame) {
  check_used(frame);
  Stack& stack = memory_->is_borrowed(frame) ? free_borrowed_ : free_own_;
  words_of(frame).next = stack.first;
  stack.first = frame;
  ++stack.count;
}

void CacheFrames::leave(CacheFrame frame, std::uint64_t stamp) {
  check_used(frame);
  List& list = leaving_of(frame);
  words_of(frame) = FrameWords{list.last, 0, stamp};
  if (list.last == 0) {
    list.first = frame;
  } else {
    FrameWords& last = words_of(list.last);
    FOEDUS_INVARIANT(last.stamp <= stamp, last.stamp, stamp);
    last.next = frame;
  }
  list.last = frame;
  ++list.count;
}

void CacheFrames::stay(CacheFrame frame) {
  FrameWords& words = words_of(frame);
  List& list = leaving_of(frame);
  FOEDUS_INVARIANT(words.stamp != 0, frame);
  FOEDUS_INVARIANT(list.count != 0);
  CacheFrame& to_this = words.previous == 0 ? list.first : words_of(words.previous).next;
  CacheFrame& back = words.next == 0 ? list.last : words_of(words.next).previous;
  FOEDUS_INVARIANT(to_this == frame, to_this, frame);
  FOEDUS_INVARIANT(back == frame, back, frame);
  to_this = words.next;
  back = words.previous;
  words = FrameWords{0, 0, 0};
  --list.count;
}

std::uint64_t CacheFrames::oldest_stamp() const {
  return std::min(stamp_of(leaving_own_), stamp_of(leaving_borrowed_));
}

CacheFrame CacheFrames::take_due_of(const List& list, std::uint64_t reclaimable) {
  if (list.first == 0 || stamp_of(list) > reclaimable) return 0;
  const CacheFrame frame = list.first;
  stay(frame);
  return frame;
}

CacheFrame CacheFrames::take_due(std::uint64_t reclaimable) {
  const bool is_borrowed_older = stamp_of(leaving_borrowed_) < stamp_of(leaving_own_);
  return take_due_of(is_borrowed_older ? leaving_borrowed_ : leaving_own_, reclaimable);
}

}  // namespace foedus::snapshot
