#pragma once
// ColdLines: one session's page of a snapshot of which only the lines that a search looks at are
// there. They are copied to their own places in a page of memory, so that a search sees the same
// layout as in a whole page.
//
//     | line 0 | - | line 2 | line 3 | - … - |   -: poison, until a load() asks for it
//
//   O20 A search of such a page calls load() before it looks at a byte. It takes all numbers in the
//       page for what they are: bytes that no checksum vouches for (K21). load() refuses a part
//       that does not lie in the page. So a search that loads what it looks at stays inside; where
//       memory lost its contents unnoticed, it ends in a wrong row at worst.
//   O21 Bytes that are not loaded are poison (base/poison.h): a search that looks at them ends a
//       test in a build for AddressSanitizer.

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
  // Reads what `cache` does not have from `reader`. With a null cache no line is kept but those of
  // the page that is open. Throws std::bad_alloc.
  ColdLines(snapshot::LineCache* cache, snapshot::PageReader* reader);
  ~ColdLines();
  ColdLines(const ColdLines&) = delete;
  ColdLines& operator=(const ColdLines&) = delete;

  // Makes `id` the page that is there in part, with these lines and the first one. Null: *status
  // says why: kIoError, kCorruption.
  const page::PageHeader* open(page::SnapshotPageId id, page::LineMask lines, Status* status);
  // Discards all loaded lines. The next open() loads its lines anew, even those of the same page.
  void forget();
  // Loads more of it. False: *status says why.
  bool load(page::PagePart wanted, Status* status);
  // Returns whether load(wanted) would take more lines of the page than the cache of lines keeps.
  bool would_outgrow(page::PagePart wanted) const {
    if (!page::is_within_page(wanted)) return false;
    const page::LineMask missing = page::lines_of(wanted) & ~present_;
    return missing != 0 && page::count_of(present_ | missing) > lines_max();
  }
  // Loads more of it from the whole page. REQUIRES: would_outgrow(wanted), so it is in the page.
  void copy(const page::PageHeader* whole, page::PagePart wanted);
  // Returns the page, the same address for every one that is opened.
  const page::PageHeader* page() const { return page_->header(); }
  page::SnapshotPageId id() const { return id_; }
  std::uint32_t lines_max() const {
    return cache_ == nullptr ? page::kLinesPerPage : cache_->lines_max();
  }
  // Returns whether lines of the page are read in less time than the page.
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

  snapshot::LineCache* const cache_;  // null: none
  snapshot::PageReader* const reader_;
  const std::unique_ptr<page::PageBytes> page_;
  page::SnapshotPageId id_;      // null: none
  page::LineMask present_ = 0;  // lines of it that are there
  bool has_outgrown_ = false;
};

}  // namespace foedus::occ
