#include "foedus-core/storage/masstree/install/cold_layer.h"

#include <algorithm>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/operations/apply.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// Copies a page, so that the search functions of volatile pages can be used on it. The page never
// changes except for hints (P18), which are not followed here.
template <typename Place>
Status ColdLayer::read(page::SnapshotPageId id, const Place& place, Copy* copy) {
  const occ::ColdReads reads(&cold_pages_);
  const page::PageHeader* const found = cold_pages_.page(id);
  if (found == nullptr) return cold_pages_.take_failure();
  if (!place.is_of(*found)) return occ::not_that_page(id);
  base::racy_read(copy->bytes, found, page::kPageBytes);
  return {};
}

Status ColdLayer::pages(unsigned level, std::uint64_t low, std::uint64_t last,
                        std::vector<ColdPage>* pages) {
  pages->clear();
  if (!has_pages()) {
    pages->push_back({0, ~std::uint64_t{0}, root_});
    return {};
  }
  Copy copy;
  FOEDUS_CHECK(read(root_, place_, &copy));
  TreePage* const root = copy.page();
  if (root->header.level < level) return {};
  if (root->header.level == level) {
    pages->push_back({root->low, root->last, root_});
    return {};
  }
  return add(InteriorPage::of(root), level, low, last, pages);
}

Status ColdLayer::add(InteriorPage* page, unsigned level, std::uint64_t low, std::uint64_t last,
                      std::vector<ColdPage>* pages) {
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = page->child_of(low, keys); i <= keys; ++i) {
    if (page->low_of(i) > last) break;
    const page::SnapshotPageId child = page->child(i).load().snapshot_page;
    if (page->header.level == level + 1) {
      pages->push_back({page->low_of(i), page->last_of(i, keys), child});
      continue;
    }
    Copy copy;
    FOEDUS_CHECK(read(child, ColdPlace::below(*page, i, keys), &copy));
    FOEDUS_CHECK(add(InteriorPage::of(copy.page()), level, low, last, pages));
  }
  return {};
}

Status ColdLayer::read_border(page::SnapshotPageId root, const ColdRoot& place, std::uint64_t slice,
                              Copy* copy) {
  TreePage* const page = copy->page();
  FOEDUS_CHECK(read(root, place, copy));
  for (;;) {
    FOEDUS_INVARIANT(page->contains(slice), page->header.page_id, slice, page->low, page->last);
    if (page->is_border()) return {};
    InteriorPage* const interior = InteriorPage::of(page);
    const unsigned keys = interior->header.load_version().keys();
    const unsigned child = interior->child_of(slice, keys);
    const ColdPlace below = ColdPlace::below(*interior, child, keys);
    FOEDUS_CHECK(read(interior->child(child).load().snapshot_page, below, copy));
  }
}

Status ColdLayer::next_layer(std::uint64_t slice, page::SnapshotPageId* root) {
  *root = page::SnapshotPageId();
  if (!has_pages()) return {};
  Copy copy;
  FOEDUS_CHECK(read_border(root_, place_, slice, &copy));
  BorderPage* const border = BorderPage::of(copy.page());
  const unsigned keys = border->header.load_version().keys();
  const unsigned index = find_slot(border, 0, keys, slice, kRemainderClass);
  if (index == BorderPage::kNone) return {};
  const Slot slot = border->slot(index);
  if (slot.is_layer()) *root = border->layer_pointer(slot)->load().snapshot_page;
  return {};
}

Status ColdLayer::find_row(std::uint64_t slice, unsigned key_class, std::string_view remainder,
                           SnapshotRow* row) {
  *row = {};
  page::SnapshotPageId root = root_;
  ColdRoot place = place_;
  Copy copy;
  while (!root.is_null()) {
    FOEDUS_CHECK(read_border(root, place, slice, &copy));
    BorderPage* const border = BorderPage::of(copy.page());
    const unsigned keys = border->header.load_version().keys();
    const unsigned index = find_slot(border, 0, keys, slice, key_class);
    if (index == BorderPage::kNone) return {};
    const Slot slot = border->slot(index);
    if (!slot.is_layer()) {
      if (border->remainder(slot) != remainder) return {};
      row->tid = border->record(slot)->load_tid();
      if (!slot.is_snapshot_overflow()) return {};
      row->chain = page::SnapshotPageId(load_overflow_id(border->payload(slot)));
      return {};
    }
    // A row of the delta has the same slice, so that the snapshot needs a layer.
    root = border->layer_pointer(slot)->load().snapshot_page;
    ++place.layer;
    slice = slice_of(remainder);
    key_class = class_of(remainder.size());
    remainder.remove_prefix(std::min<std::size_t>(remainder.size(), 8));
  }
  return {};
}

Status name_chains(const Installation& installation, ColdLayer* cold, BorderPage* page,
                   bool* leads_to_earlier) {
  const bool has_delta = installation.control->has_delta();
  if (!*leads_to_earlier && !has_delta) return {};
  *leads_to_earlier = false;
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page->slot(i);
    if (!slot.is_snapshot_overflow()) continue;
    const page::SnapshotPageId old(load_overflow_id(page->payload(slot)));
    const bool has_file = installation.has_file_of(old);
    if (has_file && !has_delta) continue;
    ColdLayer::SnapshotRow row;
    FOEDUS_CHECK(cold->find_row(page->slice(i), slot.key_class(), page->remainder(slot), &row));
    const bool is_superseded = row.tid.version() > page->record(slot)->load_tid().version();
    if (has_file && !is_superseded) continue;
    const bool is_named = is_superseded
                              ? forget_chain(page, i)
                              : rename_chain(page->record(slot), page->payload(slot), row.chain,
                                             [&] { return page->slot(i).is_snapshot_overflow(); });
    if (!is_named) *leads_to_earlier = true;
  }
  return {};
}

}  // namespace foedus::storage::masstree
