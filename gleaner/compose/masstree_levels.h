#pragma once
// MasstreeLevels: the interior pages above the pages of one layer, or of a part of one, made from
// left to right: one open page of each level.
//
//   push(child) --> open page of the level above --full, or a child of its own level comes-->
//     append, push(page) --> …
//
//   The children that come may be of any level: pages of records, or whole subtrees that the
//   snapshot before has. What is open below the level of a child ends with it, so that all paths
//   are of one length. A page may come to have a single child in this way, and no separator: a
//   search then finds that no separator is below its slice, and takes child 0.

#include <cstdint>
#include <memory>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/composition.h"
#include "gleaner/compose/page_block.h"

namespace foedus::gleaner {

class MasstreeLevels {
 public:
  // Layers are counted from the storage's root.
  MasstreeLevels(const Composition& composition, std::uint8_t layer)
      : composition_(composition), layer_(layer) {}

  // Without children, again.
  void restart();

  bool is_empty() const { return children_ == 0; }

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
  // A page in the making. Its level is its place in open_ and one.
  struct Open {
    std::unique_ptr<PageBlock> block;
    unsigned children = 0;
    PositionRange range;
  };

  Open& open_of(std::uint32_t level);
  Status close(std::uint32_t level);
  // Closes all pages with others above, and gives the level of the one that is left.
  Result<std::uint32_t> close_up();

  const Composition& composition_;
  const std::uint8_t layer_;
  std::vector<Open> open_;
  std::uint64_t children_ = 0;  // of all pages, those made here included
};

}  // namespace foedus::gleaner
