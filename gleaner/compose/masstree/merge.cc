#include "gleaner/compose/masstree/merge.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "foedus-core/base/invariant.h"
#include "foedus/options.h"

namespace foedus::gleaner {

using page::SnapshotPageId;
using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::Slot;
using storage::masstree::TreePage;

namespace {

bool is_in(const PositionRange& inner, const PositionRange& outer) {
  return outer.begin <= inner.begin && inner.last <= outer.last;
}

// Compares the slot's key to another key of the layer; 0 if they are equal, or if that is in the
// slot's next layer.
int compare(BorderPage* page, unsigned index, std::string_view rest) {
  const std::uint64_t slice = storage::masstree::slice_of(rest);
  if (page->slice(index) != slice) return page->slice(index) < slice ? -1 : 1;
  const Slot slot = page->slot(index);
  const unsigned key_class = storage::masstree::class_of(rest.size());
  if (slot.key_class() != key_class) return slot.key_class() < key_class ? -1 : 1;
  if (rest.size() <= 8 || slot.is_layer()) return 0;
  return page->remainder(slot).compare(rest.substr(8));
}

}  // namespace

Status MasstreeMerge::run(MasstreeLayer* layer, SnapshotPageId old_root) {
  if (old_root.is_null()) {
    while (input_->is_within(prefix_, layer->range().last)) {
      FOEDUS_CHECK(take_key(layer, nullptr));
    }
    return {};
  }
  const auto block = std::make_unique<page::PageBytes>();
  Subtree root{{}, old_root, kAnyLevel};
  FOEDUS_CHECK(read_old_page(composition_, root, layer->depth(), block.get()));
  root.level = block->header()->level;
  if (is_in(root.range, layer->range()) && !is_touched(root)) return layer->reuse(root);
  FOEDUS_CHECK(take_page(layer, root, block.get()));
  for (;;) {
    FOEDUS_TRY(const bool owes, layer->owes_end());
    if (!owes) return {};
    FOEDUS_CHECK(unfold(layer, layer->take_back()));
  }
}

Status MasstreeMerge::visit(MasstreeLayer* layer, const Subtree& page) {
  if (is_in(page.range, layer->range()) && !is_touched(page)) {
    FOEDUS_TRY(const bool owes, layer->owes(page.range.begin));
    if (!owes) return layer->reuse(page);
  }
  const auto block = std::make_unique<page::PageBytes>();
  FOEDUS_CHECK(read_old_page(composition_, page, layer->depth(), block.get()));
  return take_page(layer, page, block.get());
}

Status MasstreeMerge::take_page(MasstreeLayer* layer, const Subtree& page, page::PageBytes* block) {
  const PositionRange& range = layer->range();
  TreePage* const tree_page = TreePage::of(block->header());
  supersede(*layer, tree_page);
  if (tree_page->is_border()) {
    return take_border(layer, BorderPage::of(tree_page), std::min(page.range.last, range.last));
  }
  InteriorPage* const interior = InteriorPage::of(tree_page);
  const unsigned keys = interior->header.load_version().keys();
  for (unsigned i = 0; i <= keys; ++i) {
    const Subtree child = child_of(interior, i);
    if (child.range.last < range.begin) continue;
    if (child.range.begin > range.last) break;
    FOEDUS_CHECK(visit(layer, child));
  }
  return {};
}

Status MasstreeMerge::unfold(MasstreeLayer* layer, const Subtree& page) {
  const auto block = std::make_unique<page::PageBytes>();
  FOEDUS_CHECK(read_old_page(composition_, page, layer->depth(), block.get()));
  TreePage* const tree_page = TreePage::of(block->header());
  supersede(*layer, tree_page);
  if (tree_page->is_border()) {
    return take_border(layer, BorderPage::of(tree_page), page.range.last);
  }
  InteriorPage* const interior = InteriorPage::of(tree_page);
  const unsigned keys = interior->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) FOEDUS_CHECK(layer->reuse(child_of(interior, i)));
  return unfold(layer, child_of(interior, keys));
}

// Counts the page as superseded. A page that crosses an end of the range is read for the next
// range, too. Only the range in which it begins counts it (G63).
void MasstreeMerge::supersede(const MasstreeLayer& layer, TreePage* page) const {
  if (layer.range().contains(page->low)) composition_.supersede(page->header);
}

