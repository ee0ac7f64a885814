#include "foedus-core/snapshot/page_cache_frames.h"

#include <algorithm>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/sync_point.h"

namespace foedus::snapshot {

namespace {

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

CacheFrames::Layout CacheFrames::layout_for(std::uint64_t bytes_max) {
  const std::uint64_t pages = bytes_max / page::kPageBytes;
  Layout layout;
  layout.words_offset = CacheIndex::bytes_for(pages);
  layout.frames_offset =
      round_up(layout.words_offset + pages * sizeof(FrameWords), page::kPageBytes);
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
                                                       Facility numa_binding) {
  constexpr std::uint64_t kBytesLimit = CacheIndex::kFramesMax * page::kPageBytes;
  if (bytes_max < kBytesMin || bytes_max > kBytesLimit) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "page cache of " + std::to_string(bytes_max) +
                             " bytes for each SOC; it must be from " + std::to_string(kBytesMin) +
                             " to " + std::to_string(kBytesLimit));
  }
  const Layout layout = layout_for(bytes_max);
  FOEDUS_INVARIANT(layout.frames >= kFramesMin, layout.frames, bytes_max);
  const std::uint64_t bytes = layout.frames_offset + layout.frames * page::kPageBytes;
  FOEDUS_INVARIANT(bytes <= bytes_max, bytes, bytes_max);
  FOEDUS_TRY(numa::SocMemory memory, numa::SocMemory::reserve(bytes, huge_pages));
  FOEDUS_CHECK(memory.place(topology, soc, 0, memory.bytes(), numa_binding));
  std::unique_ptr<CacheFrames> frames(new CacheFrames(std::move(memory), layout, budget));
  FOEDUS_CHECK(frames->commit_first());
  return frames;
}

CacheFrames::CacheFrames(numa::SocMemory memory, const Layout& layout, base::MemoryBudget* budget)
    : budget_(budget), layout_(layout), memory_(std::move(memory)) {}

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

bool CacheFrames::grow() {
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

CacheFrame CacheFrames::take_fresh() {
  if (free_first_ != 0) {
    FOEDUS_INVARIANT(free_count_ != 0);
    const CacheFrame frame = free_first_;
    free_first_ = words_of(frame).next;
    --free_count_;
    return frame;
  }
  if (unused_begin_ == committed_) return 0;
  return static_cast<CacheFrame>(++unused_begin_);
}

void CacheFrames::release(CacheFrame frame) {
  FOEDUS_INVARIANT(frame - 1u < unused_begin_, frame, unused_begin_);
  FrameWords& words = words_of(frame);
  FOEDUS_INVARIANT(words.stamp == 0, words.stamp);
  words.next = free_first_;
  free_first_ = frame;
  ++free_count_;
}

void CacheFrames::leave(CacheFrame frame, std::uint64_t stamp) {
  FOEDUS_INVARIANT(frame - 1u < unused_begin_, frame, unused_begin_);
  FrameWords& words = words_of(frame);
  FOEDUS_INVARIANT(words.stamp == 0, words.stamp);
  words = FrameWords{leaving_last_, 0, stamp};
  if (leaving_last_ == 0) {
    leaving_first_ = frame;
  } else {
    FrameWords& last = words_of(leaving_last_);
    FOEDUS_INVARIANT(last.stamp <= stamp, last.stamp, stamp);
    last.next = frame;
  }
  leaving_last_ = frame;
  ++leaving_count_;
}

void CacheFrames::stay(CacheFrame frame) {
  FrameWords& words = words_of(frame);
  FOEDUS_INVARIANT(words.stamp != 0, frame);
  FOEDUS_INVARIANT(leaving_count_ != 0);
  CacheFrame& to_this = words.previous == 0 ? leaving_first_ : words_of(words.previous).next;
  CacheFrame& back = words.next == 0 ? leaving_last_ : words_of(words.next).previous;
  FOEDUS_INVARIANT(to_this == frame, to_this, frame);
  FOEDUS_INVARIANT(back == frame, back, frame);
  to_this = words.next;
  back = words.previous;
  words = FrameWords{0, 0, 0};
  --leaving_count_;
}

std::uint64_t CacheFrames::oldest_stamp() const {
  return leaving_first_ == 0 ? kNever : words_of(leaving_first_).stamp;
}

CacheFrame CacheFrames::take_due(std::uint64_t reclaimable) {
  if (leaving_first_ == 0 || words_of(leaving_first_).stamp > reclaimable) return 0;
  const CacheFrame frame = leaving_first_;
  stay(frame);
  return frame;
}

}  // namespace foedus::snapshot
