#include "foedus-core/snapshot/page_cache_frames.h"

#include <algorithm>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/sync_point.h"

namespace foedus::snapshot {

namespace {

// What index and words of a borrowed frame take of the own share: an eighth of it in all at most,
// and far less where it is the default one.
constexpr std::uint64_t kBytesPerBorrowed = 40;
constexpr std::uint64_t kPartForBorrowed = 8;

// A SOC's part borrows no more than its share of the lender's bound.
std::uint64_t pages_to_borrow(const page::PagePool* lender, std::uint64_t bytes_max) {
  if (lender == nullptr) return 0;
  const std::uint64_t share = lender->bytes_max() / lender->socs() / page::kPageBytes;
  const std::uint64_t named = CacheIndex::kFramesMax - bytes_max / page::kPageBytes;
  return std::min({share, named, bytes_max / kPartForBorrowed / kBytesPerBorrowed});
}

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

CacheFrames::Layout CacheFrames::layout_for(std::uint64_t bytes_max,
                                            std::uint64_t pages_to_borrow) {
  const std::uint64_t pages = bytes_max / page::kPageBytes;
  Layout layout;
  layout.borrowed = pages_to_borrow;
  layout.words_offset = CacheIndex::bytes_for(pages + layout.borrowed);
  layout.frames_offset = round_up(
      layout.words_offset + (pages + layout.borrowed) * sizeof(FrameWords), page::kPageBytes);
  const std::uint64_t pages_of_words = layout.frames_offset / page::kPageBytes;
  FOEDUS_INVARIANT(pages > pages_of_words, pages, bytes_max);
  layout.frames = pages - pages_of_words;
  return layout;
}

Result<std::unique_ptr<CacheFrames>> CacheFrames::make(const numa::Topology& topology,
                                                       std::uint32_t soc,
                                                       base::MemoryBudget* budget,
                                                       std::uint64_t bytes_max,
                                                       Facility huge_pages,
                                                       Facility numa_binding,
                                                       page::PagePool* lender) {
  constexpr std::uint64_t kBytesLimit = CacheIndex::kFramesMax * page::kPageBytes;
  if (bytes_max < kBytesMin || bytes_max > kBytesLimit) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "page cache of " + std::to_string(bytes_max) +
                             " bytes for each SOC; it must be from " + std::to_string(kBytesMin) +
                             " to " + std::to_string(kBytesLimit));
  }
  const Layout layout = layout_for(bytes_max, pages_to_borrow(lender, bytes_max));
  FOEDUS_INVARIANT(layout.frames >= kFramesMin, layout.frames, bytes_max);
  const std::uint64_t bytes = layout.frames_offset + layout.frames * page::kPageBytes;
  FOEDUS_INVARIANT(bytes <= bytes_max, bytes, bytes_max);
  FOEDUS_TRY(numa::SocMemory memory, numa::SocMemory::reserve(bytes, huge_pages));
  FOEDUS_CHECK(memory.place(topology, soc, 0, memory.bytes(), numa_binding));
  std::unique_ptr<CacheFrames> frames(
      new CacheFrames(std::move(memory), layout, budget, lender, soc));
  FOEDUS_CHECK(frames->commit_first());
  return frames;
}

CacheFrames::CacheFrames(numa::SocMemory memory, const Layout& layout, base::MemoryBudget* budget,
                         page::PagePool* lender, std::uint32_t soc)
    : budget_(budget), layout_(layout), memory_(std::move(memory)), lender_(lender), soc_(soc) {}

CacheIndex::Places CacheFrames::places() const {
  char* const own_begin = memory_.begin() + layout_.frames_offset;
  if (lender_ == nullptr) return {own_begin, layout_.frames, own_begin};
  const page::VolatilePageId first(soc_, lender_->slice_begin(soc_));
  return {own_begin, layout_.frames, reinterpret_cast<char*>(lender_->resolve(first))};
}

