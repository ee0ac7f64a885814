#pragma once
// ColdPages: gives one session snapshot pages, from the page cache or the device. ColdReads: the
// scope of one search in them.
//
//     no pin --ColdReads, page()--> pinned --page()--> pinned … --last ColdReads ends--> no pin
//                                     |  ^
//                 no frame is due, wait  a frame is due
//                                     v  |
//                                    no pin
//
//   O14 A page that page() or child() gave may be looked at for a limited time. This time ends when
//       the session asks for the next page, or with the ColdReads around the call, whichever is
//       first. So the session's cache pin (K2) covers one page, never a transaction: data that is
//       needed for longer is copied, or kept as an id. Every caller has to expect that any page()
//       renews the pin, or gives it up to wait for a frame.
//   O15 While a session has a ColdReads open, it waits for no record lock, no room in the log and
//       no user. TxnContext::hold() and write() check this. The session also calls no page() while
//       it holds a page lock. So a session with a cache pin waits at most for a device or for a
//       page lock, and the holder of a page lock waits for no frame. Hence each pin that keeps a
//       frame from reuse ends without a wait for a frame.

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

// Returns kCorruption: a snapshot pointer leads to page `id`, which is not the page that the
// pointer is for.
[[gnu::cold]] Status not_that_page(page::SnapshotPageId id);

// How cache lines of a page are read and kept if the page cache does not have the whole page.
enum class LineReads : std::uint8_t {
  kCached,        // the LineCache keeps the lines; without a LineCache, pages are read whole
  kCachedIfFull,  // as kCached once the page cache is full; until then pages are read whole
  // Each search reads the lines that it wants from the device, and no line is kept for another
  // search. With a page_reader this holds for all pages. Without one it holds for pages of rows,
  // and pages above the rows are read whole and cached.
  kInPlace,
};

class ColdPages {
 public:
  struct Parts {
    snapshot::PageCache* cache = nullptr;         // null: there are no snapshots
    snapshot::PageReader* page_reader = nullptr;  // null: pages are read through the cache
    snapshot::LineCache* lines = nullptr;         // null: lines are not cached
    LineReads line_reads = LineReads::kCached;
    epoch::EpochClock* clock = nullptr;
    std::uint32_t session = 0;
    std::uint32_t soc = 0;
  };
  // Only one ColdPages at a time may use the session's words of the clock (SessionEpochs).
  // Allocates a page of memory if there is a page_reader, and another one if lines are read; throws
  // std::bad_alloc.
  explicit ColdPages(const Parts& parts);
  ColdPages(const ColdPages&) = delete;
  ColdPages& operator=(const ColdPages&) = delete;

  // Returns a page, at which the caller may look until the session asks for the next one (O14). If
  // the page is not cached and wanted.lines is not 0, perhaps only those lines are loaded: the
  // caller calls load() before it looks at others (O20). With LineReads::kInPlace each search reads
  // such a page anew. Returns null on failure (take_failure()): kIoError, kCorruption, or
  // kOutOfMemory if there was no frame for five seconds. kNotInMemory: see Mode. REQUIRES: a
  // ColdReads is open, and the session holds no page lock (O15).
  const page::PageHeader* page(page::SnapshotPageId id, page::PagePart wanted = {});
  // Returns the page that `pointer` leads to, like page(). Uses and corrects the cache's hint in
  // `pointer` (PageCache::find_cached_child()). REQUIRES: `pointer` lies in the page that was asked
  // for last.
  const page::PageHeader* child(page::DualPagePointer* pointer, page::PagePart wanted = {});
  // Loads the part `wanted` of a page. `page` may be any address within that page. Does nothing if
  // the session has the whole page. Returns false on failure (take_failure()).
  bool load(const void* page, page::PagePart wanted) {
    if (!is_in_part(page::PageHeader::of(page))) [[likely]]
      return true;
    return load_lines(wanted);
  }
  // Returns null, and sets the failure kCorruption: a snapshot pointer leads to `id`, which is not
  // the page that the pointer is for.
  [[gnu::cold]] std::nullptr_t refuse(page::SnapshotPageId id);

  // Returns true after a call has failed, until the failure is taken or forgotten, or the next page
  // is asked for.
  bool has_failed() const { return !failure_.is_ok(); }
  Status take_failure() { return std::exchange(failure_, {}); }
  [[gnu::cold]] void forget_failure() { failure_ = {}; }

