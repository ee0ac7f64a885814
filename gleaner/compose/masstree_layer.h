#pragma once
// MasstreeLayer: the pages of one layer, or of a range of the first one, made from left to right.
//
//   add(key) --the first of its slice------------------> open page --close_page()--> MasstreeLevels
//       \--with others--> group of its slice --place_group()--^
//       \--a second key of more than 8 bytes in a slice--> the next layer, made in the same way
//
//   Most slices have one key, and it is laid straight into the page. Where another one of its slice
//   comes, the first is taken from the page again, and they make a group.
//
//   G60  Pages are full, but where a page of the snapshot before follows that is taken over as it
//        is, or at a fence. Before a page that is taken over, the last two share what they have if
//        the last one is not half full: inserts that come one at a time would leave a page of next
//        to nothing behind each full page that they split.
//   G61  A layer in which one record is left becomes that record again; an empty one vanishes.
//   G62  No page is empty but an empty range's only one, or one that begins at a fence. Where a
//        run of changed pages comes to nothing, the page behind it, else the one before, is made
//        anew although no record touches it: its fences cannot change.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/masstree/masstree_page.h"
#include "foedus/status.h"
#include "gleaner/compose/composition.h"
#include "gleaner/compose/masstree_group.h"
#include "gleaner/compose/masstree_levels.h"
#include "gleaner/compose/masstree_record.h"

namespace foedus::gleaner {

class MasstreeLayer {
 public:
  // Composition and fences must outlive it.
  MasstreeLayer(const Composition& composition, std::uint8_t depth, const PositionRange& range,
                std::span<const std::uint64_t> fences);

  const PositionRange& range() const { return range_; }
  std::uint8_t depth() const { return depth_; }

  // ---- what comes, in the order of keys. `rest`: of the key, in this layer.

  Status add(std::string_view rest, const MasstreeRecord& record);
  // Whether a key of the slice was the last one to come by itself.
  bool is_begun(std::uint64_t slice) const {
    return is_single_in_page_ ? single_ == slice : !group_.is_empty() && group_.slice() == slice;
  }
  // The keys `begin` up to `end` of a page of the snapshot before, next layers included, as they
  // are. REQUIRES: begin < end; all keys that the page has of their slices, but those that nothing
  // was left of.
  Status copy(storage::masstree::BorderPage* from, unsigned begin, unsigned end);
  // A next layer of the snapshot before, as it is. `tid`: of its record, which keeps it: it says
  // nothing of what is in the layer (M31).
  Status add_layer(std::uint64_t slice, page::SnapshotPageId root, page::Tid tid);
  // The same, to be made anew: the caller fills it before it adds anything here.
  Result<MasstreeLayer*> open_layer(std::uint64_t slice, page::Tid tid);

  // ---- pages of the snapshot before

  // Whether the page that begins there cannot be reused, because nothing was added since the one
  // before that was (G62).
  Result<bool> owes(std::uint64_t begin);
  // REQUIRES: !owes(), and all of the page is in the range.
  Status reuse(const Subtree& page);
  // The same for the end of the range.
  Result<bool> owes_end();
  // The page that was reused last is not. REQUIRES: owes_end().
  Subtree take_back();

  // ---- the end

  // The pages of the range (G69).
  Result<std::vector<Subtree>> finish_range();

 private:
  storage::masstree::BorderPage* page() { return block_.as<storage::masstree::BorderPage>(); }
  unsigned keys() { return block_.header()->load_version().keys(); }
  bool is_fence(std::uint64_t slice) const;
  bool is_fence_due(std::uint64_t slice) const {
    return next_fence_ < fences_.size() && fences_[next_fence_] <= slice;
  }

  void restart();
  void restart_page();
  MasstreeLayer* start_next_layer();

  Status begin_group(std::uint64_t slice);
  // Afterwards all keys that came are in pages.
  Status place_group() {
    is_single_in_page_ = false;
    return group_.is_empty() ? Status() : place_entries();
  }
  Status place_entries();
  Status place_single(std::uint64_t slice, const MasstreeEntry& entry);
  void take_single_back();
  Status add_to_group(const MasstreeEntry& entry);
  Status add_long(std::string_view rest, const MasstreeRecord& record);
  // Ends pages at the fences up to this slice.
  Status advance_fences(std::uint64_t slice);
  // The open page ends there, and is written, after the one before it.
  Status close_page(std::uint64_t last);
  // The same, but it waits to be written until the next one ends.
  Status spill_page(std::uint64_t last);
  void finish_page(storage::masstree::BorderPage* page, std::uint64_t low, std::uint64_t last);
  Status append_page(storage::masstree::BorderPage* page);
  Status append_spilled();
  void share_spilled();
  Status push_held();
  Status finish_pages();
  // The entry becomes what the layer has come to. False: nothing is left.
  Result<bool> finish_into(MasstreeGroup::Entry* entry);
  void take_only_record(MasstreeGroup::Entry* entry);

  const Composition& composition_;
  const std::uint8_t depth_;
  const PositionRange range_;
  const std::span<const std::uint64_t> fences_;  // ascending

  std::size_t next_fence_ = 0;
  std::uint64_t low_ = 0;    // of the open page
  bool is_ended_ = false;    // all of the range is in pages: there is no open one
  MasstreeGroup group_;
  bool is_single_in_page_ = false;  // the last key that came, so far the only one of its slice
  std::uint64_t single_ = 0;        // its slice
  page::PageBytes block_;    // the open page
  page::PageBytes spilled_;  // the full one before it
  bool has_spilled_ = false;
  std::optional<Subtree> held_;  // what was reused last
  MasstreeLevels levels_;
  std::unique_ptr<MasstreeLayer> next_layer_;
  bool is_next_open_ = false;  // the last entry of the group is being made in next_layer_
};

}  // namespace foedus::gleaner