Status CacheFrames::commit_first() {
  const std::uint64_t bytes = layout_.frames_offset + kFramesMin * page::kPageBytes;
  if (!budget_->try_take(bytes)) {
    return Status::error(ErrorCode::kOutOfMemory, "no room for the first " + std::to_string(bytes) +
                                                      " bytes of a page cache; raise "
                                                      "Options::memory_bytes");
  }
  bytes_taken_ = bytes;
  FOEDUS_CHECK(memory_.commit(0, bytes));
  committed_ = kFramesMin;
  return {};
}

bool CacheFrames::commit_more() {
  if (committed_ == layout_.frames) return false;
  const std::uint64_t offset = layout_.frames_offset + committed_ * page::kPageBytes;
  const std::uint64_t extent_end = (offset / kExtentBytes + 1) * kExtentBytes;
  const std::uint64_t frames_end = layout_.frames_offset + layout_.frames * page::kPageBytes;
  std::uint64_t bytes = std::min(extent_end, frames_end) - offset;
  bytes = std::min(bytes, budget_->remaining() / page::kPageBytes * page::kPageBytes);
  FOEDUS_SYNC_POINT("page_cache:before_take");
  // Others may have taken it meanwhile: then the next miss tries again.
  if (bytes == 0 || !budget_->try_take(bytes)) return false;
  if (!memory_.commit(offset, bytes).is_ok()) {
    budget_->give_back(bytes);
    return false;
  }
  bytes_taken_ += bytes;
  committed_ += bytes / page::kPageBytes;
  return true;
}

bool CacheFrames::borrow() {
  constexpr std::uint32_t kCount = page::PagePool::kBatchPages;
  if (lender_ == nullptr || borrowed_ + kCount > layout_.borrowed) return false;
  page::VolatilePageId ids[kCount];
  const std::uint32_t count = lender_->lend(soc_, layout_.borrowed, ids, kCount);
  borrowed_ += count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t place = ids[i].number() - lender_->slice_begin(soc_);
    FOEDUS_INVARIANT(place < layout_.borrowed, place, layout_.borrowed);
    const auto frame = static_cast<CacheFrame>(layout_.frames + 1 + place);
    words_of(frame) = FrameWords{0, 0, 0};
    release(frame);
  }
  return count != 0;
}

void CacheFrames::give_back(const CacheFrame* frames, std::uint32_t count) {
  FOEDUS_INVARIANT(count - 1 < page::PagePool::kBatchPages, count);
  FOEDUS_INVARIANT(count <= borrowed_, count, borrowed_);
  page::VolatilePageId ids[page::PagePool::kBatchPages];
  for (std::uint32_t i = 0; i < count; ++i) {
    FOEDUS_INVARIANT(is_borrowed(frames[i]), frames[i], layout_.frames);
    FOEDUS_INVARIANT(words_of(frames[i]).stamp == 0, frames[i]);
    const std::uint64_t place = frames[i] - layout_.frames - 1;
    ids[i] = page::VolatilePageId(soc_, lender_->slice_begin(soc_) + place);
  }
  borrowed_ -= count;
  lender_->take_back_lent(ids, count);
}

CacheFrame CacheFrames::pop(Stack* stack) {
  if (stack->first == 0) return 0;
  FOEDUS_INVARIANT(stack->count != 0);
  const CacheFrame frame = stack->first;
  stack->first = words_of(frame).next;
  --stack->count;
  return frame;
}

// Own ones first: the others may be wanted back.
CacheFrame CacheFrames::take_fresh() {
  if (const CacheFrame frame = pop(&free_own_); frame != 0) return frame;
  if (unused_begin_ != committed_) return static_cast<CacheFrame>(++unused_begin_);
  return pop(&free_borrowed_);
}

void CacheFrames::check_used(CacheFrame frame) const {
  FOEDUS_INVARIANT(frame - 1u < layout_.frames + layout_.borrowed, frame);
  FOEDUS_INVARIANT(is_borrowed(frame) || frame <= unused_begin_, frame, unused_begin_);
  FOEDUS_INVARIANT(words_of(frame).stamp == 0, words_of(frame).stamp);
}

void CacheFrames::release(CacheFrame frame) {
  check_used(frame);
  Stack& stack = is_borrowed(frame) ? free_borrowed_ : free_own_;
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
