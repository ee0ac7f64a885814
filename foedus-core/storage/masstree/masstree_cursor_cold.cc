// Cursors in snapshot pages (M25).
#include <algorithm>
#include <bit>

#include "foedus-core/storage/masstree/masstree_cold.h"
#include "foedus-core/storage/masstree/masstree_cursor.h"

namespace foedus::storage::masstree {

namespace {

// How many pages are read at once in a long scan.
constexpr std::uint32_t kColdAheadMax = 16;

}  // namespace

// The border page of a layer, where volatile pages lead to none, or to one that may hide own
// writes.
Status Cursor::land_slowly(Route* route, std::uint64_t slice, Landing* at) {
  std::string path(key_.data(), route->prefix_bytes);
  path.resize(route->prefix_bytes + 8);
  put_slice(slice, path.data() + route->prefix_bytes);
  page::SnapshotPageId top;
  for (bool moved = true;; *at = {}) {
    if (at->page == nullptr) {
      Spot spot;
      FOEDUS_CHECK(find_cold(*ctx_, control_, path, &spot, &cold_, &top));
      // A layer ends only with the page that it hung from, in which the scan has been.
      if (spot.rest.size() > 8) return ctx_->conflict(ConflictReason::kPageDropped, control_, path);
      *at = spot.at;
    }
    const bool hides_own =
        at->is_cold ? may_hide_own_cold(*ctx_, control_) : may_hide_own(*ctx_, at->page);
    if (!hides_own) break;
    FOEDUS_CHECK(settle_own(*ctx_, control_, &moved));
    if (!moved) break;
  }
  if (!at->is_cold) return {};
  route->cold_page = page::SnapshotPageId(at->page->header.page_id);
  installs_ = ctx_->installs();
  return begin_cold(route, top);
}

Status Cursor::begin_cold(Route* route, page::SnapshotPageId top) {
  const page::PageHeader* const page = ctx_->cold_page(top);
  if (page == nullptr) return ctx_->no_page(control_);
  const TreePage* const tree_page = TreePage::of(const_cast<page::PageHeader*>(page));
  route->cold_top = top;
  route->cold_low = tree_page->low;
  route->cold_last = tree_page->last;
  route->cold_run = 1;
  return {};
}

Status Cursor::enter_cold_layer(page::SnapshotPageId root, std::uint32_t prefix_bytes) {
  std::uint64_t slice = 0;
  Route* const route = push_route(prefix_bytes, &slice);
  route->root = nullptr;
  FOEDUS_CHECK(begin_cold(route, root));
  route->cold_run = 0;
  return take_cold(route, slice);
}

// The page of the slice, below the one that was followed to.
Status Cursor::take_cold(Route* route, std::uint64_t slice) {
  BorderPage* const page = cold_border(*ctx_, route->cold_top, slice);
  if (page == nullptr) return ctx_->no_page(control_);
  route->cold_page = page::SnapshotPageId(page->header.page_id);
  ++route->cold_run;
  read_ahead(route);
  begin_page(route, page, page->header.load_version(), slice);
  return {};
}

// Pages that were composed together follow one another in a file. First two pages, then four, as
// the scan goes on: short ones ask for few in vain.
void Cursor::read_ahead(Route* route) {
  const std::uint32_t run = route->cold_run;
  const bool is_time =
      run >= kColdAheadMax ? run % kColdAheadMax == 0 : run > 1 && std::has_single_bit(run);
  if (reverse_ || !is_time) return;
  ctx_->read_cold_ahead(route->cold_page.plus(1), std::min(run, kColdAheadMax));
}

// Between two calls the transaction may have written where the cursor is.
Status Cursor::resume_cold() {
  if (ctx_->installs() == installs_ && cold_.is_in_place()) return look_again(&top());
  has_bound_ = true;
  bound_.assign(key());
  return seek(false);
}

Status Cursor::look_again(Route* route) {
  const page::PageHeader* const page = ctx_->cold_page(route->cold_page);
  if (page == nullptr) return ctx_->no_page(control_);
  route->page = BorderPage::of(const_cast<page::PageHeader*>(page));
  return {};
}

Status Cursor::read_cold_record(Slot slot, bool* arrived) {
  for (;;) {
    occ::ReadRange range;
    range.out = payload_.data();
    range.out_bytes = static_cast<std::uint32_t>(payload_.size());
    if (!read_cold(*ctx_, top().page, slot, &range)) return ctx_->no_page(control_);
    payload_bytes_ = range.payload_bytes;
    if (payload_bytes_ <= payload_.size()) break;
    payload_.resize(payload_bytes_);
    FOEDUS_CHECK(look_again(&top()));  // O14: the payload may be a chain
  }
  *arrived = true;
  return {};
}

}  // namespace foedus::storage::masstree
