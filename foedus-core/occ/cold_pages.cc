#include "foedus-core/occ/cold_pages.h"

#include <string>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/snapshot/cache/page_cache.h"

namespace foedus::occ {

namespace {

// How long a session waits for a frame. Cache pins last for microseconds, and reads of a device for
// milliseconds. But a thread with a pin may be without a processor for far longer, and a wait costs
// less than the loss of the caller's transaction.
constexpr std::uint64_t kWaitUs = 5'000'000;
// will_read() attempts to allocate PagesInFlight once in this many calls.
constexpr std::uint32_t kTriesApart = 1'024;
// Other sessions may take the frame that was waited for; after this many losses the session gives
// up.
constexpr unsigned kWaits = 100'000;

ColdPages::Mode default_mode(const ColdPages::Parts& parts) {
  const bool is_in_place = parts.line_reads == LineReads::kInPlace;
  if (parts.page_reader == nullptr) {
    return is_in_place ? ColdPages::Mode::kRowsInPlace : ColdPages::Mode::kRead;
  }
  return is_in_place ? ColdPages::Mode::kAllInPlace : ColdPages::Mode::kUncached;
}

}  // namespace

Status not_that_page(page::SnapshotPageId id) {
  return Status::error(ErrorCode::kCorruption,
                       "page " + std::to_string(id.page()) + " of SOC " + std::to_string(id.soc()) +
                           "'s file of snapshot " +
                           std::to_string(static_cast<std::uint32_t>(id.snapshot())) +
                           " is not the page that a pointer to it is for");
}

ColdPages::ColdPages(const Parts& parts)
    : cache_(parts.cache),
      page_reader_(parts.page_reader),
      clock_(parts.clock),
      session_(parts.session),
      soc_(parts.soc),
      lines_if_full_(parts.line_reads == LineReads::kCachedIfFull),
      default_mode_(default_mode(parts)) {
  if (page_reader_ != nullptr) uncached_ = std::make_unique<page::PageBytes>();
  if (parts.lines != nullptr || parts.line_reads == LineReads::kInPlace) {
    lines_ = std::make_unique<ColdLines>(parts.lines, cache_->reader());
  }
  set_default_mode();
}

const page::PageHeader* ColdPages::page(page::SnapshotPageId id, page::PagePart wanted) {
  FOEDUS_INVARIANT(open_ != 0, id.word());
  if (has_failed()) [[unlikely]]
    forget_failure();
  if (mode_ != Mode::kRead) [[unlikely]]
    return page_by_mode(id, wanted);
  if (snapshot::is_line_page(id)) [[unlikely]] {  // K21: a damaged pointer
    return refuse(id);
  }
  FOEDUS_INVARIANT(cache_ != nullptr, id.word());
  is_pinned_ = true;
  clock_->pin_cache(session_);
  const page::PageHeader* const page = cache_->find_cached(soc_, id, wanted);
  if (page != nullptr) [[likely]]
    return page;
  if (wanted.lines != 0 && reads_lines()) return page_in_part(id, wanted);
  return read_page(id);
}

bool ColdPages::reads_lines() const {
  return lines_ != nullptr && (!lines_if_full_ || cache_->is_full(soc_));
}

const page::PageHeader* ColdPages::page_in_part(page::SnapshotPageId id, page::PagePart wanted) {
  const bool is_read = in_flight_ != nullptr && in_flight_->finish(id);
  const bool is_large = page::count_of(wanted.lines | 1) > lines_->lines_max();
  if (is_read || is_large || !lines_->are_small_reads(id)) return read_page(id);
  const page::PageHeader* const page = lines_->open(id, wanted.lines, &failure_);
  read_outgrown();
  return page;
}

// Loads a part of the open page. If its lines become too many for the cache of lines, reads the
// whole page into the page cache, where the next search finds it. If that cache has no frame for
// the page, reads the part by lines nevertheless.
bool ColdPages::load_lines(page::PagePart wanted) {
  if (lines_->would_outgrow(wanted)) {
    const page::PageHeader* const whole = cache_->find(soc_, lines_->id(), &failure_);
    if (whole != nullptr) {
      lines_->copy(whole, wanted);
      return true;
    }
    if (failure_.code() != ErrorCode::kOutOfMemory) return false;
    failure_ = {};
  }
  const bool is_there = lines_->load(wanted, &failure_);
  read_outgrown();
  return is_there;
}

// If the open page has too many lines for the cache of lines, reads it into the page cache, where
// the next search finds it. This search goes on in the lines that it has. If there is no frame for
// the page, or it cannot be read, the next search tries again.
void ColdPages::read_outgrown() {
  if (!lines_->take_outgrown()) return;
  Status ignored;
  cache_->find(soc_, lines_->id(), &ignored);
}

const page::PageHeader* ColdPages::read_page(page::SnapshotPageId id) {
  if (in_flight_ != nullptr) in_flight_->finish(id);
  const page::PageHeader* const page = cache_->find(soc_, id, &failure_);
  if (page != nullptr || failure_.code() != ErrorCode::kOutOfMemory) return page;
  return wait_for_page(id);
}

const page::PageHeader* ColdPages::page_by_mode(page::SnapshotPageId id, page::PagePart wanted) {
  const bool is_in_place = mode_ == Mode::kRowsInPlace || mode_ == Mode::kAllInPlace;
  if (is_in_place && wanted.lines != 0) return page_in_place(id, wanted);
  if (mode_ == Mode::kRowsInPlace) return whole_page(id);
  if (mode_ >= Mode::kUncached) return read_uncached(id);
  if (mode_ == Mode::kPrefetch) {
    const page::PageHeader* const page = cached(id);
    if (page != nullptr) return page;
    will_read(id, wanted);
  }
  failure_ = kNotInMemory;
  return nullptr;
}

// Reads lines of a page in place. In mode kRowsInPlace, a search may not know yet whether the page
// is above the rows. If the cache has the page, and the page's level shows that it is above the
// rows, returns the cached page. Otherwise the page is read by lines, and a search that finds it to
// be above the rows asks for the whole page then. The loaded lines stay until the next search opens
// a page, because one search may open the same page twice.
const page::PageHeader* ColdPages::page_in_place(page::SnapshotPageId id, page::PagePart wanted) {
  if (id.is_null() || snapshot::is_line_page(id)) [[unlikely]] {  // K21: a damaged pointer
    return refuse(id);
  }
  const bool is_of_cache = mode_ == Mode::kRowsInPlace;
  if (is_of_cache) {
    const page::PageHeader* const whole = cached(id);
    if (whole != nullptr && whole->level != 0) return whole;
  }
  if (!lines_->are_small_reads(id)) {
    return is_of_cache ? whole_page(id) : read_uncached(id);
  }
  if (!is_in_place_) lines_->forget();
  is_in_place_ = true;
  is_pinned_ = true;  // so that ~ColdReads() ends is_in_place_, too
  clock_->pin_cache(session_);
  const Expected& expected = expected_[id.page() % kExpected];
  const page::LineMask more = expected.id == id ? expected.lines : 0;
  return lines_->open(id, wanted.lines | more, &failure_);
}

const page::PageHeader* ColdPages::whole_page(page::SnapshotPageId id) {
  if (id.is_null() || snapshot::is_line_page(id)) [[unlikely]] {  // K21: a damaged pointer
    return refuse(id);
  }
  const page::PageHeader* const page = cached(id);
  return page != nullptr ? page : read_page(id);
}

// Reads the page to the session's memory, over the page that was read before. No search looks at
// that page any more (O14).
const page::PageHeader* ColdPages::read_uncached(page::SnapshotPageId id) {
  failure_ = page_reader_->read(id, uncached_->header());
  return failure_.is_ok() ? uncached_->header() : nullptr;
}

const page::PageHeader* ColdPages::cached(page::SnapshotPageId id) {
  FOEDUS_INVARIANT(open_ != 0, id.word());
  if (cache_ == nullptr || mode_ >= Mode::kNone) return nullptr;
  is_pinned_ = true;
  clock_->pin_cache(session_);
  return cache_->find_cached(soc_, id);
}

// Keeps the pin as it is until find_cached_child() has written its hint: the hint is in the page
// of `pointer`, whose frame may be used again once the pin is renewed.
const page::PageHeader* ColdPages::child(page::DualPagePointer* pointer, page::PagePart wanted) {
  if (has_failed()) [[unlikely]]
    forget_failure();
  if (mode_ >= Mode::kRowsInPlace) [[unlikely]] {
    const bool is_of_cache = mode_ == Mode::kRowsInPlace && wanted.lines == 0;
    if (!is_of_cache) return page_by_mode(pointer->load().snapshot_page, wanted);
  }
  FOEDUS_INVARIANT(is_pinned_);
  const page::PageHeader* const page = cache_->find_cached_child(soc_, pointer, wanted);
  if (page != nullptr) [[likely]]
    return page;
  return this->page(pointer->load().snapshot_page, wanted);
}

std::nullptr_t ColdPages::refuse(page::SnapshotPageId id) {
  failure_ = not_that_page(id);
  return nullptr;
}

bool ColdPages::prefetch(page::SnapshotPageId id, page::PagePart wanted) const {
  return cache_ != nullptr && cache_->prefetch_page(soc_, id, wanted);
}

snapshot::Begun ColdPages::will_read(page::SnapshotPageId id, page::PagePart wanted) {
  const bool by_lines = wanted.lines != 0 && reads_lines() && lines_->are_small_reads(id);
  if (cache_ == nullptr || page_reader_ != nullptr || by_lines) return snapshot::Begun::kRefused;
  if (in_flight_ == nullptr) {
    if (tries_++ % kTriesApart != 0) return snapshot::Begun::kRefused;
    base::trying([&] { in_flight_ = cache_->make_pages_in_flight(soc_); });
    if (in_flight_ == nullptr) return snapshot::Begun::kRefused;
  }
  return in_flight_->begin(id);
}

void ColdPages::send() {
  if (in_flight_ != nullptr) in_flight_->send();
}

// Waits for a frame, then reads the page. Gives up the pin, and with it the page that was returned
// before (O14). The wait ends, because no thread that keeps a frame waits for the caller (O15).
const page::PageHeader* ColdPages::wait_for_page(page::SnapshotPageId id) {
  const page::PageHeader* page = nullptr;
  std::uint64_t left_us = kWaitUs;
  for (unsigned i = 0; i < kWaits; ++i) {
    is_pinned_ = false;
    clock_->unpin_cache(session_);
    FOEDUS_SYNC_POINT("occ:waits_for_frame");
    const bool is_due = clock_->wait_cache_reclaimable(cache_->due(soc_, id), &left_us);
    is_pinned_ = true;
    clock_->pin_cache(session_);
    failure_ = {};
    page = cache_->find(soc_, id, &failure_);
    if (page != nullptr || failure_.code() != ErrorCode::kOutOfMemory || !is_due) break;
  }
  return page;
}

}  // namespace foedus::occ
