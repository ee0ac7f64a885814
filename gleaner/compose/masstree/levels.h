#pragma once
// MasstreeLevels makes the interior pages above the pages of one layer, or of a part of one, from
// left to right. At each level the children of at most two pages wait.
//
//   push(child) --> waits at its level --the children of two pages wait, or a child of a higher
//     level comes--> append() makes a page of the level above, which waits at its level --> …
//
//   Children may be of any level: pages of records, or whole subtrees of the previous snapshot.
//   Before a child is added, children that wait at lower levels become pages, so that all paths
//   have one length. In this way a page can get a single child and no separator. A search then
//   finds no separator below its slice, and takes child 0.
//
//   G69  Where two ranges meet, only pages of records end. At each level, the children of a range's
//        first and last page are left to the join, which makes pages of them and of those of the
//        range beside. Without that, each glean would leave an almost empty page at each level. If
//        boundaries move on with the keys, that page is never touched again, and trees would grow
//        by a level with about every hundred gleans.

#include <cstdint>
#include <span>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

class MasstreeLevels {
 public:
  // Layers are counted from the storage's root. `first_begin`: begin of the first child if another
  // range comes before it (G69), else 0.
  MasstreeLevels(const Composition& composition, std::uint8_t layer, std::uint64_t first_begin = 0)
      : composition_(composition), layer_(layer), edge_end_(first_begin) {}

  // Drops all children. REQUIRES: no range is before this one.
  void restart() { waiting_.clear(); }

  bool is_empty() const { return waiting_.empty(); }

  // Adds a child. REQUIRES: it begins where the last one ended.
  Status push(const Subtree& child);

  // Ends the page of level 1 here.
  Status cut();

  // Returns the pages that are left to the join (G69) in their order: their levels ascend and then
  // descend. REQUIRES: !is_empty().
  std::vector<Subtree> finish_row();
  // Ends all pages, and returns the root. REQUIRES: !is_empty().
  Result<Subtree> finish_root();

 private:
  // How many children the last page of a level gets: all that are left, or half a page at least.
  enum class Rest : std::uint8_t { kWhatIsLeft, kHalf };

  // Makes pages of all children that wait at a level.
  Status close(std::uint32_t level, Rest rest);
  // Makes a page of the first children that wait at a level.
  Status close_first(std::uint32_t level, std::size_t children);
  Result<Subtree> append(std::uint32_t level, std::span<const Subtree> children);
  // Returns true if these children would be the first page of their level after another range
  // (G69).
  bool is_edge(std::span<const Subtree> children) const;

  const Composition& composition_;
  const std::uint8_t layer_;
  std::vector<std::vector<Subtree>> waiting_;  // [i]: children of level i
  std::vector<Subtree> edge_;   // children of the first pages of each level; levels ascend
  std::uint64_t edge_end_ = 0;  // their end; 0: no range is before this one
};

}  // namespace foedus::gleaner
