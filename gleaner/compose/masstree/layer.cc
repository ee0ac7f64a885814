#include "gleaner/compose/masstree/layer.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/overflow_page.h"
#include "gleaner/compose/masstree/copy.h"
#include "gleaner/compose/masstree/old_page.h"
#include "gleaner/compose/masstree/share.h"

namespace foedus::gleaner {

using page::SnapshotPageId;
using page::Tid;
using storage::masstree::BorderPage;
using storage::masstree::kRemainderClass;
using storage::masstree::Slot;

MasstreeLayer::MasstreeLayer(const Composition& composition, std::uint8_t depth,
                             const PositionRange& range, std::span<const std::uint64_t> fences)
    : composition_(composition),
      depth_(depth),
      range_(range),
      fences_(fences),
      levels_(composition, depth, range.begin) {
  FOEDUS_INVARIANT(std::is_sorted(fences.begin(), fences.end()), composition.meta->name);
  restart();
}

void MasstreeLayer::restart() {
  low_ = range_.begin;
  is_ended_ = false;
  next_fence_ = static_cast<std::size_t>(std::upper_bound(fences_.begin(), fences_.end(), low_) -
                                         fences_.begin());
  group_.begin(0);
  is_single_in_page_ = false;
  held_.reset();
  levels_.restart();
  is_next_open_ = false;
  has_spilled_ = false;
  restart_page();
}

void MasstreeLayer::restart_page() {
  blocks_[open_].initialize(composition_.meta->id, page::PageKind::kMasstreeBorder, 0);
  page()->header.layer = depth_;
  page()->heap_begin = page::kPageBytes;
}

bool MasstreeLayer::is_fence(std::uint64_t slice) const {
  return std::binary_search(fences_.begin(), fences_.end(), slice);
}

// ---- keys

Status MasstreeLayer::begin_group(std::uint64_t slice) {
  if (is_begun(slice)) {
    if (is_single_in_page_) take_single_back();
    return {};
  }
  FOEDUS_CHECK(place_group());
  FOEDUS_INVARIANT(!is_ended_ && low_ <= slice && slice <= range_.last, slice, low_);
  group_.begin(slice);
  return {};
}

Status MasstreeLayer::add(std::string_view rest, const MasstreeRecord& record) {
  const std::uint64_t slice = storage::masstree::slice_of(rest);
  const MasstreeEntry entry = MasstreeEntry::of(rest, record);
  if (!is_begun(slice)) {
    FOEDUS_CHECK(place_group());
    const bool is_inline = record.chain.is_null() && !page::is_overflow(record.payload.size());
    if (is_inline) return place_single(slice, entry);
  }
  FOEDUS_CHECK(begin_group(slice));
  if (entry.key_class == kRemainderClass && !group_.is_empty() &&
      group_.last().key_class == kRemainderClass) {
    return add_long(rest, record);
  }
  return add_to_group(entry);
}

Status MasstreeLayer::place_single(std::uint64_t slice, const MasstreeEntry& entry) {
  FOEDUS_INVARIANT(!is_ended_ && low_ <= slice && slice <= range_.last, slice, low_);
  if (is_fence_due(slice)) FOEDUS_CHECK(advance_fences(slice));
  if (!page()->has_room(keys(), entry.heap_bytes())) FOEDUS_CHECK(spill_page(slice - 1));
  lay(slice, entry, page());
  is_single_in_page_ = true;
  single_ = slice;
  return {};
}

void MasstreeLayer::take_single_back() {
  is_single_in_page_ = false;
  group_.begin(single_);
  const Slot slot = page()->slot(keys() - 1);
  group_.add(slot.key_class())
      .set({slot.key_class(), page()->remainder(slot), old_record(page(), slot), {}});
  keep_keys(page(), keys() - 1);
}

Status MasstreeLayer::add_to_group(const MasstreeEntry& entry) {
  MasstreeEntry placed = entry;
  if (entry.record.chain.is_null() && page::is_overflow(entry.record.payload.size())) {
    FOEDUS_TRY(placed.record.chain, write_chain(composition_, entry.record.payload));
    placed.record.payload = {};
  }
  group_.add(entry.key_class).set(placed);
  return {};
}

Status MasstreeLayer::add_long(std::string_view rest, const MasstreeRecord& record) {
  if (!is_next_open_) {
    MasstreeGroup::Entry& first = group_.last();
    FOEDUS_INVARIANT(first.layer.is_null(), first.layer.word());
    MasstreeLayer* const next = start_next_layer();
    FOEDUS_CHECK(next->add(first.remainder, {first.tid, first.payload, first.chain}));
  }
  return next_layer_->add(rest.substr(8), record);
}

Status MasstreeLayer::add_layer(std::uint64_t slice, SnapshotPageId root, Tid tid) {
  FOEDUS_CHECK(begin_group(slice));
  MasstreeGroup::Entry& entry = group_.add(kRemainderClass);
  entry.layer = root;
  entry.tid = tid;
  return {};
}

Result<MasstreeLayer*> MasstreeLayer::open_layer(std::uint64_t slice, Tid tid) {
  FOEDUS_CHECK(begin_group(slice));
  group_.add(kRemainderClass).tid = tid;
  return start_next_layer();
}

Status MasstreeLayer::copy(BorderPage* from, unsigned begin, unsigned end) {
  FOEDUS_CHECK(place_group());
  while (begin != end) {
    const std::uint64_t slice = from->slice(begin);
    FOEDUS_INVARIANT(!is_ended_ && low_ <= slice && slice <= range_.last, slice, low_);
    if (is_fence_due(slice)) FOEDUS_CHECK(advance_fences(slice));
    unsigned copied_end = end;
    while (is_fence_due(from->slice(copied_end - 1))) --copied_end;
    copied_end = fitting_end(from, begin, copied_end, *page());
    if (copied_end == begin) {
      FOEDUS_CHECK(spill_page(slice - 1));
    } else {
      copy_keys(from, begin, copied_end, page());
      begin = copied_end;
    }
  }
  return {};
}

MasstreeLayer* MasstreeLayer::start_next_layer() {
  if (next_layer_ == nullptr) {
    const auto depth = static_cast<std::uint8_t>(depth_ + 1);
    next_layer_ = std::make_unique<MasstreeLayer>(composition_, depth, PositionRange{},
                                                  std::span<const std::uint64_t>());
  }
  next_layer_->restart();
  is_next_open_ = true;
  return next_layer_.get();
}

Status MasstreeLayer::place_entries() {
  if (is_next_open_) {
    is_next_open_ = false;
    FOEDUS_TRY(const bool is_left, next_layer_->finish_into(&group_.last()));
    if (!is_left) group_.drop_last();
    if (group_.is_empty()) return {};
  }
  if (!group_.is_settled()) FOEDUS_CHECK(group_.settle(composition_));
  if (is_fence_due(group_.slice())) FOEDUS_CHECK(advance_fences(group_.slice()));
  if (!group_.fits(*page())) FOEDUS_CHECK(spill_page(group_.slice() - 1));
  group_.lay_all(page());
  group_.begin(0);
  return {};
}

// ---- pages

Status MasstreeLayer::push_held() {
  if (!held_.has_value()) return {};
  const Subtree held = *held_;
  held_.reset();
  return levels_.push(held);
}

void MasstreeLayer::finish_page(BorderPage* page, std::uint64_t low, std::uint64_t last) {
  FOEDUS_INVARIANT(!is_ended_ && low <= last, low, last);
  page->low = low;
  page->last = last;
  const page::PageVersion version = page->header.load_version();
  page->sorted_keys.store_relaxed(version.keys());  // order: relaxed, the page is not shared
  page->header.birth_version = version.word();
}

Status MasstreeLayer::append_page(BorderPage* page) {
  FOEDUS_TRY(const SnapshotPageId id, composition_.append(&page->header));
  FOEDUS_CHECK(push_held());
  return levels_.push({{page->low, page->last}, id, 0});
}

Status MasstreeLayer::append_spilled() {
  if (!has_spilled_) return {};
  has_spilled_ = false;
  return append_page(spilled());
}

Status MasstreeLayer::spill_page(std::uint64_t last) {
  FOEDUS_CHECK(append_spilled());
  finish_page(page(), low_, last);
  open_ = 1 - open_;
  has_spilled_ = true;
  restart_page();
  low_ = last + 1;
  return {};
}

Status MasstreeLayer::close_page(std::uint64_t last) {
  FOEDUS_CHECK(append_spilled());
  finish_page(page(), low_, last);
  FOEDUS_CHECK(append_page(page()));
  restart_page();
  is_ended_ = last == range_.last;
  low_ = last + 1;
  return {};
}

void MasstreeLayer::share_spilled() {
  if (!has_spilled_) return;
  BorderPage* const before = spilled();
  if (!share_keys(before, page())) return;
  low_ = page()->slice(0);
  finish_page(before, before->low, low_ - 1);
}

Status MasstreeLayer::advance_fences(std::uint64_t slice) {
  while (is_fence_due(slice)) {
    const std::uint64_t fence = fences_[next_fence_++];
    if (fence > low_) FOEDUS_CHECK(close_page(fence - 1));
    if (fence < low_) continue;  // the same fence twice
    FOEDUS_CHECK(push_held());
    FOEDUS_CHECK(levels_.cut());
  }
  return {};
}

Result<bool> MasstreeLayer::owes(std::uint64_t begin) {
  FOEDUS_CHECK(place_group());
  return keys() == 0 && low_ < begin && !is_fence(begin);
}

Status MasstreeLayer::reuse(const Subtree& page) {
  FOEDUS_CHECK(place_group());
  FOEDUS_CHECK(advance_fences(page.range.begin));
  if (low_ < page.range.begin) {
    share_spilled();
    FOEDUS_CHECK(close_page(page.range.begin - 1));
  }
  FOEDUS_INVARIANT(!is_ended_ && low_ == page.range.begin, low_, page.range.begin);
  FOEDUS_INVARIANT(page.range.last <= range_.last, page.range.last, range_.last);
  FOEDUS_CHECK(push_held());
  held_ = page;
  is_ended_ = page.range.last == range_.last;
  low_ = page.range.last + 1;
  // Fences inside the page are skipped, because nothing is written there.
  while (next_fence_ < fences_.size() && fences_[next_fence_] <= page.range.last) ++next_fence_;
  return {};
}

Result<bool> MasstreeLayer::owes_end() {
  if (!held_.has_value()) return false;
  FOEDUS_CHECK(place_group());
  return held_.has_value() && !is_ended_ && keys() == 0 && !is_fence(low_);
}

Subtree MasstreeLayer::take_back() {
  FOEDUS_INVARIANT(held_.has_value() && keys() == 0, low_);
  const Subtree held = *held_;
  held_.reset();
  low_ = held.range.begin;
  next_fence_ = static_cast<std::size_t>(std::upper_bound(fences_.begin(), fences_.end(), low_) -
                                         fences_.begin());
  return held;
}

// ---- the end

Status MasstreeLayer::finish_pages() {
  FOEDUS_CHECK(place_group());
  if (!is_ended_) {
    FOEDUS_CHECK(advance_fences(range_.last));
    FOEDUS_CHECK(close_page(range_.last));
  }
  return push_held();
}

Result<std::vector<Subtree>> MasstreeLayer::finish_range() {
  FOEDUS_CHECK(finish_pages());
  return levels_.finish_row();
}

Result<bool> MasstreeLayer::finish_into(MasstreeGroup::Entry* entry) {
  FOEDUS_CHECK(place_group());
  const bool is_one_page = levels_.is_empty() && !held_.has_value() && !has_spilled_;
  if (is_one_page && keys() == 0) return false;
  if (is_one_page && keys() == 1 && !page()->slot(0).is_layer()) {
    take_only_record(entry);
    return true;
  }
  FOEDUS_CHECK(finish_pages());
  FOEDUS_TRY(const Subtree root, levels_.finish_root());
  entry->layer = root.page;
  return true;
}

// Turns the layer back into its only record (G61). A chain stays a chain, even if it was made for
// the sake of keys that are gone.
void MasstreeLayer::take_only_record(MasstreeGroup::Entry* entry) {
  const Slot slot = page()->slot(0);
  char bytes[8];
  storage::masstree::put_slice(page()->slice(0), bytes);
  entry->remainder.assign(bytes, std::min<std::size_t>(slot.key_bytes(), sizeof(bytes)));
  entry->remainder.append(page()->remainder(slot));
  entry->tid = page()->record(slot)->load_tid();
  entry->chain = SnapshotPageId();
  if (slot.is_snapshot_overflow()) {
    std::uint64_t id;
    std::memcpy(&id, page()->payload(slot), sizeof(id));
    entry->chain = SnapshotPageId(id);
    entry->payload.clear();
  } else {
    entry->payload.assign(page()->payload(slot), slot.payload_bytes());
  }
}

}  // namespace foedus::gleaner
