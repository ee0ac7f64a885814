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

#include <cstdint>
#include <span>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

class MasstreeLevels {
 public:
  // Layers are counted from the storage's root.
  MasstreeLevels(const Composition& composition, std::uint8_t layer)
      : composition_(composition), layer_(layer) {}

  // Without children, again.
  void restart() { waiting_.clear(); }

  bool is_empty() const { return waiting_.empty(); }

  // REQUIRES: it begins where the one before ended.
  Status push(const Subtree& child);

  // The page of level 1 ends here.
  Status cut();

  // Ends all pages but the topmost one and gives what that would have pointed to.
  // REQUIRES: !is_empty().
  Result<std::vector<Subtree>> finish_row();
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

  const Composition& composition_;
  const std::uint8_t layer_;
  std::vector<std::vector<Subtree>> waiting_;  // [i]: children of level i
};

}  // namespace foedus::gleaner
