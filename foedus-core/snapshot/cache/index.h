#pragma once
// CacheIndex: where a page lies in one SOC's part of the page cache. Its rules are those of
// page_cache.h.
//
//   bucket, one line:  | entry 0 | … | entry 6 | mark 0 … mark 6, unused |
//   entry, one word:   | leaving: 1 bit | tag: 35 bits of the id's hash | frame: 28 bits |
//   ghost, one word:   | 1              | tag                           | 0              |
//   link, one word:    | low 62 bits of the id of the frame's page       | 1 + uses: 2 bits |
//
// A page stands in its home bucket, or in the home's buddy (the other half of 128 aligned bytes) if
// the home was full. An entry is too short for a whole id. The header of the page has it, and the
// caller of a look-up reads that line next anyway. With three frames a bucket, one page in about
// forty stands in the buddy. One in a thousand finds both full and takes another's place. Entries
// without a page keep the tag of an evicted one, its ghost, until a page needs the entry. There are
// between one and two such entries for each frame that there may be.
//
// A page belongs to the stripe (K16) that has its home bucket. Stripes are ranges of equally many
// buckets, the last one a few less, and each is of whole pairs: so home and buddy are in one
// stripe, whose lock guards both.
//
// A frame has a link (K30), apart from the entry of its page. A search that follows a pointer which
// names the frame (P18) reads the link, and needs neither a hash nor a bucket.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"

namespace foedus::snapshot {

// How a page was used since the CLOCK hand came by. A page of one scan is not worth a frame for
// long, whether it was read ahead of the scan or not; a page that was asked for again is.
enum class CacheMark : std::uint8_t { kReadAhead = 0, kUsedOnce = 1, kUsedAgain = 2 };

// Which pages leave when the CLOCK hand comes by, and whether a look-up in time finds them again.
enum class CacheSweep : std::uint8_t {
  kColdForNow = 0,  // those that were not used again; found again
  kCold = 1,        // those that were not used again; not found again
  kAny = 2,         // all; not found again
};

// A piece of memory of kPageBytes, counted from 1; 0: none.
using CacheFrame = std::uint32_t;

class CacheIndex {
 public:
  static constexpr unsigned kFrameBits = 28;
  static constexpr std::uint64_t kFramesMax = (std::uint64_t{1} << kFrameBits) - 1;
  static constexpr unsigned kBucketEntries = 7;
  static constexpr std::uint32_t kSweepBuckets = 64;

  static constexpr std::uint32_t kStripesMax = 32;
  static constexpr std::uint64_t kFramesPerStripe = 2048;

