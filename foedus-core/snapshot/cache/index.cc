#include "foedus-core/snapshot/cache/index.h"

#include "foedus-core/base/invariant.h"

namespace foedus::snapshot {

CacheIndex::CacheIndex(char* memory, std::uint64_t frames, const Places& places)
    : buckets_(reinterpret_cast<Bucket*>(memory)),
      bucket_count_(buckets_for(frames)),
      frames_(reinterpret_cast<std::uintptr_t>(places.own_begin) - page::kPageBytes),
      own_frames_(places.own),
      to_borrowed_(reinterpret_cast<std::uintptr_t>(places.borrowed_begin) -
                   (places.own + 1) * page::kPageBytes - frames_),
      frames_in_all_(places.all),
      links_(places.links),
      stripe_count_(stripes_for(places.own)),
      stripe_buckets_((bucket_count_ / 2 + stripe_count_ - 1) / stripe_count_ * 2) {
  for (std::uint32_t stripe = 0; stripe < stripe_count_; ++stripe) {
    const BucketRange buckets = buckets_of(stripe);
    FOEDUS_INVARIANT(buckets.begin < buckets.end, stripe, buckets.begin, buckets.end);
    stripes_[stripe].hand = buckets.begin;
    stripes_[stripe].hand_of_borrowed = buckets.begin;
  }
}

CacheFrame CacheIndex::frame_of_tag(const Key& key) const {
  for (const Bucket* const bucket : {key.home, buddy_of(key.home)}) {
    const unsigned same = entries_of_tag(bucket, key.tag);
    if (same == 0) continue;
    // order: relaxed, nothing is read at the address.
    return frame_of(bucket->entries[std::countr_zero(same)].load_relaxed());
  }
  return 0;
}

CacheFrame CacheIndex::restore(page::SnapshotPageId id, CacheMark mark) {
  const Key key = key_of(id);
  const Place place = locate(key, key.tag | kLeavingTag, {});
  if (place.entry == nullptr) return 0;
  place.mark->store_relaxed(static_cast<std::uint8_t>(mark));  // order: relaxed, a hint
  // order: release, pairs with the acquire in locate_at(): the page was complete before it was put,
  // and this thread sees that by the lock.
  place.entry->store_release(word_of(key.tag, place.frame));
  put_link(place.frame, key.id);
  ++stripes_[stripe_of_bucket(key.home)].pages_cached;
  return place.frame;
}

CacheFrame CacheIndex::use_leaving(page::SnapshotPageId id) {
  const Key key = key_of(id);
  const Place place = locate(key, key.tag | kLeavingTag, {});
  // order: relaxed twice, a hint.
  if (place.entry == nullptr || place.mark->load_relaxed() != kReadAheadByte) return 0;
  place.mark->store_relaxed(static_cast<std::uint8_t>(CacheMark::kUsedOnce));
  return place.frame;
}

CacheFrame CacheIndex::put(page::SnapshotPageId id, CacheFrame frame, CacheMark mark,
                           bool is_leaving) {
  FOEDUS_INVARIANT(frame - 1u < kFramesMax, frame);
  FOEDUS_INVARIANT(page_at(frame)->page_id == id.word(), page_at(frame)->page_id, id.word());
  const Key key = key_of(id);
  CacheFrame evicted = 0;
  const Place place = place_for(key, &evicted);
  place.mark->store_relaxed(static_cast<std::uint8_t>(mark));  // order: relaxed, a hint
  const std::uint64_t tag = is_leaving ? key.tag | kLeavingTag : key.tag;
  // order: release, pairs with the acquire in locate_at(): readers see what was read into the frame
  place.entry->store_release(word_of(tag, frame));
  Stripe& stripe = stripes_[stripe_of_bucket(key.home)];
  if (!is_leaving) {
    put_link(frame, key.id);
    ++stripe.pages_cached;
  }
  if (evicted != 0) {
    remove_link(evicted);
    --stripe.pages_cached;
  }
  return evicted;
}

bool CacheIndex::take_ghost(page::SnapshotPageId id) {
  const Key key = key_of(id);
  const std::uint64_t ghost = word_of(key.tag | kLeavingTag, 0);
  for (Bucket* const bucket : {key.home, buddy_of(key.home)}) {
    for (auto& entry : bucket->entries) {
      // order: relaxed twice, as in remove_leaving()
      if (entry.load_relaxed() != ghost) continue;
      entry.store_relaxed(0);
      return true;
    }
  }
  return false;
}

// Chooses an entry for a page: in the home bucket an empty one, else a ghost's; else the same in
// the buddy; else, in the pair, that of a leaving page, whose frame stays leaving without an entry;
// else that of a page that was not used again; else any. All reads of entries and marks below are
// relaxed: entries are written under the lock that the caller holds, marks are hints.
CacheIndex::Place CacheIndex::place_for(const Key& key, CacheFrame* evicted) {
  Bucket* const pair[] = {key.home, buddy_of(key.home)};
  for (Bucket* const bucket : pair) {
    const Place place = free_place(bucket, first_place_of(key));
    if (place.entry != nullptr) return place;
  }
  Place victim;
  for (Bucket* const bucket : pair) {
    for (unsigned i = 0; i < kBucketEntries; ++i) {
      const std::uint64_t word = bucket->entries[i].load_relaxed();  // order: relaxed, see above
      const Place place{&bucket->entries[i], &bucket->marks[i], frame_of(word)};
      if (is_leaving(word)) return place;
      const bool is_cold = uses_of(*bucket, i, place.frame) < kUsedAgainByte;
      if (victim.entry == nullptr || is_cold) victim = place;
    }
  }
  FOEDUS_INVARIANT(victim.frame != 0);
  *evicted = victim.frame;
  return victim;
}

CacheIndex::Place CacheIndex::free_place(Bucket* bucket, unsigned first) {
  Place ghosts;
  for (unsigned step = 0; step < kBucketEntries; ++step) {
    const unsigned i = first + step < kBucketEntries ? first + step : first + step - kBucketEntries;
    // order: relaxed, written under the lock that the caller holds.
    const std::uint64_t word = bucket->entries[i].load_relaxed();
    const Place place{&bucket->entries[i], &bucket->marks[i], 0};
    if (word == 0) return place;
    if (ghosts.entry == nullptr && is_ghost(word)) ghosts = place;
  }
  return ghosts;
}

std::uint32_t CacheIndex::sweep_from(std::uint32_t stripe, std::uint64_t* hand,
                                     std::uint64_t frames_skipped, CacheFrame* frames,
                                     std::uint32_t count_max, CacheSweep which) {
  FOEDUS_INVARIANT(count_max >= kBucketEntries, count_max);
  const BucketRange buckets = buckets_of(stripe);
  std::uint32_t count = 0;
  for (std::uint32_t step = 0; step < kSweepBuckets; ++step) {
    if (count + kBucketEntries > count_max) break;
    Bucket& bucket = buckets_[*hand];
    *hand = *hand + 1 == buckets.end ? buckets.begin : *hand + 1;
    for (unsigned i = 0; i < kBucketEntries; ++i) {
      // order: relaxed, written under the lock that the caller holds.
      const std::uint64_t word = bucket.entries[i].load_relaxed();
      if (word == 0 || is_leaving(word) || frame_of(word) <= frames_skipped) continue;
      const CacheFrame frame = frame_of(word);
      if (which != CacheSweep::kAny && uses_of(bucket, i, frame) >= kUsedAgainByte) {
        // order: relaxed, a hint; a use at the same time may get lost.
        bucket.marks[i].store_relaxed(static_cast<std::uint8_t>(CacheMark::kUsedOnce));
        forget_link_uses(frame);
        continue;
      }
      const bool is_found_again = which == CacheSweep::kColdForNow;
      // order: relaxed, K3: the caller's fence comes before the stamp.
      bucket.entries[i].store_relaxed(is_found_again ? word | (kLeavingTag << kFrameBits) : 0);
      remove_link(frame);
      frames[count++] = frame;
    }
  }
  std::uint64_t& pages_cached = stripes_[stripe].pages_cached;
  FOEDUS_INVARIANT(count <= pages_cached, count, pages_cached);
  pages_cached -= count;
  return count;
}

void CacheIndex::remove_leaving(CacheFrame frame) {
  const Key key = key_of(page::SnapshotPageId(page_at(frame)->page_id));
  const std::uint64_t word = word_of(key.tag | kLeavingTag, frame);
  for (Bucket* const bucket : {key.home, buddy_of(key.home)}) {
    for (auto& entry : bucket->entries) {
      // order: relaxed twice, searches without the lock ignore leaving entries.
      if (entry.load_relaxed() != word) continue;
      entry.store_relaxed(word_of(key.tag | kLeavingTag, 0));
      return;
    }
  }
}

std::uint32_t CacheIndex::forget(page::SnapshotNumber snapshot, std::uint64_t bucket,
                                 CacheFrame* frames) {
  FOEDUS_INVARIANT(bucket < bucket_count_, bucket, bucket_count_);
  std::uint32_t count = 0;
  for (auto& entry : buckets_[bucket].entries) {
    // order: relaxed, written under the lock that the caller holds.
    const std::uint64_t word = entry.load_relaxed();
    const CacheFrame frame = frame_of(word);
    if (frame == 0) continue;
    if (page::SnapshotPageId(page_at(frame)->page_id).snapshot() != snapshot) continue;
    entry.store_relaxed(0);  // order: relaxed, K3 as in sweep()
    if (is_leaving(word)) continue;
    remove_link(frame);
    frames[count++] = frame;
  }
  std::uint64_t& pages_cached = stripes_[stripe_of_bucket(buckets_ + bucket)].pages_cached;
  FOEDUS_INVARIANT(count <= pages_cached, count, pages_cached);
  pages_cached -= count;
  return count;
}

}  // namespace foedus::snapshot