  // Returns whether interior pages, too, are searched while only lines of them are loaded. If not,
  // a search that comes to an interior page asks page() for the whole page.
  bool reads_interior_in_part() const { return mode_ == Mode::kAllInPlace; }
  // Returns whether parts of `page` are missing until load() asks for them.
  bool is_in_part(const page::PageHeader* page) const {
    return lines_ != nullptr && page == lines_->page();
  }
  // Returns a guess of how many keys a page of the storage has, which the caller uses and updates:
  // the number in the page that was last searched while only lines of it were loaded. 0: there is
  // no guess yet. Some storages share a guess.
  std::uint8_t& keys_guess(page::StorageId storage) {
    return keys_guesses_[static_cast<std::uint32_t>(storage) % kGuesses];
  }
  // Names lines of page `id` that searches will look at first, beyond those that they ask for. When
  // a page is read in place, these lines are loaded with the others, so that the search waits once
  // less. This is a hint, which one for another page may replace.
  void expect(page::SnapshotPageId id, std::uint64_t lines) {
    expected_[id.page() % kExpected] = {id, lines};
  }
  // Returns the page if it is cached whole, else null. Always null in the modes from kNone on. The
  // page may be looked at for as long as one of page() (O14).
  const page::PageHeader* cached(page::SnapshotPageId id);
  // Does what cached() does, for a page of rows of which a search wants only a few lines. Always
  // null in mode kRowsInPlace, too: there each search reads these lines from the device.
  const page::PageHeader* cached_rows(page::SnapshotPageId id) {
    return mode_ >= Mode::kRowsInPlace ? nullptr : cached(id);
  }
  // Prefetches the part `wanted` of the page into the processor's cache. Returns false if the page
  // is not in the page cache.
  bool prefetch(page::SnapshotPageId id, page::PagePart wanted) const;
  // Starts a read of the page for a later page(), without waiting for the device (PagesInFlight).
  // The device may begin with it only at send(). `wanted` is the argument of the later page(). If
  // page() would read the page by lines, starts no read and returns kRefused.
  snapshot::Begun will_read(page::SnapshotPageId id, page::PagePart wanted = {});
  void send();
  // Ends the transaction's reads in flight without waiting (PagesInFlight::settle()). Called before
  // the transaction ends its pin.
  void settle() {
    if (in_flight_ != nullptr) [[unlikely]] in_flight_->settle();
  }

  bool is_open() const { return open_ != 0; }

  // How page() and child() find the page that a search wants. In kPrefetch and kNone they fail with
  // kNotInMemory if they return no page. The order of the modes counts. From kNone on, no page
  // comes from the cache. From kRowsInPlace on, a page of rows of which only lines are wanted does
  // not come from the cache either.
  enum class Mode : std::uint8_t {
    kRead,         // a page that is not cached is read
    kPrefetch,     // for a page that is not cached, a read is started (will_read())
    kRowsInPlace,  // as kRead, but if only lines of a page of rows are wanted, they are read anew
    kNone,         // no page of a snapshot is returned, not even a cached one
    kUncached,     // each page is read anew, to memory of the session
    kAllInPlace,   // as kUncached, but if only lines of a page are wanted, only they are read
  };
  void set_mode(Mode mode) { mode_ = mode; }
  // Sets kRead, or kUncached if there is a page_reader. With LineReads::kInPlace it sets
  // kRowsInPlace instead of kRead, and kAllInPlace instead of kUncached.
  void set_default_mode() { mode_ = default_mode_; }
  Mode mode() const { return mode_; }
  bool is_prefetching() const { return mode_ == Mode::kPrefetch; }
  static constexpr ErrorCode kNotInMemory = ErrorCode::kNotSupported;  // no other failure has it

 private:
  friend class ColdReads;
  [[gnu::cold]] const page::PageHeader* read_page(page::SnapshotPageId id);
  const page::PageHeader* wait_for_page(page::SnapshotPageId id);
  // Does page() in the modes other than kRead. It is gnu::cold, so that the compiler lays page()
  // out for kRead. The functions that it calls are not, since in their modes they are hot.
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
  std::uint32_t open_ = 0;  // number of ColdReads that enclose one another now
  bool is_pinned_ = false;
  bool is_in_place_ = false;  // this search has read lines in place; implies is_pinned_
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
  std::unique_ptr<snapshot::PagesInFlight> in_flight_;  // null: not used yet, or there is no memory
  std::unique_ptr<page::PageBytes> uncached_;  // of kUncached: the page that was asked for last
  std::unique_ptr<ColdLines> lines_;           // null: all pages are read whole
};

// Encloses a search that may come to pages of snapshots. Searches may be nested. Once the inner one
// has asked for a page, the outer one must not look at its own page any more (O14).
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

// Encloses a search that only prefetches for a later one. It does not wait for the device: where a
// page is not cached, the search ends, and a read of that page is started.
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
