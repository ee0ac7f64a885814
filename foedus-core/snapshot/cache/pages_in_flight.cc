#include "foedus-core/snapshot/cache/pages_in_flight.h"

#include <algorithm>
#include <bit>

#include "foedus-core/base/invariant.h"
#include "foedus-core/snapshot/cache/page_cache.h"

namespace foedus::snapshot {

namespace {

constexpr std::uint64_t bit(std::uint32_t place) { return std::uint64_t{1} << place; }

// Returns true if the second page directly follows the first in a file.
bool follows(page::SnapshotPageId first, page::SnapshotPageId second) {
  return first.page() != page::SnapshotPageId::kPageMax && first.plus(1) == second;
}

}  // namespace

PagesInFlight::~PagesInFlight() {
  drop_gathered();
  while (used_ != 0 && collect_some(true)) {
  }
}

std::uint32_t PagesInFlight::place_of(page::SnapshotPageId id) const {
  for (std::uint64_t left = used_; left != 0; left &= left - 1) {
    const auto place = static_cast<std::uint32_t>(std::countr_zero(left));
    if (ids_[place] == id) return place;
  }
  return kNone;
}

Begun PagesInFlight::begin(page::SnapshotPageId id) {
  if (place_of(id) != kNone) return Begun::kBegun;
  if (used_ == ~std::uint64_t{0} && !collect_some(false)) return Begun::kRefused;
  CacheFrame frame = 0;
  if (cache_->find_or_take(soc_, id, &frame)) return Begun::kCached;
  if (frame == 0) return Begun::kRefused;
  const auto place = static_cast<std::uint32_t>(std::countr_one(used_));
  const std::uint32_t gathered = gathered_count_;
  const bool is_full = gathered == PageReads::kPagesMax;
  if (is_full || (gathered != 0 && !follows(ids_[gathered_places_[gathered - 1]], id))) {
    add_gathered();
    if (unsent_ == kSendMax) send();
  }
  used_ |= bit(place);
  ids_[place] = id;
  frames_[place] = frame;
  gathered_places_[gathered_count_++] = static_cast<std::uint8_t>(place);
  return Begun::kBegun;
}

// Adds the gathered pages as one read of the device.
void PagesInFlight::add_gathered() {
  const std::uint32_t count = std::exchange(gathered_count_, 0);
  if (count == 0) return;
  const std::uint32_t tag = gathered_places_[0];
  page::PageHeader* to[PageReads::kPagesMax];
  std::uint64_t places = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = gathered_places_[i];
    places_[tag][i] = static_cast<std::uint8_t>(place);
    to[i] = cache_->page_at(soc_, frames_[place]);
    places |= bit(place);
  }
  counts_[tag] = static_cast<std::uint8_t>(count);
  if (reads_->add(ids_[tag], to, count, tag)) {
    ++unsent_;
  } else {
    give_back(places, 0);
  }
}

void PagesInFlight::drop_gathered() {
  std::uint64_t places = 0;
  for (std::uint32_t i = 0; i < gathered_count_; ++i) places |= bit(gathered_places_[i]);
  gathered_count_ = 0;
  if (places != 0) give_back(places, 0);
}

void PagesInFlight::settle_some() {
  drop_gathered();
  send();
  collect_some(false);
}

void PagesInFlight::send() {
  add_gathered();
  if (std::exchange(unsent_, 0) != 0) reads_->send();
}

bool PagesInFlight::finish(page::SnapshotPageId id) {
  const std::uint32_t place = place_of(id);
  if (place == kNone) return false;
  send();
  while ((used_ & bit(place)) != 0) {
    if (!collect_some(true)) return false;
  }
  return true;
}

// Puts all pages that the device has read into the cache, and returns true if there were any. With
// `waits`, waits for one.
bool PagesInFlight::collect_some(bool waits) {
  std::uint64_t come = 0;
  std::uint64_t good = 0;
  std::uint32_t tag = 0;
  std::uint32_t good_of_read = 0;
  while (reads_->next(waits && come == 0, &tag, &good_of_read)) {
    FOEDUS_INVARIANT(tag < kPagesMax && (used_ & bit(tag)) != 0, tag, used_);
    for (std::uint32_t i = 0; i < counts_[tag]; ++i) {
      const std::uint32_t place = places_[tag][i];
      come |= bit(place);
      if ((good_of_read >> i & 1) != 0) good |= bit(place);
    }
  }
  if (come != 0) give_back(come, good);
  return come != 0;
}

void PagesInFlight::give_back(std::uint64_t places, std::uint64_t good) {
  PageCache::Read reads[kPagesMax];
  std::uint32_t count = 0;
  for (std::uint64_t left = places; left != 0; left &= left - 1) {
    const auto place = static_cast<std::uint32_t>(std::countr_zero(left));
    reads[count++] = {ids_[place], frames_[place], (good & bit(place)) != 0};
  }
  used_ &= ~places;
  cache_->put_ahead(soc_, reads, count);
}

}  // namespace foedus::snapshot
