#include "foedus-core/storage/masstree/scan/cursor.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/change/track.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/operations/locate.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

constexpr std::size_t kPayloadRoom = 4096;

// The orders of the keys of a sorted page. A page of fewer keys takes the begin of `ascending`, or
// the end of `descending`.
struct Orders {
  std::array<std::uint8_t, BorderPage::kKeysMax> ascending{};
  std::array<std::uint8_t, BorderPage::kKeysMax> descending{};
  constexpr Orders() {
    for (unsigned i = 0; i < BorderPage::kKeysMax; ++i) {
      ascending[i] = static_cast<std::uint8_t>(i);
      descending[i] = static_cast<std::uint8_t>(BorderPage::kKeysMax - 1 - i);
    }
  }
};
constexpr Orders kOrders;

}  // namespace

void Cursor::open(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view low,
                  std::string_view high, bool reverse) {
  ctx_ = &ctx;
  control_ = control;
  low_.assign(low);
  high_.assign(high);
  has_high_ = !high.empty();
  reverse_ = reverse;
  is_of_snapshot_ = false;
  started_ = false;
  at_end_ = false;
  depth_ = 0;
  if (key_.empty()) {
    payload_.resize(kPayloadRoom);
    key_.resize(kMaxKeyBytes + 8);
  }
  key_at_ = key_.data();
  key_bytes_ = 0;
  payload_bytes_ = 0;
  row_ = row_end_ = 0;
  rows_wanted_ = 1;
}

void Cursor::open_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                              page::SnapshotPageId root, std::string_view low,
                              std::string_view high, bool reverse) {
  this->open(ctx, control, low, high, reverse);
  is_of_snapshot_ = true;
  snapshot_root_ = root;
}

void Cursor::end() {
  at_end_ = true;
  depth_ = 0;
  row_ = row_end_ = 0;
  key_bytes_ = 0;
  payload_bytes_ = 0;
}

void Cursor::close() {
  end();
  ctx_ = nullptr;
}

Status Cursor::next(std::uint64_t limit) {
  if (at_end_ || try_next()) return {};
  Status status = move(limit);
  if (!status.is_ok()) [[unlikely]]
    end();
  return status;
}

Status Cursor::begin() {
  started_ = true;
  has_bound_ = reverse_ ? has_high_ : !low_.empty();
  bound_.assign(reverse_ ? high_ : low_);
  if (!is_of_snapshot_) [[likely]]
    return seek(true);
  if (snapshot_root_.is_null()) {
    end();
    return {};
  }
  bound_inclusive_ = !reverse_;
  return enter_cold_layer(snapshot_root_, 0);
}

Status Cursor::move(std::uint64_t limit) {
  forget_rows();
  const occ::ColdReads reads(&ctx_->cold_pages());
  if (!started_) {
    FOEDUS_CHECK(begin());
  } else if (top().is_cold()) [[unlikely]] {
    if (!is_of_snapshot_) FOEDUS_CHECK(resume_cold());
  } else if (top().page->header.load_version() != top().version) {
    has_bound_ = true;
    bound_.assign(key());
    FOEDUS_CHECK(seek(false));
  }
  bool arrived = false;
  while (!arrived && !at_end_) {
    Route& route = top();
    if (route.position == route.count) {
      FOEDUS_CHECK(leave_page());
      continue;
    }
    if (!route.is_cold() && !route.bounded && take_rows(limit)) {
      if (try_next()) return {};
      continue;  // all of them were deleted
    }
    if (route.is_cold() && !route.copy.has(route.position)) [[unlikely]] {
      FOEDUS_CHECK(copy_records(&route));
    }
    const unsigned index = route.order[route.position++];
    prefetch_record(route, route.position);
    FOEDUS_CHECK(visit(index, &arrived));
  }
  return {};
}

// Visits one slot of the topmost page: passes it over, enters its layer, or arrives at its record.
Status Cursor::visit(unsigned index, bool* arrived) {
  Route& route = top();
  BorderPage* const page = route.page;
  const Slot slot = page->slot(index);
  const std::uint64_t slice = page->slice(index);
  if (route.bounded) {
    if (!is_beyond_bound(route, slice, slot)) return {};
    route.bounded = false;  // so are all that follow
  }
  put_slice(slice, key_.data() + route.prefix_bytes);
  key_at_ = key_.data();
  if (slot.is_layer()) {
    key_bytes_ = route.prefix_bytes + 8;
    if (is_layer_outside()) {
      end();
      return {};
    }
    if (route.is_cold()) [[unlikely]] {
      return enter_cold_layer(page->layer_pointer(slot)->load().snapshot_page, key_bytes_);
    }
    return enter_layer(root_page(ctx_->pool(), {page->layer_pointer(slot), page}), key_bytes_);
  }
  const std::string_view remainder = page->remainder(slot);
  if (!remainder.empty()) {
    std::memcpy(key_.data() + route.prefix_bytes + 8, remainder.data(), remainder.size());
  }
  key_bytes_ = route.prefix_bytes + slot.key_bytes();
  if (!route.is_inside && is_outside(key())) {
    end();
    return {};
  }
  if (route.is_cold()) [[unlikely]]
    return read_cold_record(slot, arrived);
  return read(page->record(slot), index, arrived);
}