Status MasstreeMerge::take_border(MasstreeLayer* layer, BorderPage* page, std::uint64_t last) {
  const unsigned keys = page->header.load_version().keys();
  unsigned index = 0;
  while (index < keys && page->slice(index) < layer->range().begin) ++index;
  for (;;) {
    if (const unsigned end = untouched_end(*layer, page, index, last); end != index) {
      FOEDUS_CHECK(layer->copy(page, index, end));
      index = end;
    }
    const bool is_old = index < keys && page->slice(index) <= last;
    const bool is_new = input_->is_within(prefix_, last);
    if (!is_old && !is_new) return {};
    const int order = !is_old ? 1 : !is_new ? -1 : compare(page, index, rest());
    if (order > 0) {
      FOEDUS_CHECK(take_key(layer, nullptr));
    } else if (order < 0) {
      FOEDUS_CHECK(copy_slot(layer, page, index++));
    } else {
      FOEDUS_CHECK(change_slot(layer, page, index++));
    }
  }
}

unsigned MasstreeMerge::untouched_end(const MasstreeLayer& layer, BorderPage* page, unsigned index,
                                      std::uint64_t last) const {
  const unsigned keys = page->header.load_version().keys();
  if (index == keys || layer.is_begun(page->slice(index))) return index;
  if (input_->is_within(prefix_, last)) {
    const std::uint64_t touched = storage::masstree::slice_of(rest());
    while (index < keys && page->slice(index) < touched) ++index;
  } else {
    while (index < keys && page->slice(index) <= last) ++index;
  }
  return index;
}

Status MasstreeMerge::copy_slot(MasstreeLayer* layer, BorderPage* page, unsigned index) {
  const Slot slot = page->slot(index);
  const std::uint64_t slice = page->slice(index);
  if (slot.is_layer()) {
    const page::Tid tid = page->record(slot)->load_tid().without(page::Tid::kFlags);
    return layer->add_layer(slice, page->layer_pointer(slot)->load().snapshot_page, tid);
  }
  char rest[kMaxKeyBytes + 8];
  storage::masstree::put_slice(slice, rest);
  const std::string_view remainder = page->remainder(slot);
  if (!remainder.empty()) std::memcpy(rest + 8, remainder.data(), remainder.size());
  return layer->add({rest, slot.key_bytes()}, old_record(page, slot));
}

Status MasstreeMerge::change_slot(MasstreeLayer* layer, BorderPage* page, unsigned index) {
  const Slot slot = page->slot(index);
  if (!slot.is_layer()) {
    const MasstreeRecord old = old_record(page, slot);
    return take_key(layer, &old);
  }
  const page::Tid tid = page->record(slot)->load_tid().without(page::Tid::kFlags);
  FOEDUS_TRY(MasstreeLayer* const next, layer->open_layer(page->slice(index), tid));
  const std::size_t prefix_bytes = prefix_.size();
  prefix_.append(rest().substr(0, 8));
  FOEDUS_CHECK(run(next, page->layer_pointer(slot)->load().snapshot_page));
  FOEDUS_INVARIANT(!input_->is_within(prefix_, ~std::uint64_t{0}), prefix_);
  prefix_.resize(prefix_bytes);
  return {};
}

Status MasstreeMerge::take_key(MasstreeLayer* layer, const MasstreeRecord* old) {
  if (input_->is_single_put() && (old == nullptr || old->chain.is_null())) {
    if (old != nullptr) FOEDUS_CHECK(input_->check_newer_than(*old));
    FOEDUS_CHECK(layer->add(rest(), input_->single_put()));
    return input_->pass_single_put();
  }
  FOEDUS_CHECK(input_->fold(old));
  // A folded payload replaces or erases the old chain.
  if (old != nullptr && !old->chain.is_null()) {
    FOEDUS_CHECK(supersede_chain(composition_, old->chain));
  }
  if (!input_->is_present()) return {};
  const std::string_view key = input_->folded_key();
  return layer->add(key.substr(prefix_.size()), input_->folded());
}

}  // namespace foedus::gleaner
