#include "foedus-core/snapshot/cache/line_cache.h"

#include <algorithm>
#include <bit>

#include "foedus-core/snapshot/cache/page_cache.h"
#include "foedus-core/snapshot/files/format.h"

namespace foedus::snapshot {

namespace {

static_assert(kLinePageSnapshot > kSnapshotNumberMax);
static_assert((kLinePageSnapshot | kSnapshotNumberMax) <= page::SnapshotPageId::kSnapshotMax);

constexpr std::uint32_t kSteps = 64;
constexpr std::uint32_t kCountMin = 64;
constexpr std::uint32_t kEvictedToGrow = 16;  // evicted mini pages for each line page

LinePage* line_page(const page::PageHeader* page) {
  return reinterpret_cast<LinePage*>(const_cast<page::PageHeader*>(page));
}

}  // namespace

void LineCacheStatistics::add(const LineCacheStatistics& other) {
  loaded += other.loaded;
  evicted += other.evicted;
  outgrown += other.outgrown;
}

LineCache::LineCache(PageCache* cache, std::uint32_t soc, Frames frames)
    : cache_(cache),
      soc_(soc),
      lines_max_(frames == Frames::kMiniPages ? kMiniLines : LinePage::kLines),
      count_max_(frames == Frames::kMiniPages
                     ? static_cast<std::uint32_t>(std::min<std::uint64_t>(
                           cache->frames_reachable(soc) / 4 * 3, page::SnapshotPageId::kPageMax))
                     : 0),
      count_(std::max(count_max_ / 3 * 2, kCountMin)) {}

// Returns the id of the line page for `id`. Fibonacci hashing: the high half of the product spreads
// neighbouring pages of a file evenly.
page::SnapshotPageId LineCache::line_page_of(page::SnapshotPageId id) const {
  if (count_max_ == 0) {
    const auto snapshot = static_cast<std::uint32_t>(id.snapshot()) | kLinePageSnapshot;
    return page::SnapshotPageId(page::SnapshotNumber{snapshot}, id.soc(), id.page());
  }
  const std::uint64_t word = id.word();
  const std::uint64_t hash = (word ^ (word >> 32)) * 0x9e3779b97f4a7c15u;
  // order: relaxed, any number will do (K19).
  const std::uint32_t count = count_.load_relaxed();
  const std::uint32_t mask = std::bit_ceil(count) - 1;
  auto number = static_cast<std::uint32_t>(hash >> 32) & mask;
  if (number >= count) number &= mask >> 1;
  return page::SnapshotPageId(page::SnapshotNumber{kLinePageSnapshot}, 0, number);
}

void LineCache::prefetch(page::SnapshotPageId id) const {
  cache_->prefetch_page(soc_, line_page_of(id), {.offset = 64, .bytes = 256});
}

page::LineMask LineCache::read(page::SnapshotPageId id, page::LineMask wanted, char* to) {
  const page::PageHeader* const found = cache_->find_cached(soc_, line_page_of(id));
  return found == nullptr ? 0 : line_page(found)->read(id, wanted, to);
}

LinesAdded LineCache::add(page::SnapshotPageId id, page::LineMask lines, page::LineMask loaded,
                          const char* from) {
  // order: relaxed, a statistic.
  loaded_.fetch_add_relaxed(page::count_of(loaded));
  Status ignored;
  const page::PageHeader* const found = cache_->find(soc_, line_page_of(id), &ignored);
  if (found == nullptr) return LinesAdded::kKept;
  if (line_page(found)->is_empty()) note_made();
  std::uint32_t evicted = 0;
  const LinesAdded added = line_page(found)->add(id, lines, from, lines_max_, &evicted);
  if (evicted != 0) note_evicted(evicted);
  if (added == LinesAdded::kOutgrown) count_outgrown();
  return added;
}

// order: relaxed in note_made() and note_evicted(): if two threads change the number at the same
// time, one change may get lost.
void LineCache::note_made() {
  const std::uint32_t count = count_.load_relaxed();
  if (made_.fetch_add_relaxed(1) < count || count_max_ == 0) return;
  const std::uint32_t fewer = std::max(count - count / kSteps, kCountMin);
  count_.store_relaxed(fewer);
  made_.store_relaxed(fewer - fewer / 8);  // if another 1/8 is made, the number falls again
  evicted_since_.store_relaxed(0);
}

void LineCache::note_evicted(std::uint32_t mini_pages) {
  evicted_.fetch_add_relaxed(mini_pages);
  const std::uint32_t count = count_.load_relaxed();
  if (evicted_since_.fetch_add_relaxed(mini_pages) / kEvictedToGrow < count) return;
  const std::uint32_t more = std::min(count + count / kSteps, count_max_);
  count_.store_relaxed(std::max(count, more));
  evicted_since_.store_relaxed(0);
}

LineCacheStatistics LineCache::statistics() const {
  // order: relaxed, statistics.
  return {.loaded = loaded_.load_relaxed(),
          .evicted = evicted_.load_relaxed(),
          .outgrown = outgrown_.load_relaxed()};
}

}  // namespace foedus::snapshot
