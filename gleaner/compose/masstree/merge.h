#pragma once
// MasstreeMerge merges the tree of the previous snapshot and the log records in the order of keys.
// MasstreeLayer makes pages of the result.
//
//   A page is read if a log record falls into it, if it crosses an end of the range, or if it has
//   to be made anew for its neighbour (G62). Any other page, with all pages below it, is passed on
//   by its id (G6). The same holds for layers. Interior pages that are read are made anew.

#include <cstdint>
#include <string>

#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/compose/masstree/input.h"
#include "gleaner/compose/masstree/layer.h"
#include "gleaner/compose/masstree/old_page.h"

namespace foedus::gleaner {

class MasstreeMerge {
 public:
  MasstreeMerge(const Composition& composition, MasstreeInput* input)
      : composition_(composition), input_(input) {}

  // Merges all keys of the layer's range. `old_root`: the layer's root in the previous snapshot;
  // null: there is none.
  Status run(MasstreeLayer* layer, page::SnapshotPageId old_root);

 private:
  // Returns true if a log record falls into the page. REQUIRES: all pages before it are done.
  bool is_touched(const Subtree& page) const { return input_->is_within(prefix_, page.range.last); }
  // Returns the key of the next records from the current layer on.
  std::string_view rest() const { return input_->key().substr(prefix_.size()); }

  Status visit(MasstreeLayer* layer, const Subtree& page);
  Status take_page(MasstreeLayer* layer, const Subtree& page, page::PageBytes* block);
  Status take_border(MasstreeLayer* layer, storage::masstree::BorderPage* page, std::uint64_t last);
  // Makes the page and its last descendants anew, although no record touches them.
  Status unfold(MasstreeLayer* layer, const Subtree& page);

  // Counts a page that was read as superseded, because it is made anew.
  void supersede(const MasstreeLayer& layer, storage::masstree::TreePage* page) const;

  // Returns the end of the keys that can be copied as they are. These come before the next log
  // record, and share no slice with a key that was added alone. `last`: the last slice to take.
  unsigned untouched_end(const MasstreeLayer& layer, storage::masstree::BorderPage* page,
                         unsigned index, std::uint64_t last) const;

  // Add one slot: without a change, or with log records of its key or in its next layer.
  Status copy_slot(MasstreeLayer* layer, storage::masstree::BorderPage* page, unsigned index);
  Status change_slot(MasstreeLayer* layer, storage::masstree::BorderPage* page, unsigned index);
  // Adds the next key of the log records. `old`: its record in the snapshot; null: none.
  Status take_key(MasstreeLayer* layer, const MasstreeRecord* old);

  const Composition& composition_;
  MasstreeInput* const input_;
  std::string prefix_;  // with which all keys of the layer begin
};

}  // namespace foedus::gleaner
