#include "foedus-core/snapshot/page_cache.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/sync_point.h"

namespace foedus::snapshot {

namespace {

constexpr std::uint64_t kReservePart = 4;      // a quarter of the frames is kept leaving or fresh
constexpr std::uint32_t kEvictBatch = 16;      // pages that share a fence
constexpr unsigned kSweepsForBorrowed = 16;    // of the index, in one call of give_back()
constexpr std::uint64_t kForgetBuckets = 256;  // looked through without letting go of the lock

std::uint64_t reserve_of(const CacheFrames& frames) { return frames.usable() / kReservePart; }
// Frames that can be taken now or when their epochs are over.
std::uint64_t ready_of(const CacheFrames& frames) { return frames.fresh() + frames.leaving(); }

Status no_frame(const CacheFrames& frames, std::uint32_t soc) {
  return Status::error(
      ErrorCode::kOutOfMemory,
      "none of the " + std::to_string(frames.usable()) + " frames of SOC " +
          std::to_string(soc) + "'s page cache can be used again: others may still look at the " +
          "pages of " + std::to_string(frames.leaving()) + ", and the rest is cached or being " +
          "read; raise glean.cache_bytes, or use fewer sessions");
}

// Checks no more than what look-ups depend on.
Status check_id(const page::PageHeader& page, page::SnapshotPageId id) {
  if (page.page_id == id.word()) return {};
  return Status::error(ErrorCode::kCorruption,
                       "page " + std::to_string(id.page()) + " of snapshot " +
                           std::to_string(static_cast<std::uint32_t>(id.snapshot())) + ", SOC " +
                           std::to_string(id.soc()) + ", was asked for, but the one read says " +
                           std::to_string(page.page_id) + " in place of " +
                           std::to_string(id.word()));
}

}  // namespace

void PageCacheStatistics::add(const PageCacheStatistics& other) {
  hits += other.hits;
  misses += other.misses;
  returns += other.returns;
  duplicates += other.duplicates;
  evictions += other.evictions;
  pages += other.pages;
  bytes += other.bytes;
}

PageCache::Part::Part(std::uint32_t soc_number, std::unique_ptr<CacheFrames> part_frames)
    : index(part_frames->index_memory(), part_frames->own_max() + part_frames->borrowed_max(),
            part_frames->places()),
      soc(soc_number),
      frames(std::move(part_frames)) {}

Result<std::unique_ptr<PageCache>> PageCache::make(const numa::Topology* topology,
                                                   base::MemoryBudget* budget,
                                                   std::uint64_t bytes_max, Facility huge_pages,
                                                   Facility numa_binding, PageReader* reader,
                                                   epoch::EpochClock* clock,
                                                   page::PagePool* lender) {
  const std::uint64_t share = bytes_max / topology->socs() / page::kPageBytes * page::kPageBytes;
  std::unique_ptr<PageCache> cache(new PageCache(reader, clock, lender));
  for (std::uint32_t soc = 0; soc < topology->socs(); ++soc) {
    FOEDUS_TRY(std::unique_ptr<CacheFrames> frames,
               CacheFrames::make(*topology, soc, budget, share, huge_pages, numa_binding, lender));
    cache->parts_.push_back(std::make_unique<Part>(soc, std::move(frames)));
  }
  if (lender != nullptr) lender->set_borrower(cache.get());
  return cache;
}

// ---- misses ----------------------------------------------------------------------------------

const page::PageHeader* PageCache::read(Part* part, page::SnapshotPageId id, CacheMark mark,
                                        Status* status) {
  FOEDUS_INVARIANT(!id.is_null());
  Taken taken;
  {
    const std::lock_guard lock(part->lock);
    const page::PageHeader* const page = find_locked(part, id, mark);
    if (page != nullptr) return page;
    ++part->counts.misses;
    taken = take_locked(part);
    if (taken.frame == 0) *status = no_frame(*part->frames, part->soc);
  }
  if (taken.is_last) clock_->hurry(clock_->current());
  if (taken.frame == 0) return nullptr;

  Status read_status = base::catching([&] { return read_into(taken.frame, *part, id); });
  FOEDUS_SYNC_POINT("cache:before_publish");
  const std::lock_guard lock(part->lock);
  if (!read_status.is_ok()) {
    part->frames->release(taken.frame);
    *status = std::move(read_status);
    return nullptr;
  }
  return publish_locked(part, id, taken.frame, mark);
}

Status PageCache::read_into(CacheFrame frame, const Part& part, page::SnapshotPageId id) {
  page::PageHeader* const page = part.index.page_at(frame);
  FOEDUS_CHECK(reader_->read(id, page));
  return check_id(*page, id);
}

// Another thread's work since the look-up without the lock, or a page that is leaving (K5).
const page::PageHeader* PageCache::find_locked(Part* part, page::SnapshotPageId id,
                                               CacheMark mark) {
  const CacheFrame cached =
      mark == CacheMark::kReadAhead ? part->index.peek(id) : part->index.find(id);
  if (cached != 0) return part->index.page_at(cached);
  const bool is_read_ahead = mark == CacheMark::kReadAhead;
  if (!is_read_ahead) {
    const CacheFrame first_used = part->index.use_leaving(id);  // K15
    if (first_used != 0) {
      part->frames->stay(first_used);
      stamp_locked(part, &first_used, 1);
      count_hit(part);
      return part->index.page_at(first_used);
    }
  }
  const CacheFrame frame = part->index.restore(id, is_read_ahead ? mark : CacheMark::kUsedAgain);
  if (frame == 0) return nullptr;
  part->frames->stay(frame);
  ++part->counts.returns;
  // K7
  if (ready_of(*part->frames) < reserve_of(*part->frames) / 2) {
    evict_locked(part, CacheSweep::kCold);
  }
  return part->index.page_at(frame);
}

const page::PageHeader* PageCache::publish_locked(Part* part, page::SnapshotPageId id,
                                                  CacheFrame frame, CacheMark mark) {
  const page::PageHeader* const page = find_locked(part, id, mark);
  if (page != nullptr) {
    ++part->counts.duplicates;
    part->frames->release(frame);
    return page;
  }
  // K15
  const bool is_known = part->index.take_ghost(id);
  const bool is_on_trial = !is_known && part->frames->fresh() == 0;
  const CacheFrame evicted = part->index.put(id, frame, mark, is_on_trial);
  if (evicted != 0) leave_locked(part, &evicted, 1);
  if (is_on_trial) leave_locked(part, &frame, 1);
  return part->index.page_at(frame);
}

// ---- frames ----------------------------------------------------------------------------------

// Memory first, for as long as there is any; then what is due. Pages are made to leave ahead of
// need, because they leave so slowly.
PageCache::Taken PageCache::take_locked(Part* part) {
  CacheFrames& frames = *part->frames;
  const std::uint64_t reserve = reserve_of(frames);
  if (frames.fresh() < std::min(reserve, CacheFrames::kExtentFrames) && !frames.grow() &&
      ready_of(frames) < reserve) {
    evict_locked(part, CacheSweep::kColdForNow);
  }
  const std::uint64_t reclaimable = clock_->cache_reclaimable().number();
  CacheFrame frame = frames.take_fresh();
  if (frame == 0) {
    frame = frames.take_due(reclaimable);
    if (frame != 0) part->index.remove_leaving(frame);
  }
  const bool is_last = frames.fresh() == 0 && frames.oldest_stamp() > reclaimable;
  return Taken{frame, is_last};
}

void PageCache::evict_locked(Part* part, CacheSweep which) {
  CacheFrame frames[kEvictBatch];
  std::uint32_t count = part->index.sweep(frames, kEvictBatch, which);
  // Where all pages are used again faster than the hand comes by, it must take some of them.
  if (count == 0 && ready_of(*part->frames) < reserve_of(*part->frames) / 2) {
    count = part->index.sweep(frames, kEvictBatch, CacheSweep::kAny);
  }
  if (count != 0) leave_locked(part, frames, count);
}

std::uint32_t PageCache::give_back(std::uint32_t soc, std::uint32_t count) {
  Part* const part = part_of(soc);
  CacheFrame given[page::PagePool::kBatchPages];
  const std::uint32_t given_max = std::min(count, page::PagePool::kBatchPages);
  std::uint32_t given_count = 0;
  {
    const std::lock_guard lock(part->lock);
    CacheFrames& frames = *part->frames;
    const std::uint64_t reclaimable = clock_->cache_reclaimable().number();  // K4
    while (given_count < given_max) {
      CacheFrame frame = frames.take_fresh_borrowed();
      if (frame == 0) {
        frame = frames.take_due_borrowed(reclaimable);
        if (frame == 0) break;
        part->index.remove_leaving(frame);
      }
      given[given_count++] = frame;
    }
    if (given_count != 0) frames.give_back(given, given_count);
    free_borrowed_locked(part);
  }
  if (given_count < given_max) clock_->hurry(clock_->current());
  return given_count;
}

// K14
void PageCache::free_borrowed_locked(Part* part) {
  const CacheFrames& frames = *part->frames;
  const std::uint64_t borrowed = frames.borrowed();
  const std::uint64_t wanted =
      std::min(borrowed, std::max(borrowed / kReservePart, CacheFrames::kExtentFrames));
  for (unsigned i = 0; i < kSweepsForBorrowed && frames.borrowed_ready() < wanted; ++i) {
    const bool is_short = frames.borrowed_ready() < wanted / 2;
    CacheFrame left[kEvictBatch];
    const std::uint32_t count = part->index.sweep_borrowed(
        left, kEvictBatch, is_short ? CacheSweep::kAny : CacheSweep::kCold);
    if (count != 0) leave_locked(part, left, count);
  }
}

void PageCache::leave_locked(Part* part, const CacheFrame* frames, std::uint32_t count) {
  stamp_locked(part, frames, count);
  part->counts.evictions += count;
}

void PageCache::stamp_locked(Part* part, const CacheFrame* frames, std::uint32_t count) {
  FOEDUS_SYNC_POINT("cache:unlinked");
  // order: K3, the retiring half of E3: the unlinking comes before the fence, the stamp after it.
  base::fence_seq_cst();
  const std::uint64_t stamp = clock_->current().number();
  for (std::uint32_t i = 0; i < count; ++i) part->frames->leave(frames[i], stamp);
}

Epoch PageCache::due(std::uint32_t soc) const {
  FOEDUS_INVARIANT(soc < parts_.size(), soc, parts_.size());
  const Part& part = *parts_[soc];
  const std::lock_guard lock(part.lock);
  const bool is_fresh = part.frames->fresh() != 0;
  if (is_fresh) return Epoch();
  const std::uint64_t oldest = part.frames->oldest_stamp();
  // None is leaving: all are in the hands of readers, whose pages can be evicted in an epoch.
  return oldest == CacheFrames::kNever ? clock_->current() : Epoch(oldest);
}

// ---- pages in flight, deleted snapshots, statistics ------------------------------------------

std::unique_ptr<PagesInFlight> PageCache::make_pages_in_flight(std::uint32_t soc) {
  std::unique_ptr<PageReads> reads = reader_->make_reads();
  if (reads == nullptr) return nullptr;
  return std::make_unique<PagesInFlight>(this, soc, std::move(reads));
}

// K11. Memory first, for as long as there is any.
bool PageCache::may_fly_locked(Part* part) {
  do {
    if (part->frames_in_flight < reserve_of(*part->frames) / 4) return true;
  } while (part->frames->grow());
  return false;
}

bool PageCache::find_or_take(std::uint32_t soc, page::SnapshotPageId id, CacheFrame* frame) {
  Part* const part = part_of(soc);
  Taken taken{0, false};
  {
    const std::lock_guard lock(part->lock);
    if (find_locked(part, id, CacheMark::kReadAhead) != nullptr) return true;
    if (may_fly_locked(part)) taken = take_locked(part);
    if (taken.frame != 0) {
      ++part->counts.misses;
      ++part->frames_in_flight;
    }
  }
  if (taken.is_last) clock_->hurry(clock_->current());
  *frame = taken.frame;
  return false;
}

void PageCache::put_ahead(std::uint32_t soc, const Read* reads, std::uint32_t count) {
  Part* const part = part_of(soc);
  FOEDUS_SYNC_POINT("cache:before_publish_ahead");
  const std::lock_guard lock(part->lock);
  FOEDUS_INVARIANT(count <= part->frames_in_flight, count, part->frames_in_flight);
  part->frames_in_flight -= count;
  for (const Read* read = reads; read != reads + count; ++read) {
    if (read->is_good && part->index.page_at(read->frame)->page_id == read->id.word()) {
      publish_locked(part, read->id, read->frame, CacheMark::kReadAhead);
    } else {
      part->frames->release(read->frame);
    }
  }
}

void PageCache::forget(page::SnapshotNumber snapshot) {
  for (const std::unique_ptr<Part>& part : parts_) {
    const std::uint64_t end = part->index.bucket_count();
    for (std::uint64_t begin = 0; begin < end; begin += kForgetBuckets) {
      const std::lock_guard lock(part->lock);
      for (std::uint64_t i = begin; i < std::min(begin + kForgetBuckets, end); ++i) {
        CacheFrame frames[CacheIndex::kBucketEntries];
        const std::uint32_t count = part->index.forget(snapshot, i, frames);
        if (count != 0) leave_locked(part.get(), frames, count);
      }
    }
  }
}

PageCacheStatistics PageCache::statistics(std::uint32_t soc) const {
  FOEDUS_INVARIANT(soc < parts_.size(), soc, parts_.size());
  const Part& part = *parts_[soc];
  const std::lock_guard lock(part.lock);
  PageCacheStatistics result = part.counts;
  result.hits = part.hits.load_relaxed();  // order: relaxed, statistics
  result.pages = part.index.pages_cached();
  result.bytes = part.frames->bytes_taken() + part.frames->borrowed() * page::kPageBytes;
  return result;
}

PageCacheStatistics PageCache::statistics() const {
  PageCacheStatistics sum;
  for (std::uint32_t soc = 0; soc < socs(); ++soc) sum.add(statistics(soc));
  return sum;
}

}  // namespace foedus::snapshot
