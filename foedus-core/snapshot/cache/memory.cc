#include "foedus-core/snapshot/cache/memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::snapshot {

namespace {

// Bytes that index, link and words of a borrowed frame take of the cache's own share. All borrowed
// frames together take at most an eighth of the share, and far less of the default share.
constexpr std::uint64_t kBytesPerBorrowed = 48;
constexpr std::uint64_t kPartForBorrowed = 8;

// Returns how many pages a SOC's part may borrow, at most its share of the lender's bound.
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

CacheMemory::Layout CacheMemory::layout_for(std::uint64_t bytes_max,
                                            std::uint64_t pages_to_borrow) {
  const std::uint64_t pages = bytes_max / page::kPageBytes;
  Layout layout;
  layout.borrowed = pages_to_borrow;
  layout.links_offset = CacheIndex::bytes_for(pages + layout.borrowed);
  layout.words_offset =
      layout.links_offset + (pages + layout.borrowed) * sizeof(CacheIndex::Link);
  layout.frames_offset = round_up(
      layout.words_offset + (pages + layout.borrowed) * sizeof(FrameWords), page::kPageBytes);
  const std::uint64_t pages_of_words = layout.frames_offset / page::kPageBytes;
  FOEDUS_INVARIANT(pages > pages_of_words, pages, bytes_max);
  layout.frames = pages - pages_of_words;
  return layout;
}

Result<std::unique_ptr<CacheMemory>> CacheMemory::make(const numa::Topology& topology,
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
  FOEDUS_TRY(numa::SocMemory reserved, numa::SocMemory::reserve(bytes, huge_pages));
  FOEDUS_CHECK(reserved.place(topology, soc, 0, reserved.bytes(), numa_binding));
  std::unique_ptr<CacheMemory> memory(
      new CacheMemory(std::move(reserved), layout, budget, lender, soc));
  FOEDUS_CHECK(memory->commit_first());
  return memory;
}

CacheMemory::CacheMemory(numa::SocMemory memory, const Layout& layout, base::MemoryBudget* budget,
                         page::PagePool* lender, std::uint32_t soc)
    : budget_(budget), layout_(layout), memory_(std::move(memory)), lender_(lender), soc_(soc) {}

CacheIndex::Places CacheMemory::places() const {
  char* const own_begin = memory_.begin() + layout_.frames_offset;
  auto* const links = reinterpret_cast<CacheIndex::Link*>(memory_.begin() + layout_.links_offset);
  CacheIndex::Places places{own_begin, layout_.frames, own_begin, layout_.frames, links};
  if (lender_ == nullptr) return places;
  const page::VolatilePageId first(soc_, lender_->slice_begin(soc_));
  places.borrowed_begin = reinterpret_cast<char*>(lender_->resolve(first));
  places.all += layout_.borrowed;
  return places;
}

Status CacheMemory::commit_first() {
  const std::uint64_t frames = stripes() * kFramesMin;
  FOEDUS_INVARIANT(frames <= layout_.frames, frames, layout_.frames);
  const std::uint64_t bytes = layout_.frames_offset + frames * page::kPageBytes;
  if (!budget_->try_take(bytes)) {
    return Status::error(ErrorCode::kOutOfMemory, "no room for the first " + std::to_string(bytes) +
                                                      " bytes of a page cache; raise "
                                                      "Options::memory_bytes");
  }
  bytes_taken_ = bytes;
  FOEDUS_CHECK(memory_.commit(0, bytes));
  committed_ = frames;
  return {};
}

CacheMemory::Frames CacheMemory::commit_more(std::uint64_t count_max) {
  if (budget_->remaining() < page::kPageBytes) return {};
  const std::lock_guard lock(lock_);
  if (committed_ == layout_.frames) return {};
  const std::uint64_t offset = layout_.frames_offset + committed_ * page::kPageBytes;
  const std::uint64_t extent_end = (offset / kExtentBytes + 1) * kExtentBytes;
  const std::uint64_t frames_end = layout_.frames_offset + layout_.frames * page::kPageBytes;
  const std::uint64_t left = budget_->remaining() / page::kPageBytes;
  // If little is left, no stripe gets more than an even part of it at a time.
  const std::uint64_t even = std::max<std::uint64_t>(left / stripes(), kFramesMin);
  std::uint64_t bytes = std::min(extent_end, frames_end) - offset;
  bytes = std::min(bytes, std::min({count_max, left, even}) * page::kPageBytes);
  FOEDUS_SYNC_POINT("page_cache:before_take");
  // Another part may have taken what was left of the budget: then the next miss tries again.
  if (bytes == 0 || !budget_->try_take(bytes)) return {};
  if (!memory_.commit(offset, bytes).is_ok()) {
    budget_->give_back(bytes);
    return {};
  }
  const Frames frames{static_cast<CacheFrame>(committed_ + 1), bytes / page::kPageBytes};
  bytes_taken_ += bytes;
  committed_ += frames.count;
  return frames;
}

std::uint32_t CacheMemory::borrow(CacheFrame (&frames)[kBorrowFrames]) {
  if (lender_ == nullptr) return 0;
  page::VolatilePageId ids[kBorrowFrames];
  const std::uint32_t count = lender_->lend(soc_, layout_.borrowed, ids, kBorrowFrames);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t place = ids[i].number() - lender_->slice_begin(soc_);
    FOEDUS_INVARIANT(place < layout_.borrowed, place, layout_.borrowed);
    frames[i] = static_cast<CacheFrame>(layout_.frames + 1 + place);
    words_of(frames[i]) = FrameWords{0, 0, 0};
  }
  return count;
}

void CacheMemory::give_back(const CacheFrame* frames, std::uint32_t count) {
  FOEDUS_INVARIANT(count - 1 < kBorrowFrames, count);
  page::VolatilePageId ids[kBorrowFrames];
  for (std::uint32_t i = 0; i < count; ++i) {
    FOEDUS_INVARIANT(is_borrowed(frames[i]), frames[i], layout_.frames);
    FOEDUS_INVARIANT(words_of(frames[i]).stamp == 0, frames[i]);
    const std::uint64_t place = frames[i] - layout_.frames - 1;
    ids[i] = page::VolatilePageId(soc_, lender_->slice_begin(soc_) + place);
  }
  lender_->take_back_lent(ids, count);
}

}  // namespace foedus::snapshot
