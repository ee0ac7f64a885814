#pragma once
// Cursor: the records of a range of a Master-Tree in the order of their keys, or in reverse (paper
// appendix C, algorithm 3). It goes through volatile pages, and below them through those of the
// newest snapshot; or through the pages of one snapshot alone.
//
//   M13  A page is taken at one version, which is remembered; its order is computed once. A later
//        move of the page changes nothing in what was taken. The next page is found by the fence of
//        this one, which never changes (M1). If the next page has slices before that, because pages
//        were merged meanwhile (M16), they are passed over.
//   M14  Between two calls the transaction may write, ahead of the cursor or behind it. If a page
//        that the cursor comes back to has another version, the cursor seeks its position again, by
//        key. So it sees own inserts ahead. It may also see inserts of other sessions, and then
//        verification fails.
//   M45  Rows of a volatile page are taken ahead of the caller: one, then twice as many each time.
//        So a scan that stops early has read few rows in vain. Rows taken at once lie in one page,
//        and each is read and remembered as if it had been asked for. Only own writes can make them
//        look different to the transaction. So if it has written since, the rows that were not
//        handed out are forgotten and read again, and also deleted records that were passed over
//        after the last row handed out. A slot that needs more than a copy (a layer, a chain, a
//        record that is being written or has an own write) ends the taking, and is visited.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/border_copy.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/search/scan_ahead.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// A cursor of one session. Its buffers are kept from one scan to the next.
class Cursor {
 public:
  // Begins a scan of [low, high); an empty `high` means no upper bound. Moves to no record yet.
  void open(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view low,
            std::string_view high, bool reverse);
  // Does what open() does, for the tree as it is in the snapshot in which it has `root`; null: it
  // is empty. Nothing is remembered, and the position is never sought again, because a snapshot
  // never changes.
  void open_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                        page::SnapshotPageId root, std::string_view low, std::string_view high,
                        bool reverse);
  // Moves to the next record, or to the end. `limit`: the caller may want so many records more, at
  // least one. After an error the scan is over.
  Status next(std::uint64_t limit = ~std::uint64_t{0});
  // Moves to the next record if it was taken ahead. False: next() has to look. REQUIRES: the
  // transaction is open.
  bool try_next() {
    if (row_ == row_end_ || ctx_->sets().writes().state() != writes_) return false;
    const TakenRow& row = rows_[row_++];
    key_at_ = rows_memory_.get() + row.offset;
    key_bytes_ = row.key_bytes;
    payload_at_ = key_at_ + row.key_bytes;
    payload_bytes_ = row.payload_bytes;
    return true;
  }
  bool at_end() const { return at_end_; }
  // Returns the key of the current record. Key and payload are valid until the cursor moves or is
  // closed.
  std::string_view key() const { return {key_at_, key_bytes_}; }
  std::string_view payload() const { return {payload_at_, payload_bytes_}; }
  void close();

 private:
  // Pages that are asked for at once. One page costs a wait for its address translation; four
  // together cost no more.
  static constexpr unsigned kAheadMax = 4;
  // Lines of records are asked for this many rows ahead.
  static constexpr unsigned kPrefetchRows = 6;
  // Ids of snapshot pages that are taken out of their parent at once.
  static constexpr unsigned kColdAheadMax = 8;

  // The cursor's position in one layer.
  struct Route {
    BorderPage* page;            // if it is cold: the copy
    page::PageVersion version;   // at which the page was taken
    InteriorPage* parent;        // of the page, for the way to the next one; null: none
    TreePage* next;              // the page after it, as far as its parent knows, or null
    TreePage* ahead[kAheadMax];  // those after that one, asked for together
    std::uint8_t ahead_begin;
    std::uint8_t ahead_end;
    TreePage* root;              // of the layer; null: of the storage
    std::uint32_t prefix_bytes;  // key bytes that the layers above have used
    std::uint8_t position;       // next in order
    std::uint8_t asked;          // rows before it were asked for; count + 1: the next page's, too
    std::uint8_t count;          // keys in `order`
    bool is_inside;              // no key of the page needs a look at the end of the range
    bool bounded;                // slots up to bound_ are still to be passed over
    std::uint8_t order[BorderPage::kKeysMax];
    // M25. Null: the page is volatile.
    page::SnapshotPageId cold_page;
    ColdTop cold_top;        // at or above it, in this layer
    std::uint32_t cold_run;  // pages taken one after the other below cold_top
    BorderCopy copy;
    page::SnapshotPageId cold_ahead[kColdAheadMax];  // the pages after it, below one parent
    std::uint64_t cold_ahead_low[kColdAheadMax];     // and their slices
    std::uint64_t cold_ahead_last[kColdAheadMax];
    std::uint8_t cold_ahead_begin;
    std::uint8_t cold_ahead_end;
    ScanAhead cold_reads;

    bool is_cold() const { return !cold_page.is_null(); }
  };

  Route& top() { return routes_[depth_ - 1]; }
  void end();
  Status move(std::uint64_t limit);
  Status begin();
  // Begins again after bound_, or at it if `inclusive`; in reverse always before it.
  Status seek(bool inclusive);
  Route* push_route(std::uint32_t prefix_bytes, std::uint64_t* slice);
  Status enter_layer(TreePage* root, std::uint32_t prefix_bytes);
  Status take_page(Route* route, TreePage* from, std::uint64_t slice);
  void begin_page(Route* route, BorderPage* page, page::PageVersion version, std::uint64_t slice);
  void order_page(Route* route, std::uint64_t slice);
  void pass_over(Route* route, std::uint64_t slice);
  void prefetch_record(const Route& route, unsigned position);
  void ask_for_row(const Route& route, unsigned position);
  void prefetch_next(Route* route);
  Status leave_page();
  Status leave_layer();
  bool bound_to_end_of_layer(std::uint32_t prefix_bytes);

  // scan/cursor_rows.cc: M45
  struct TakenRow {
    std::uint32_t offset;  // of the key in rows_memory_; the payload follows it
    std::uint16_t key_bytes;
    std::uint16_t payload_bytes;
  };
  // Takes rows from the topmost page, which is volatile and unbounded. Stops at `limit` rows, at
  // the end of the page, or at a slot that has to be visited. False: the first slot has to be.
  // After true, there may be no row, because all records were deleted.
  bool take_rows(std::uint64_t limit);
  void forget_rows();

  // scan/cursor_cold.cc
  [[gnu::noinline]] Status find_border_slowly(Route* route, std::uint64_t slice,
                                              BorderPosition* at);
  Status enter_cold_layer(page::SnapshotPageId root, std::uint32_t prefix_bytes);
  static void begin_cold(Route* route, const ColdTop& top);
  static unsigned layer_of(const Route& route);
  Status take_cold(Route* route, std::uint64_t slice);
  void copy_cold(Route* route, BorderPage* page, std::uint64_t slice);
  Status copy_records(Route* route);
  BorderPage* next_cold(Route* route, std::uint64_t slice);
  void look_ahead(Route* route);
  Status resume_cold();
  void note_drops();
  bool may_miss_own() const;
  Status read_cold_record(Slot slot, bool* arrived);

  bool is_on_path(std::string_view bound, std::uint32_t prefix_bytes) const;
  bool is_beyond_bound(const Route& route, std::uint64_t slice, Slot slot) const;
  bool is_inside(const Route& route) const;
  bool is_layer_outside() const;
  // Returns whether a key lies beyond the end of the range, in the direction of the scan.
  bool is_outside(std::string_view key) const;
  bool is_slice_outside(const Route& route, std::uint64_t slice) const;
  std::uint64_t end_slice(const Route& route) const;
  Status visit(unsigned index, bool* arrived);
  Status read(page::RecordHeader* record, std::uint32_t place, bool* arrived);

  // The scan.
  occ::TxnContext* ctx_ = nullptr;
  occ::StorageControl* control_ = nullptr;
  std::string low_;
  std::string high_;
  bool has_high_ = false;
  bool reverse_ = false;
  bool is_of_snapshot_ = false;
  page::SnapshotPageId snapshot_root_;

  // Position.
  bool started_ = false;
  bool at_end_ = true;
  std::uint32_t depth_ = 0;  // routes_ in use
  std::vector<Route> routes_;
  std::string bound_;
  bool has_bound_ = false;
  bool bound_inclusive_ = false;
  // The cursor's way to snapshot pages (M25): the pointer, how many pages the transaction had made
  // volatile by then, and the epoch of the last drop of pages.
  ColdPointer cold_;
  std::uint64_t installs_ = 0;
  std::uint64_t drop_epoch_ = 0;

  // Rows taken ahead: those from row_ on were not handed out yet.
  std::array<TakenRow, BorderPage::kKeysMax> rows_;
  std::array<std::uint8_t, BorderPage::kKeysMax> row_positions_;  // in the page's order
  std::unique_ptr<char[]> rows_memory_;
  std::uint32_t row_ = 0;
  std::uint32_t row_end_ = 0;
  std::uint32_t rows_wanted_ = 1;  // rows to take the next time
  occ::WriteSet::State writes_;    // own writes when the rows were taken

  // The key of the slot at hand. It begins with the prefix of the layer that the cursor is in.
  std::string key_;
  // The current record.
  const char* key_at_ = nullptr;  // key_, or of a row that was taken ahead
  std::vector<char> payload_;
  const char* payload_at_ = nullptr;  // payload_, the copy of a snapshot page, or of a taken row
  std::uint32_t key_bytes_ = 0;
  std::uint32_t payload_bytes_ = 0;
};

}  // namespace foedus::storage::masstree
