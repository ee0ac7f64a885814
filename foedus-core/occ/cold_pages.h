#pragma once
// ColdPages: one session's way to cached pages of snapshots. ColdReads: one search in them.
//
//     no pin --ColdReads, page()--> pinned --page()--> pinned … --last ColdReads ends--> no pin
//                                     |  ^
//                 no frame is due, wait  a frame is due
//                                     v  |
//                                    no pin
//
//   O14 A page that page() or child() gave may be looked at for a limited time. That ends when the
//       session asks for the next page, or with the ColdReads around it, whichever is first. So the
//       session's cache pin (K2) covers one page, never a transaction: data that is needed for
//       longer is copied, or kept as an id. Every caller has to expect that any page() renews the
//       pin, or gives it up to wait for a frame.
//   O15 While a session has a ColdReads open, it waits for no record lock, no room in the log and
//       no user. TxnContext::hold() and write() check that. It calls no page() with a page lock
//       held. So the holder of a cache pin waits at most for a device or for the holder of a page
//       lock. The latter waits for no frame. Hence the pins that hold a frame back end without a
//       wait for a frame.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/occ/cold_lines.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/cache/pages_in_flight.h"
#include "foedus/status.h"

namespace foedus::occ {

// Returns the error for a page that was read where a pointer leads, and is not the page that the
// pointer is for.
[[gnu::cold]] Status not_that_page(page::SnapshotPageId id);

// Ways to read lines of pages that are not whole in the cache, and to keep them.
enum class LineReads : std::uint8_t {
  kCached,        // the LineCache keeps them; where there is none, pages are whole
  kCachedIfFull,  // the same once the page cache is full, and whole pages until then
  // Each search reads those that it wants from the device, and no other search finds them. With a
  // page_reader that goes for all pages; without one pages above the rows are whole, and cached.
  kInPlace,
};

class ColdPages {
 public:
  struct Parts {
    snapshot::PageCache* cache = nullptr;         // null: there are no snapshots
    snapshot::PageReader* page_reader = nullptr;  // null: pages are read through the cache
    snapshot::LineCache* lines = nullptr;         // null: none
    LineReads line_reads = LineReads::kCached;
    epoch::EpochClock* clock = nullptr;
    std::uint32_t session = 0;
    std::uint32_t soc = 0;
  };
  // One object at a time uses the words of the session. Throws std::bad_alloc if there is a
  // page_reader, or lines are read.
  explicit ColdPages(const Parts& parts);
  ColdPages(const ColdPages&) = delete;
  ColdPages& operator=(const ColdPages&) = delete;

  // Gives a page (O14). A page that is not cached may be there in part if wanted.lines says so
  // (O20). With LineReads::kInPlace each search reads such a page anew. Null: the failure is
  // kIoError, kCorruption, or kOutOfMemory: there was no frame for five seconds. REQUIRES: a
  // ColdReads is open; O15.
  const page::PageHeader* page(page::SnapshotPageId id, page::PagePart wanted = {});
  // Gives the page that `pointer` leads to, as PageCache::find_cached_child() does. REQUIRES:
  // `pointer` lies in the page that was asked for last.
  const page::PageHeader* child(page::DualPagePointer* pointer, page::PagePart wanted = {});
  // Loads more of the page that was given last, if `page`, any address in a page, is of it, and it
  // is there in part. False: there is a failure.
  bool load(const void* page, page::PagePart wanted) {
    if (!is_in_part(page::PageHeader::of(page))) [[likely]]
      return true;
    return load_lines(wanted);
  }
  // Returns null, and sets the failure kCorruption: a snapshot pointer leads to `id`, which is not
  // the page that the pointer is for.
  [[gnu::cold]] std::nullptr_t refuse(page::SnapshotPageId id);

  // Returns true from a call that failed on, until the failure is taken or forgotten, or a page is
  // asked for.
  bool has_failed() const { return !failure_.is_ok(); }
  Status take_failure() { return std::exchange(failure_, {}); }
  [[gnu::cold]] void forget_failure() { failure_ = {}; }

  // Returns whether pages above the rows, too, are given in part where wanted.lines says so.
  bool reads_interior_in_part() const { return mode_ == Mode::kAllInPlace; }
  // Returns whether parts of that page are missing until load() asks for them.
  bool is_in_part(const page::PageHeader* page) const {
    return lines_ != nullptr && page == lines_->page();
  }
  // Returns a guess: the number of keys of the page of that storage that was last searched in part.
  std::uint8_t& keys_guess(page::StorageId storage) {
    return keys_guesses_[static_cast<std::uint32_t>(storage) % kGuesses];
  }
  // Names lines of a page that searches will look at first, besides those that they ask for. Where
  // pages are read in place, these lines come with the others. A guess; others may take its place.
  void expect(page::SnapshotPageId id, std::uint64_t lines) {
    expected_[id.page() % kExpected] = {id, lines};
  }
  // Returns the page if it is cached; else, and always from kNone on, null. O14.
  const page::PageHeader* cached(page::SnapshotPageId id);
  // Does what cached() does for a page of rows of which a search wants a few lines: with
  // kRowsInPlace, too, the result is null.
  const page::PageHeader* cached_rows(page::SnapshotPageId id) {
    return mode_ >= Mode::kRowsInPlace ? nullptr : cached(id);
  }
  // Does PageCache::prefetch_page().
  bool prefetch(page::SnapshotPageId id, page::PagePart wanted) const;
  // Has the device begin with a page for a page() to come (PagesInFlight): soon, or with send() at
  // once. Waits for no device. `wanted` is that of the page(); a page that is read by lines is not
  // begun.
  snapshot::Begun will_read(page::SnapshotPageId id, page::PagePart wanted = {});
  void send();
  // Ends the pages in flight, before the transaction gives its pin up: PagesInFlight::settle().
  void settle() {
    if (in_flight_ != nullptr) [[unlikely]] in_flight_->settle();
  }