Status Cursor::read(page::RecordHeader* record, std::uint32_t place, bool* arrived) {
  for (;;) {
    occ::ReadRange range;
    range.out = payload_.data();
    range.out_bytes = static_cast<std::uint32_t>(payload_.size());
    const occ::ReadOutcome found = read_at(*ctx_, control_, record, place, &range);
    if (found == occ::ReadOutcome::kConflict) {
      if (ctx_->cold_pages().has_failed()) return ctx_->no_page(control_);
      return ctx_->conflict(ConflictReason::kRetryBound, control_, key());
    }
    if (found == occ::ReadOutcome::kMoved) {
      if (ctx_->sets().writes().contains(record)) {  // M9
        bool moved = false;
        FOEDUS_CHECK(relocate_own(*ctx_, control_, ctx_->clock().current(), &moved));
      }
      // False: the record was purged. The page-version that was remembered shows if its key comes
      // again.
      if (!track_moved(ctx_->pool(), control_, record, &record, &place)) return {};
      continue;
    }
    if (found == occ::ReadOutcome::kAbsent) return {};
    payload_bytes_ = range.payload_bytes;
    if (payload_bytes_ > payload_.size()) {
      payload_.resize(payload_bytes_);
      continue;
    }
    payload_at_ = payload_.data();
    *arrived = true;
    return {};
  }
}

Status Cursor::seek(bool inclusive) {
  bound_inclusive_ = inclusive && !reverse_;
  depth_ = 0;
  return enter_layer(nullptr, 0);
}

// Returns a route for another layer, and the slice at which it begins there.
Cursor::Route* Cursor::push_route(std::uint32_t prefix_bytes, std::uint64_t* slice) {
  if (routes_.size() == depth_) routes_.emplace_back();
  Route& route = routes_[depth_++];
  route.parent = nullptr;
  route.next = nullptr;
  route.ahead_begin = route.ahead_end = 0;
  route.prefix_bytes = prefix_bytes;
  route.bounded = has_bound_ && is_on_path(bound_, prefix_bytes);
  *slice = reverse_ ? kLastSlice : 0;
  if (route.bounded) *slice = slice_of(std::string_view(bound_).substr(prefix_bytes));
  return &route;
}

Status Cursor::enter_layer(TreePage* root, std::uint32_t prefix_bytes) {
  std::uint64_t slice = 0;
  Route* const route = push_route(prefix_bytes, &slice);
  route->root = root;
  return take_page(route, root, slice);
}

Status Cursor::take_page(Route* route, TreePage* from, std::uint64_t slice) {
  BorderPosition at;
  if (from == nullptr && route->prefix_bytes == 0) {
    find_first_layer_border(*ctx_, control_, slice, &at);
  } else {
    at = find_border(ctx_->pool(), from, slice);
  }
  route->cold_page = {};
  if (at.page == nullptr || may_hide_own(*ctx_, at.page)) [[unlikely]] {
    FOEDUS_CHECK(find_border_slowly(route, slice, &at));
  }
  if (at.parent != nullptr || from != route->next) {
    route->parent = at.parent;
    route->ahead_begin = route->ahead_end = 0;
  }
  if (at.is_cold) [[unlikely]] {
    copy_cold(route, at.page, slice);
    return {};
  }
  ctx_->sets().remember_page(&at.page->header, at.version, control_);
  begin_page(route, at.page, at.version, slice);
  return {};
}

void Cursor::begin_page(Route* route, BorderPage* page, page::PageVersion version,
                        std::uint64_t slice) {
  route->page = page;
  route->version = version;
  route->position = 0;
  route->count = static_cast<std::uint8_t>(version.keys());
  route->is_inside = is_inside(*route);
  order_page(route, slice);
  if (reverse_ ? slice < page->last : slice > page->low) pass_over(route, slice);
  const bool is_at_slice =
      route->position < route->count && page->slice(route->order[route->position]) == slice;
  if (!is_at_slice) route->bounded = false;  // all that follow are beyond
  if (route->is_cold()) return;
  prefetch_record(*route, route->position);
  route->asked = route->position + 1;
  prefetch_next(route);
}

