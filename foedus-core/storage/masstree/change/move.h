#pragma once
// The common steps of all moves of border pages (M3, M4): the records are locked, all that are not
// purged are copied, and all are marked moved.

#include <array>
#include <bitset>
#include <cstddef>

#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/change/split.h"

namespace foedus::storage::masstree {

// The space that records take of a page, or will.
struct Load {
  std::uint32_t record_bytes = 0;
  unsigned keys = 0;

  std::uint32_t body_bytes() const { return record_bytes + BorderPage::directory_bytes(keys); }
  // Returns whether the load is at most `eighths` eighths of a page.
  bool fits(unsigned eighths) const {
    return body_bytes() <= BorderPage::kBodyBytes / 8 * eighths &&
           keys <= BorderPage::kKeysMax / 8 * eighths;
  }
  Load operator+(const Load& other) const {
    return {record_bytes + other.record_bytes, keys + other.keys};
  }
};

// A page that is about to move.
class MovingPage {
 public:
  // A record that goes to a new page.
  struct Live {
    std::uint64_t slice;
    std::uint32_t bytes;         // in the new page
    std::uint32_t bytes_before;  // of those with smaller keys
    std::uint32_t capacity;
    std::uint8_t key_class;
    std::uint8_t index;  // in the old page
  };

  MovingPage(occ::TxnContext& ctx, BorderPage* page) : ctx_(ctx), page_(page) {}
  MovingPage(const MovingPage&) = delete;
  MovingPage& operator=(const MovingPage&) = delete;

  // Begins a move. False: the page is moved or dropped, and *closed says which. REQUIRES: the
  // page's lock is held until the move has ended.
  bool begin(Change* closed);
  // Locks all records or none; tries each for a bounded time (O1). REQUIRES: begin() was called.
  bool lock_records(unsigned spins);
  void unlock_records() { unlock_records(keys_); }
  // Returns whether all records can be copied as they lie, because their keys ascend and none is
  // purged or a layer, and a new key of `slice` comes after them. Then there is nothing to
  // collect(). REQUIRES: all records are locked.
  bool is_full_run(std::uint64_t slice) const;
  // Fills live(), ascending. REQUIRES: all records are locked.
  void collect(const Need& need);
  // Lets the record that was to grow keep its capacity.
  void drop_growth(unsigned grown_index);
  // Computes the bytes_before of all live records.
  void add_up();

  // Copies live records [begin, end) after those that `to` has, and counts them in its
  // birth_version. REQUIRES: no other session can reach `to`.
  void copy_records(BorderPage* to, unsigned begin, unsigned end);
  // Copies all records as they lie here. REQUIRES: is_full_run().
  void copy_whole(BorderPage* to);
  // Sets version, purged_tid and last_soc of a page that takes over records. It is called once for
  // each page that they come from.
  void complete(BorderPage* to) const;

  // The steps by which this page becomes a moved one (M4), to be called in this order. `major`
  // null: the minor one takes all of this page.
  void set_successors(const BorderPage* minor, const BorderPage* major);
  void mark_records();
  void mark_page();

  bool hides_own() const { return may_hide_own(ctx_, page_); }
  BorderPage* page() const { return page_; }
  page::PageVersion version() const { return version_; }
  unsigned keys() const { return keys_; }
  std::array<Live, BorderPage::kKeysMax>& live() { return live_; }
  const std::array<Live, BorderPage::kKeysMax>& live() const { return live_; }
  unsigned live_count() const { return load_.keys; }
  const Load& load() const { return load_; }

 private:
  void unlock_records(unsigned count);
  void note_own();
  // Returns whether the record is left out of the new pages (M11).
  bool is_purged(unsigned index, Slot slot, page::Tid tid) const;
  void keep_lock(unsigned index, page::RecordHeader* copied, unsigned place);

  occ::TxnContext& ctx_;
  BorderPage* const page_;
  page::PageVersion version_;
  unsigned keys_ = 0;
  Load load_;  // of live_
  std::uint64_t purged_tid_ = 0;
  std::bitset<BorderPage::kKeysMax> own_;  // records that this transaction may write or hold
  std::array<Live, BorderPage::kKeysMax> live_;
  // The waiters with which to unlock the records; null: the lock is and stays this transaction's.
  std::array<occ::LockWaiter*, BorderPage::kKeysMax> holders_;
  // Room for as many waiters as there are records: 4 KB that most pages need a part of.
  alignas(occ::LockWaiter) std::byte waiters_[BorderPage::kKeysMax * sizeof(occ::LockWaiter)];
};

// The ways to fill the pages of two neighbours better.
enum class MergeInto : std::uint8_t {
  kOnePage,   // one page for both
  kTwoPages,  // two pages, with another boundary between them
};

// Returns a neighbour of `page` under `parent` that `load` could be merged with; null: none.
// Without locks this is a guess.
BorderPage* neighbour_for(page::PagePool& pool, InteriorPage* parent, BorderPage* page,
                          const Load& load, MergeInto into);

// Moves the page and its neighbour to `minor`, or to `minor` and `major` (null: one page), and
// retires them (M16). False: nothing has changed. REQUIRES: page->collect() was called; no other
// session can reach the new pages.
bool merge(occ::TxnContext& ctx, occ::StorageControl* control, MovingPage* page,
           BorderPage* neighbour, const Need& need, BorderPage* minor, BorderPage* major);

}  // namespace foedus::storage::masstree
