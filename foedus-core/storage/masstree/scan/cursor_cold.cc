// Cursors in snapshot pages (M25).
#include <algorithm>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/operations/locate.h"
#include "foedus-core/storage/masstree/scan/cursor.h"
#include "foedus-core/storage/masstree/search/cold.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/search/snapshot_find.h"

namespace foedus::storage::masstree {

// Finds the border page of a layer, where volatile pages lead to none, or to one that may hide own
// writes. If it is a snapshot page, it is the page that was asked for last, as O14 wants it:
// relocate_own() either asks for no page, or the search is made again.
Status Cursor::find_border_slowly(Route* route, std::uint64_t slice, BorderPosition* at) {
  std::string path(key_.data(), route->prefix_bytes);
  path.resize(route->prefix_bytes + 8);
  put_slice(slice, path.data() + route->prefix_bytes);
  ColdTop top;
  for (bool moved = true;; *at = {}) {
    note_drops();
    if (at->page == nullptr) {
      KeyPosition position;
      FOEDUS_CHECK(find_cold(*ctx_, control_, path, Extent::kWhole, &position, &cold_, &top));
      // The search ended above this layer, so the layer is gone. That happens only with the page of
      // its record, in which the scan has been.
      if (position.rest.size() > 8)
        return ctx_->conflict(ConflictReason::kPageDropped, control_, path);
      *at = position.at;
    }
    const bool hides_own =
        at->is_cold ? may_hide_own_cold(*ctx_, control_) : may_hide_own(*ctx_, at->page);
    if (!hides_own) break;
    FOEDUS_CHECK(relocate_own(*ctx_, control_, birth_of(control_, *at), &moved));
    if (!moved) break;
  }
  if (!at->is_cold) return {};
  route->cold_page = page::SnapshotPageId(at->page->header.page_id);
  installs_ = ctx_->sets().materialized();
  begin_cold(route, top);
  return {};
}

void Cursor::begin_cold(Route* route, const ColdTop& top) {
  route->cold_top = top;
  route->cold_run = 1;
  route->cold_ahead_begin = route->cold_ahead_end = 0;
  route->cold_reads.reset();
}

Status Cursor::enter_cold_layer(page::SnapshotPageId root, std::uint32_t prefix_bytes) {
  std::uint64_t slice = 0;
  Route* const route = push_route(prefix_bytes, &slice);
  route->root = nullptr;
  begin_cold(route, {.id = root});
  route->cold_run = 0;
  FOEDUS_CHECK(take_cold(route, slice));
  // The root of a layer has all slices. At the last slice of another page the scan would not find
  // the pages that follow in the layer.
  const ColdTop& top = route->cold_top;
  if (top.low == 0 && top.last == kLastSlice) [[likely]]
    return {};
  ctx_->cold_pages().refuse(root);
  return ctx_->no_page(control_);
}

unsigned Cursor::layer_of(const Route& route) { return route.prefix_bytes / 8; }

// Takes the page of the slice, below route->cold_top.
Status Cursor::take_cold(Route* route, std::uint64_t slice) {
  const bool is_known = route->cold_ahead_begin != route->cold_ahead_end;
  BorderPage* const page = is_known
                               ? next_cold(route, slice)
                               : cold_border(*ctx_, control_, layer_of(*route), route->cold_top.id,
                                             slice, Extent::kWhole, &route->cold_top);
  if (page == nullptr) return ctx_->no_page(control_);
  route->cold_page = page::SnapshotPageId(page->header.page_id);
  ++route->cold_run;
  copy_cold(route, page, slice);
  return {};
}

// Returns the page of which look_ahead() had the id. Null: it cannot be read, or is another one.
BorderPage* Cursor::next_cold(Route* route, std::uint64_t slice) {
  const std::uint8_t ahead = route->cold_ahead_begin++;
  const page::SnapshotPageId id = route->cold_ahead[ahead];
  auto* const header = const_cast<page::PageHeader*>(ctx_->cold_pages().page(id));
  if (header == nullptr) return nullptr;
  const ColdPlace place{Identity(control_->id(), layer_of(*route), 0), route->cold_ahead_low[ahead],
                        route->cold_ahead_last[ahead]};
  if (!place.is_of(*header) || !TreePage::of(header)->contains(slice)) {
    return ctx_->cold_pages().refuse(id);
  }
  return BorderPage::of(header);
}

// Begins route->cold_page, which is `page`, with copies of what is needed first. `page` is not
// looked at any more after this.
void Cursor::copy_cold(Route* route, BorderPage* page, std::uint64_t slice) {
  const page::PageVersion version = page->header.load_version();
  begin_page(route, page, version, slice);
  route->page = route->copy.take(page, version.keys());
  if (route->position < route->count) {
    const bool is_long = route->is_inside && route->cold_run > 1;
    route->copy.take_records(page, route->position, reverse_, is_long);
  }
  look_ahead(route);
}

// Copies the records that the scan comes to next (M41).
Status Cursor::copy_records(Route* route) {
  auto* const header = const_cast<page::PageHeader*>(ctx_->cold_pages().page(route->cold_page));
  if (header == nullptr) return ctx_->no_page(control_);
  route->copy.take_records(BorderPage::of(header), route->position, reverse_, false);
  return {};
}

// Loads the next page while the rows of this one are looked at, if the range goes on after this
// page. The parent has the ids of this page, of the next one and of those that follow. A scan that
// has seen few pages takes out few of these ids.
void Cursor::look_ahead(Route* route) {
  const std::uint64_t edge = reverse_ ? route->page->low : route->page->last;
  const bool is_last = edge == (reverse_ ? route->cold_top.low : route->cold_top.last);
  if (!route->is_inside || is_last) return;
  const std::uint64_t slice = reverse_ ? edge - 1 : edge + 1;
  if (route->cold_ahead_begin == route->cold_ahead_end) {
    InteriorPage* const parent =
        cold_parent(*ctx_, control_, layer_of(*route), route->cold_top.id, slice);
    if (parent == nullptr) return;
    const unsigned keys = parent->header.load_version().keys();
    const unsigned first = parent->child_of(slice, keys);
    const unsigned left = reverse_ ? first + 1 : keys - first + 1;
    const unsigned count = std::min({left, kColdAheadMax, 2 * route->cold_run});
    route->cold_reads.look(&ctx_->cold_pages(), parent, first, left, reverse_, route->cold_run > 1);
    for (unsigned i = 0; i < count; ++i) {
      const unsigned child = reverse_ ? first - i : first + i;
      route->cold_ahead[i] = parent->child(child).load().snapshot_page;
      route->cold_ahead_low[i] = parent->low_of(child);
      route->cold_ahead_last[i] = parent->last_of(child, keys);
    }
    route->cold_ahead_begin = 0;
    route->cold_ahead_end = static_cast<std::uint8_t>(count);
  }
  ctx_->cold_pages().prefetch(route->cold_ahead[route->cold_ahead_begin], kDirectoryAhead);
}

// Notes the epoch of the last drop (M25). A drop that takes a write which the transaction has yet
// to make reads the clock after that write. So its epoch is not below the current one. If the last
// drop is of the current epoch, such a drop could not be told from it, so kNever is noted.
void Cursor::note_drops() {
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  // order: relaxed; a drop that is missed here is taken for a later one.
  const std::uint64_t dropped = control_->drop_epoch.load_relaxed();
  drop_epoch_ = dropped < ctx_->clock().current().number() ? dropped : kNever;
}

bool Cursor::may_miss_own() const {
  if (ctx_->sets().writes().is_empty()) return false;
  // order: relaxed, after the acquire of the pointer that lost its volatile half again (Q3).
  return control_->drop_epoch.load_relaxed() != drop_epoch_;
}

// Seeks the position again if the transaction may have written to the pages there since the last
// call.
Status Cursor::resume_cold() {
  if (ctx_->sets().materialized() == installs_ && cold_.is_in_place() && !may_miss_own()) [[likely]]
    return {};
  has_bound_ = true;
  bound_.assign(key());
  return seek(false);
}

// Reads a record from the copy, or from its chain.
Status Cursor::read_cold_record(Slot slot, bool* arrived) {
  BorderPage* const page = top().page;
  *arrived = true;
  if (!slot.is_snapshot_overflow()) [[likely]] {
    payload_at_ = page->payload(slot);
    payload_bytes_ = slot.payload_bytes();
    return {};
  }
  for (;;) {
    occ::ReadRange range;
    range.out = payload_.data();
    range.out_bytes = static_cast<std::uint32_t>(payload_.size());
    if (!read_cold(*ctx_, page, slot, &range)) return ctx_->no_page(control_);
    payload_at_ = payload_.data();
    payload_bytes_ = range.payload_bytes;
    if (payload_bytes_ <= payload_.size()) return {};
    payload_.resize(payload_bytes_);
  }
}

}  // namespace foedus::storage::masstree
