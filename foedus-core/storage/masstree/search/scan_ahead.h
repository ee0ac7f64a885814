#pragma once
// ScanAhead: reads the border pages that a scan of snapshot pages comes to next before the scan
// asks for them. Their ids stand in the interior page above, so their place in a file and the
// direction of the scan make no difference.

#include <cstdint>

#include "foedus-core/occ/cold_pages.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

class ScanAhead {
 public:
  // Begins another scan, or another layer.
  void reset() { *this = ScanAhead(); }

  // Looks ahead of the scan. The next border page is child `next` of `parent`, a page that the
  // caller may look at. `count` children are left in the direction of the scan, that one included.
  // If the next page is not cached, asks the device for some of these, more at each call, until all
  // that it asks for are cached. `is_long`: the scan has come from another page. Reading ahead
  // begins only then, because many scans end after a row or two, whatever their range.
  void look(occ::ColdPages* pages, InteriorPage* parent, unsigned next, unsigned count,
            bool reverse, bool is_long);

 private:
  static constexpr unsigned kWindowMin = 4;
  static constexpr unsigned kWindowMax = 64;

  page::SnapshotPageId parent_;
  unsigned unasked_ = 0;  // last children of parent_ in the scan, not asked for
  unsigned window_ = 0;   // the number that it asks for; 0: none
};

}  // namespace foedus::storage::masstree
