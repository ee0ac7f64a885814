#include "foedus-core/storage/masstree/search/scan_ahead.h"

#include <algorithm>

#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/snapshot_find.h"

namespace foedus::storage::masstree {

void ScanAhead::look(occ::ColdPages* pages, InteriorPage* parent, unsigned next, unsigned count,
                     bool reverse, bool is_long) {
  const auto id_of = [&](unsigned step) {
    return parent->child(reverse ? next - step : next + step).load().snapshot_page;
  };
  const bool is_cached = pages->prefetch(id_of(0), kDirectoryAhead);
  if (window_ == 0 && (is_cached || !is_long)) return;
  const page::SnapshotPageId parent_id(parent->header.page_id);
  if (parent_ != parent_id) unasked_ = count;
  parent_ = parent_id;
  window_ = std::clamp(window_ * 2, kWindowMin, kWindowMax);
  unsigned asked = count - std::min(count, unasked_);
  if (asked > window_ / 2) return;     // so that many are sent at a time
  bool is_all_cached = asked < count;  // false if no child is left
  while (asked < std::min(count, window_)) {
    const snapshot::Begun begun = pages->will_read(id_of(asked));
    is_all_cached &= begun == snapshot::Begun::kCached;
    if (begun == snapshot::Begun::kRefused) break;
    ++asked;
  }
  pages->send();
  unasked_ = count - asked;
  if (is_all_cached) window_ = 0;
}

}  // namespace foedus::storage::masstree
