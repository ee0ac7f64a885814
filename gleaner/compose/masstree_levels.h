#pragma once
// MasstreeLevels: the interior pages above the pages of one layer, or of a part of one, made from
// left to right. Children of two pages at most wait at each level.
//
//   push(child) --> waiting below the level above --two pages full, or a child of its own level
//     comes--> append, push(page) --> …
//
//   The children that come may be of any level: pages of records, or whole subtrees that the
//   snapshot before has. What waits below the level of a child ends with it, so that all paths
//   are of one length. A page may come to have a single child in this way, and no separator: a
//   search then finds that no separator is below its slice, and takes child 0.
//
//   G69  Where two ranges meet, only pages of records end: at each level, the children of what
//        would be the first and the last page of a range are left to the join, which makes pages of
//        them and of those of the range beside it. Else each glean would leave a thin page at each
//        level, where nothing is touched again if boundaries move on with the keys, and trees would
//        grow by a level with each some hundred gleans.

#include <cstdint>
#include <span>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

class MasstreeLevels {
 public:
  // Layers are counted from the storage's root. `first_begin`: of the first child, if a range is
  // before it (G69), or 0.
  MasstreeLevels(const Composition& composition, std::uint8_t layer, std::uint64_t first_begin = 0)
      : composition_(composition), layer_(layer), edge_end_(first_begin) {}

  // Without children, again. REQUIRES: no range is before it.
  void restart() { waiting_.clear(); }

  bool is_empty() const { return waiting_.empty(); }

  // REQUIRES: it begins where the one before ended.
  Status push(const Subtree& child);

  // The page of level 1 ends here.
  Status cut();

  // What is left to the join (G69), in its order: of levels that ascend and then descend. REQUIRES:
  // !is_empty().
  std::vector<Subtree> finish_row();
  // Ends all pages and gives the root. REQUIRES: !is_empty().
  Result<Subtree> finish_root();

 private:
  // What a page that is about to be followed by pages of others leaves for the last one.
  enum class Rest : std::uint8_t { kWhatIsLeft, kHalf };

  // What waits at a level becomes pages.
  Status close(std::uint32_t level, Rest rest);
  // The first ones at a level become a page.
  Status close_first(std::uint32_t level, std::size_t children);
  Result<Subtree> append(std::uint32_t level, std::span<const Subtree> children);
  // Whether these children would be the first page of their level behind another range (G69).
  bool is_edge(std::span<const Subtree> children) const;

  const Composition& composition_;
  const std::uint8_t layer_;
  std::vector<std::vector<Subtree>> waiting_;  // [i]: children of level i
  std::vector<Subtree> edge_;   // children of the first pages of each level; levels ascend
  std::uint64_t edge_end_ = 0;  // where they end; 0: there is no range before
};

}  // namespace foedus::gleaner
