#include "foedus-core/snapshot/cache/page_cache.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/snapshot/cache/line_cache.h"

namespace foedus::snapshot {

namespace {

constexpr std::uint64_t kReservePart = 4;      // a quarter of the frames is kept leaving or fresh
constexpr std::uint32_t kEvictBatch = 16;      // pages that share a fence
constexpr unsigned kSweepsForBorrowed = 16;    // sweeps of the index in one call of give_back()
constexpr std::uint64_t kForgetBuckets = 256;  // done with one hold of the lock

std::uint64_t reserve_of(const CacheFrames& frames) { return frames.usable() / kReservePart; }
// Returns how many frames can be taken now or when their epochs are over.
std::uint64_t ready_of(const CacheFrames& frames) { return frames.fresh() + frames.leaving(); }

// Returns the error of a miss that found no frame among `frames`, those of the page's stripe.
Status no_frame(const CacheFrames& frames, std::uint32_t soc) {
  return Status::error(ErrorCode::kOutOfMemory,
                       "none of the " + std::to_string(frames.usable()) + " frames of SOC " +
                           std::to_string(soc) +
                           "'s page cache that may hold the page can be used again: others " +
                           "may still look at the pages of " + std::to_string(frames.leaving()) +
                           ", and the rest is cached or being " +
                           "read; raise pages.cache_bytes, or use fewer sessions");
}

// Checks the id alone, on which look-ups depend.
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

PageCache::Stripe::Stripe(Part* its_part, std::uint32_t its_number)
    : part(its_part), number(its_number), frames(its_part->memory.get(), its_number) {}

PageCache::Part::Part(std::unique_ptr<CacheMemory> part_memory)
    : index(part_memory->index_memory(), part_memory->own_max() + part_memory->borrowed_max(),
            part_memory->places()),
      memory(std::move(part_memory)) {
  FOEDUS_INVARIANT(index.stripe_count() == memory->stripes(), index.stripe_count());
  for (std::uint32_t number = 0; number < index.stripe_count(); ++number) {
    stripes.push_back(std::make_unique<Stripe>(this, number));
  }
}

Result<std::unique_ptr<PageCache>> PageCache::make(const numa::Topology* topology,
                                                   base::MemoryBudget* budget,
                                                   std::uint64_t bytes_max, Facility huge_pages,
                                                   Facility numa_binding, PageReader* reader,
                                                   epoch::EpochClock* clock,
                                                   page::PagePool* lender) {
  const std::uint64_t share = bytes_max / topology->socs() / page::kPageBytes * page::kPageBytes;
  std::unique_ptr<PageCache> cache(new PageCache(reader, clock, lender));
  for (std::uint32_t soc = 0; soc < topology->socs(); ++soc) {
    FOEDUS_TRY(std::unique_ptr<CacheMemory> memory,
               CacheMemory::make(*topology, soc, budget, share, huge_pages, numa_binding, lender));
    cache->parts_.push_back(std::make_unique<Part>(std::move(memory)));
  }
  if (lender != nullptr) lender->set_borrower(cache.get());
  return cache;
}

// ---- misses ----------------------------------------------------------------------------------

const page::PageHeader* PageCache::read(Part* part, page::SnapshotPageId id, CacheMark mark,
                                        Status* status) {
  FOEDUS_INVARIANT(!id.is_null());
  Stripe* const stripe = stripe_of(*part, id);
  Taken taken;
  {
    const std::lock_guard lock(stripe->lock);
    const page::PageHeader* const page = find_locked(stripe, id, mark);
    if (page != nullptr) return page;
    ++stripe->counts.misses;
    taken = take_locked(stripe);
    if (taken.frame == 0) *status = no_frame(stripe->frames, part->memory->soc());
  }
  if (taken.is_last) clock_->request_advance(clock_->current());
  if (taken.frame == 0) return nullptr;

  Status read_status = base::catching([&] { return read_into(taken.frame, *part, id); });
  FOEDUS_SYNC_POINT("cache:before_publish");
  const std::lock_guard lock(stripe->lock);
  if (!read_status.is_ok()) {
    stripe->frames.release(taken.frame);
    *status = std::move(read_status);
    return nullptr;
  }
  return publish_locked(stripe, id, taken.frame, mark);
}

Status PageCache::read_into(CacheFrame frame, const Part& part, page::SnapshotPageId id) {
  page::PageHeader* const page = part.index.page_at(frame);
  if (is_line_page(id)) {
    reinterpret_cast<LinePage*>(page)->initialize(id);
    return {};
  }
  FOEDUS_CHECK(reader_->read(id, page));
  return check_id(*page, id);
}

// Looks again, under the lock: another thread may have read the page, or it is leaving (K5).
const page::PageHeader* PageCache::find_locked(Stripe* stripe, page::SnapshotPageId id,
                                               CacheMark mark) {
  CacheIndex& index = stripe->part->index;
  const CacheFrame cached = mark == CacheMark::kReadAhead ? index.peek(id) : index.find(id);
  if (cached != 0) return index.page_at(cached);
  const bool is_read_ahead = mark == CacheMark::kReadAhead;
  if (!is_read_ahead) {
    const CacheFrame first_used = index.use_leaving(id);  // K15
    if (first_used != 0) {
      stripe->frames.stay(first_used);
      stamp_locked(stripe, &first_used, 1);
      count_hit(stripe->part);
      return index.page_at(first_used);
    }
  }
  const CacheFrame frame = index.restore(id, is_read_ahead ? mark : CacheMark::kUsedAgain);
  if (frame == 0) return nullptr;
  stripe->frames.stay(frame);
  ++stripe->counts.returns;
  // If returns have used up half of the reserve, other pages have to leave (K7).
  if (ready_of(stripe->frames) < reserve_of(stripe->frames) / 2) {
    evict_locked(stripe, CacheSweep::kCold);
  }
  return index.page_at(frame);
}

const page::PageHeader* PageCache::publish_locked(Stripe* stripe, page::SnapshotPageId id,
                                                  CacheFrame frame, CacheMark mark) {
  const page::PageHeader* const page = find_locked(stripe, id, mark);
  if (page != nullptr) {
    ++stripe->counts.duplicates;
    stripe->frames.release(frame);
    return page;
  }
  // If all frames are in use, a page without a ghost is on trial (K15).
  CacheIndex& index = stripe->part->index;
  const bool is_known = index.take_ghost(id);
  const bool is_on_trial = !is_known && stripe->frames.fresh() == 0;
  const CacheFrame evicted = index.put(id, frame, mark, is_on_trial);
  if (evicted != 0) leave_locked(stripe, &evicted, 1);
  if (is_on_trial) leave_locked(stripe, &frame, 1);
  return index.page_at(frame);
}

// ---- frames ----------------------------------------------------------------------------------

// Takes new memory first, while there is any; then a frame that is due. Pages are made to leave
// ahead of need, because their frames are due only an epoch later.
PageCache::Taken PageCache::take_locked(Stripe* stripe) {
  CacheFrames& frames = stripe->frames;
  const std::uint64_t reserve = reserve_of(frames);
  if (frames.fresh() < std::min(reserve, CacheMemory::kExtentFrames) && !frames.grow() &&
      ready_of(frames) < reserve) {
    evict_locked(stripe, CacheSweep::kColdForNow);
  }
  const std::uint64_t reclaimable = clock_->cache_reclaimable().number();
  CacheFrame frame = frames.take_fresh();
  // order: relaxed twice, a hint, which is written when it changes only.
  const std::uint32_t is_full = frame == 0 ? 1 : 0;
  if (stripe->part->is_full.load_relaxed() != is_full) stripe->part->is_full.store_relaxed(is_full);
  if (frame == 0) {
    frame = frames.take_due(reclaimable);
    if (frame != 0) stripe->part->index.remove_leaving(frame);
  }
  const bool is_last = frames.fresh() == 0 && frames.oldest_stamp() > reclaimable;
  return Taken{frame, is_last};
}

void PageCache::evict_locked(Stripe* stripe, CacheSweep which) {
  CacheIndex& index = stripe->part->index;
  CacheFrame frames[kEvictBatch];
  std::uint32_t count = index.sweep(stripe->number, frames, kEvictBatch, which);
  // Where all pages are used again before the hand comes by, some of them have to leave as well.
  if (count == 0 && ready_of(stripe->frames) < reserve_of(stripe->frames) / 2) {
    count = index.sweep(stripe->number, frames, kEvictBatch, CacheSweep::kAny);
  }
  if (count != 0) leave_locked(stripe, frames, count);
}

std::uint32_t PageCache::give_back(std::uint32_t soc, std::uint32_t count) {
  Part* const part = part_of(soc);
  CacheFrame given[page::PagePool::kBatchPages];
  const std::uint32_t given_max = std::min(count, page::PagePool::kBatchPages);
  std::uint32_t given_count = 0;
  unsigned sweeps_left = kSweepsForBorrowed;
  // order: relaxed, any stripe will do; one that did not give last time has more to give.
  std::uint32_t giver = part->next_giver.fetch_add_relaxed(1);
  for (std::size_t left = part->stripes.size(); left != 0 && given_count < given_max; --left) {
    Stripe* const stripe = part->stripes[giver++ % part->stripes.size()].get();
    const std::lock_guard lock(stripe->lock);
    given_count += take_borrowed_locked(stripe, given + given_count, given_max - given_count);
    free_borrowed_locked(stripe, &sweeps_left);
  }
  if (given_count != 0) part->memory->give_back(given, given_count);
  if (given_count < given_max) clock_->request_advance(clock_->current());
  return given_count;
}

std::uint32_t PageCache::take_borrowed_locked(Stripe* stripe, CacheFrame* frames,
                                              std::uint32_t count_max) {
  const std::uint64_t reclaimable = clock_->cache_reclaimable().number();  // K4
  std::uint32_t count = 0;
  while (count < count_max) {
    CacheFrame frame = stripe->frames.take_fresh_borrowed();
    if (frame == 0) {
      frame = stripe->frames.take_due_borrowed(reclaimable);
      if (frame == 0) break;
      stripe->part->index.remove_leaving(frame);
    }
    frames[count++] = frame;
  }
  return count;
}

// Makes pages in borrowed frames leave (K14). All stripes together keep at least kExtentFrames of
// them fresh or leaving, if they have borrowed as many.
void PageCache::free_borrowed_locked(Stripe* stripe, unsigned* sweeps_left) {
  const CacheFrames& frames = stripe->frames;
  const std::uint64_t least = CacheMemory::kExtentFrames / stripe->part->stripes.size();
  const std::uint64_t borrowed = frames.borrowed();
  const std::uint64_t wanted = std::min(borrowed, std::max(borrowed / kReservePart, least));
  for (; *sweeps_left != 0 && frames.borrowed_ready() < wanted; --*sweeps_left) {
    const bool is_short = frames.borrowed_ready() < wanted / 2;
    CacheFrame left[kEvictBatch];
    const std::uint32_t count = stripe->part->index.sweep_borrowed(
        stripe->number, left, kEvictBatch, is_short ? CacheSweep::kAny : CacheSweep::kCold);
    if (count != 0) leave_locked(stripe, left, count);
  }
}

void PageCache::leave_locked(Stripe* stripe, const CacheFrame* frames, std::uint32_t count) {
  stamp_locked(stripe, frames, count);
  stripe->counts.evictions += count;
}

void PageCache::stamp_locked(Stripe* stripe, const CacheFrame* frames, std::uint32_t count) {
  FOEDUS_SYNC_POINT("cache:unlinked");
  // order: K3, the retiring half of E3: the unlinking comes before the fence, the stamp after it.
  base::fence_seq_cst();
  const std::uint64_t stamp = clock_->current().number();
  for (std::uint32_t i = 0; i < count; ++i) stripe->frames.leave(frames[i], stamp);
}

Epoch PageCache::due(std::uint32_t soc, page::SnapshotPageId id) const {
  const Stripe& stripe = *stripe_of(*part_of(soc), id);
  const std::lock_guard lock(stripe.lock);
  const bool is_fresh = stripe.frames.fresh() != 0;
  if (is_fresh) return Epoch();
  const std::uint64_t oldest = stripe.frames.oldest_stamp();
  // No frame is leaving: all have cached pages, or are being read into. A page that is evicted from
  // now on is due after the current epoch.
  return oldest == CacheFrames::kNever ? clock_->current() : Epoch(oldest);
}

// ---- pages in flight, deleted snapshots, statistics ------------------------------------------

std::unique_ptr<PagesInFlight> PageCache::make_pages_in_flight(std::uint32_t soc) {
  std::unique_ptr<PageReads> reads = reader_->make_reads();
  if (reads == nullptr) return nullptr;
  return std::make_unique<PagesInFlight>(this, soc, std::move(reads));
}

// Returns true if one more page may be in flight (K11). Gets new memory first, while there is any.
bool PageCache::may_fly_locked(Stripe* stripe) {
  do {
    if (stripe->frames_in_flight < reserve_of(stripe->frames) / 4) return true;
  } while (stripe->frames.grow());
  return false;
}

bool PageCache::find_or_take(std::uint32_t soc, page::SnapshotPageId id, CacheFrame* frame) {
  Stripe* const stripe = stripe_of(*part_of(soc), id);
  Taken taken{0, false};
  {
    const std::lock_guard lock(stripe->lock);
    if (find_locked(stripe, id, CacheMark::kReadAhead) != nullptr) return true;
    if (may_fly_locked(stripe)) taken = take_locked(stripe);
    if (taken.frame != 0) {
      ++stripe->counts.misses;
      ++stripe->frames_in_flight;
    }
  }
  if (taken.is_last) clock_->request_advance(clock_->current());
  *frame = taken.frame;
  return false;
}

// Takes a stripe's lock once for pages of it that follow one another in `reads`.
void PageCache::put_ahead(std::uint32_t soc, const Read* reads, std::uint32_t count) {
  const Part* const part = part_of(soc);
  FOEDUS_SYNC_POINT("cache:before_publish_ahead");
  const Read* const end = reads + count;
  while (reads != end) {
    Stripe* const stripe = stripe_of(*part, reads->id);
    const std::lock_guard lock(stripe->lock);
    do {
      put_ahead_locked(stripe, *reads++);
    } while (reads != end && stripe_of(*part, reads->id) == stripe);
  }
}

void PageCache::put_ahead_locked(Stripe* stripe, const Read& read) {
  FOEDUS_INVARIANT(stripe->frames_in_flight != 0, read.id.word(), read.frame);
  --stripe->frames_in_flight;
  const page::PageHeader* const page = stripe->part->index.page_at(read.frame);
  if (read.is_good && page->page_id == read.id.word()) {
    publish_locked(stripe, read.id, read.frame, CacheMark::kReadAhead);
  } else {
    stripe->frames.release(read.frame);
  }
}

void PageCache::forget(page::SnapshotNumber snapshot) {
  for (const std::unique_ptr<Part>& part : parts_) {
    for (const std::unique_ptr<Stripe>& stripe : part->stripes) {
      const CacheIndex::BucketRange buckets = part->index.buckets_of(stripe->number);
      for (std::uint64_t i = buckets.begin; i < buckets.end; i += kForgetBuckets) {
        forget_some(stripe.get(), snapshot, {i, std::min(i + kForgetBuckets, buckets.end)});
      }
    }
  }
}

void PageCache::forget_some(Stripe* stripe, page::SnapshotNumber snapshot,
                            CacheIndex::BucketRange buckets) {
  const std::lock_guard lock(stripe->lock);
  for (std::uint64_t i = buckets.begin; i < buckets.end; ++i) {
    CacheFrame frames[CacheIndex::kBucketEntries];
    const std::uint32_t count = stripe->part->index.forget(snapshot, i, frames);
    if (count != 0) leave_locked(stripe, frames, count);
  }
}

PageCacheStatistics PageCache::statistics(std::uint32_t soc) const {
  const Part& part = *part_of(soc);
  PageCacheStatistics result;
  for (const std::unique_ptr<Stripe>& stripe : part.stripes) {
    const std::lock_guard lock(stripe->lock);
    result.add(stripe->counts);
    result.pages += part.index.pages_cached(stripe->number);
    result.bytes += stripe->frames.borrowed() * page::kPageBytes;
  }
  result.bytes += part.memory->bytes_taken();
  result.hits = part.hits.load_relaxed();  // order: relaxed, statistics
  return result;
}

PageCacheStatistics PageCache::statistics() const {
  PageCacheStatistics sum;
  for (std::uint32_t soc = 0; soc < socs(); ++soc) sum.add(statistics(soc));
  return sum;
}

}  // namespace foedus::snapshot
