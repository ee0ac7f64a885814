#pragma once
// MasstreeLayer makes the pages of one layer, or of a range of the first layer, from left to right.
//
//   add(key) --the first of its slice------------------> open page --close_page()--> MasstreeLevels
//       \--with others--> group of its slice --place_group()--^
//       \--a second key of more than 8 bytes in a slice--> the next layer, made in the same way
//
//   Most slices have one key, which is laid straight into the page. If another key of its slice
//   comes, the first is taken out of the page again, and they make a group.
//
//   G60  Pages are full, except before a reused page of the previous snapshot and at a fence.
//        Before a reused page, the last two pages share their keys if the last one is not half
//        full. Without that, inserts that come one at a time would leave an almost empty page after
//        each full page that they split.
//   G61  A layer with one record left becomes that record again; an empty layer vanishes.
//   G62  No page is empty, except the only page of an empty range and a page that begins at a
//        fence. If no key is left of a run of changed pages, the next page, or else the one before,
//        is made anew although no record touches it, and takes over their range. A reused page
//        could not, because its fences cannot change.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/compose/masstree/group.h"
#include "gleaner/compose/masstree/levels.h"
#include "gleaner/compose/masstree/record.h"

namespace foedus::gleaner {

class MasstreeLayer {
 public:
  // REQUIRES: composition and fences outlive the layer.
  MasstreeLayer(const Composition& composition, std::uint8_t depth, const PositionRange& range,
                std::span<const std::uint64_t> fences);

  const PositionRange& range() const { return range_; }
  std::uint8_t depth() const { return depth_; }

  // ---- keys, in their order. `rest`: the key from this layer on.

  Status add(std::string_view rest, const MasstreeRecord& record);
  // Returns true if the last key that was added alone, not by copy(), is of this slice.
  bool is_begun(std::uint64_t slice) const {
    return is_single_in_page_ ? single_ == slice : !group_.is_empty() && group_.slice() == slice;
  }
  // Copies the keys [begin, end) of a page of the previous snapshot, next layers included, without
  // a change. REQUIRES: begin < end; these are all keys that the page has of their slices, except
  // keys of which nothing was left.
  Status copy(storage::masstree::BorderPage* from, unsigned begin, unsigned end);
  // Adds a next layer of the previous snapshot without a change. `tid`: of the layer's record,
  // which keeps it. The TID says nothing about the records in the layer (M31).
  Status add_layer(std::uint64_t slice, page::SnapshotPageId root, page::Tid tid);
  // Opens a next layer that is made anew. The caller fills it before it adds anything here.
  Result<MasstreeLayer*> open_layer(std::uint64_t slice, page::Tid tid);

  // ---- pages of the previous snapshot

  // Returns true if the old page that begins at `begin` must be made anew, because the range before
  // it, from the last reused page on, has no key left and needs a page that takes it over (G62).
  Result<bool> owes(std::uint64_t begin);
  // Reuses the page. REQUIRES: !owes(), and all of the page is in the range.
  Status reuse(const Subtree& page);
  // Returns true if the last reused page must be made anew, because the range after it has no key
  // and needs a page that takes it over (G62).
  Result<bool> owes_end();
  // Takes the last reused page back, and returns it. REQUIRES: owes_end().
  Subtree take_back();

  // ---- the end

  // Ends the range, and returns its pages (G69).
  Result<std::vector<Subtree>> finish_range();

 private:
  storage::masstree::BorderPage* page() {
    return blocks_[open_].as<storage::masstree::BorderPage>();
  }
  storage::masstree::BorderPage* spilled() {
    return blocks_[1 - open_].as<storage::masstree::BorderPage>();
  }
  unsigned keys() { return page()->header.load_version().keys(); }
  bool is_fence(std::uint64_t slice) const;
  bool is_fence_due(std::uint64_t slice) const {
    return next_fence_ < fences_.size() && fences_[next_fence_] <= slice;
  }

  void restart();
  void restart_page();
  MasstreeLayer* start_next_layer();

  Status begin_group(std::uint64_t slice);
  // Places the current group. All keys that were added are then in pages.
  Status place_group() {
    is_single_in_page_ = false;
    return group_.is_empty() ? Status() : place_entries();
  }
  Status place_entries();
  Status place_single(std::uint64_t slice, const MasstreeEntry& entry);
  void take_single_back();
  Status add_to_group(const MasstreeEntry& entry);
  Status add_long(std::string_view rest, const MasstreeRecord& record);
  // Ends pages at all fences up to this slice.
  Status advance_fences(std::uint64_t slice);
  // Ends the open page at `last`, and writes it after the spilled one.
  Status close_page(std::uint64_t last);
  // Ends the open page at `last`, but keeps it as the spilled one until the next page ends.
  Status spill_page(std::uint64_t last);
  void finish_page(storage::masstree::BorderPage* page, std::uint64_t low, std::uint64_t last);
  Status append_page(storage::masstree::BorderPage* page);
  Status append_spilled();
  void share_spilled();
  Status push_held();
  Status finish_pages();
  // Ends the layer, and makes `entry` lead to its root, or hold its only record (G61). Returns
  // false if no record is left.
  Result<bool> finish_into(MasstreeGroup::Entry* entry);
  void take_only_record(MasstreeGroup::Entry* entry);

  const Composition& composition_;
  const std::uint8_t depth_;
  const PositionRange range_;
  const std::span<const std::uint64_t> fences_;  // ascending

  std::size_t next_fence_ = 0;
  std::uint64_t low_ = 0;  // of the open page
  bool is_ended_ = false;  // the range is complete, and no page is open
  MasstreeGroup group_;
  bool is_single_in_page_ = false;  // the last key is in the page, alone in its slice
  std::uint64_t single_ = 0;        // its slice
  page::PageBytes blocks_[2];
  unsigned open_ = 0;            // the block of the open page
  bool has_spilled_ = false;     // the other block has the full page before it
  std::optional<Subtree> held_;  // the page that was reused last
  MasstreeLevels levels_;
  std::unique_ptr<MasstreeLayer> next_layer_;
  bool is_next_open_ = false;  // the last entry of the group is being made in next_layer_
};

}  // namespace foedus::gleaner