// Puts the keys of the page in the order of the scan. If they do not lie in that order, sorts only
// those from `slice` to the end of the range, because short scans want few of many keys.
void Cursor::order_page(Route* route, std::uint64_t slice) {
  BorderPage* const page = route->page;
  std::uint8_t* const order = route->order;
  const unsigned count = route->count;
  // order: relaxed, a lower bound (find_slot()).
  const unsigned sorted = page->sorted_keys.load_relaxed();
  if (sorted >= count) [[likely]] {
    const std::size_t greater = BorderPage::kKeysMax - count;
    const std::uint8_t* const all =
        reverse_ ? kOrders.descending.data() + greater : kOrders.ascending.data();
    std::memcpy(order, all, count);
    return;
  }
  const std::uint64_t end = end_slice(*route);
  const std::uint64_t least = reverse_ ? end : slice;
  const std::uint64_t greatest = reverse_ ? slice : end;
  std::uint8_t found[BorderPage::kKeysMax];
  unsigned wanted = 0;
  unsigned wanted_sorted = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (i == sorted) wanted_sorted = wanted;
    const std::uint64_t key_slice = page->slice(i);
    found[wanted] = static_cast<std::uint8_t>(i);
    wanted += key_slice >= least && key_slice <= greatest ? 1 : 0;
  }
  const auto before = [page](std::uint8_t a, std::uint8_t b) {
    if (page->slice(a) != page->slice(b)) return page->slice(a) < page->slice(b);
    return page->slot(a).key_class() < page->slot(b).key_class();
  };
  std::uint8_t* const middle = found + wanted_sorted;
  std::sort(middle, found + wanted, before);
  std::merge(found, middle, middle, found + wanted, order, before);
  if (reverse_) std::reverse(order, order + wanted);
  route->count = static_cast<std::uint8_t>(wanted);
}

// Moves to the first key that is not before `slice`, in the direction of the scan.
void Cursor::pass_over(Route* route, std::uint64_t slice) {
  BorderPage* const page = route->page;
  const auto is_before = [&](std::uint8_t index) {
    const std::uint64_t at = page->slice(index);
    return reverse_ ? at > slice : at < slice;
  };
  const std::uint8_t* const begin = route->order;
  const auto* const at = std::partition_point(begin, begin + route->count, is_before);
  route->position = static_cast<std::uint8_t>(at - begin);
}

// Loads all lines of the record that comes next, while the one before it is copied.
void Cursor::prefetch_record(const Route& route, unsigned position) {
  if (route.is_cold()) return route.copy.prefetch_ahead(position, reverse_);
  BorderPage* page = route.page;
  unsigned index = BorderPage::kNone;
  if (position < route.count) {
    index = route.order[position];
  } else if (route.next != nullptr && route.next->is_border()) {
    page = BorderPage::of(route.next);
    const unsigned keys = page->header.load_version().keys();
    if (keys != 0) index = reverse_ ? keys - 1 : 0;  // in a page of sorted keys
  }
  if (index == BorderPage::kNone) return;
  const Slot slot = page->slot(index);
  base::prefetch_lines_early(page->record(slot), slot.record_bytes());
}

// Finds the next page long before it is wanted, if that takes no wait. Asks for one page first,
// then two, then four, so that short scans ask for few in vain. If the pages change meanwhile,
// leave_page() finds that the next one does not contain the slice, or has moved.
void Cursor::prefetch_next(Route* route) {
  if (route->ahead_begin < route->ahead_end) {
    route->next = route->ahead[route->ahead_begin++];
    return;
  }
  route->next = nullptr;
  const std::uint64_t edge = reverse_ ? route->page->low : route->page->last;
  if (route->parent == nullptr || edge == (reverse_ ? 0 : kLastSlice)) return;
  const std::uint64_t slice = reverse_ ? edge - 1 : edge + 1;
  if (!route->parent->contains(slice)) return;
  const page::PageVersion version = route->parent->header.load_version();
  if (version.is_gone()) return;
  const unsigned first = route->parent->child_of(slice, version.keys());
  const unsigned left = reverse_ ? first + 1 : version.keys() - first + 1;
  const unsigned wanted = std::min<unsigned>({kAheadMax, route->ahead_end * 2u, left});
  route->next = child_unseen(ctx_->pool(), route->parent, first);
  route->ahead[0] = route->next;
  route->ahead_begin = route->ahead_end = 1;
  while (route->ahead_end < wanted) {
    const unsigned i = reverse_ ? first - route->ahead_end : first + route->ahead_end;
    route->ahead[route->ahead_end++] = child_unseen(ctx_->pool(), route->parent, i);
  }
}

