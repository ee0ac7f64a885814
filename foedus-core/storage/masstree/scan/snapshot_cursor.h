#pragma once
// A cursor over a Master-Tree as it is in one snapshot. A snapshot never changes: nothing is
// remembered, no position is sought twice.
//
//   M40 From one call to the next the cursor holds ids of pages and positions. It also holds copies
//       of the border pages that it is in, one for each layer. It holds no address in the page
//       cache. A row's payload lies in the copy, or in the cursor's own buffer if it was a chain.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/border_copy.h"
#include "foedus-core/storage/masstree/search/scan_ahead.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// One session. Its buffers are kept from one scan to the next.
class SnapshotCursor {
 public:
  // Begins a scan of [low, high) in the snapshot in which the storage has `root`; an empty `high`
  // means no upper bound. Moves to no record yet.
  void open(occ::TxnContext& ctx, occ::StorageControl* control, page::SnapshotPageId root,
            std::string_view low, std::string_view high, bool reverse);
  // Moves to the next record, or to the end. kIoError, kCorruption, kOutOfMemory: a page cannot be
  // read; the scan is over.
  Status next();
  bool at_end() const { return at_end_; }
  // Returns the key of the current record; as the payload, valid until next(), open() or close().
  std::string_view key() const { return {key_.data(), key_bytes_}; }
  std::string_view payload() const { return payload_; }
  void close();

 private:
  // An interior page on the way to the border page, and the child that was taken.
  struct Step {
    page::SnapshotPageId page;
    unsigned child;
    unsigned last_child;
  };
  // The cursor's position in one layer.
  struct Layer {
    BorderCopy copy;                 // of the border page
    page::SnapshotPageId border;     // that page
    bool is_inside = false;          // no key of the page needs a look at the end of the range
    std::uint32_t prefix_bytes = 0;  // key bytes that the layers above have used
    std::size_t first_step = 0;      // of steps_: those before are of layers above
    unsigned position = 0;           // of the next slot, counted in the direction of the scan
    unsigned count = 0;

    BorderPage* page() { return copy.page(); }
  };

  Layer& top() { return layers_[depth_ - 1]; }
  void end();
  Status enter_layer(page::SnapshotPageId root, std::uint32_t prefix_bytes, bool is_bounded);
  TreePage* page_of(page::SnapshotPageId id);
  TreePage* child_of(InteriorPage* page, unsigned child, unsigned keys, page::SnapshotPageId* id);
  Status descend(page::SnapshotPageId id, TreePage* page, bool is_bounded);
  Status take_next_page();
  void begin_page(Layer* layer, page::SnapshotPageId id, BorderPage* page, bool is_bounded);
  Status take_records(Layer* layer);
  void look_ahead(const Layer& layer);
  void pass_over_bound(Layer* layer, BorderPage* page);
  static bool is_before_bound(BorderPage* page, unsigned index, std::string_view rest);
  Status visit(bool* arrived);
  Status read(Slot slot, bool* arrived);
  bool is_key_outside() const;
  bool is_layer_outside() const;
  bool is_slice_outside(const Layer& layer, std::uint64_t slice) const;
  bool is_inside(Layer* layer) const;
  std::string_view bound() const { return reverse_ ? high_ : low_; }

  // The scan.
  occ::TxnContext* ctx_ = nullptr;
  occ::StorageControl* control_ = nullptr;
  page::SnapshotPageId root_;
  std::string low_;
  std::string high_;
  bool has_high_ = false;
  bool reverse_ = false;

  // Position.
  bool started_ = false;
  bool at_end_ = true;
  bool on_bound_ = false;  // the next slot is of a layer that the bound leads into
  std::size_t depth_ = 0;  // layers_ in use
  std::vector<Layer> layers_;
  std::vector<Step> steps_;
  bool is_long_ = false;  // more than one page was taken
  ScanAhead ahead_;

  // The current record; key_ also holds the prefix of the layer that the cursor is in.
  std::string key_;
  std::uint32_t key_bytes_ = 0;
  std::string_view payload_;
  std::vector<char> chain_;  // payload_, if it was a chain
};

}  // namespace foedus::storage::masstree