  bool is_open() const { return open_ != 0; }

  // The ways in which page() and child() find the page that a search wants. With kPrefetch and
  // kNone the search ends with kNotInMemory where no page is given. The order counts. From kNone
  // on, no page comes from the cache. From kRowsInPlace on, no page with rows does if a few lines
  // of it are wanted.
  enum class Mode : std::uint8_t {
    kRead,         // a page that is not cached is read
    kPrefetch,     // the device is asked to begin with it, see will_read()
    kRowsInPlace,  // kRead, but a page with rows that is wanted in part is read anew, those lines
    kNone,         // no page of a snapshot is given, be it cached
    kUncached,     // each page is read anew, to memory of the session
    kAllInPlace,   // kUncached, and of a page that is wanted in part those lines
  };
  void set_mode(Mode mode) { mode_ = mode; }
  // Sets kRead, or kRowsInPlace with LineReads::kInPlace; where there is a page_reader, kUncached
  // or kAllInPlace.
  void set_default_mode() { mode_ = default_mode_; }
  Mode mode() const { return mode_; }
  bool is_prefetching() const { return mode_ == Mode::kPrefetch; }
  static constexpr ErrorCode kNotInMemory = ErrorCode::kNotSupported;  // no other failure's

 private:
  friend class ColdReads;
  [[gnu::cold]] const page::PageHeader* read_page(page::SnapshotPageId id);
  const page::PageHeader* wait_for_page(page::SnapshotPageId id);
  // Does page() in the modes other than kRead. Cold, so that page() is laid out for kRead; the
  // functions that it calls are not.
  [[gnu::cold]] const page::PageHeader* page_by_mode(page::SnapshotPageId id,
                                                     page::PagePart wanted);
  [[gnu::noinline]] const page::PageHeader* page_in_place(page::SnapshotPageId id,
                                                          page::PagePart wanted);
  // Does page() through the cache for a page that is wanted whole.
  [[gnu::noinline]] const page::PageHeader* whole_page(page::SnapshotPageId id);
  // Returns whether pages that are not cached are read by lines now.
  bool reads_lines() const;
  const page::PageHeader* page_in_part(page::SnapshotPageId id, page::PagePart wanted);
  bool load_lines(page::PagePart wanted);
  void read_outgrown();
  const page::PageHeader* read_uncached(page::SnapshotPageId id);

  // Constant after construction.
  snapshot::PageCache* const cache_;
  snapshot::PageReader* const page_reader_;
  epoch::EpochClock* const clock_;
  const std::uint32_t session_;
  const std::uint32_t soc_;
  const bool lines_if_full_;
  const Mode default_mode_;

  // Used by the session only.
  std::uint32_t open_ = 0;  // ColdReads at work
  bool is_pinned_ = false;
  bool is_in_place_ = false;  // the search at hand has read lines in place; then is_pinned_, too
  Mode mode_ = Mode::kRead;
  Status failure_;  // of the last call that failed
  static constexpr std::uint32_t kGuesses = 64;
  std::uint8_t keys_guesses_[kGuesses] = {};
  static constexpr std::uint32_t kExpected = 16;
  struct Expected {
    page::SnapshotPageId id;
    std::uint64_t lines = 0;
  };
  Expected expected_[kExpected];
  std::uint32_t tries_ = 0;  // calls of will_read() without in_flight_
  std::unique_ptr<snapshot::PagesInFlight> in_flight_;  // null: not wanted yet, or cannot be had
  std::unique_ptr<page::PageBytes> uncached_;  // of kUncached: the page that was asked for last
  std::unique_ptr<ColdLines> lines_;           // null: pages are whole
};

// Encloses a search that may come to pages of snapshots. May lie in another one; the page of the
// outer one must not be used any more once the inner one has asked for a page.
class ColdReads {
 public:
  explicit ColdReads(ColdPages* pages) : pages_(pages) { ++pages_->open_; }
  ~ColdReads() {
    if (--pages_->open_ != 0 || !pages_->is_pinned_) return;
    pages_->is_pinned_ = false;
    pages_->is_in_place_ = false;
    pages_->clock_->unpin_cache(pages_->session_);
  }
  ColdReads(const ColdReads&) = delete;
  ColdReads& operator=(const ColdReads&) = delete;

 private:
  ColdPages* const pages_;
};

// Encloses a search ahead of the one that reads: it waits for no device. The device begins with the
// page at which such a search ends.
class ColdPrefetch {
 public:
  explicit ColdPrefetch(ColdPages* pages) : pages_(pages), reads_(pages) {
    pages->set_mode(ColdPages::Mode::kPrefetch);
  }
  ~ColdPrefetch() { pages_->set_default_mode(); }
  ColdPrefetch(const ColdPrefetch&) = delete;
  ColdPrefetch& operator=(const ColdPrefetch&) = delete;

 private:
  ColdPages* const pages_;
  const ColdReads reads_;
};

}  // namespace foedus::occ
