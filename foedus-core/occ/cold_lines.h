#pragma once
// ColdLines: a session's buffer for one snapshot page, the open page. Only the cache lines that a
// search looks at are loaded. Each line lies at its own place in the page, so that a search sees
// the same layout as in a whole page.
//
//     | line 0 | - | line 2 | line 3 | - … - |   -: poison, until a load() asks for it
//
//   O20 A search of the open page calls load() for all bytes before it looks at them. The search
//       must not trust numbers in the page, because no checksum covers them (K21). load() refuses a
//       part that does not lie in the page. So a search that loads all that it looks at stays
//       inside the page. If memory lost its contents unnoticed, the worst result is a wrong row.
//   O21 Bytes that are not loaded are poisoned (base/poison.h): in a build with AddressSanitizer, a
//       search that looks at them ends the test.

#include <cstdint>
#include <memory>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_lines.h"
#include "foedus-core/snapshot/cache/line_cache.h"
#include "foedus-core/snapshot/cache/page_io.h"
#include "foedus/status.h"

namespace foedus::occ {

class ColdLines {
 public:
  // Reads lines that `cache` does not have from `reader`. With a null cache only the lines of the
  // open page are kept. Throws std::bad_alloc.
  ColdLines(snapshot::LineCache* cache, snapshot::PageReader* reader);
  ~ColdLines();
  ColdLines(const ColdLines&) = delete;
  ColdLines& operator=(const ColdLines&) = delete;

  // Makes `id` the open page, and loads `lines` of it and its first line. Returns null on failure;
  // *status is then kIoError or kCorruption.
  const page::PageHeader* open(page::SnapshotPageId id, page::LineMask lines, Status* status);
  // Discards all loaded lines. The next open() loads its lines anew, even those of the same page.
  void forget();
  // Loads the lines of `wanted` in the open page. Returns false on failure; *status says why.
  bool load(page::PagePart wanted, Status* status);
  // Returns whether load(wanted) would take more lines of the page than the cache of lines keeps.
  bool would_outgrow(page::PagePart wanted) const {
    if (!page::is_within_page(wanted)) return false;
    const page::LineMask missing = page::lines_of(wanted) & ~present_;
    return missing != 0 && page::count_of(present_ | missing) > lines_max();
  }
  // Copies the missing lines of `wanted` from `whole`, the same page in the page cache. They are
  // not added to the cache of lines, which keeps no more lines of one page. REQUIRES:
  // would_outgrow(wanted) is true. So `wanted` lies within the page, and there is a cache of lines.
  void copy(const page::PageHeader* whole, page::PagePart wanted);
  // Returns the open page. The address is the same for all pages that are opened.
  const page::PageHeader* page() const { return page_->header(); }
  page::SnapshotPageId id() const { return id_; }
  std::uint32_t lines_max() const {
    return cache_ == nullptr ? page::kLinesPerPage : cache_->lines_max();
  }
  // Returns whether a read of some lines of the page takes less time than one of the whole page.
  bool are_small_reads(page::SnapshotPageId id) const { return reader_->has_lines(id); }
  // Returns whether the page's lines have become too many for the cache of lines since the last
  // call. The page then belongs in the cache of whole pages.
  bool take_outgrown() {
    const bool outgrown = has_outgrown_;
    has_outgrown_ = false;
    return outgrown;
  }

 private:
  bool load_lines(page::LineMask wanted, Status* status);
  void unpoison(page::LineMask lines);

  snapshot::LineCache* const cache_;  // null: lines are not cached
  snapshot::PageReader* const reader_;
  const std::unique_ptr<page::PageBytes> page_;
  page::SnapshotPageId id_;      // of the open page; null: there is none
  page::LineMask present_ = 0;  // its lines that are loaded
  bool has_outgrown_ = false;
};

}  // namespace foedus::occ