Status Cursor::leave_page() {
  Route& route = top();
  const std::uint64_t edge = reverse_ ? route.page->low : route.page->last;
  if (edge == (reverse_ ? 0 : kLastSlice)) return leave_layer();
  const std::uint64_t slice = reverse_ ? edge - 1 : edge + 1;
  if (is_slice_outside(route, slice)) {
    end();
    return {};
  }
  if (route.is_cold() && route.cold_top.contains(slice)) [[unlikely]] {
    return take_cold(&route, slice);
  }
  if (route.next != nullptr && route.next->contains(slice)) {
    // M8: its pointer was in a page that was seen unmoved in this transaction.
    return take_page(&route, route.next, slice);
  }
  const bool near = route.parent != nullptr && route.parent->contains(slice);
  return take_page(&route, near ? route.parent : route.root, slice);
}

Status Cursor::leave_layer() {
  const std::uint32_t prefix_bytes = top().prefix_bytes;
  --depth_;
  if (depth_ == 0) {
    end();
    return {};
  }
  if (top().is_cold()) return {};  // its copy is still there
  if (top().page->header.load_version() == top().version) return {};
  // M14: the page of the layer's record may have changed, so the cursor seeks the first key after
  // the layer.
  if (!bound_to_end_of_layer(prefix_bytes)) {
    end();
    return {};
  }
  has_bound_ = true;
  return seek(true);
}

// Sets bound_ to the first key after all of a layer, or in reverse to the first one of the layer.
// False: no key can come after it.
bool Cursor::bound_to_end_of_layer(std::uint32_t prefix_bytes) {
  bound_.assign(key_.data(), prefix_bytes);
  if (reverse_) {
    bound_.push_back('\0');
    return true;
  }
  while (!bound_.empty() && static_cast<unsigned char>(bound_.back()) == 0xff) bound_.pop_back();
  if (bound_.empty()) return false;
  bound_.back() = static_cast<char>(static_cast<unsigned char>(bound_.back()) + 1);
  return true;
}

// Returns whether `bound` begins with the prefix of a layer; otherwise it lies before or after all
// of it.
bool Cursor::is_on_path(std::string_view bound, std::uint32_t prefix_bytes) const {
  return bound.size() >= prefix_bytes && std::memcmp(bound.data(), key_.data(), prefix_bytes) == 0;
}

bool Cursor::is_beyond_bound(const Route& route, std::uint64_t slice, Slot slot) const {
  const std::string_view rest = std::string_view(bound_).substr(route.prefix_bytes);
  const std::uint64_t bound_slice = slice_of(rest);
  const unsigned bound_class = class_of(rest.size());
  const unsigned key_class = slot.key_class();
  if (slice != bound_slice) return (slice > bound_slice) != reverse_;
  if (key_class != bound_class) return (key_class > bound_class) != reverse_;
  if (key_class < kRemainderClass) return bound_inclusive_;
  if (slot.is_layer()) return true;
  const int order = route.page->remainder(slot).compare(rest.substr(8));
  if (order == 0) return bound_inclusive_;
  return (order > 0) != reverse_;
}

// Returns whether all keys of the page, those of deeper layers aside, surely lie inside of the
// range.
bool Cursor::is_inside(const Route& route) const {
  if (!reverse_ && !has_high_) return true;
  const std::string_view bound = reverse_ ? low_ : high_;
  if (!is_on_path(bound, route.prefix_bytes)) return false;
  const std::uint64_t limit = slice_of(bound.substr(route.prefix_bytes));
  return reverse_ ? route.page->low > limit : route.page->last < limit;
}

// Returns whether all keys that begin with key() lie outside of the range, in the direction of the
// scan.
bool Cursor::is_layer_outside() const {
  if (!reverse_) return has_high_ && key() >= high_;
  return key() < std::string_view(low_).substr(0, key_bytes_);
}

bool Cursor::is_outside(std::string_view key) const {
  return reverse_ ? key < low_ : has_high_ && key >= high_;
}

// Returns whether all keys of the layer from `slice` on, in the direction of the scan, lie outside.
bool Cursor::is_slice_outside(const Route& route, std::uint64_t slice) const {
  const std::uint64_t end = end_slice(route);
  return reverse_ ? slice < end : slice > end;
}

// Returns the slice of a layer after which all keys are outside of the range, in the direction of
// the scan.
std::uint64_t Cursor::end_slice(const Route& route) const {
  const std::uint64_t all = reverse_ ? 0 : kLastSlice;
  if (!reverse_ && !has_high_) return all;
  const std::string_view bound = reverse_ ? low_ : high_;
  return is_on_path(bound, route.prefix_bytes) ? slice_of(bound.substr(route.prefix_bytes)) : all;
}

}  // namespace foedus::storage::masstree