  // Returns the number of stripes of an index with this many own frames. It is a power of two: in a
  // cache whose size is a power of two, too, the shares of the stripes are whole extents.
  static std::uint32_t stripes_for(std::uint64_t own_frames) {
    const std::uint64_t wanted = std::bit_floor(own_frames / kFramesPerStripe);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, kStripesMax));
  }

  static std::uint64_t bytes_for(std::uint64_t frames) { return buckets_for(frames) * kLineBytes; }

  using Link = base::AtomicWord<std::uint64_t>;
  // Where frames lie: 1..own at `own_begin`, the later ones up to `all` at `borrowed_begin`. Their
  // links lie one after the other at `links`, zero at first.
  struct Places {
    char* own_begin;
    std::uint64_t own;
    char* borrowed_begin;
    std::uint64_t all;
    Link* links;
  };
  // `memory`: bytes_for(frames) bytes, all of them 0, at a multiple of 128.
  CacheIndex(char* memory, std::uint64_t frames, const Places& places);

  page::PageHeader* page_at(CacheFrame frame) const {
    const std::uintptr_t moved = frame > own_frames_ ? to_borrowed_ : 0;
    return reinterpret_cast<page::PageHeader*>(frames_ + moved +
                                               frame * std::uintptr_t{page::kPageBytes});
  }

  // ---- any thread ----------------------------------------------------------------------------

  // Returns the frame of the page if it is cached, and marks the page as used; else 0. REQUIRES, as
  // of peek(): the caller is pinned (K2), or holds the lock of the page's stripe.
  CacheFrame find(page::SnapshotPageId id, page::PagePart part = {}) {
    const Key key = key_of(id);
    const Place place = locate(key, key.tag, part);
    if (place.entry == nullptr) return 0;
    // order: relaxed twice, the mark is a hint. If the entry has another page by now, that page
    // gets the mark and stays for longer, which does no harm.
    const std::uint8_t mark = place.mark->load_relaxed();
    if (mark != kUsedAgainByte) place.mark->store_relaxed(mark + 1);
    return place.frame;
  }
  // Returns `hinted` if the page lies there, and marks the page as used; 0: it does not, or
  // `hinted` is no frame. REQUIRES: as find().
  CacheFrame find_linked(page::SnapshotPageId id, CacheFrame hinted, page::PagePart part) {
    if (hinted - 1u >= frames_in_all_) [[unlikely]]
      return 0;
    prefetch_frame(hinted, part);
    Link& link = link_of(hinted);
    // order: acquire, pairs with the releases in put_link() and forget_link_uses(): the page is
    // complete (K1).
    std::uint64_t word = link.load_acquire();
    const std::uint64_t uses = word - link_word(id.word());
    if (uses > kLinkUsesMax || page_at(hinted)->page_id != id.word()) [[unlikely]]
      return 0;
    // An exchange, because a store could bring back the link of a page that has left meanwhile. If
    // it fails, a use is not counted.
    if (uses != kLinkUsesMax) link.compare_exchange_acq_rel(word, word + 1);
    return hinted;
  }
  // Returns what find() does, without a mark.
  CacheFrame peek(page::SnapshotPageId id) const {
    const Key key = key_of(id);
    const Place place = locate(key, key.tag, {});
    return place.entry == nullptr ? 0 : place.frame;
  }
  // Hints; the caller need not be pinned.
  void prefetch(page::SnapshotPageId id) const { base::prefetch_line(key_of(id).home); }
  bool prefetch_page(page::SnapshotPageId id, page::PagePart part) const {
    const CacheFrame frame = frame_of_tag(key_of(id));
    if (frame != 0) prefetch_frame(frame, part);
    return frame != 0;
  }
  void prefetch_frame(CacheFrame frame, page::PagePart part) const {
    const char* const page = reinterpret_cast<const char*>(page_at(frame));
    base::prefetch_line(page);
    if (part.bytes == 0) return;
    base::prefetch_lines(page + part.offset, part.bytes);
    base::prefetch_line(page + part.offset + part.bytes - 1);  // for parts that cross one line more
  }

  // Constant after construction: which stripe a page or a bucket belongs to.
  std::uint64_t bucket_count() const { return bucket_count_; }
  std::uint32_t stripe_count() const { return stripe_count_; }
  std::uint32_t stripe_of(page::SnapshotPageId id) const {
    return stripe_of_bucket(key_of(id).home);
  }
  struct BucketRange {
    std::uint64_t begin;
    std::uint64_t end;
  };
  BucketRange buckets_of(std::uint32_t stripe) const {
    FOEDUS_INVARIANT(stripe < stripe_count_, stripe, stripe_count_);
    return {stripe * stripe_buckets_, std::min((stripe + 1) * stripe_buckets_, bucket_count_)};
  }

  // ---- holders of the lock of the stripe, which is that of the page, or is named -------------

  std::uint64_t pages_cached(std::uint32_t stripe) const { return stripes_[stripe].pages_cached; }

  // Makes look-ups find the page of `id` again if it is leaving, and returns its frame; else 0.
  CacheFrame restore(page::SnapshotPageId id, CacheMark mark);
  // Marks the page of `id` as used if it is leaving, was read ahead and has not been used, and
  // returns its frame; else 0. The page is still leaving afterwards.
  CacheFrame use_leaving(page::SnapshotPageId id);
  // Stores the page of this frame: look-ups find it from now on. If it is leaving from the start,
  // only restore() and use_leaving() find it. REQUIRES: `id` has no entry. Returns the frame of a
  // cached page whose entry had to go; mostly 0.
  CacheFrame put(page::SnapshotPageId id, CacheFrame frame, CacheMark mark,
                 bool is_leaving = false);
  // Removes the ghost of `id`, and returns true if there was one.
  bool take_ghost(page::SnapshotPageId id);
  // Moves the stripe's hand over at most kSweepBuckets buckets. Pages that `which` describes are
  // leaving from now on; their frames, at most `count_max`, go to `frames`. Returns how many.
  std::uint32_t sweep(std::uint32_t stripe, CacheFrame* frames, std::uint32_t count_max,
                      CacheSweep which) {
    return sweep_from(stripe, &stripes_[stripe].hand, 0, frames, count_max, which);
  }
  // Sweeps pages in borrowed frames alone, with a hand of its own: the others keep their marks.
  std::uint32_t sweep_borrowed(std::uint32_t stripe, CacheFrame* frames, std::uint32_t count_max,
                               CacheSweep which) {
    return sweep_from(stripe, &stripes_[stripe].hand_of_borrowed, own_frames_, frames, count_max,
                      which);
  }
  // Makes a ghost of the entry of a page that is leaving, if it still has one.
  void remove_leaving(CacheFrame frame);
  // Removes the entries of a snapshot's pages from one bucket of the stripe. The frames of those
  // that were cached, and not leaving, go to `frames`, which has space for kBucketEntries. Returns
  // how many.
  std::uint32_t forget(page::SnapshotNumber snapshot, std::uint64_t bucket, CacheFrame* frames);

 private:
  static constexpr std::uint64_t kLineBytes = 64;
  static constexpr std::uint64_t kFramesPerBucket = 3;
  static constexpr std::uint8_t kUsedAgainByte = static_cast<std::uint8_t>(CacheMark::kUsedAgain);
  static constexpr std::uint8_t kReadAheadByte = static_cast<std::uint8_t>(CacheMark::kReadAhead);
  static constexpr std::uint64_t kLeavingTag = std::uint64_t{1} << 35;  // the tag's flag
  static constexpr std::uint64_t kTagMask = kLeavingTag - 1;
  static constexpr std::uint64_t kLinkUsesMax = 2;

  // Zero is empty and unmarked.
  struct alignas(kLineBytes) Bucket {
    base::AtomicWord<std::uint64_t> entries[kBucketEntries];
    base::AtomicWord<std::uint8_t> marks[8];
  };
  static_assert(sizeof(Bucket) == kLineBytes);

  // Guarded by the stripe's lock.
  struct alignas(kLineBytes) Stripe {
    std::uint64_t hand = 0;              // bucket that is swept next
    std::uint64_t hand_of_borrowed = 0;  // bucket that sweep_borrowed() sweeps next
    std::uint64_t pages_cached = 0;
  };

  struct Key {
    std::uint64_t id;
    std::uint64_t tag;
    Bucket* home;
  };
  struct Place {
    base::AtomicWord<std::uint64_t>* entry = nullptr;
    base::AtomicWord<std::uint8_t>* mark = nullptr;
    CacheFrame frame = 0;
  };

  // Returns a number of whole pairs.
  static std::uint64_t buckets_for(std::uint64_t frames) {
    return (frames / (2 * kFramesPerBucket) + 1) * 2;
  }
  static std::uint64_t word_of(std::uint64_t tag, CacheFrame frame) {
    return (tag << kFrameBits) | frame;
  }
  static CacheFrame frame_of(std::uint64_t word) {
    return static_cast<CacheFrame>(word & kFramesMax);
  }
  static bool is_leaving(std::uint64_t word) { return (word >> kFrameBits & kLeavingTag) != 0; }
  static bool is_ghost(std::uint64_t word) { return word != 0 && frame_of(word) == 0; }

  // Returns a link without uses.
  static std::uint64_t link_word(std::uint64_t id) { return (id << 2) | 1; }
  Link& link_of(CacheFrame frame) const { return links_[frame - 1]; }
  // Publishes the frame's link (K30). REQUIRES: the page of the frame has that id, and the caller
  // holds the lock of its stripe.
  void put_link(CacheFrame frame, std::uint64_t id) {
    const std::uint64_t before = link_of(frame).load_relaxed();  // order: relaxed, under the lock
    FOEDUS_INVARIANT(before == 0, frame, before, id);
    // order: release, pairs with the acquire in find_linked(): a reader sees the page that was read
    // into the frame. If another thread read it, this one sees it by the lock.
    link_of(frame).store_release(link_word(id));
  }
  void remove_link(CacheFrame frame) {
    link_of(frame).store_relaxed(0);  // order: relaxed, K3: the caller's fence comes next
  }
  void forget_link_uses(CacheFrame frame) {
    // order: relaxed, ids are stored under the lock; release, as in put_link(). A use that
    // find_linked() counts at the same time may get lost.
    const std::uint64_t word = link_of(frame).load_relaxed();
    if ((word & 3) > 1) link_of(frame).store_release((word & ~std::uint64_t{3}) | 1);
  }
  // Returns how often the page was used since the hand came by, up to what is counted.
  std::uint64_t uses_of(const Bucket& bucket, unsigned entry, CacheFrame frame) const {
    // order: relaxed twice, hints.
    const std::uint64_t link = link_of(frame).load_relaxed();
    return bucket.marks[entry].load_relaxed() + (link == 0 ? 0 : (link & 3) - 1);
  }

  Bucket* buddy_of(Bucket* bucket) const {
    return buckets_ + (static_cast<std::uint64_t>(bucket - buckets_) ^ 1);
  }
  std::uint32_t stripe_of_bucket(const Bucket* bucket) const {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(bucket - buckets_) /
                                      stripe_buckets_);
  }
  Key key_of(page::SnapshotPageId id) const {
    // Fibonacci hashing: the high half of the product spreads neighbouring pages of a file evenly.
    // Snapshot and SOC are folded in before.
    const std::uint64_t word = id.word();
    const std::uint64_t hash = (word ^ (word >> 32)) * 0x9e3779b97f4a7c15u;
    const std::uint64_t bucket = (hash >> 32) * bucket_count_ >> 32;
    return Key{word, (hash ^ (hash >> 32)) & kTagMask, buckets_ + bucket};
  }

  // Finds the entry of this page that has this tag.
  Place locate(const Key& key, std::uint64_t tag, page::PagePart part) const {
    // Most pages stand where they are looked for first.
    Place place = locate_at(key.home, first_place_of(key), key.id, tag, part);
    if (place.entry != nullptr) [[likely]]
      return place;
    place = locate_in(key.home, key.id, tag, part);
    if (place.entry == nullptr) place = locate_in(buddy_of(key.home), key.id, tag, part);
    return place;
  }
  // Returns where put() stores a page if that entry is empty.
  static unsigned first_place_of(const Key& key) {
    return static_cast<unsigned>((key.tag & 0xffff) * kBucketEntries >> 16);
  }
  // Returns a bit for each entry that seems to have this tag. All are compared at once: a branch on
  // which one it is would mostly be mispredicted.
  static unsigned entries_of_tag(const Bucket* bucket, std::uint64_t tag) {
    unsigned same = 0;
    for (unsigned i = 0; i < kBucketEntries; ++i) {
      // order: relaxed, a hint; locate_at() loads the entry of the page again.
      const std::uint64_t word = bucket->entries[i].load_relaxed();
      same |= static_cast<unsigned>(word >> kFrameBits == tag) << i;
    }
    return same;
  }
  Place locate_in(Bucket* bucket, std::uint64_t id, std::uint64_t tag, page::PagePart part) const {
    for (unsigned same = entries_of_tag(bucket, tag); same != 0; same &= same - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(same));
      const Place place = locate_at(bucket, i, id, tag, part);
      if (place.entry != nullptr) return place;
    }
    return Place{};
  }
  Place locate_at(Bucket* bucket, unsigned i, std::uint64_t id, std::uint64_t tag,
                  page::PagePart part) const {
    // order: acquire, pairs with the releases in put() and restore(): the page is complete (K1).
    const std::uint64_t word = bucket->entries[i].load_acquire();
    const CacheFrame frame = frame_of(word);
    if (word >> kFrameBits != tag || frame == 0) return Place{};
    prefetch_frame(frame, part);
    if (page_at(frame)->page_id != id) [[unlikely]]
      return Place{};
    return Place{&bucket->entries[i], &bucket->marks[i], frame};
  }
  // Returns the frame of the page if it is cached, or of another one of that tag: the page itself
  // is not looked at.
  CacheFrame frame_of_tag(const Key& key) const;
  std::uint32_t sweep_from(std::uint32_t stripe, std::uint64_t* hand, std::uint64_t frames_skipped,
                           CacheFrame* frames, std::uint32_t count_max, CacheSweep which);
  Place place_for(const Key& key, CacheFrame* evicted);
  static Place free_place(Bucket* bucket, unsigned first);

  // Constant after construction.
  Bucket* const buckets_;
  const std::uint64_t bucket_count_;
  const std::uintptr_t frames_;       // frame 0, which does not exist
  const std::uint64_t own_frames_;    // the later ones are borrowed
  const std::uintptr_t to_borrowed_;  // offset that is added to their addresses
  const std::uint64_t frames_in_all_;
  Link* const links_;
  const std::uint32_t stripe_count_;
  const std::uint64_t stripe_buckets_;  // of each stripe but the last; even

  // On other lines than what every hit reads.
  Stripe stripes_[kStripesMax];
};

}  // namespace foedus::snapshot
