#pragma once
// LineCache: finds the line page of the page cache that has the lines of a page, for one SOC. It
// has no memory of its own: line pages take frames of the page cache, borrowed ones too, and are
// evicted as its other pages are.
//
//   mini pages    a line page below `count`, by the hash of the id; several pages share it
//   of one page   a line page for each page, so that up to 59 of its lines are kept
//
//   K22 Ids of line pages belong to no page of a snapshot: their snapshot number is above all that
//       a directory can have (kSnapshotNumberMax). A line page is not read from a device; it begins
//       empty.
//   K23 The number of line pages for mini pages is adapted to how many stay in the cache: a line
//       page that is evicted takes all of its mini pages along, hot ones too. The number begins
//       with half of the frames that the part may have. It falls by a 64th when more line pages
//       were made than there are, so that some must have been evicted. It grows by a 64th, up to
//       three quarters of the frames, when many mini pages were evicted from line pages since the
//       last change. So it follows the memory that volatile pages take and give back. A change
//       moves the mini pages of as many line pages as it adds or takes away (linear hashing). Lines
//       whose mini page has moved are loaded again.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_lines.h"
#include "foedus-core/snapshot/cache/line_page.h"

namespace foedus::snapshot {

class PageCache;

// The bit that marks the snapshot number in the id of a line page (K22).
inline constexpr std::uint32_t kLinePageSnapshot = std::uint32_t{1} << 27;
constexpr bool is_line_page(page::SnapshotPageId id) {
  return (static_cast<std::uint32_t>(id.snapshot()) & kLinePageSnapshot) != 0;
}

struct LineCacheStatistics {
  std::uint64_t loaded = 0;    // lines that were loaded
  std::uint64_t evicted = 0;   // mini pages evicted from their line page for others
  std::uint64_t outgrown = 0;  // times that a page had too many lines for a mini page

  void add(const LineCacheStatistics& other);
};

class LineCache {
 public:
  static constexpr std::uint32_t kMiniLines = 32;

  enum class Frames : std::uint8_t { kMiniPages, kOfOnePage };

  // `cache` must outlive the object.
  LineCache(PageCache* cache, std::uint32_t soc, Frames frames);
  LineCache(const LineCache&) = delete;
  LineCache& operator=(const LineCache&) = delete;

  // Returns how many lines of one page are kept at most.
  std::uint32_t lines_max() const { return lines_max_; }

  // Any thread that has a cache pin may call the functions that follow.
  // Prefetches what read() of the page looks at first.
  void prefetch(page::SnapshotPageId id) const;
  // Reads lines as LinePage::read() does.
  page::LineMask read(page::SnapshotPageId id, page::LineMask wanted, char* to);
  // Adds lines as LinePage::add() does; keeps nothing if the cache has no frame. `loaded`: those of
  // the lines that were read from the device now.
  LinesAdded add(page::SnapshotPageId id, page::LineMask lines, page::LineMask loaded,
                 const char* from);
  // Counts a page that is read whole because it would have too many lines.
  void count_outgrown() { outgrown_.fetch_add_relaxed(1); }  // order: relaxed, a statistic

  LineCacheStatistics statistics() const;

 private:
  page::SnapshotPageId line_page_of(page::SnapshotPageId id) const;
  void note_made();
  void note_evicted(std::uint32_t mini_pages);

  // Constant after construction.
  PageCache* const cache_;
  const std::uint32_t soc_;
  const std::uint32_t lines_max_;
  const std::uint32_t count_max_;  // K23; 0: a line page for each page

  // The number of line pages for mini pages (K23). Written rarely, by note_made() and
  // note_evicted().
  base::AtomicWord<std::uint32_t> count_;

  // Written by add() only, which comes after an access to the device.
  alignas(64) base::AtomicWord<std::uint32_t> made_;  // line pages, see note_made()
  base::AtomicWord<std::uint32_t> evicted_since_;     // mini pages, since count_ has changed
  // Statistics.
  base::AtomicWord<std::uint64_t> loaded_;
  base::AtomicWord<std::uint64_t> evicted_;
  base::AtomicWord<std::uint64_t> outgrown_;
};

}  // namespace foedus::snapshot
