#pragma once
// MasstreeMerge: the tree of the snapshot before and the log records, in the order of keys, become
// what MasstreeLayer makes pages of.
//
//   A page is read if a log record falls into it, if it crosses an end of the range, or if it has
//   to be made anew for its neighbour (G62). Every other one, with all that is below it, is passed
//   on by its id (G6). The same goes for layers. Interior pages that are read are made anew.

#include <cstdint>
#include <string>

#include "foedus/status.h"
#include "gleaner/compose/composition.h"
#include "gleaner/compose/masstree_input.h"
#include "gleaner/compose/masstree_layer.h"
#include "gleaner/compose/masstree_old_page.h"

namespace foedus::gleaner {

class MasstreeMerge {
 public:
  MasstreeMerge(const Composition& composition, MasstreeInput* input)
      : composition_(composition), input_(input) {}

  // All keys of the layer's range. `old_root`: of the layer in the snapshot before; null: none.
  Status run(MasstreeLayer* layer, page::SnapshotPageId old_root);

 private:
  // Whether a log record falls into the page, whose predecessors are done.
  bool is_touched(const Subtree& page) const { return input_->is_within(prefix_, page.range.last); }
  // The key of the next records, in the layer that is being made.
  std::string_view rest() const { return input_->key().substr(prefix_.size()); }

  Status visit(MasstreeLayer* layer, const Subtree& page);
  Status take_page(MasstreeLayer* layer, const Subtree& page, page::PageBytes* block);
  Status take_border(MasstreeLayer* layer, storage::masstree::BorderPage* page,
                     std::uint64_t last);
  // The page and all that follows in it, although no record touches it.
  Status unfold(MasstreeLayer* layer, const Subtree& page);

  // What was read is made anew.
  void supersede(const MasstreeLayer& layer, storage::masstree::TreePage* page) const;

  // Where the keys end that come before the next log record and share no slice with what came by
  // itself: those can be copied as they are. `last`: of the keys to take.
  unsigned untouched_end(const MasstreeLayer& layer, storage::masstree::BorderPage* page,
                         unsigned index, std::uint64_t last) const;

  // One slot, as it is; and with log records, which are of its key or in its layer.
  Status copy_slot(MasstreeLayer* layer, storage::masstree::BorderPage* page, unsigned index);
  Status change_slot(MasstreeLayer* layer, storage::masstree::BorderPage* page, unsigned index);
  // The records of the next key. `old`: null if there is none.
  Status take_key(MasstreeLayer* layer, const MasstreeRecord* old);

  const Composition& composition_;
  MasstreeInput* const input_;
  std::string prefix_;  // what all keys of the layer begin with
};

}  // namespace foedus::gleaner
