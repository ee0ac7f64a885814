#include "foedus-core/storage/masstree/scan/snapshot_cursor.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/snapshot_find.h"

namespace foedus::storage::masstree {

void SnapshotCursor::open(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root, std::string_view low, std::string_view high,
                          bool reverse) {
  end();
  ctx_ = &ctx;
  control_ = control;
  root_ = root;
  low_.assign(low);
  high_.assign(high);
  has_high_ = !high.empty();
  reverse_ = reverse;
  started_ = false;
  at_end_ = false;
  if (key_.empty()) key_.resize(kMaxKeyBytes + 8);
}

void SnapshotCursor::end() {
  at_end_ = true;
  depth_ = 0;
  steps_.clear();
  is_long_ = false;
  ahead_.reset();
  key_bytes_ = 0;
  payload_ = {};
}

void SnapshotCursor::close() {
  end();
  ctx_ = nullptr;
}

Status SnapshotCursor::next() {
  if (at_end_) return {};
  const occ::ColdReads reads(&ctx_->cold_pages());
  Status status;
  if (!started_) {
    started_ = true;
    if (root_.is_null()) {
      end();
    } else {
      status = enter_layer(root_, 0, !reverse_ || has_high_);
    }
  }
  bool arrived = false;
  while (status.is_ok() && !arrived && !at_end_) {
    Layer& layer = top();
    if (layer.position == layer.count) {
      status = take_next_page();
    } else {
      if (!layer.copy.has(layer.position)) status = take_records(&layer);
      if (status.is_ok()) status = visit(&arrived);
    }
  }
  if (!status.is_ok()) end();
  return status;
}

// Returns a page, or null if it cannot be read. The first look at a page checks that it is the
// right one.
TreePage* SnapshotCursor::page_of(page::SnapshotPageId id) {
  auto* const header = const_cast<page::PageHeader*>(ctx_->cold_pages().page(id));
  return header == nullptr ? nullptr : TreePage::of(header);
}

// ---- from page to page -----------------------------------------------------------------------

// Enters a layer. `is_bounded`: the bound of the range begins with the prefix of the layer.
Status SnapshotCursor::enter_layer(page::SnapshotPageId root, std::uint32_t prefix_bytes,
                                   bool is_bounded) {
  if (layers_.size() == depth_) layers_.emplace_back();
  Layer& layer = layers_[depth_++];
  layer.prefix_bytes = prefix_bytes;
  layer.first_step = steps_.size();
  FOEDUS_INVARIANT(!root.is_null(), control_->id());
  TreePage* page = page_of(root);
  if (page != nullptr && !ColdRoot{control_->id(), prefix_bytes / 8}.is_of(page->header)) {
    page = ctx_->cold_pages().refuse(root);
  }
  return descend(root, page, is_bounded);
}

// Goes down to the first border page at or below `page`, of the topmost layer, that may have rows.
// `page` null: the context knows why it is not there.
Status SnapshotCursor::descend(page::SnapshotPageId id, TreePage* page, bool is_bounded) {
  Layer& layer = top();
  std::uint64_t slice = reverse_ ? kLastSlice : 0;
  if (is_bounded) slice = slice_of(bound().substr(layer.prefix_bytes));
  for (;;) {
    if (page == nullptr) return ctx_->no_page(control_);
    const unsigned keys = page->header.load_version().keys();
    if (page->is_border()) {
      begin_page(&layer, id, BorderPage::of(page), is_bounded);
      return {};
    }
    InteriorPage* const interior = InteriorPage::of(page);
    // Without a bound the slice lies outside of all pages but the outermost.
    unsigned child = reverse_ ? keys : 0;
    if (is_bounded) child = interior->child_of(slice, keys);
    steps_.push_back({id, child, keys});
    page = child_of(interior, child, keys, &id);
  }
}

// Returns a child, or null if it cannot be read, or is another page.
TreePage* SnapshotCursor::child_of(InteriorPage* page, unsigned child, unsigned keys,
                                   page::SnapshotPageId* id) {
  const ColdPlace place = ColdPlace::below(*page, child, keys);
  *id = page->child(child).load().snapshot_page;
  auto* const header = const_cast<page::PageHeader*>(ctx_->cold_pages().child(&page->child(child)));
  TreePage* const found = header == nullptr ? nullptr : TreePage::of(header);
  if (found != nullptr && !place.is_of(found->header)) return ctx_->cold_pages().refuse(*id);
  return found;
}

// Takes the part that the scan needs first of a page, which is not looked at any more after this
// (M41).
void SnapshotCursor::begin_page(Layer* layer, page::SnapshotPageId id, BorderPage* page,
                                bool is_bounded) {
  layer->border = id;
  layer->position = 0;
  layer->count = page->header.load_version().keys();
  layer->copy.take(page, layer->count);
  layer->is_inside = is_inside(layer);
  on_bound_ = false;
  if (is_bounded) pass_over_bound(layer, page);
  if (layer->position < layer->count) {
    layer->copy.take_records(page, layer->position, reverse_, layer->is_inside && is_long_);
  }
  if (layer->is_inside) look_ahead(*layer);
}

// Copies records whose turn has come (M41).
Status SnapshotCursor::take_records(Layer* layer) {
  TreePage* const page = page_of(layer->border);
  if (page == nullptr) return ctx_->no_page(control_);
  layer->copy.take_records(BorderPage::of(page), layer->position, reverse_, false);
  return {};
}

// Loads the next pages of the same parent while the rows of this one are looked at. The range goes
// on after this page.
void SnapshotCursor::look_ahead(const Layer& layer) {
  if (steps_.size() == layer.first_step) return;
  const Step& step = steps_.back();
  if (step.child == (reverse_ ? 0 : step.last_child)) return;
  occ::ColdPages& pages = ctx_->cold_pages();
  const page::PageHeader* const parent = pages.cached(step.page);
  if (parent == nullptr) return;
  TreePage* const page = TreePage::of(const_cast<page::PageHeader*>(parent));
  const unsigned child = reverse_ ? step.child - 1 : step.child + 1;
  const unsigned count = reverse_ ? step.child : step.last_child - step.child;
  ahead_.look(&pages, InteriorPage::of(page), child, count, reverse_, is_long_);
  is_long_ = true;
}

// Takes the border page after that of the topmost layer, or goes up to the layer above.
Status SnapshotCursor::take_next_page() {
  Layer& layer = top();
  const std::uint64_t edge = reverse_ ? layer.page()->low : layer.page()->last;
  const bool is_last = edge == (reverse_ ? 0 : kLastSlice);
  if (!is_last && is_slice_outside(layer, reverse_ ? edge - 1 : edge + 1)) {
    end();
    return {};
  }
  while (steps_.size() > layer.first_step) {
    Step& step = steps_.back();
    if (step.child == (reverse_ ? 0 : step.last_child)) {
      steps_.pop_back();
      continue;
    }
    step.child += reverse_ ? -1u : 1u;
    TreePage* const page = page_of(step.page);
    if (page == nullptr) return ctx_->no_page(control_);
    page::SnapshotPageId id;
    TreePage* const next = child_of(InteriorPage::of(page), step.child, step.last_child, &id);
    return descend(id, next, false);
  }
  if (--depth_ == 0) end();
  return {};
}

// ---- in a page -------------------------------------------------------------------------------

// Moves to the first slot with keys that are not before the bound, in the direction of the scan. A
// layer that the bound leads into is such a slot.
void SnapshotCursor::pass_over_bound(Layer* layer, BorderPage* page) {
  const std::string_view rest = bound().substr(layer->prefix_bytes);
  unsigned begin = 0;  // slots before it are below the bound
  for (unsigned count = layer->count; count > 0;) {
    const unsigned half = count / 2;
    const bool is_before = is_before_bound(page, begin + half, rest);
    begin = is_before ? begin + half + 1 : begin;
    count = is_before ? count - half - 1 : half;
  }
  const auto leads_into = [&](unsigned index) {
    return rest.size() > 8 && page->slot(index).is_layer() && page->slice(index) == slice_of(rest);
  };
  if (reverse_) {
    // The layer is not below the bound, but keys in it may be.
    if (begin < layer->count && leads_into(begin)) ++begin;
    layer->position = layer->count - begin;
    on_bound_ = begin > 0 && leads_into(begin - 1);
  } else {
    layer->position = begin;
    on_bound_ = begin < layer->count && leads_into(begin);
  }
}

// Returns whether all keys of a slot are below the bound, whose rest in this layer is `rest`.
bool SnapshotCursor::is_before_bound(BorderPage* page, unsigned index, std::string_view rest) {
  const std::uint64_t slice = page->slice(index);
  const std::uint64_t bound_slice = slice_of(rest);
  if (slice != bound_slice) return slice < bound_slice;
  const Slot slot = page->slot(index);
  const unsigned bound_class = class_of(rest.size());
  if (slot.key_class() != bound_class) return slot.key_class() < bound_class;
  if (bound_class < kRemainderClass || slot.is_layer()) return false;
  return page->remainder(slot) < rest.substr(8);
}

// Visits the next slot of the topmost page: enters its layer, or arrives at its record.
Status SnapshotCursor::visit(bool* arrived) {
  Layer& layer = top();
  const unsigned index = reverse_ ? layer.count - 1 - layer.position : layer.position;
  ++layer.position;
  BorderPage* const page = layer.page();
  const Slot slot = page->slot(index);
  put_slice(page->slice(index), key_.data() + layer.prefix_bytes);
  const bool is_bounded = std::exchange(on_bound_, false);
  if (slot.is_layer()) {
    key_bytes_ = layer.prefix_bytes + 8;
    if (is_layer_outside()) {
      end();
      return {};
    }
    const page::SnapshotPageId root = page->layer_pointer(slot)->load().snapshot_page;
    return enter_layer(root, key_bytes_, is_bounded);
  }
  const std::string_view remainder = page->remainder(slot);
  if (!remainder.empty()) {
    std::memcpy(key_.data() + layer.prefix_bytes + 8, remainder.data(), remainder.size());
  }
  key_bytes_ = layer.prefix_bytes + slot.key_bytes();
  if (!layer.is_inside && is_key_outside()) {
    end();
    return {};
  }
  return read(slot, arrived);
}

Status SnapshotCursor::read(Slot slot, bool* arrived) {
  BorderPage* const page = top().page();
  *arrived = true;
  if (!slot.is_snapshot_overflow()) {
    payload_ = {page->payload(slot), slot.payload_bytes()};
    return {};
  }
  for (;;) {
    occ::ReadRange range;
    range.out = chain_.data();
    range.out_bytes = static_cast<std::uint32_t>(chain_.size());
    if (!read_cold(*ctx_, page, slot, &range)) return ctx_->no_page(control_);
    payload_ = {chain_.data(), range.payload_bytes};
    if (range.payload_bytes <= chain_.size()) return {};
    chain_.resize(range.payload_bytes);
  }
}

bool SnapshotCursor::is_key_outside() const {
  if (!reverse_) return has_high_ && key() >= high_;
  return key() < low_;
}

// Returns whether all keys that begin with key() lie outside of the range, in the direction of the
// scan.
bool SnapshotCursor::is_layer_outside() const {
  if (!reverse_) return has_high_ && key() >= high_;
  return key() < std::string_view(low_).substr(0, key_bytes_);
}

// Returns whether all keys of the page, those of deeper layers aside, surely lie inside of the
// range.
bool SnapshotCursor::is_inside(Layer* layer) const {
  if (!reverse_ && !has_high_) return true;
  const std::string_view end = reverse_ ? low_ : high_;
  const bool is_on_path = end.size() >= layer->prefix_bytes &&
                          std::memcmp(end.data(), key_.data(), layer->prefix_bytes) == 0;
  if (!is_on_path) return false;
  const std::uint64_t limit = slice_of(end.substr(layer->prefix_bytes));
  return reverse_ ? layer->page()->low > limit : layer->page()->last < limit;
}

// Returns whether all keys of the layer from `slice` on, in the direction of the scan, lie outside.
bool SnapshotCursor::is_slice_outside(const Layer& layer, std::uint64_t slice) const {
  if (!reverse_ && !has_high_) return false;
  const std::string_view end = reverse_ ? low_ : high_;
  const bool is_on_path = end.size() >= layer.prefix_bytes &&
                          std::memcmp(end.data(), key_.data(), layer.prefix_bytes) == 0;
  if (!is_on_path) return false;
  const std::uint64_t limit = slice_of(end.substr(layer.prefix_bytes));
  return reverse_ ? slice < limit : slice > limit;
}

}  // namespace foedus::storage::masstree
